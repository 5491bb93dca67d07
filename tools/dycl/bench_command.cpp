// SPDX-License-Identifier: Apache-2.0
// dycl bench: how long a run takes, as a distribution, and where the time goes: the
// share of each sub-DNN and of everything outside them (the host program).
#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "inputs.h"
#include "run_commands.h"
#include "support/utf8.h"

namespace dycl::tools {
namespace {

using json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string package;
  CommandOptions run;
  int warmup = 5;
  int runs = 100;
  double seconds = 10;
};

struct Measurement {
  std::vector<double> micros;  // sorted
  std::vector<runtime::Profile> profile;
  double profiled_micros = 0;  // of the runs that the profile covers
  int profiled_runs = 0;
  double load_ms = 0;
};

double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const auto high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

Result<double> timed_run(runtime::Run& run, const Inputs& inputs) {
  const auto start = Clock::now();
  DYCL_TRY(run.run(inputs.values));
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Latencies without the profiler, then a tenth of the runs with it: taking times costs time.
Result<Measurement> measure(runtime::Run& run, const Inputs& inputs, const Options& options) {
  Measurement result;
  for (int i = 0; i < options.warmup; ++i) DYCL_TRY(run.run(inputs.values));
  const auto deadline = Clock::now() + std::chrono::duration<double>(options.seconds);
  for (int i = 0; i < options.runs && (i == 0 || Clock::now() < deadline); ++i) {
    DYCL_ASSIGN(const double micros, timed_run(run, inputs));
    result.micros.push_back(micros);
  }
  run.set_profile(true);
  result.profiled_runs = std::max(1, static_cast<int>(result.micros.size()) / 10);
  for (int i = 0; i < result.profiled_runs; ++i) {
    DYCL_ASSIGN(const double micros, timed_run(run, inputs));
    result.profiled_micros += micros;
  }
  result.profile.assign(run.profile().begin(), run.profile().end());
  run.set_profile(false);
  std::sort(result.micros.begin(), result.micros.end());
  return result;
}

json to_json(const runtime::Program& program, const Measurement& m) {
  json shares = json::array();
  double inside = 0;
  for (std::size_t i = 0; i < m.profile.size(); ++i) {
    const double micros = static_cast<double>(m.profile[i].nanoseconds) / 1000;
    inside += micros;
    shares.push_back({{"name", program.sub_dnns()[i].name},
                      {"readable", program.sub_dnns()[i].readable},
                      {"engine", program.sub_dnns()[i].backend},
                      {"calls_per_run", static_cast<double>(m.profile[i].calls) / m.profiled_runs},
                      {"micros_per_run", micros / m.profiled_runs},
                      {"share", micros / m.profiled_micros}});
  }
  const double mean = std::accumulate(m.micros.begin(), m.micros.end(), 0.0) / static_cast<double>(m.micros.size());
  return {{"runs", m.micros.size()},
          {"load_ms", m.load_ms},
          {"target", program.target()},
          {"micros",
           {{"min", m.micros.front()},
            {"p10", quantile(m.micros, 0.1)},
            {"p50", quantile(m.micros, 0.5)},
            {"p90", quantile(m.micros, 0.9)},
            {"p99", quantile(m.micros, 0.99)},
            {"max", m.micros.back()},
            {"mean", mean}}},
          {"sub_dnns", shares},
          {"host",
           {{"micros_per_run", (m.profiled_micros - inside) / m.profiled_runs},
            {"share", (m.profiled_micros - inside) / m.profiled_micros}}}};
}

std::string to_text(const json& object) {
  char line[200];
  const json& t = object["micros"];
  std::snprintf(line, sizeof line, "%zu runs, target %s, loaded in %.1f ms\n", object["runs"].get<std::size_t>(),
                one_line(object["target"].get_ref<const std::string&>()).c_str(), object["load_ms"].get<double>());
  std::string text = line;
  std::snprintf(line, sizeof line,
                "latency us  min %.1f  p10 %.1f  p50 %.1f  p90 %.1f  p99 %.1f  max %.1f  mean %.1f\n",
                t["min"].get<double>(), t["p10"].get<double>(), t["p50"].get<double>(), t["p90"].get<double>(),
                t["p99"].get<double>(), t["max"].get<double>(), t["mean"].get<double>());
  text += line;
  const auto row = [&](const std::string& name, const json& part, double calls) {
    std::snprintf(line, sizeof line, "  %-24s %6.1f %%  %10.1f us  %6.2f calls per run\n", one_line(name).c_str(),
                  100 * part["share"].get<double>(), part["micros_per_run"].get<double>(), calls);
    text += line;
  };
  json rows = object["sub_dnns"];
  std::sort(rows.begin(), rows.end(), [](const json& a, const json& b) { return a["share"] > b["share"]; });
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < rows.size() && i < kShown; ++i)
    row(rows[i]["readable"], rows[i], rows[i]["calls_per_run"].get<double>());
  if (rows.size() > kShown) text += "  (" + std::to_string(rows.size() - kShown) + " more: --json)\n";
  row("host program", object["host"], 1);
  return text;
}

int bench(Console& console, const Options& options) {
  console.stage("load");
  const auto start = Clock::now();
  const auto program = load_program(console, options.package, options.run);
  if (!program) return console.fail(program.error());
  const double load_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  const auto inputs = read_arguments(**program, options.run);
  if (!inputs) return console.fail(inputs.error());
  auto run = make_run(*program, options.run);
  if (!run) return console.fail(run.error());
  run->set_print([](std::string_view) {});
  console.stage("measure");
  auto measured = measure(*run, *inputs, options);
  if (!measured) return console.fail(measured.error(), (*program)->describe(measured.error()));
  measured->load_ms = load_ms;
  console.stage("");
  const json object = to_json(**program, *measured);
  console.result(to_text(object), object);
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& app, Console& console, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "Measure the latency of a package");
  command->add_option("package", options->package, "model.dycl")->required();
  add_run_options(*command, options->run);
  command->add_option("--runs", options->runs, "Most runs to measure")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--warmup", options->warmup, "Runs before that")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seconds", options->seconds, "Stop after so much time")
      ->capture_default_str()
      ->check(real_number(/*zero_too=*/true));
  add_output_options(*command, console);
  command->footer(
      "examples:\n  dycl bench model.dycl --random 0 --runs 1000 --threads 1\n  dycl bench model.dycl x.npy --json");
  command->callback(
      [options, &console, &action] { action = [options, &console] { return bench(console, *options); }; });
}

}  // namespace dycl::tools
