// SPDX-License-Identifier: Apache-2.0
// The page of `dycl view`. Whatever the package says is written by textContent, never as markup.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const { program, profile } = data;
const $ = (id) => document.getElementById(id);
const svg = document.querySelector("svg.dycl-graph");
const nodes = program.blocks.map((_, k) => $("n" + k));
const edges = program.blocks.flatMap((block, from) =>
  block.exit.edges.map((edge) => ({ from, to: edge.to, arm: edge.arm, label: edge.label })));
edges.forEach((edge, k) => { edge.element = $("e" + k); });
const edgesFrom = program.blocks.map((_, k) => edges.filter((edge) => edge.from === k));
const edgesTo = program.blocks.map(() => []);
edges.forEach((edge) => edgesTo[edge.to].push(edge));

// An element with attributes, listeners (`on...`) and children; texts become text nodes.
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const bytesText = (n) => n < 1000 ? n + " B" : n < 1e6 ? (n / 1e3).toFixed(1) + " kB" : (n / 1e6).toFixed(1) + " MB";
const percent = (x) => (100 * x).toFixed(x < 0.1 ? 1 : 0) + " %";
const baseName = (path) => path.split("/").pop();
const sourceOf = new Map(program.lines.map(([file, line, text]) => [file + ":" + line, text]));
const keyOf = (place) => place ? place[0] + ":" + place[1] : null;
const placeText = (place) =>
  place && place[0] < program.sources.length ? baseName(program.sources[place[0]]) + ":" + place[1] : "";

// ---- which lines belong to which blocks, and the other way round ----
const linesOf = program.blocks.map((block) => {
  const keys = new Set();
  const add = (place) => { if (place) keys.add(keyOf(place)); };
  add(block.place);
  add(block.exit.place);
  for (const op of block.ops) {
    add(op.place);
    if (op.sub_dnn !== undefined) (program.sub_dnns[op.sub_dnn].ops || []).forEach((inner) => add(inner.place));
  }
  return keys;
});
const blocksOf = new Map();
linesOf.forEach((keys, block) => keys.forEach((key) => {
  if (!blocksOf.has(key)) blocksOf.set(key, []);
  blocksOf.get(key).push(block);
}));

// ---- tabs ----
const panes = {};
function addPane(name, title) {
  const pane = h("div", { class: "pane", role: "tabpanel", id: "pane-" + name, "aria-label": title });
  const tab = h("button", { type: "button", role: "tab", id: "tab-" + name, onclick: () => showPane(name) }, title);
  document.querySelector("nav").append(tab);
  $("panes").append(pane);
  panes[name] = { pane, tab };
  return pane;
}
function showPane(name) {
  for (const [other, { pane, tab }] of Object.entries(panes)) {
    pane.hidden = other !== name;
    tab.setAttribute("aria-selected", String(other === name));
  }
}
const sourcePane = addPane("source", "source");
const detailPane = addPane("block", "block");
const subDnnPane = addPane("subdnns", "sub-DNNs");

// ---- source ----
const lineElements = new Map();
function fillSource() {
  program.sources.forEach((name, file) => {
    const kept = program.lines.filter((line) => line[0] === file);
    if (!kept.length) return;
    const grid = h("div", { class: "source code" });
    let last = null;
    for (const [, line, text] of kept) {
      if (last !== null && line > last + 1) grid.append(h("span", { class: "number gap" }, "..."), h("span", {}));
      const key = file + ":" + line;
      const element = h("button", { type: "button", class: "text", onclick: () => selectLine(key) }, text || " ");
      lineElements.set(key, element);
      grid.append(h("span", { class: "number" }, String(line)), element);
      last = line;
    }
    sourcePane.append(h("h2", { title: name }, baseName(name)), grid);
  });
  if (!lineElements.size) sourcePane.append(h("p", {}, "The package keeps no source lines."));
}
const lineLink = (place) => place ?
  h("button", { type: "button", class: "link", onclick: () => selectLine(keyOf(place)) }, placeText(place)) : "";

