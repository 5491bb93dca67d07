// SPDX-License-Identifier: Apache-2.0
// What does it cost to cut a net at its gates? See README.md.
//
// A SkipNet-like chain of 54 residual blocks, each run or skipped as a small gate
// says, is compiled as sub-DNNs (one per block, gate and transition) and called
// through the plug-in on the executed path, in these forms: as an oracle (the executed
// path as one graph, conditions kept); cut with plain layouts; cut with layouts that
// the sub-DNNs agree on; and so with the gates as small programs, which is what the
// back end does by default. All on one thread, interleaved, ratios paired by round.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "harness.h"

namespace dycl::test {
namespace {

constexpr int kBlocksPerStage = 18;
const std::vector<std::int64_t> kChannels = {16, 32, 64};

ir::Type image(std::int64_t channels, std::int64_t extent) { return shaped(DType::F32, {1, channels, extent, extent}); }

// Adds layers to any sub-DNN; weights are named, so that all forms share them.
class Layers {
 public:
  explicit Layers(SubDnn& s) : s_(s) {}

  ir::ValueId conv(ir::ValueId x, const std::string& name, std::int64_t in, std::int64_t out, std::int64_t extent,
                   std::int64_t kernel, std::int64_t stride) {
    const float scale = 1.2F / std::sqrt(static_cast<float>(in * kernel * kernel));
    const auto w = s_.weight(name + ".w", random_f32({out, in, kernel, kernel}, seed(name), scale));
    const auto b = s_.weight(name + ".b", random_f32({out}, seed(name) + 1, 0.1F));
    const std::int64_t pad = kernel / 2;
    return s_.op("Conv", {x, w, b}, image(out, extent),
                 {{"kernel_shape", std::vector<std::int64_t>{kernel, kernel}},
                  {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}},
                  {"strides", std::vector<std::int64_t>{stride, stride}}});
  }
  ir::ValueId relu(ir::ValueId x, std::int64_t c, std::int64_t extent) { return s_.op("Relu", {x}, image(c, extent)); }

  ir::ValueId residual(ir::ValueId x, const std::string& name, std::int64_t c, std::int64_t extent) {
    const auto h = relu(conv(x, name + ".1", c, c, extent, 3, 1), c, extent);
    const auto y = conv(h, name + ".2", c, c, extent, 3, 1);
    return relu(s_.op("Add", {y, x}, image(c, extent)), c, extent);
  }
  ir::ValueId transition(ir::ValueId x, const std::string& name, std::int64_t in, std::int64_t out, std::int64_t extent) {
    const auto h = relu(conv(x, name + ".1", in, out, extent, 3, 2), out, extent);
    const auto y = conv(h, name + ".2", out, out, extent, 3, 1);
    const auto shortcut = conv(x, name + ".s", in, out, extent, 1, 2);
    return relu(s_.op("Add", {y, shortcut}, image(out, extent)), out, extent);
  }
  ir::ValueId pooled(ir::ValueId x, std::int64_t c) {
    const auto p = s_.op("GlobalAveragePool", {x}, image(c, 1));
    return s_.op("Flatten", {p}, shaped(DType::F32, {1, c}));
  }
  ir::ValueId gemm(ir::ValueId x, const std::string& name, std::int64_t in, std::int64_t out) {
    const auto w = s_.weight(name + ".w", random_f32({in, out}, seed(name), 1.0F));
    const auto b = s_.weight(name + ".b", random_f32({out}, seed(name) + 1, 0.1F));
    return s_.op("Gemm", {x, w, b}, shaped(DType::F32, {1, out}));
  }
  ir::ValueId gate(ir::ValueId x, const std::string& name, std::int64_t c) {
    const auto h = s_.op("Relu", {gemm(pooled(x, c), name + ".1", c, 10)}, shaped(DType::F32, {1, 10}));
    return s_.op("Greater", {gemm(h, name + ".2", 10, 1), s_.constant(f32({}, {-0.5F}))}, shaped(DType::Bool, {1, 1}));
  }

