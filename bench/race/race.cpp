// SPDX-License-Identifier: Apache-2.0
// dycl-race: packages against the oracle, input by input.
//
//   dycl-race --program p.dyir --package p.dycl [--package other.dycl] x0.npz x1.npz --seconds 2 --threads 1
//
// For each input the executed path becomes one static graph (path.h), compiled whole: by plain ONNX Runtime
// (twice: the second is the A/A control) and by plain OpenVINO where the build has it. Every racer is checked against
// the reference interpreter first. Then rounds: each racer in turn, once to warm up, then a batch that is timed. The
// raw times per round go out as JSON; bench/stats.py makes paired ratios of them.
#include <time.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "backends/ort/evaluator.h"
#include "driver/read_program.h"
#include "dycl/runtime.h"
#include "engine.h"
#include "openvino.h"
#include "passes/pipeline.h"
#include "path.h"
#include "support/npy.h"

namespace dycl::bench {
namespace {

using nlohmann::json;

struct Options {
  std::string program, write, cold;
  std::vector<std::string> packages, inputs;
  int threads = 1, rounds = 1000;
  double seconds = 2;
  bool profile = false, no_oracle = false;
};

struct Times {
  double wall = 0, cpu = 0;  // microseconds; cpu: of the whole process
};

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Something that computes the results for the present input.
struct Racer {
  Racer(std::string racer_name, std::function<Result<void>()> what)
      : name(std::move(racer_name)), run(std::move(what)) {}

  std::string name;
  std::function<Result<void>()> run;
  int batch = 1;
  double once = 0;  // microseconds of a first run, about
  std::vector<Times> times;
};

ir::HostValue to_host(const runtime::Value& v) {
  using Kind = runtime::Value::Kind;
  switch (v.kind) {
    case Kind::Bool: return ir::HostValue::of(v.boolean);
    case Kind::Int: return ir::HostValue::of(v.integer);
    case Kind::Float: return ir::HostValue::of(v.floating);
    case Kind::None: return ir::HostValue::none();
    case Kind::Tensor: {
      ir::Tensor t{v.tensor.dtype, {v.tensor.shape.begin(), v.tensor.shape.end()}, {}};
      const auto* bytes = static_cast<const std::uint8_t*>(v.tensor.data);
      t.bytes.assign(bytes, bytes + v.tensor.byte_size());
      return ir::HostValue::of(std::move(t));
    }
    case Kind::List: break;
  }
  ir::HostValue::List items;
  for (const runtime::Value& item : v.elements) items.push_back(to_host(item));
  return ir::HostValue::list(std::move(items));
}

// One argument per member of the archive, in order; those of scalar parameters have one element.
Result<std::vector<ir::HostValue>> read_arguments(const ir::Program& program, const std::string& file) {
  DYCL_ASSIGN(std::vector<NamedArray> arrays, read_arrays(file));
  std::vector<ir::HostValue> arguments;
  for (const ir::Param& param : program.main().params) {
    if (!param.state.empty()) continue;
    if (arguments.size() == arrays.size())
      return Error{ErrorKind::InvalidInput, file + " has too few arrays", {}, {}, {}};
    NamedArray& array = arrays[arguments.size()];
    ir::Tensor tensor{array.dtype, array.shape, std::move(array.bytes)};
    using Kind = ir::Type::Kind;
    const Kind kind = program.main().type_of(param.value).kind;
    if (kind == Kind::Int && tensor.bytes.size() == sizeof(std::int64_t))
      arguments.push_back(ir::HostValue::of(*tensor.data<std::int64_t>()));
    else if (kind == Kind::Float && tensor.bytes.size() == sizeof(double))
      arguments.push_back(ir::HostValue::of(*tensor.data<double>()));
    else if (kind == Kind::Bool && tensor.bytes.size() == 1)
      arguments.push_back(ir::HostValue::of(*tensor.data<bool>()));
    else
      arguments.push_back(ir::HostValue::of(std::move(tensor)));
  }
  return arguments;
}

runtime::Value to_value(const ir::HostValue& value) {
  if (std::holds_alternative<bool>(value.held)) return runtime::Value::of(value.boolean());
  if (std::holds_alternative<std::int64_t>(value.held)) return runtime::Value::of(value.integer());
  if (std::holds_alternative<double>(value.held)) return runtime::Value::of(value.floating());
  const ir::Tensor& t = value.tensor();
  return runtime::Value::of(runtime::Tensor{t.bytes.data(), t.dtype, t.shape});
}

// The largest difference of floating tensors relative to the largest element; infinite where anything else differs.
double distance(const ir::HostValue& a, const ir::HostValue& b) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (a.held.index() != b.held.index()) return kFar;
  if (std::holds_alternative<std::shared_ptr<const ir::HostValue::List>>(a.held)) {
    if (a.items().size() != b.items().size()) return kFar;
    double worst = 0;
    for (std::size_t i = 0; i < a.items().size(); ++i) worst = std::max(worst, distance(a.items()[i], b.items()[i]));
    return worst;
  }
  if (std::holds_alternative<double>(a.held))
    return std::abs(a.floating() - b.floating()) / (1e-30 + std::abs(b.floating()));
  if (!std::holds_alternative<std::shared_ptr<const ir::Tensor>>(a.held)) return ir::difference(a, b) ? kFar : 0;
  const ir::Tensor &x = a.tensor(), &y = b.tensor();
  if (x.dtype != y.dtype || x.shape != y.shape) return kFar;
  if (x.dtype != DType::F32) return x.bytes == y.bytes ? 0 : kFar;
  double largest = 1e-30, worst = 0;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    if (std::isnan(x.data<float>()[i]) != std::isnan(y.data<float>()[i])) return kFar;
    largest = std::max(largest, std::abs(static_cast<double>(y.data<float>()[i])));
    worst = std::max(worst, std::abs(static_cast<double>(x.data<float>()[i]) - y.data<float>()[i]));
  }
  return worst / largest;
}