// ---- selecting ----
let selected = 0;
function unmark(...names) {
  for (const name of names) document.querySelectorAll("." + name).forEach((x) => x.classList.remove(name));
}
function lightLines(keys) {
  let first = null;
  for (const [key, element] of lineElements)
    if (keys.has(key)) { element.classList.add("lit"); first = first || element; }
  if (first) reveal(first);
}
function reveal(element) {
  element.scrollIntoView({ block: "nearest" });
  element.parentElement.scrollLeft = 0;
}
function select(block, { move = true } = {}) {
  unmark("selected", "lit");
  selected = block;
  nodes[block].classList.add("selected");
  lightLines(linesOf[block]);
  fillDetails(block);
  if (move) bringIntoView(block);
}
function selectLine(key) {
  unmark("selected", "lit");
  const blocks = blocksOf.get(key) || [];
  blocks.forEach((block) => nodes[block].classList.add("lit"));
  lightLines(new Set([key]));
  if (blocks.length) { selected = blocks[0]; bringIntoView(blocks[0]); }
  showPane("source");
  if (lineElements.has(key)) reveal(lineElements.get(key));
}

// ---- one block ----
function fillDetails(block) {
  const b = program.blocks[block];
  const rows = b.ops.map((op) => h("tr", {}, h("td", { class: "code" }, op.text), h("td", {}, lineLink(op.place))));
  rows.push(h("tr", {}, h("td", { class: "code" }, b.exit.text), h("td", {}, lineLink(b.exit.place))));
  const decision = b.exit.decision === undefined ? null : program.decisions[b.exit.decision];
  detailPane.replaceChildren(
    h("h2", {}, data.nodes[block][0]),
    h("p", { class: "code" }, b.head),
    decision && decision.origin ? h("p", {}, "decided by ", h("strong", {}, decision.origin)) : null,
    h("table", {}, h("tbody", {}, rows)),
    ...[...new Set(b.ops.filter((op) => op.sub_dnn !== undefined).map((op) => op.sub_dnn))]
      .map((sub) => subDnn(sub, true)),
    h("p", {}, ...edgesTo[block].map((edge) => blockLink("from ", edge.from, edge.label)),
      ...edgesFrom[block].map((edge) => blockLink("to ", edge.to, edge.label))));
}
const blockLink = (word, block, label) => h("span", {}, label ? label + " " : "", word,
  h("button", { type: "button", class: "link", onclick: () => select(block) }, data.nodes[block][0]), h("br"));

// ---- sub-DNNs ----
const automatic = (() => {
  try { return new Map(JSON.parse(program.metadata.auto).sub_dnns.map((one) => [one.name, one])); }
  catch (error) { return new Map(); }
})();
const weightOf = new Map(program.weights.map((weight) => [weight.name, weight]));
function timings(name) {
  const one = automatic.get(name);
  if (!one) return null;
  const rows = one.candidates.map((c) => h("tr", {}, h("td", {}, c.backend + (c.backend === one.chosen ? " (chosen)" : "")),
    h("td", { class: "number" }, c.micros === undefined ? "" : c.micros.toFixed(1)), h("td", {}, c.dropped || "")));
  return h("div", {}, h("h2", {}, "engines measured"), h("table", {}, h("tr", {}, h("th", {}, "engine"),
    h("th", { class: "number" }, "us"), h("th", {}, "left out because")), rows));
}
function subDnn(index, open) {
  const sub = program.sub_dnns[index];
  const ops = sub.ops || [];
  const weights = ops.filter((op) => op.weight !== undefined).map((op) => weightOf.get(op.weight) || { name: op.weight });
  const spent = profile ? profile.sub_dnns[index] : null;
  return h("details", { open: open ? "" : null, id: open ? null : "subdnn-" + index },
    h("summary", {}, h("strong", {}, sub.readable), " (" + sub.name + ", " +
      [...new Set(sub.artifacts.map((a) => a.backend))].join(", ") + ")" +
      (spent ? "  " + percent(spent.share) + ", " + spent.calls + " calls" : "")),
    h("p", { class: "code" }, (sub.inputs || []).join(", ") + " -> " + (sub.outputs || []).join(", ")),
    h("table", {}, ops.filter((op) => op.weight === undefined).map((op) =>
      h("tr", {}, h("td", { class: "code" }, op.text), h("td", {}, lineLink(op.place))))),
    weights.length ? h("h2", {}, "weights") : null,
    h("table", {}, weights.map((w) => h("tr", {}, h("td", { class: "code" }, w.name),
      h("td", {}, w.shape ? w.dtype + "[" + w.shape.join(",") + "]" : ""),
      h("td", { class: "number" }, w.bytes === undefined ? "folded" : bytesText(w.bytes))))),
    h("h2", {}, "artifacts"),
    h("table", {}, sub.artifacts.map((a) => h("tr", {}, h("td", {}, a.backend), h("td", {}, a.target),
      h("td", { class: "number" }, bytesText(a.bytes))))),
    timings(sub.name));
}

