// SPDX-License-Identifier: Apache-2.0
// generated_onnx FOLDER FIRST COUNT: writes generated programs as ONNX models, with arguments and what the
// reference interpreter makes of them, for tests/emit/test_onnx.py to run in ONNX Runtime. Prints one
// JSON object per program.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "emit/onnx/writer.h"
#include "generate/generate.h"
#include "ir/interpret.h"
#include "passes/pipeline.h"

namespace {

using namespace dycl;
using nlohmann::json;

std::string hex(const std::vector<std::uint8_t>& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t b : bytes) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

// Lists and optionals are arrays, as they are sequences in ONNX.
json to_json(const ir::HostValue& v) {
  if (const auto* b = std::get_if<bool>(&v.held)) return {{"bool", *b}};
  if (const auto* i = std::get_if<std::int64_t>(&v.held)) return {{"int", *i}};
  if (const auto* f = std::get_if<double>(&v.held)) {
    char text[40];
    std::snprintf(text, sizeof text, "%a", *f);
    return {{"float", text}};
  }
  if (std::holds_alternative<std::shared_ptr<const ir::Tensor>>(v.held)) {
    const ir::Tensor& t = v.tensor();
    return {{"dtype", name_of(t.dtype)}, {"shape", t.shape}, {"bytes", hex(t.bytes)}};
  }
  json items = json::array();
  if (std::holds_alternative<ir::HostValue::Optional>(v.held)) {
    if (v.inside()) items.push_back(to_json(*v.inside()));
  } else {
    for (const ir::HostValue& item : v.items()) items.push_back(to_json(item));
  }
  return items;
}

json run_of(ir::Interpreter& interpreter, const ir::Program& program, const std::vector<ir::HostValue>& arguments,
            std::map<std::string, ir::HostValue>& states) {
  json run = {{"arguments", json::array()}, {"states", json::object()}, {"given", json::object()}};
  for (const ir::HostValue& a : arguments) run["arguments"].push_back(to_json(a));
  for (const auto& [name, value] : states) run["given"][name] = to_json(value);
  ir::RunOptions how;
  how.states = states;
  how.loop_limit = 2000;
  const auto outcome = interpreter.run(arguments, how);
  if (!outcome) {
    run["error"] = outcome.error().type;
    return run;
  }
  run["results"] = json::array();
  for (const ir::HostValue& r : outcome->results) run["results"].push_back(to_json(r));
  for (const ir::Output& o : program.main().results)
    if (!o.state.empty()) run["states"][o.state] = to_json(outcome->states.at(o.state));
  states = outcome->states;
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const std::filesystem::path folder = argv[1];
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10), count = std::strtoull(argv[3], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    generate::GenerateOptions options;
    options.failures = seed % 3 == 0;
    options.effects = seed % 5 == 0;
    const ir::Program program = generate::generate_program(seed, options);
    ir::Program compiled = program;
    if (!passes::run_pipeline(compiled)) return 70;
    json out = {{"seed", seed}};
    const std::filesystem::path path = folder / (std::to_string(seed) + ".onnx");
    const auto report = emit::write_onnx(compiled, {}, path);
    if (!report) {
      out["refused"] = report.error().message;
      std::printf("%s\n", out.dump().c_str());
      continue;
    }
    out["model"] = path.string();
    out["notices"] = report->notices;
    out["nesting"] = report->nesting;
    auto evaluator = ir::make_builtin_evaluator();
    auto interpreter = ir::Interpreter::create(program, *evaluator);
    if (!interpreter) return 70;
    std::map<std::string, ir::HostValue> states;
    for (std::uint64_t round = 0; round < 3; ++round)
      out["runs"].push_back(
          run_of(*interpreter, program, generate::generate_arguments(program, seed * 10 + round), states));
    std::printf("%s\n", out.dump().c_str());
  }
  return 0;
}