double distance_of(const std::vector<ir::Tensor>& a, const std::vector<ir::Tensor>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < b.size(); ++i)
    worst = std::max(worst, distance(ir::HostValue::of(a[i]), ir::HostValue::of(b[i])));
  return worst;
}

struct Loaded {
  std::string file;
  std::shared_ptr<const runtime::Program> program;
  std::unique_ptr<runtime::Run> run;
  double load_ms = 0;
};

Result<Loaded> load(const std::string& file, const Options& options) {
  const double start = seconds_of(CLOCK_MONOTONIC);
  runtime::LoadOptions load;
  load.threads = options.threads;
  Loaded loaded;
  loaded.file = file;
  DYCL_ASSIGN(loaded.program, runtime::Program::load(file, load));
  DYCL_ASSIGN(runtime::Run run, runtime::Run::create(loaded.program));
  run.set_print([](std::string_view) {});
  loaded.run = std::make_unique<runtime::Run>(std::move(run));
  loaded.load_ms = 1e3 * (seconds_of(CLOCK_MONOTONIC) - start);
  return loaded;
}

// A run that takes this long is not much faster with warm caches; more rounds tell more than runs to warm it.
constexpr double kLongMicros = 50e3;

Result<Times> timed(const Racer& racer) {
  if (racer.once < kLongMicros) DYCL_TRY(racer.run());
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
  for (int i = 0; i < racer.batch; ++i) DYCL_TRY(racer.run());
  const double wall_end = seconds_of(CLOCK_MONOTONIC), cpu_end = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  return Times{1e6 * (wall_end - wall) / racer.batch, 1e6 * (cpu_end - cpu) / racer.batch};
}

