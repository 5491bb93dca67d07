// SPDX-License-Identifier: Apache-2.0
#include "builder.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attributes.h"
#include "errors.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "tensors.h"

namespace nb = nanobind;

namespace dycl::bindings {
namespace {

using Ids = std::vector<ir::ValueId>;

// A function of a program that may still grow; found anew at each call because
// the program's vector of functions moves.
struct FunctionBuilder {
  std::shared_ptr<ProgramBuilder> owner;
  std::size_t index = 0;

  ir::Function& function() const {
    if (index >= owner->program->functions.size()) throw nb::index_error("a pass removed this function");
    return owner->program->functions[index];
  }

  ir::ValueId value(std::int64_t id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= function().values.size())
      throw nb::index_error(("no value " + std::to_string(id) + " in @" + function().name).c_str());
    return {static_cast<std::uint32_t>(id)};
  }

  ir::BlockId block_id(std::int64_t id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= function().blocks.size())
      throw nb::index_error(("no block " + std::to_string(id) + " in @" + function().name).c_str());
    return {static_cast<std::uint32_t>(id)};
  }

  ir::Block& block(std::int64_t id) const { return function().block(block_id(id)); }

  // Ids from a Python sequence; None is an absent operand.
  Ids values(nb::handle sequence) const {
    nb::object fast = nb::steal(PySequence_Fast(sequence.ptr(), "expected a list of value ids"));
    if (!fast.is_valid()) nb::raise_python_error();
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(fast.ptr());
    PyObject** items = PySequence_Fast_ITEMS(fast.ptr());
    Ids ids;
    ids.reserve(static_cast<std::size_t>(size));
    for (Py_ssize_t i = 0; i < size; ++i)
      ids.push_back(items[i] == Py_None ? ir::ValueId{} : value(nb::cast<std::int64_t>(nb::handle(items[i]))));
    return ids;
  }

  ir::Edge edge(std::int64_t target, nb::handle args) const { return {block_id(target), values(args)}; }

  ir::Edge edge(nb::handle pair) const {
    auto [target, args] = nb::cast<std::pair<std::int64_t, nb::object>>(pair);
    return edge(target, args);
  }
};

// (file, line, column[, end_line, end_column]) or None.
SourceSpan import_span(nb::handle span) {
  if (span.is_none()) return {};
  const auto n = nb::cast<std::vector<std::uint32_t>>(span);
  if (n.size() == 3) return {n[0], n[1], n[2], n[1], n[2]};
  if (n.size() == 5) return {n[0], n[1], n[2], n[3], n[4]};
  throw nb::value_error("a span is (file, line, column) or (file, line, column, end_line, end_column)");
}

void add_weight(ProgramBuilder& self, const std::string& name, nb::handle tensor) {
  HostTensor host = import_tensor(tensor, ("weight '" + name + "'").c_str());
  std::vector<ir::Dim> dims;
  for (const std::int64_t extent : host.shape) dims.push_back(ir::Dim::of(extent));
  ir::Weight weight{ir::Type::tensor(host.dtype, std::move(dims)),
                    {std::move(host.owner), static_cast<const std::uint8_t*>(host.data), host.bytes}};
  if (!self.program->weights.emplace(name, std::move(weight)).second)
    throw nb::value_error(("weight '" + name + "' exists already").c_str());
}

// The attribute that stands for a state's first value; the verifier checks that it fits.
ir::Attr import_initial(const std::string& name, const ir::Type& type, nb::handle initial) {
  if (initial.is_none()) return std::string();  // an optional that holds nothing
  const bool is_number = PyLong_Check(initial.ptr()) && !PyBool_Check(initial.ptr());
  if (type.kind == ir::Type::Kind::Float && is_number) return nb::cast<double>(initial);
  if (type.kind == ir::Type::Kind::List) {
    if (type.element.front().kind == ir::Type::Kind::Float) return nb::cast<std::vector<double>>(initial);
    if (type.element.front().is_tensor()) return nb::cast<std::vector<std::string>>(initial);
  }
  return import_attribute(name, initial);
}

std::size_t add_source(ProgramBuilder& self, const std::string& name) {
  auto& sources = self.program->sources;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (sources[i] == name) return i;
  sources.push_back(name);
  return sources.size() - 1;
}

FunctionBuilder new_function(std::shared_ptr<ProgramBuilder> self, const std::string& name, const std::string& kind) {
  if (kind != "host" && kind != "subdnn") throw nb::value_error("a function's kind is 'host' or 'subdnn'");
  ir::Function function;
  function.name = name;
  function.kind = kind == "host" ? ir::FunctionKind::Host : ir::FunctionKind::SubDnn;
  self->program->functions.push_back(std::move(function));
  const std::size_t index = self->program->functions.size() - 1;
  return {std::move(self), index};
}

