// SPDX-License-Identifier: Apache-2.0
#include "profile.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include "places.h"
#include "support/utf8.h"

namespace dycl::tools {
namespace {

using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double seconds_of(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

double seconds_inside(const ProfiledRun& run) {
  std::uint64_t sum = 0;
  for (const runtime::TimedCall& call : run.calls) sum += call.nanoseconds;
  return seconds_of(sum);
}

double total_seconds(const std::vector<ProfiledRun>& runs) {
  return std::accumulate(runs.begin(), runs.end(), 0.0,
                         [](double sum, const ProfiledRun& run) { return sum + run.seconds; });
}

// Calls and time, of something that is called.
struct Spent {
  std::uint64_t calls = 0, nanoseconds = 0;

  json row(double total) const {
    const double seconds = seconds_of(nanoseconds);
    return {{"calls", calls}, {"seconds", seconds}, {"share", total > 0 ? seconds / total : 0}};
  }
};

json decisions_json(const runtime::Program& program, const std::vector<ProfiledRun>& runs) {
  std::vector<std::vector<std::uint64_t>> taken;
  for (const runtime::Decision& d : program.decisions()) taken.emplace_back(d.arms);
  for (const ProfiledRun& run : runs)
    for (const runtime::Outcome& o : run.trace) ++taken[o.decision][o.arm];
  json list = json::array();
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const runtime::Decision& d = program.decisions()[i];
    json arms = json::array();
    for (std::uint32_t arm = 0; arm < taken[i].size(); ++arm)
      arms.push_back({{"name", name_of_arm(d, arm)}, {"taken", taken[i][arm]}});
    list.push_back({{"place", place_text(program, d.span)},
                    {"source", source_text(program, d.span)},
                    {"origin", d.origin},
                    {"block", d.block},
                    {"arms", arms}});
  }
  return list;
}

json sites_json(const runtime::Program& program, const std::vector<ProfiledRun>& runs, double total) {
  std::vector<Spent> spent(program.call_sites().size());
  for (const ProfiledRun& run : runs)
    for (const runtime::TimedCall& call : run.calls) {
      ++spent[call.call_site].calls;
      spent[call.call_site].nanoseconds += call.nanoseconds;
    }
  json list = json::array();
  for (std::size_t i = 0; i < spent.size(); ++i) {
    const runtime::CallSite& site = program.call_sites()[i];
    const runtime::SubDnn& callee = program.sub_dnns()[site.sub_dnn];
    json row = spent[i].row(total);
    row["sub_dnn"] = site.sub_dnn;
    row["readable"] = callee.readable;
    row["engine"] = callee.backend;
    row["place"] = place_text(program, site.span);
    row["block"] = site.block;
    list.push_back(std::move(row));
  }
  return list;
}

json sub_dnns_json(const runtime::Program& program, const json& sites) {
  json list = json::array();
  for (const runtime::SubDnn& s : program.sub_dnns())
    list.push_back({{"name", s.name},
                    {"readable", s.readable},
                    {"engine", s.backend},
                    {"target", s.target},
                    {"calls", 0},
                    {"seconds", 0.0},
                    {"share", 0.0}});
  for (const json& site : sites) {
    json& row = list[site["sub_dnn"].get<std::size_t>()];
    row["calls"] = row["calls"].get<std::uint64_t>() + site["calls"].get<std::uint64_t>();
    for (const char* key : {"seconds", "share"}) row[key] = row[key].get<double>() + site[key].get<double>();
  }
  return list;
}

json engines_json(const json& sub_dnns) {
  std::map<std::string, double> shares;
  for (const json& row : sub_dnns) shares[row["engine"]] += row["share"].get<double>();
  return shares;
}

// Which way runs went, the most frequent first. A path ends where its last decision was taken.
json paths_json(const runtime::Program& program, const std::vector<ProfiledRun>& runs, std::vector<std::size_t>& path_of) {
  using Key = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  std::map<Key, std::vector<std::size_t>> runs_of;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Key key;
    for (const runtime::Outcome& o : runs[i].trace) key.emplace_back(o.decision, o.arm);
    runs_of[key].push_back(i);
  }
  std::vector<std::pair<Key, std::vector<std::size_t>>> sorted(runs_of.begin(), runs_of.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  json list = json::array();
  path_of.resize(runs.size());
  for (const auto& [key, members] : sorted) {
    double seconds = 0;
    for (const std::size_t member : members) {
      seconds += runs[member].seconds;
      path_of[member] = list.size();
    }
    std::string end = "no decision";
    if (!key.empty())
      end = decision_text(program, key.back().first) + "  " +
            name_of_arm(program.decisions()[key.back().first], key.back().second);
    list.push_back({{"runs", members.size()},
                    {"decisions", key.size()},
                    {"seconds_per_run", seconds / static_cast<double>(members.size())},
                    {"end", end}});
  }
  return list;
}

json memory_json(const runtime::Program& program) {
  std::uint64_t weights = 0, artifacts = 0;
  for (const runtime::WeightInfo& w : program.weights()) weights += w.bytes.size();
  for (const runtime::SubDnn& s : program.sub_dnns()) artifacts += s.artifact_bytes;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {{"weight_bytes", weights},
          {"artifact_bytes", artifacts},
          {"peak_resident_bytes", static_cast<std::uint64_t>(usage.ru_maxrss) * 1024}};
}

json runs_json(const std::vector<ProfiledRun>& runs, const std::vector<std::size_t>& path_of) {
  json list = json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    json trace = json::array(), calls = json::array();
    for (const runtime::Outcome& o : runs[i].trace) trace.push_back({o.decision, o.arm});
    for (const runtime::TimedCall& c : runs[i].calls) calls.push_back({c.call_site, c.begin, c.nanoseconds});
    json row = {{"input", runs[i].input}, {"seconds", runs[i].seconds}, {"path", path_of[i]}};
    if (!runs[i].error.empty()) row["error"] = runs[i].error;
    row["trace"] = std::move(trace);
    row["calls"] = std::move(calls);
    list.push_back(std::move(row));
  }
  return list;
}

template <typename... Values>
std::string line_of(const char* format, Values... values) {
  char line[400];
  std::snprintf(line, sizeof line, format, values...);
  return std::string(line) + "\n";
}

std::vector<json> by_share(const json& rows) {
  std::vector<json> sorted(rows.begin(), rows.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const json& a, const json& b) { return a["share"].get<double>() > b["share"].get<double>(); });
  return sorted;
}