Result<void> race(std::vector<Racer>& racers, const Options& options) {
  constexpr double kBatchMicros = 500;
  constexpr int kLargestBatch = 50;
  for (Racer& racer : racers) {
    DYCL_TRY(racer.run());
    DYCL_ASSIGN(const Times once, timed(racer));
    racer.once = once.wall;
    racer.batch = std::clamp(static_cast<int>(kBatchMicros / once.wall), 1, kLargestBatch);
  }
  // Processor time, so that a busy machine does not mean fewer rounds; but not for ever.
  const double end = seconds_of(CLOCK_PROCESS_CPUTIME_ID) + options.seconds;
  const double latest = seconds_of(CLOCK_MONOTONIC) + 10 * options.seconds;
  const auto time_left = [&] {
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID) < end && seconds_of(CLOCK_MONOTONIC) < latest;
  };
  constexpr int kFewest = 3;
  // In another order each round, and nobody twice in a row: who follows itself finds its caches warm.
  std::mt19937 generator(1);  // NOLINT: the same orders every time
  std::vector<std::size_t> order(racers.size());
  std::iota(order.begin(), order.end(), 0);
  std::size_t last = racers.size();
  for (int round = 0; round < options.rounds && (round < kFewest || time_left()); ++round) {
    do std::shuffle(order.begin(), order.end(), generator);
    while (order.size() > 1 && order.front() == last);
    last = order.back();
    for (const std::size_t i : order) {
      DYCL_ASSIGN(const Times times, timed(racers[i]));
      racers[i].times.push_back(times);
    }
  }
  return {};
}

json profile_of(Loaded& package, const std::vector<runtime::Value>& values) {
  constexpr int kRuns = 20;
  package.run->set_profile(true);
  const double start = seconds_of(CLOCK_MONOTONIC);
  for (int i = 0; i < kRuns; ++i) (void)package.run->run(values);
  const double micros = 1e6 * (seconds_of(CLOCK_MONOTONIC) - start) / kRuns;
  json rows = json::array();
  const auto profile = package.run->profile();
  for (std::size_t i = 0; i < profile.size(); ++i)
    if (profile[i].calls)
      rows.push_back({package.program->sub_dnns()[i].name, static_cast<double>(profile[i].calls) / kRuns,
                      1e-3 * static_cast<double>(profile[i].nanoseconds) / kRuns});
  package.run->set_profile(false);
  return {{"micros", micros}, {"sub_dnns", rows}};
}

json times_json(const Racer& racer) {
  json wall = json::array(), cpu = json::array();
  for (const Times& t : racer.times) {
    wall.push_back(std::round(t.wall * 100) / 100);
    cpu.push_back(std::round(t.cpu * 100) / 100);
  }
  return {{"name", racer.name}, {"batch", racer.batch}, {"wall", wall}, {"cpu", cpu}};
}

// Runs the package once on the input and compares.
Result<double> checked(Loaded& package, const std::vector<runtime::Value>& values, const Path& path) {
  DYCL_ASSIGN(const auto results, package.run->run(values));
  double worst = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    worst = std::max(worst, distance(to_host(results[i]), path.results[i]));
  return worst;
}

// Packages among themselves: the first one's results are what the others are compared with.
Result<json> race_packages(const Options& options, const std::string& input, const ir::Program& program,
                           std::vector<Loaded>& packages) {
  DYCL_ASSIGN(const auto arguments, read_arguments(program, input));
  std::vector<runtime::Value> values;
  for (const ir::HostValue& argument : arguments) values.push_back(to_value(argument));
  Path first;
  json out = {{"input", input}};
  std::vector<Racer> racers;
  for (Loaded& package : packages) {
    if (racers.empty()) {
      DYCL_ASSIGN(const auto results, package.run->run(values));
      for (const auto& result : results) first.results.push_back(to_host(result));
    }
    DYCL_ASSIGN(out["errors"][package.file], checked(package, values, first));
    racers.emplace_back(package.file, [&package, &values]() -> Result<void> {
      DYCL_TRY(package.run->run(values));
      return {};
    });
  }
  DYCL_TRY(race(racers, options));
  for (const Racer& racer : racers) out["racers"].push_back(times_json(racer));
  return out;
}