std::uint32_t add_param(FunctionBuilder& self, const std::string& name, const std::string& type,
                        const std::string& state) {
  ir::Function& function = self.function();
  const ir::ValueId value = function.add_value(self.owner->type(type), name);
  function.params.push_back({value, state});
  return value.index;
}

std::size_t add_block(FunctionBuilder& self, const std::string& name, nb::handle span) {
  ir::Function& function = self.function();
  ir::Block block;
  block.name = name;
  block.span = import_span(span);
  function.blocks.push_back(std::move(block));
  return function.blocks.size() - 1;
}

std::uint32_t add_block_param(FunctionBuilder& self, std::int64_t block, const std::string& type,
                              const std::string& hint) {
  ir::Block& target = self.block(block);
  const ir::ValueId value = self.function().add_value(self.owner->type(type), hint);
  target.params.push_back(value);
  return value.index;
}

// Several results share the hint of the first; the printer makes names unique.
std::vector<std::uint32_t> add_op(FunctionBuilder& self, std::int64_t block, const std::string& name,
                                  nb::handle operands, const std::vector<std::string>& result_types,
                                  nb::object attributes, const std::string& hint, nb::handle span) {
  ir::Block& target = self.block(block);
  ir::Op op;
  op.name = name;
  op.operands = self.values(operands);
  if (!attributes.is_none()) op.attrs = import_attributes(nb::cast<nb::dict>(attributes));
  op.span = import_span(span);
  std::vector<const ir::Type*> types;
  for (const std::string& text : result_types) types.push_back(&self.owner->type(text));
  std::vector<std::uint32_t> ids;
  for (const ir::Type* type : types) {
    op.results.push_back(self.function().add_value(*type, hint));
    ids.push_back(op.results.back().index);
  }
  target.body.push_back(std::move(op));
  return ids;
}

void set_switch(FunctionBuilder& self, std::int64_t block, std::int64_t selector,
                const std::vector<std::int64_t>& cases, nb::sequence targets, nb::handle otherwise) {
  ir::Switch exit;
  exit.selector = self.value(selector);
  exit.cases = cases;
  for (nb::handle target : targets) exit.targets.push_back(self.edge(target));
  if (exit.targets.size() != cases.size()) throw nb::value_error("switch: as many targets as cases");
  exit.otherwise = self.edge(otherwise);
  self.block(block).exit = std::move(exit);
}

// Raises the first broken rule, with the others below it.
void verify(ProgramBuilder& self) {
  const std::vector<Error> errors = ir::verify(*self.program);
  if (errors.empty()) return;
  Error error = errors.front();
  for (std::size_t i = 1; i < errors.size() && i < 5; ++i) error.message += "\n" + errors[i].message;
  if (errors.size() > 5) error.message += "\n(and " + std::to_string(errors.size() - 5) + " more)";
  raise(error, self.program->sources);
}

void bind_exits(nb::class_<FunctionBuilder>& c) {
  c.def(
      "goto",
      [](FunctionBuilder& self, std::int64_t block, std::int64_t target, nb::object args) {
        self.block(block).exit = ir::Goto{self.edge(target, args)};
      },
      nb::arg("block"), nb::arg("target"), nb::arg("args") = nb::tuple());
  c.def(
      "branch",
      [](FunctionBuilder& self, std::int64_t block, std::int64_t condition, std::int64_t if_true, nb::object true_args,
         std::int64_t if_false, nb::object false_args) {
        self.block(block).exit =
            ir::Branch{self.value(condition), self.edge(if_true, true_args), self.edge(if_false, false_args)};
      },
      nb::arg("block"), nb::arg("condition"), nb::arg("if_true"), nb::arg("true_args"), nb::arg("if_false"),
      nb::arg("false_args"));
  c.def("switch", &set_switch, nb::arg("block"), nb::arg("selector"), nb::arg("cases"), nb::arg("targets"),
        nb::arg("otherwise"), "targets: one (block, args) per case; otherwise: (block, args).");
  c.def(
      "return_",
      [](FunctionBuilder& self, std::int64_t block, nb::object values) {
        self.block(block).exit = ir::Return{self.values(values)};
      },
      nb::arg("block"), nb::arg("values"));
  c.def(
      "raise_",
      [](FunctionBuilder& self, std::int64_t block, const std::string& type, const std::string& message,
         nb::object args) {
        self.block(block).exit = ir::Raise{type, message, self.values(args)};
      },
      nb::arg("block"), nb::arg("type"), nb::arg("message"), nb::arg("args") = nb::tuple());
}