std::string more(std::size_t all, std::size_t shown) {
  return all > shown ? "  (" + std::to_string(all - shown) + " more: --json)\n" : std::string();
}

constexpr std::size_t kShown = 20;

std::string paths_table(const json& paths, std::size_t runs) {
  std::string text = line_of("\n%zu paths\n   runs   share  ms per run  ends at", paths.size());
  for (std::size_t i = 0; i < std::min(paths.size(), kShown); ++i) {
    const json& p = paths[i];
    const auto count = p["runs"].get<std::size_t>();
    text += line_of("  %5zu  %4.0f %%  %10.3f  %.300s", count, 100.0 * static_cast<double>(count) / static_cast<double>(runs),
                    1e3 * p["seconds_per_run"].get<double>(), one_line(p["end"].get_ref<const std::string&>()).c_str());
  }
  return text + more(paths.size(), kShown);
}

std::string decisions_table(const json& decisions) {
  std::string text = "\ndecisions\n";
  for (std::size_t i = 0; i < std::min(decisions.size(), kShown); ++i) {
    const json& d = decisions[i];
    std::string taken;
    for (const json& arm : d["arms"])
      taken += (taken.empty() ? "" : ", ") + arm["name"].get<std::string>() + " " + arm["taken"].dump();
    std::string what = d["place"].get<std::string>() + "  " + d["source"].get<std::string>();
    if (d["place"].get<std::string>().empty()) what = "decision " + std::to_string(i);
    if (!d["origin"].get<std::string>().empty()) what += "  [" + d["origin"].get<std::string>() + "]";
    text += "  " + one_line(what + "  " + taken) + "\n";
  }
  return text + more(decisions.size(), kShown);
}