 private:
  static unsigned seed(const std::string& name) { return static_cast<unsigned>(std::hash<std::string>()(name)); }
  SubDnn& s_;
};

struct Step {
  std::string gate, block;       // functions
  std::int64_t channels, extent;
  bool transition_before = false;  // the gate's function first does a transition
};

std::vector<Step> steps() {
  std::vector<Step> all;
  for (std::size_t stage = 0; stage < kChannels.size(); ++stage)
    for (int i = 0; i < kBlocksPerStage; ++i) {
      const std::string n = std::to_string(stage) + "_" + std::to_string(i);
      all.push_back({"gate" + n, "block" + n, kChannels[stage], 32 >> stage, stage > 0 && i == 0});
    }
  return all;
}

// What a gate's function computes before its gate: the stem, a transition or nothing.
ir::ValueId before_gate(Layers& layers, ir::ValueId x, const Step& step, bool first) {
  if (first) return layers.relu(layers.conv(x, "stem", 3, step.channels, step.extent, 3, 1), step.channels, step.extent);
  if (!step.transition_before) return x;
  return layers.transition(x, "transition." + step.gate, step.channels / 2, step.channels, step.extent);
}

ir::Program cut_program() {
  ir::Program program = empty_program();
  const std::vector<Step> all = steps();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Step& step = all[i];
    SubDnn g(program, step.gate);
    Layers gate_layers(g);
    const bool makes = i == 0 || step.transition_before;
    const auto in = g.input(i == 0                     ? image(3, 32)
                            : step.transition_before ? image(step.channels / 2, step.extent * 2)
                                                     : image(step.channels, step.extent));
    const auto x = before_gate(gate_layers, in, step, i == 0);
    const auto condition = gate_layers.gate(x, step.gate, step.channels);
    if (makes) g.returns({x, condition});
    else g.returns({condition});
    SubDnn b(program, step.block);
    const auto y = b.input(image(step.channels, step.extent));
    b.returns({Layers(b).residual(y, step.block, step.channels, step.extent)});
  }
  SubDnn head(program, "head");
  Layers head_layers(head);
  const auto x = head.input(image(64, 8));
  head.returns({head_layers.gemm(head_layers.pooled(x, 64), "head", 64, 10)});
  return program;
}

// The host program, from which the back end sees who hands what to whom.
void write_main(ir::Program& program) {
  ir::Function main;
  main.name = "main";
  const auto input = main.add_value(image(3, 32));
  main.params.push_back({input, {}});
  main.blocks.emplace_back();
  ir::ValueId x = input;
  std::size_t at = 0;
  auto call = [&](std::size_t block, const std::string& callee, ir::ValueId operand, std::vector<ir::Type> types) {
    ir::Op op;
    op.name = "call";
    op.operands = {operand};
    op.attrs["callee"] = callee;
    for (ir::Type& type : types) op.results.push_back(main.add_value(std::move(type)));
    main.blocks[block].body.push_back(op);
    return op.results;
  };
  const std::vector<Step> all = steps();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Step& step = all[i];
    const bool makes = i == 0 || step.transition_before;
    std::vector<ir::Type> types = {shaped(DType::Bool, {1, 1})};
    if (makes) types.insert(types.begin(), image(step.channels, step.extent));
    const auto results = call(at, step.gate, x, types);
    if (makes) x = results[0];
    ir::Op item;
    item.name = "item";
    item.operands = {results.back()};
    item.results = {main.add_value(ir::Type::boolean())};
    main.blocks[at].body.push_back(item);
    main.blocks.resize(main.blocks.size() + 2);  // the arm, then the join
    const auto arm = static_cast<std::uint32_t>(main.blocks.size() - 2), join = arm + 1;
    const auto joined = main.add_value(image(step.channels, step.extent));
    main.blocks[join].params = {joined};
    main.blocks[at].exit = ir::Branch{item.results[0], {{arm}, {}}, {{join}, {x}}};
    const auto y = call(arm, step.block, x, {image(step.channels, step.extent)});
    main.blocks[arm].exit = ir::Goto{{{join}, {y[0]}}};
    at = join;
    x = joined;
  }
  const auto logits = call(at, "head", x, {shaped(DType::F32, {1, 10})});
  main.blocks[at].exit = ir::Return{logits};
  main.results.push_back({shaped(DType::F32, {1, 10}), {}, {}});
  program.functions[0] = std::move(main);
}

// The executed path as one sub-DNN: logits, then every condition.
ir::Program oracle_program(const std::vector<bool>& decisions) {
  ir::Program program = empty_program();
  SubDnn s(program, "oracle");
  Layers layers(s);
  ir::ValueId x = s.input(image(3, 32));
  std::vector<ir::ValueId> results = {{}};
  const std::vector<Step> all = steps();
  for (std::size_t i = 0; i < all.size(); ++i) {
    x = before_gate(layers, x, all[i], i == 0);
    results.push_back(layers.gate(x, all[i].gate, all[i].channels));
    if (decisions[i]) x = layers.residual(x, all[i].block, all[i].channels, all[i].extent);
  }
  results[0] = layers.gemm(layers.pooled(x, 64), "head", 64, 10);
  s.returns(results);
  return program;
}

template <typename T>
T must(Result<T> result, const char* what) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", what, result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

struct Form {
  ir::Program program;
  std::unique_ptr<PluginRun> run;
  std::vector<PluginRun::Call> calls;  // of the executed path, buffers in place
};

Form make_form(ir::Program program, bool layouts, bool small_programs) {
  Form form;
  form.program = std::move(program);
  const auto backend = must(backends::find_backend("ort"), "back end");
  backends::BackendOptions options;
  options.layouts = layouts;
  options.small_programs = small_programs;
  const auto artifacts = must(backend->compile_program(form.program, options), "compile");
  form.run = must(PluginRun::create(form.program, artifacts, {}), "load");
  return form;
}