// ---- zoom: the part of the drawing that is shown ----
const whole = (() => { const v = svg.viewBox.baseVal; return { x: v.x, y: v.y, w: v.width, h: v.height }; })();
let shown = { ...whole };
const applyView = () => svg.setAttribute("viewBox", [shown.x, shown.y, shown.w, shown.h].join(" "));
function fit() { shown = { ...whole }; applyView(); }
// At first as large as it is readable: the top of the graph, one unit to a pixel, unless all of it fits.
function first() {
  const box = $("graph").getBoundingClientRect();
  if (!box.width || whole.w <= box.width && whole.h <= box.height) return fit();
  const scale = Math.max(0.8, Math.min(1, box.width / whole.w));
  shown = { w: box.width / scale, h: box.height / scale, x: 0, y: 0 };
  const entry = boxOf(0);
  shown.x = entry.x + entry.width / 2 - shown.w / 2;
  shown.y = entry.y - 30;
  applyView();
}
function zoom(factor, x = shown.x + shown.w / 2, y = shown.y + shown.h / 2) {
  const w = Math.min(Math.max(shown.w * factor, 60), whole.w * 4);
  const real = w / shown.w;
  shown = { x: x - (x - shown.x) * real, y: y - (y - shown.y) * real, w, h: shown.h * real };
  applyView();
}
const pointIn = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
const boxes = new Map();
function boxOf(block) {
  if (!boxes.has(block)) {
    const face = nodes[block].querySelector(".face").getBBox();
    const by = svg.querySelector(".everything").transform.baseVal.consolidate().matrix;
    boxes.set(block, { x: face.x + by.e, y: face.y + by.f, width: face.width, height: face.height });
  }
  return boxes.get(block);
}
function bringIntoView(block) {
  const box = boxOf(block);
  const inside = box.x >= shown.x && box.y >= shown.y && box.x + box.width <= shown.x + shown.w &&
    box.y + box.height <= shown.y + shown.h;
  if (inside) return;
  shown.x = box.x + box.width / 2 - shown.w / 2;
  shown.y = box.y + box.height / 2 - shown.h / 2;
  applyView();
}
svg.addEventListener("wheel", (event) => {
  event.preventDefault();
  const at = pointIn(event);
  zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, at.x, at.y);
}, { passive: false });
let dragged = null;
svg.addEventListener("pointerdown", (event) => { dragged = { at: pointIn(event), moved: false }; });
window.addEventListener("pointermove", (event) => {
  if (!dragged) return;
  const now = pointIn(event);
  if (Math.hypot(now.x - dragged.at.x, now.y - dragged.at.y) > 3) dragged.moved = true;
  if (!dragged.moved) return;
  shown.x += dragged.at.x - now.x;
  shown.y += dragged.at.y - now.y;
  applyView();
});
window.addEventListener("pointerup", (event) => {
  const node = dragged && !dragged.moved && event.target.closest ? event.target.closest(".node") : null;
  dragged = null;
  if (!node) return;
  $("graph").focus({ preventScroll: true });
  select(Number(node.dataset.block), { move: false });
  if (panes.source.pane.hidden) showPane("block");
});

// ---- search ----
const texts = program.blocks.map((block, k) => [...data.nodes[k], block.head, block.exit.text,
  ...block.ops.flatMap((op) => op.sub_dnn === undefined ? [op.text] : [op.text, program.sub_dnns[op.sub_dnn].readable,
    ...(program.sub_dnns[op.sub_dnn].ops || []).map((inner) => inner.text)]),
  ...[...linesOf[k]].map((key) => sourceOf.get(key) || "")].join("\n").toLowerCase());