// What the program itself raises has a type: a result like another. Everything else ends the profile.
bool is_own(const Error& error) { return !error.type.empty() && error.kind == ErrorKind::RuntimeFailure; }

Result<ProfiledRun> measured(runtime::Run& run, const std::string& name, const Inputs& arguments) {
  ProfiledRun measured;
  const auto start = Clock::now();
  const auto done = run.run(arguments.values);
  measured.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!done && !is_own(done.error())) {
    Error error = done.error();
    error.message = name + ": " + error.message;
    return error;
  }
  measured.input = name;
  if (!done) measured.error = done.error().type + ": " + done.error().message;
  measured.trace.assign(run.trace().begin(), run.trace().end());
  measured.calls.assign(run.timeline().begin(), run.timeline().end());
  return measured;
}

}  // namespace

Result<std::vector<ProfiledRun>> profile_runs(runtime::Run& run,
                                              const std::vector<std::pair<std::string, Inputs>>& inputs, int warmup,
                                              int repeat) {
  for (int i = 0; i < warmup && !inputs.empty(); ++i)
    if (const auto done = run.run(inputs.front().second.values); !done && !is_own(done.error())) return done.error();
  run.set_trace(true);
  run.set_timeline(true);
  std::vector<ProfiledRun> runs;
  for (const auto& [name, arguments] : inputs) {
    const std::vector<std::uint8_t> random_state = run.random_state();
    DYCL_ASSIGN(ProfiledRun best, measured(run, name, arguments));
    for (int i = 1; i < repeat; ++i) {
      DYCL_TRY(run.set_random_state(random_state));
      DYCL_ASSIGN(ProfiledRun again, measured(run, name, arguments));
      if (again.seconds < best.seconds) best = std::move(again);
    }
    runs.push_back(std::move(best));
  }
  run.set_trace(false);
  run.set_timeline(false);
  return runs;
}

json profile_json(const runtime::Program& program, const std::vector<ProfiledRun>& runs) {
  const double total = total_seconds(runs);
  double inside = 0;
  for (const ProfiledRun& run : runs) inside += seconds_inside(run);
  std::vector<std::size_t> path_of;
  json object = {{"target", program.target()}, {"seconds", total}, {"count", runs.size()}};
  object["paths"] = paths_json(program, runs, path_of);
  object["decisions"] = decisions_json(program, runs);
  object["sites"] = sites_json(program, runs, total);
  object["sub_dnns"] = sub_dnns_json(program, object["sites"]);
  object["engines"] = engines_json(object["sub_dnns"]);
  object["host"] = {{"seconds", total - inside}, {"share", total > 0 ? (total - inside) / total : 0}};
  object["memory"] = memory_json(program);
  object["runs"] = runs_json(runs, path_of);
  return object;
}

std::string profile_table(const json& profile) {
  const auto runs = profile["count"].get<std::size_t>();
  const double total = profile["seconds"].get<double>();
  std::string text = line_of("%zu runs, %.3f ms each on average, target %s", runs,
                             1e3 * total / static_cast<double>(std::max<std::size_t>(runs, 1)),
                             one_line(profile["target"].get_ref<const std::string&>()).c_str());
  text += paths_table(profile["paths"], runs) + decisions_table(profile["decisions"]);
  text += "\nwhere the time goes\n   share  us per call      calls  engine\n";
  const std::vector<json> rows = by_share(profile["sites"]);
  for (std::size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
    const auto calls = rows[i]["calls"].get<std::uint64_t>();
    text += line_of("  %4.1f %%  %11.1f  %9llu  %-8s  %s  %s", 100 * rows[i]["share"].get<double>(),
                    calls ? 1e6 * rows[i]["seconds"].get<double>() / static_cast<double>(calls) : 0.0,
                    static_cast<unsigned long long>(calls), rows[i]["engine"].get_ref<const std::string&>().c_str(),
                    one_line(rows[i]["readable"].get_ref<const std::string&>()).c_str(),
                    one_line(rows[i]["place"].get_ref<const std::string&>()).c_str());
  }
  text += more(rows.size(), kShown);
  text += line_of("  %4.1f %%  host program", 100 * profile["host"]["share"].get<double>());
  const json& memory = profile["memory"];
  const auto megabytes = [&](const char* key) { return static_cast<double>(memory[key].get<std::uint64_t>()) / 1e6; };
  return text + line_of("\nmemory: weights %.1f MB, artifacts %.1f MB, peak of the process %.1f MB",
                        megabytes("weight_bytes"), megabytes("artifact_bytes"), megabytes("peak_resident_bytes"));
}