void bind_function(nb::module_& module) {
  nb::class_<FunctionBuilder> c(module, "FunctionBuilder", "One function of a ProgramBuilder.");
  c.def_prop_ro("name", [](FunctionBuilder& self) { return self.function().name; });
  c.def("add_param", &add_param, nb::arg("name"), nb::arg("type"), nb::arg("state") = "");
  c.def(
      "add_result",
      [](FunctionBuilder& self, const std::string& type, const std::string& name, const std::string& state) {
        self.function().results.push_back({self.owner->type(type), name, state});
      },
      nb::arg("type"), nb::arg("name") = "", nb::arg("state") = "");
  c.def("add_block", &add_block, nb::arg("name"), nb::arg("span") = nb::none());
  c.def("add_block_param", &add_block_param, nb::arg("block"), nb::arg("type"), nb::arg("hint") = "");
  c.def("op", &add_op, nb::arg("block"), nb::arg("name"), nb::arg("operands"), nb::arg("result_types"),
        nb::arg("attrs") = nb::none(), nb::arg("hint") = "", nb::arg("span") = nb::none());
  c.def(
      "set_loop_limit",
      [](FunctionBuilder& self, std::int64_t block, std::int64_t limit) { self.block(block).loop_limit = limit; },
      nb::arg("block"), nb::arg("limit"));
  c.def(
      "set_block_span",
      [](FunctionBuilder& self, std::int64_t block, nb::object span) { self.block(block).span = import_span(span); },
      nb::arg("block"), nb::arg("span"));
  c.def(
      "set_exit_span",
      [](FunctionBuilder& self, std::int64_t block, nb::object span) {
        self.block(block).exit_span = import_span(span);
      },
      nb::arg("block"), nb::arg("span"), "Where the condition, return or raise at the end of the block is written.");
  c.def(
      "set_span", [](FunctionBuilder& self, nb::object span) { self.function().span = import_span(span); },
      nb::arg("span"));
  c.def(
      "set_hint",
      [](FunctionBuilder& self, std::int64_t value, const std::string& hint) {
        self.function().values[self.value(value).index].hint = hint;
      },
      nb::arg("value"), nb::arg("hint"));
  c.def(
      "set_type",
      [](FunctionBuilder& self, std::int64_t value, const std::string& type) {
        self.function().values[self.value(value).index].type = self.owner->type(type);
      },
      nb::arg("value"), nb::arg("type"));
  c.def(
      "type_of",
      [](FunctionBuilder& self, std::int64_t value) {
        return ir::to_string(self.function().type_of(self.value(value)));
      },
      nb::arg("value"));
  c.def_prop_ro("block_count", [](FunctionBuilder& self) { return self.function().blocks.size(); });
  c.def_prop_ro("op_count", [](FunctionBuilder& self) {
    std::size_t count = 0;
    for (const ir::Block& block : self.function().blocks) count += block.body.size();
    return count;
  });
  bind_exits(c);
}

void bind_program(nb::module_& module) {
  nb::class_<ProgramBuilder> c(module, "ProgramBuilder", "Builds one program; see docs/ir.md for what it may hold.");
  c.def(nb::init<>());
  c.def(
      "add_symbol",
      [](ProgramBuilder& self, const std::string& name, std::int64_t min, std::int64_t max) {
        self.program->symbols[name] = {min, max};
      },
      nb::arg("name"), nb::arg("min") = 0, nb::arg("max") = INT64_MAX);
  c.def("add_weight", &add_weight, nb::arg("name"), nb::arg("tensor"),
        "Shares the tensor's memory if it is contiguous and on the CPU; do not write to it until compiled.");
  c.def("has_weight",
        [](ProgramBuilder& self, const std::string& name) { return self.program->weights.contains(name); });
  c.def(
      "add_state",
      [](ProgramBuilder& self, const std::string& name, const std::string& type, nb::handle initial) {
        const ir::Type& state_type = self.type(type);
        self.program->states[name] = {state_type, import_initial(name, state_type, initial)};
      },
      nb::arg("name"), nb::arg("type"), nb::arg("initial").none(),
      "initial: a scalar; a tensor: the name of a weight; optional: None or such a name; a list: numbers or names.");
  c.def("add_source", &add_source, nb::arg("name"));
  c.def_prop_ro("sources", [](const ProgramBuilder& self) { return self.program->sources; });
  c.def(
      "set_metadata",
      [](ProgramBuilder& self, const std::string& key, const std::string& value) {
        self.program->metadata[key] = value;
      },
      nb::arg("key"), nb::arg("value"));
  c.def_prop_ro("metadata", [](ProgramBuilder& self) { return self.program->metadata; });
  c.def("new_function", &new_function, nb::arg("name"), nb::arg("kind") = "host");
  c.def(
      "print",
      [](ProgramBuilder& self, bool spans, bool inline_weights) {
        return ir::print(*self.program, {.spans = spans, .inline_weights = inline_weights});
      },
      nb::arg("spans") = false, nb::arg("inline_weights") = false);
  c.def("verify", &verify, "Raises CompileError if the program breaks a rule of the IR.");
}

}  // namespace

const ir::Type& ProgramBuilder::type(const std::string& text) {
  auto it = types.find(text);
  if (it == types.end()) it = types.emplace(text, unwrap(ir::parse_type(text))).first;
  return it->second;
}

void bind_builder(nb::module_& module) {
  bind_function(module);
  bind_program(module);
}

}  // namespace dycl::bindings