let matches = [], match = -1;
function search(text) {
  unmark("found");
  const wanted = text.trim().toLowerCase();
  matches = wanted ? texts.flatMap((all, k) => all.includes(wanted) ? [k] : []) : [];
  match = -1;
  matches.forEach((block) => nodes[block].classList.add("found"));
  $("found").textContent = wanted ? matches.length + (matches.length === 1 ? " block" : " blocks") : "";
}
$("search").addEventListener("input", () => search($("search").value));
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && matches.length) {
    match = (match + (event.shiftKey ? matches.length - 1 : 1)) % matches.length;
    select(matches[match]);
  }
  if (event.key === "Escape") { $("search").value = ""; search(""); $("graph").focus(); }
});

// ---- profile ----
// The blocks and edges that a run passed, with how often: its decisions say which way it went.
function replay(run) {
  const seen = { blocks: new Map(), edges: new Map(), whole: true };
  const add = (counts, key) => counts.set(key, (counts.get(key) || 0) + 1);
  let block = 0, next = 0;
  for (let steps = 0; steps < 1e6; ++steps) {
    add(seen.blocks, block);
    const exit = program.blocks[block].exit, out = edgesFrom[block];
    if (!out.length) return seen;
    let taken = out[0];
    if (exit.decision !== undefined) {
      const outcome = run.trace[next++];
      if (!outcome || outcome[0] !== exit.decision) break;
      taken = out.find((edge) => edge.arm === outcome[1]) || out[0];
    }
    add(seen.edges, taken);
    block = taken.to;
  }
  seen.whole = false;  // it raised on the way
  return seen;
}
const merge = (all, one) => one.forEach((count, key) => all.set(key, (all.get(key) || 0) + count));
const replays = profile ? profile.runs.map(replay) : [];
const everything = { blocks: new Map(), edges: new Map() };
replays.forEach((one) => { merge(everything.blocks, one.blocks); merge(everything.edges, one.edges); });

function timeOf(block) {
  const sites = program.blocks[block].ops.map((op) => op.site).filter((site) => site !== undefined && site !== null);
  return sites.reduce((sum, site) => sum + profile.sites[site].share, 0);
}
function heat() {
  const most = Math.max(...program.blocks.map((_, k) => timeOf(k)), 1e-9);
  const passed = Math.max(...everything.edges.values(), 1);
  nodes.forEach((node, k) => {
    const share = timeOf(k), count = everything.blocks.get(k) || 0;
    const face = node.querySelector(".face");
    if (share > 0) face.style.fill = "rgba(var(--hot), " + (0.12 + 0.36 * share / most).toFixed(2) + ")";
    const box = face.getBBox();
    const badge = document.createElementNS("http://www.w3.org/2000/svg", "text");
    badge.setAttribute("class", "badge");
    badge.setAttribute("x", box.x + box.width + 3);
    badge.setAttribute("y", box.y + 9);
    badge.textContent = (share > 0 ? percent(share) + " " : "") + count + "x";
    node.append(badge);
    if (!count) node.classList.add("dim");
  });
  edges.forEach((edge) => {
    const count = everything.edges.get(edge) || 0;
    edge.element.querySelector("path").style.strokeWidth = (1 + 4 * count / passed).toFixed(1);
    edge.element.classList.toggle("dim", !count);
    const label = edge.element.querySelector("text");
    if (label) label.textContent = edge.label + " " + count + "x";
  });
}
function showRun(number) {
  const one = number ? replays[number - 1] : everything;
  nodes.forEach((node, k) => node.classList.toggle("dim", !one.blocks.get(k)));
  edges.forEach((edge) => edge.element.classList.toggle("dim", !one.edges.get(edge)));
  $("run").value = number;
  if (!number) {
    $("told").textContent = "all " + profile.runs.length + " inputs";
    return;
  }
  const run = profile.runs[number - 1];
  $("told").textContent = number + " of " + profile.runs.length + ": " + run.input + ", " +
    (1e3 * run.seconds).toFixed(3) + " ms, " + (run.error || "ends at " + profile.paths[run.path].end);
}
function fillProfile() {
  const pane = addPane("profile", "profile");
  const most = Math.max(...profile.paths.map((path) => path.runs), 1);
  pane.append(h("h2", {}, "where " + profile.count + " runs ended"), h("table", { id: "exits" },
    h("tr", {}, h("th", { class: "number" }, "runs"), h("th", {}, ""), h("th", { class: "number" }, "ms"),
      h("th", {}, "last decision")),
    profile.paths.slice(0, 200).map((path, k) => {
      const bar = h("span", { class: "bar" });
      bar.style.width = (90 * path.runs / most).toFixed(0) + "px";
      return h("tr", {}, h("td", { class: "number" }, String(path.runs)), h("td", {}, bar),
        h("td", { class: "number" }, (1e3 * path.seconds_per_run).toFixed(3)),
        h("td", {}, h("button", { type: "button", class: "link code",
          onclick: () => showRun(1 + profile.runs.findIndex((run) => run.path === k)) }, path.end)));
    })));
  const rows = profile.sites.map((site, k) => ({ site, k })).sort((a, b) => b.site.share - a.site.share).slice(0, 100);
  pane.append(h("h2", {}, "time"), h("table", {},
    h("tr", {}, h("th", { class: "number" }, "share"), h("th", { class: "number" }, "calls"), h("th", {}, "engine"),
      h("th", {}, "what")),
    h("tr", {}, h("td", { class: "number" }, percent(profile.host.share)), h("td", {}), h("td", {}),
      h("td", {}, "host program")),
    rows.map(({ site, k }) => h("tr", {}, h("td", { class: "number" }, percent(site.share)),
      h("td", { class: "number" }, String(site.calls)), h("td", {}, site.engine),
      h("td", {}, h("button", { type: "button", class: "link", onclick: () => selectSite(k) },
        site.readable + " " + site.place))))));
  const m = profile.memory;
  pane.append(h("p", {}, "memory: weights " + bytesText(m.weight_bytes) + ", artifacts " + bytesText(m.artifact_bytes) +
    ", peak of the process " + bytesText(m.peak_resident_bytes)));
}
function selectSite(site) {
  const block = program.blocks.findIndex((b) => b.ops.some((op) => op.site === site));
  if (block >= 0) select(block);
}