std::string comparison_table(const json& one, const json& other) {
  std::string text = line_of("%-44s %12s %12s %8s", "ms per run", "first", "second", "ratio");
  const auto per_run = [](const json& profile, const json& row) {
    return 1e3 * row["seconds"].get<double>() / static_cast<double>(std::max(profile["count"].get<std::size_t>(), std::size_t{1}));
  };
  const auto row = [&](const std::string& given, double a, double b) {
    const std::string name = one_line(given);
    text += a > 0 && b > 0 ? line_of("%-44.44s %12.3f %12.3f %8.2f", name.c_str(), a, b, b / a)
                           : line_of("%-44.44s %12.3f %12.3f %8s", name.c_str(), a, b, "");
  };
  std::map<std::string, std::pair<double, double>> parts;
  for (const json& s : one["sub_dnns"]) parts[s["readable"]].first += per_run(one, s);
  for (const json& s : other["sub_dnns"]) parts[s["readable"]].second += per_run(other, s);
  std::vector<std::pair<std::string, std::pair<double, double>>> sorted(parts.begin(), parts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::max(a.second.first, a.second.second) > std::max(b.second.first, b.second.second);
  });
  row("all", per_run(one, one), per_run(other, other));
  row("host program", per_run(one, one["host"]), per_run(other, other["host"]));
  for (std::size_t i = 0; i < std::min(sorted.size(), kShown); ++i)
    row(sorted[i].first, sorted[i].second.first, sorted[i].second.second);
  text += more(sorted.size(), kShown);
  std::size_t apart = 0;
  const std::size_t runs = std::min(one["runs"].size(), other["runs"].size());
  for (std::size_t i = 0; i < runs; ++i) apart += one["runs"][i]["trace"].size() != other["runs"][i]["trace"].size();
  return apart ? text + line_of("%zu of %zu runs took a different number of decisions", apart, runs) : text;
}

json chrome_trace(const runtime::Program& program, const std::vector<ProfiledRun>& runs) {
  json events = json::array();
  events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", "host program"}}}});
  events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", 2}, {"args", {{"name", "sub-DNNs"}}}});
  double at = 0;  // microseconds; runs follow one another
  const auto event = [&](const std::string& name, double begin, double length, int row, json arguments) {
    events.push_back({{"name", name},
                      {"ph", "X"},
                      {"ts", begin},
                      {"dur", length},
                      {"pid", 1},
                      {"tid", row},
                      {"args", std::move(arguments)}});
  };
  for (const ProfiledRun& run : runs) {
    event(run.input, at, run.seconds * 1e6, 1, {{"decisions", run.trace.size()}});
    for (const runtime::TimedCall& call : run.calls) {
      const runtime::CallSite& site = program.call_sites()[call.call_site];
      const runtime::SubDnn& callee = program.sub_dnns()[site.sub_dnn];
      event(callee.readable, at + static_cast<double>(call.begin) / 1e3, static_cast<double>(call.nanoseconds) / 1e3, 2,
            {{"place", place_text(program, site.span)}, {"engine", callee.backend}, {"sub-DNN", callee.name}});
    }
    at += run.seconds * 1e6;
  }
  return events;
}

}  // namespace dycl::tools