Result<json> race_input(const Options& options, const std::string& input, const ir::Program& program,
                        ir::TensorEvaluator& evaluator, const Engine& engine, std::vector<Loaded>& packages) {
  DYCL_ASSIGN(const auto arguments, read_arguments(program, input));
  DYCL_ASSIGN(const Path path, path_of(program, evaluator, arguments));
  std::string taken;
  for (const ir::Decision& decision : path.decisions) taken += static_cast<char>('0' + decision.outcome % 10);
  json out = {{"input", input}, {"decisions", taken}, {"path_ops", path.program.main().blocks[0].body.size()}};
  if (!options.write.empty()) {
    const auto stem = std::filesystem::path(input).stem().string();
    DYCL_TRY(write_onnx(path.program, options.write + "/" + stem + ".onnx"));
  }
  if (options.seconds <= 0) return out;

  std::vector<runtime::Value> values;
  for (const ir::HostValue& argument : arguments) values.push_back(to_value(argument));

  std::vector<Racer> racers;
  for (Loaded& package : packages) {
    DYCL_ASSIGN(const double error, checked(package, values, path));
    out["errors"][package.file] = error;
    racers.emplace_back(package.file, [&package, &values]() -> Result<void> {
      DYCL_TRY(package.run->run(values));
      return {};
    });
  }
  std::vector<std::unique_ptr<Engine::Session>> sessions;
  for (const char* name : {"oracle:ort", "control:ort"}) {
    const double start = seconds_of(CLOCK_MONOTONIC);
    DYCL_ASSIGN(Engine::Session session, engine.load(path.program, path.inputs, path.expected));
    sessions.push_back(std::make_unique<Engine::Session>(std::move(session)));
    out["load_ms"][name] = 1e3 * (seconds_of(CLOCK_MONOTONIC) - start);
    Engine::Session* racing = sessions.back().get();
    DYCL_TRY(racing->run());
    out["errors"][name] = distance_of(racing->outputs(), path.expected);
    racers.emplace_back(name, [racing] { return racing->run(); });
  }
  std::unique_ptr<OpenVinoSession> other;
  if (OpenVinoSession::is_built()) {
    auto loaded = OpenVinoSession::load(path.program, path.inputs, path.expected, options.threads);
    if (loaded && (*loaded)->run()) {
      other = std::move(*loaded);
      out["errors"]["oracle:openvino"] = distance_of(other->outputs(), path.expected);
      racers.emplace_back("oracle:openvino", [&other] { return other->run(); });
    } else if (!loaded) {
      out["refused"]["oracle:openvino"] = loaded.error().message;
    }
  }
  DYCL_TRY(race(racers, options));
  for (const Racer& racer : racers) out["racers"].push_back(times_json(racer));
  if (options.profile)
    for (Loaded& package : packages) out["profiles"][package.file] = profile_of(package, values);
  return out;
}

// What the engine itself needs for the sub-DNNs that the passes make: each loaded once, all optimisations on.
Result<void> time_engine(const Options& options) {
  DYCL_ASSIGN(ir::Program program, driver::read_program(options.program));
  DYCL_TRY(passes::run_pipeline(program, {}));
  DYCL_ASSIGN(const Engine engine, Engine::create(options.threads));
  double seconds = 0, cpu = 0;
  int count = 0;
  for (const ir::Function& function : program.functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    ir::Program alone;
    alone.weights = program.weights;
    alone.functions = {function};
    const double start = seconds_of(CLOCK_MONOTONIC), cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    DYCL_TRY(engine.load(alone, {}, {}));
    seconds += seconds_of(CLOCK_MONOTONIC) - start;
    cpu += seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
    ++count;
  }
  std::cout << json{{"engine_seconds", seconds}, {"engine_cpu_seconds", cpu}, {"sub_dnns", count}}.dump() << std::endl;
  return {};
}

// The largest resident memory of this process so far, in KiB.
std::int64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::strtoll(line.c_str() + 6, nullptr, 10);
  return 0;
}