// ---- keyboard ----
function along(step) {
  const out = step === "down" ? edgesFrom[selected].map((e) => e.to) : edgesTo[selected].map((e) => e.from);
  if (out.length) select(out[0]);
}
function beside(step) {  // the other arms of the decision that led here
  const before = edgesTo[selected][0];
  if (!before) return;
  const arms = edgesFrom[before.from].map((edge) => edge.to);
  const at = arms.indexOf(selected);
  select(arms[(at + step + arms.length) % arms.length]);
}
const keys = {
  ArrowDown: () => along("down"), ArrowUp: () => along("up"), ArrowLeft: () => beside(-1), ArrowRight: () => beside(1),
  "+": () => zoom(1 / 1.3), "-": () => zoom(1.3), 0: fit, "/": () => $("search").focus(),
  Escape: () => { unmark("selected", "lit", "found"); if (profile) showRun(0); },
  "]": () => profile && showRun((Number($("run").value) + 1) % (profile.runs.length + 1)),
  "[": () => profile && showRun((Number($("run").value) + profile.runs.length) % (profile.runs.length + 1)),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea")) return;
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// ---- light and dark ----
function theme(name) { document.documentElement.dataset.theme = name; }
theme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
$("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
$("fit").addEventListener("click", fit);

// ---- all together ----
const weightBytes = program.weights.reduce((sum, weight) => sum + weight.bytes, 0);
const portsText = (ports) => {
  const plain = ports.filter((x) => !x.state).map((x) => (x.name || "_") + ": " + x.type);
  return plain.slice(0, 4).join(", ") + (plain.length > 4 ? " and " + (plain.length - 4) + " more" : "");
};
$("facts").textContent = [program.blocks.length + " blocks", program.decisions.length + " decisions",
  program.sub_dnns.length + " sub-DNNs", program.weights.length + " weights, " + bytesText(weightBytes)].join("; ") +
  "; " + portsText(program.inputs) + " -> " + portsText(program.outputs);
fillSource();
program.sub_dnns.forEach((_, k) => subDnnPane.append(subDnn(k, false)));
showPane("source");
first();
select(0);
if (profile) {
  $("player").hidden = false;
  $("run").max = profile.runs.length;
  $("run").addEventListener("input", () => showRun(Number($("run").value)));
  fillProfile();
  heat();
  showRun(0);
  showPane("source");
}
document.body.dataset.ready = "yes";
