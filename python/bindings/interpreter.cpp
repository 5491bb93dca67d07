// SPDX-License-Identifier: Apache-2.0
#include "interpreter.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>

#include "backends/backend.h"
#include "backends/default_engine.h"
#include "builder.h"
#include "errors.h"
#include "ir/interpret.h"
#include "tensors.h"
#include "values.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

using ir::HostValue;

// `type` tells an int from a float and an optional from what it holds; null: by the value alone.
HostValue import_host_value(nb::handle value, const ir::Type* type, const std::string& name, int depth = 0) {
  using Kind = ir::Type::Kind;
  PyObject* p = value.ptr();
  if (type && type->kind == Kind::Optional)
    return p == Py_None ? HostValue::none()
                        : HostValue::some(import_host_value(value, &type->element.front(), name, depth + 1));
  if (PyBool_Check(p)) return HostValue::of(p == Py_True);
  if (PyLong_Check(p)) {
    if (type && type->kind == Kind::Float) return HostValue::of(import_float(value, name));
    return HostValue::of(import_int(value, name));
  }
  if (PyFloat_Check(p)) return HostValue::of(PyFloat_AS_DOUBLE(p));
  if (PyList_Check(p) || PyTuple_Check(p)) {
    check_depth(depth, name);
    const ir::Type* element = type && type->kind == Kind::List ? &type->element.front() : nullptr;
    HostValue::List items;
    for (nb::handle item : nb::borrow<nb::sequence>(value))
      items.push_back(import_host_value(item, element, name, depth + 1));
    return HostValue::list(std::move(items));
  }
  const HostTensor tensor = import_tensor(value, ("argument '" + name + "'").c_str());
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data);
  return HostValue::of(ir::Tensor{tensor.dtype, tensor.shape, {bytes, bytes + tensor.bytes}});
}

nb::object export_host_value(const HostValue& value, const std::string& framework) {
  if (const auto* b = std::get_if<bool>(&value.held)) return nb::bool_(*b);
  if (const auto* i = std::get_if<std::int64_t>(&value.held)) return nb::int_(*i);
  if (const auto* f = std::get_if<double>(&value.held)) return nb::float_(*f);
  if (const auto* t = std::get_if<std::shared_ptr<const ir::Tensor>>(&value.held))
    return export_value(runtime::Value::of(runtime::Tensor{(*t)->bytes.data(), (*t)->dtype, (*t)->shape}), framework);
  if (const auto* l = std::get_if<std::shared_ptr<const HostValue::List>>(&value.held)) {
    nb::list items;
    for (const HostValue& item : **l) items.append(export_host_value(item, framework));
    return items;
  }
  const HostValue* inside = value.inside();
  return inside ? export_host_value(*inside, framework) : nb::none();
}

// Keeps its own copy of the program, so that the builder may go on.
struct PythonInterpreter {
  std::unique_ptr<ir::Program> program;
  std::unique_ptr<ir::TensorEvaluator> evaluator;
  std::unique_ptr<ir::Interpreter> interpreter;
  ir::RunTrace trace;
};

std::unique_ptr<ir::TensorEvaluator> make_evaluator(const std::string& name) {
  if (name == "builtin") return ir::make_builtin_evaluator();
  if (name == backends::kDefaultEngine) return unwrap(backends::reference_evaluator());
  throw nb::value_error(("no evaluator '" + name + "' in this build").c_str());
}

void create(PythonInterpreter* self, const ProgramBuilder& builder, const std::string& evaluator) {
  auto program = std::make_unique<ir::Program>(*builder.program);
  auto tensor_ops = make_evaluator(evaluator);
  auto interpreter = unwrap(ir::Interpreter::create(*program, *tensor_ops), program->sources);
  new (self) PythonInterpreter{
      std::move(program), std::move(tensor_ops), std::make_unique<ir::Interpreter>(std::move(interpreter)), {}};
}

// Names and types of main's parameters that are arguments.
std::vector<std::pair<std::string, const ir::Type*>> arguments_of(const ir::Program& program) {
  std::vector<std::pair<std::string, const ir::Type*>> result;
  for (const ir::Param& param : program.main().params)
    if (param.state.empty())
      result.emplace_back(program.main().values[param.value.index].hint, &program.main().type_of(param.value));
  return result;
}

nb::tuple run(PythonInterpreter& self, nb::sequence arguments, nb::dict states, std::vector<std::uint32_t> forced,
              std::int64_t loop_limit, std::uint64_t seed, const std::string& framework) {
  std::vector<HostValue> values;
  const auto expected = arguments_of(*self.program);
  for (nb::handle argument : arguments) {
    const std::size_t i = values.size();
    const bool known = i < expected.size();
    values.push_back(import_host_value(argument, known ? expected[i].second : nullptr,
                                       known ? expected[i].first : std::to_string(i)));
  }
  ir::RunOptions options;
  options.forced = std::move(forced);
  options.loop_limit = loop_limit;
  options.seed = seed;
  self.trace = {};
  options.trace = &self.trace;
  for (auto [key, value] : states) {
    const auto name = nb::cast<std::string>(key);
    const auto state = self.program->states.find(name);
    if (state == self.program->states.end()) throw nb::key_error(name.c_str());
    options.states.insert_or_assign(name, import_host_value(value, &state->second.type, name));
  }
  auto outcome = [&] {
    nb::gil_scoped_release release;
    return self.interpreter->run(values, options);
  }();
  if (!outcome) raise(outcome.error(), self.program->sources);
  nb::list results;
  for (const HostValue& value : outcome->results) results.append(export_host_value(value, framework));
  nb::dict new_states;
  for (const auto& [name, value] : outcome->states)
    new_states[nb::str(name.c_str(), name.size())] = export_host_value(value, framework);
  return nb::make_tuple(results, new_states);
}

std::vector<std::tuple<std::string, std::uint32_t, bool>> decisions(const PythonInterpreter& self) {
  std::vector<std::tuple<std::string, std::uint32_t, bool>> result;
  for (const ir::Decision& decision : self.trace.decisions)
    result.emplace_back(self.program->main().block(decision.block).name, decision.outcome, decision.forced);
  return result;
}

}  // namespace

void bind_interpreter(nb::module_& module) {
  nb::class_<PythonInterpreter> c(module, "Interpreter", "The reference interpreter of one program.");
  c.def("__init__", &create, nb::arg("program"), nb::arg("evaluator") = "builtin",
        "evaluator of tensor ops: 'builtin' (few ops) or 'ort' (ONNX Runtime without optimisation).");
  c.def("run", &run, nb::arg("arguments"), nb::arg("states") = nb::dict(),
        nb::arg("forced") = std::vector<std::uint32_t>(), nb::arg("loop_limit") = 1'000'000, nb::arg("seed") = 0,
        nb::arg("framework") = "torch", "Returns (results, {state: value}). forced: outcomes of the first decisions.");
  c.def_prop_ro("decisions", &decisions, "[(block, outcome, forced)] of the last run");
  c.def_prop_ro(
      "kept",
      [](const PythonInterpreter& self) {
        nb::dict kept;
        for (const auto& [name, value] : self.trace.kept)
          kept[nb::str(name.c_str(), name.size())] = export_host_value(value, "torch");
        return kept;
      },
      "{name: value} of what the last run had written when it raised; states as '@name'");
  c.def_prop_ro("printed", [](const PythonInterpreter& self) { return self.trace.printed; });
}

}  // namespace dycl::bindings