bool truth(const std::vector<std::uint8_t>& bytes) { return bytes.at(0) != 0; }

// Walks the cut program once, keeping calls and buffers for later. Two buffers per
// stage take turns, as planned by liveness.
std::vector<bool> trace(Form& form, const Tensor& input) {
  std::vector<bool> decisions;
  auto x = form.run->buffer(input);
  std::shared_ptr<PluginRun::Buffer> spare;
  const std::vector<Step> all = steps();
  for (std::size_t i = 0; i < all.size(); ++i) {
    form.calls.push_back(form.run->prepare(all[i].gate, {x}));
    must(form.run->call(form.calls.back()), "gate");
    if (i == 0 || all[i].transition_before) {
      x = form.calls.back().outputs[0];
      spare = nullptr;
    }
    decisions.push_back(truth(PluginRun::bytes(form.calls.back().outputs.back())));
    if (!decisions.back()) continue;
    form.calls.push_back(form.run->prepare(all[i].block, {x}, {spare}));
    must(form.run->call(form.calls.back()), "block");
    spare = std::exchange(x, form.calls.back().outputs[0]);
  }
  form.calls.push_back(form.run->prepare("head", {x}));
  must(form.run->call(form.calls.back()), "head");
  return decisions;
}

// Microseconds of this thread: what else the machine does counts less than on a clock.
double now() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

double time_once(Form& form) {
  volatile bool taken = false;
  const double start = now();
  for (PluginRun::Call& call : form.calls) {
    if (!form.run->call(call)) std::exit(1);
    taken = PluginRun::first_byte(call) != 0;  // the host reads each condition
  }
  (void)taken;
  return now() - start;
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

float max_error(const Form& a, const Form& b) {
  const auto x = PluginRun::bytes(a.calls.back().outputs[0]), y = PluginRun::bytes(b.calls.back().outputs[0]);
  float error = 0;
  for (std::size_t i = 0; i + 3 < x.size(); i += 4) {
    float u = 0, v = 0;
    std::memcpy(&u, &x[i], 4);
    std::memcpy(&v, &y[i], 4);
    error = std::max(error, std::abs(u - v) / std::max(1.0F, std::abs(u)));
  }
  return error;
}

void measure(const Tensor& input, int rounds, unsigned which) {
  ir::Program cut = cut_program();
  write_main(cut);
  Form naive = make_form(cut, false, false), agreed = make_form(cut, true, false), small = make_form(cut, true, true);
  const std::vector<bool> decisions = trace(naive, input);
  if (trace(agreed, input) != decisions || trace(small, input) != decisions) {
    std::fprintf(stderr, "the forms decide differently\n");
    std::exit(1);
  }
  Form oracle = make_form(oracle_program(decisions), true, false);
  Form again = make_form(oracle_program(decisions), true, false);
  for (Form* form : {&oracle, &again}) {
    form->calls.push_back(form->run->prepare("oracle", {form->run->buffer(input)}));
    must(form->run->call(form->calls.back()), "oracle");
  }
  std::vector<Form*> forms = {&oracle, &again, &naive, &agreed, &small};
  std::vector<std::vector<double>> times(forms.size());
  for (int round = -10; round < rounds; ++round)
    for (std::size_t k = 0; k < forms.size(); ++k) {
      const std::size_t form = (k + static_cast<std::size_t>(round + 10)) % forms.size();
      (void)time_once(*forms[form]);  // brings its own data back into the caches
      const double us = std::min(time_once(*forms[form]), time_once(*forms[form]));
      if (round >= 0) times[form].push_back(us);
    }
  const char* names[] = {"oracle", "oracle again (A/A)", "cut, plain layouts", "cut, agreed layouts", "same, small gates"};
  std::printf("input %u: %ld of %zu blocks run\n", which, std::count(decisions.begin(), decisions.end(), true),
              decisions.size());
  for (std::size_t k = 0; k < forms.size(); ++k) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times[k].size(); ++i) ratios.push_back(times[k][i] / times[0][i]);
    std::printf("  %-20s median %8.0f us  min %8.0f us  paired ratio %.3f  ratio of mins %.3f  (%zu calls, error %.1e)\n",
                names[k], median(times[k]), *std::min_element(times[k].begin(), times[k].end()), median(ratios),
                *std::min_element(times[k].begin(), times[k].end()) /
                    *std::min_element(times[0].begin(), times[0].end()),
                forms[k]->calls.size(), static_cast<double>(max_error(*forms[0], *forms[k])));
  }
}

}  // namespace
}  // namespace dycl::test

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  for (unsigned which = 0; which < 3; ++which)
    dycl::test::measure(dycl::test::random_f32({1, 3, 32, 32}, 100 + which, 0.5F * static_cast<float>(1U << (2 * which))),
                        rounds, which);
}
