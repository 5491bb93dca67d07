// SPDX-License-Identifier: Apache-2.0
// dycl run: one run of a package on given inputs; outputs to .npy, .npz or the terminal.
#include <cmath>
#include <cstring>
#include <memory>

#include "inputs.h"
#include "run_commands.h"
#include "support/elements.h"
#include "support/python_str.h"

namespace dycl::tools {
namespace {

using nlohmann::json;
using runtime::Value;

struct Options {
  std::string package;
  RunOptions run;
  std::string output;
  std::string expect;
  double tolerance = 1e-5;
  bool trace = false;
};

std::string name_of_output(const runtime::Program& program, std::size_t i) {
  const std::string& name = program.outputs()[i].name;
  return name.empty() ? "output_" + std::to_string(i) : name;
}

json element_json(const runtime::Tensor& tensor, std::size_t index) {
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data) + index * size_of(tensor.dtype);
  if (tensor.dtype == DType::C64 || tensor.dtype == DType::C128) return nullptr;
  const scalar::Scalar value = element_as_scalar(tensor.dtype, bytes);
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
  const double f = std::get<double>(value);
  if (std::isfinite(f)) return f;
  return std::isnan(f) ? "nan" : f > 0 ? "inf" : "-inf";  // JSON has no such numbers
}

// Values in full with --json up to this many elements; for people the first few.
constexpr std::size_t kJsonElements = 10000;
constexpr std::size_t kTextElements = 8;

json to_json(const Value& value) {
  switch (value.kind) {
    case Value::Kind::None: return nullptr;
    case Value::Kind::Bool: return value.boolean;
    case Value::Kind::Int: return value.integer;
    case Value::Kind::Float: return value.floating;
    case Value::Kind::List: {
      json items = json::array();
      for (const Value& item : value.elements) items.push_back(to_json(item));
      return items;
    }
    case Value::Kind::Tensor: break;
  }
  json object = {{"dtype", name_of(value.tensor.dtype)}, {"shape", std::vector<std::int64_t>(value.tensor.shape.begin(), value.tensor.shape.end())}};
  const auto count = value.tensor.element_count();
  if (count <= kJsonElements) {
    json& data = object["data"] = json::array();
    for (std::size_t i = 0; i < count; ++i) data.push_back(element_json(value.tensor, i));
  }
  return object;
}

std::string to_text(const Value& value) {
  if (value.kind != Value::Kind::Tensor) return to_json(value).dump();
  std::string text(name_of(value.tensor.dtype));
  text += "[";
  for (std::size_t i = 0; i < value.tensor.shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(value.tensor.shape[i]);
  text += "] [";
  const auto count = value.tensor.element_count();
  for (std::size_t i = 0; i < count && i < kTextElements; ++i)
    text += (i ? ", " : "") + element_json(value.tensor, i).dump();
  return text + (count > kTextElements ? ", ...]" : "]");
}

json trace_json(const runtime::Program& program, const runtime::Run& run) {
  json decisions = json::array();
  for (const runtime::Outcome& outcome : run.trace()) {
    const runtime::Decision& decision = program.decisions()[outcome.decision];
    json entry = {{"decision", outcome.decision}, {"arm", outcome.arm}, {"block", decision.block}};
    if (decision.span.known()) entry["line"] = decision.span.line;
    decisions.push_back(entry);
  }
  return decisions;
}

int report(const Console& console, const Options& options, const runtime::Run& run, std::span<const Value> results) {
  json object = {{"outputs", json::object()}};
  std::string text;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string name = name_of_output(run.program(), i);
    object["outputs"][name] = to_json(results[i]);
    text += name + " = " + to_text(results[i]) + "\n";
  }
  if (options.trace) {
    object["trace"] = trace_json(run.program(), run);
    for (const json& entry : object["trace"])
      text += "decision " + entry["decision"].dump() + " at " + entry["block"].get<std::string>() + ": arm " + entry["arm"].dump() + "\n";
  }
  console.result(text, object);
  return 0;
}

int run_once(Console& console, const Options& options) {
  const auto program = load_program(console, options.package, options.run);
  if (!program) return console.fail(program.error());
  const auto inputs = read_inputs(**program, options.run.inputs);
  if (!inputs) return console.fail(inputs.error());
  auto run = make_run(*program, options.run);
  if (!run) return console.fail(run.error());
  run->set_trace(options.trace);
  if (console.json) run->set_print([](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); });
  const auto results = run->run(inputs->values);
  if (!results) return console.fail(results.error(), (*program)->describe(results.error()));
  if (!options.output.empty())
    if (const auto written = write_outputs(**program, *results, options.output); !written) return console.fail(written.error());
  if (!options.expect.empty()) return compare(console, **program, *results, options);
  return report(console, options, *run, *results);
}

}  // namespace

}  // namespace dycl::tools