void tell_first(double start) {
  const double end = seconds_of(CLOCK_MONOTONIC);
  std::cout << json{{"first_ms", 1e3 * (end - start)}, {"peak_kib", peak_kib()}}.dump() << std::endl;
}

// A static model in the engine alone, from the file to its first results.
Result<void> first_run(const Options& options) {
  DYCL_ASSIGN(std::vector<NamedArray> arrays, read_arrays(options.inputs.at(0)));
  std::vector<ir::Tensor> inputs;
  for (NamedArray& array : arrays) inputs.push_back({array.dtype, array.shape, std::move(array.bytes)});
  const double start = seconds_of(CLOCK_MONOTONIC);
  DYCL_TRY(run_cold(options.cold, inputs, options.threads));
  tell_first(start);
  return {};
}

// A package the same way.
Result<void> first_run_of_package(const Options& options) {
  DYCL_ASSIGN(std::vector<NamedArray> arrays, read_arrays(options.inputs.at(0)));
  const double start = seconds_of(CLOCK_MONOTONIC);
  DYCL_ASSIGN(Loaded package, load(options.cold, options));
  std::vector<runtime::Value> values;
  for (const NamedArray& array : arrays)
    values.push_back(runtime::Value::of(runtime::Tensor{array.bytes.data(), array.dtype, array.shape}));
  DYCL_TRY(package.run->run(values));
  tell_first(start);
  return {};
}

Result<void> run(const Options& options) {
  if (!options.cold.empty())
    return std::filesystem::path(options.cold).extension() == ".onnx" ? first_run(options)
                                                                      : first_run_of_package(options);
  if (options.inputs.empty()) return time_engine(options);
  // Packages first: their engine makes the process's thread pool.
  std::vector<Loaded> packages;
  json head = {{"threads", options.threads}};
  for (const std::string& file : options.packages) {
    DYCL_ASSIGN(Loaded loaded, load(file, options));
    head["load_ms"][file] = loaded.load_ms;
    packages.push_back(std::move(loaded));
  }
  std::cout << head.dump() << std::endl;
  DYCL_ASSIGN(const auto evaluator, backends::ort::make_evaluator());
  DYCL_ASSIGN(const Engine engine, Engine::create(options.threads));
  DYCL_ASSIGN(const ir::Program program, driver::read_program(options.program));
  for (const std::string& input : options.inputs) {
    DYCL_ASSIGN(const json line, options.no_oracle ? race_packages(options, input, program, packages)
                                                   : race_input(options, input, program, *evaluator, engine, packages));
    std::cout << line.dump() << std::endl;
  }
  return {};
}

}  // namespace
}  // namespace dycl::bench

int main(int argc, char** argv) {
  dycl::bench::Options options;
  CLI::App app("Packages against the oracle of each input; JSON lines on standard output");
  app.add_option("--program", options.program, "The program before the passes (.dyir)");
  app.add_option("--package", options.packages, "A package of it; several may race")->allow_extra_args(false);
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_option("--seconds", options.seconds, "For the rounds of one input; 0: only write")->capture_default_str();
  app.add_option("--rounds", options.rounds, "At most")->capture_default_str();
  app.add_option("--write", options.write, "A folder for the oracles as ONNX files");
  app.add_option("--cold", options.cold, "An .onnx that --write left, or a package: only load it and run it once");
  app.add_flag("--no-oracle", options.no_oracle, "Only packages; their results are compared with the first one's");
  app.add_flag("--profile", options.profile, "Time per sub-DNN as well");
  app.add_option("inputs", options.inputs,
                 ".npz files, one per input: arguments in order; none: the engine's own time to load the sub-DNNs");
  CLI11_PARSE(app, argc, argv);
  if (options.program.empty() == options.cold.empty() || (!options.cold.empty() && options.inputs.size() != 1)) {
    std::cerr << "give --program, or --cold and one input\n";
    return 64;
  }
  const auto result = dycl::bench::run(options);
  if (result) return 0;
  std::cerr << dycl::driver::render(result.error()) << "\n";
  return static_cast<int>(result.error().kind);
}
