// SPDX-License-Identifier: Apache-2.0
#include "conformance.h"

#include <gtest/gtest.h>

#include "backends/ort/evaluator.h"
#include "ir/host_value.h"
#include "ir/tensor_evaluator.h"

namespace dycl::test {

std::vector<std::string> installed_backends() {
  std::vector<std::string> names;
  for (const std::string& name : backends::backend_names())
    if (const auto backend = backends::find_backend(name); backend && (*backend)->engine().ok()) names.push_back(name);
  return names;
}

std::vector<Tensor> reference(const ir::Program& program, const std::string& name, const std::vector<Tensor>& inputs) {
  static auto evaluator = std::move(backends::ort::make_evaluator()).value();
  const ir::Function* function = nullptr;
  for (const ir::Function& f : program.functions)
    if (f.name == name) function = &f;
  std::map<std::uint32_t, ir::Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    values.insert_or_assign(function->params[i].value.index, ir::Tensor::of(inputs[i]));
  for (const ir::Op& op : function->blocks[0].body) {
    if (op.name == "const") {
      values.insert_or_assign(op.results[0].index, ir::Tensor::of(std::get<Tensor>(op.attrs.at("value"))));
      continue;
    }
    if (op.name == "weight") {
      const ir::Weight& weight = program.weights.at(std::get<std::string>(op.attrs.at("name")));
      Tensor t{weight.type.dtype, {}, {weight.bytes.data, weight.bytes.data + weight.bytes.size}};
      for (const ir::Dim& dim : *weight.type.shape) t.shape.push_back(dim.value);
      values.insert_or_assign(op.results[0].index, ir::Tensor::of(t));
      continue;
    }
    std::vector<const ir::Tensor*> operands;
    for (const ir::ValueId v : op.operands) operands.push_back(v.present() ? &values.at(v.index) : nullptr);
    std::vector<ir::Type> types;
    for (const ir::ValueId v : op.results) types.push_back(function->type_of(v));
    auto results = evaluator->evaluate(op, operands, types);
    EXPECT_TRUE(results.ok()) << op.name << ": " << (results.ok() ? "" : results.error().message);
    if (!results) return {};
    for (std::size_t i = 0; i < op.results.size(); ++i) values.insert_or_assign(op.results[i].index, (*results)[i]);
  }
  std::vector<Tensor> out;
  for (const ir::ValueId v : std::get<ir::Return>(function->blocks[0].exit).values) {
    const ir::Tensor& t = values.at(v.index);
    out.push_back({t.dtype, t.shape, t.bytes});
  }
  return out;
}

void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, const std::string& where) {
  ASSERT_EQ(actual.size(), expected.size()) << where;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto difference = ir::difference(ir::HostValue::of(ir::Tensor::of(actual[i])),
                                           ir::HostValue::of(ir::Tensor::of(expected[i])), {2e-6, 2e-5, 0});
    EXPECT_FALSE(difference) << where << ", result " << i << ": " << *difference;
  }
}

bool refuses(const std::string& backend, const ir::Program& program) {
  const auto found = backends::find_backend(backend);
  for (const ir::Function& f : program.functions)
    if (f.kind == ir::FunctionKind::SubDnn && !(*found)->refuse(program, f).empty()) return true;
  return false;
}

bool agrees(const std::string& backend, const ir::Program& program, const std::vector<Tensor>& inputs,
            const std::string& where) {
  if (refuses(backend, program)) return false;
  const std::vector<Tensor> expected = reference(program, "s0", inputs);
  for (const int variant : {0, 1, 2}) {
    if (variant == 2 && backend != "ort") continue;  // there alone are small programs
    backends::BackendOptions options;
    options.portable_only = variant == 1;
    options.small_programs = variant == 2;
    const auto results = compile_and_run(program, "s0", inputs, options, backend);
    EXPECT_TRUE(results.ok()) << where << ": " << (results.ok() ? "" : results.error().message);
    if (results) expect_same(*results, expected, where + (variant == 1 ? ", portable" : variant == 2 ? ", small" : ""));
  }
  return true;
}

}  // namespace dycl::test
