// SPDX-License-Identifier: Apache-2.0
// The conformance suite: what every back end must do alike, over all back ends of the
// build whose engine is installed. The reference is ONNX Runtime with every
// optimisation off, one op at a time. A back end may refuse a sub-DNN, never compute it in another way;
// which it must take is said case by case, so that refusing everything does not pass.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "backends/ort/evaluator.h"
#include "harness.h"
#include "ir/host_value.h"
#include "ir/tensor_evaluator.h"

namespace dycl::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::string> installed_backends() {
  std::vector<std::string> names;
  for (const std::string& name : backends::backend_names())
    if (const auto backend = backends::find_backend(name); backend && (*backend)->engine().ok()) names.push_back(name);
  return names;
}

// ---- the reference -----------------------------------------------------------------

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

// In every form the back end makes of it. True if it was taken.
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

// ---- ops, dtypes, shapes, dynamic dims ---------------------------------------------

enum Takers { All, NotOpenVino };

struct Case {
  std::string name, op;
  std::vector<Tensor> operands;  // the first is an input; the others are tried as inputs and as constants
  std::vector<ir::Type> types;
  std::map<std::string, ir::Attr> attrs = {};
  Takers takers = All;  // with constants after the first operand
};

std::int64_t n(std::int64_t v) { return v; }
std::vector<std::int64_t> ns(std::vector<std::int64_t> v) { return v; }

// Every value that is easily got wrong, in a row of each of 4.
Tensor special(unsigned seed) {
  std::vector<float> v = {kNaN,  kInf, -kInf, -0.0F, 0.0F,  1.5F,  -2.5F, 3e38F,  -3e38F, 1e-40F, 0.5F,  2.5F,
                          -1.0F, 1.0F, 7.0F,  -7.0F, 0.25F, 1e-7F, 20.0F, -20.0F, 88.0F,  100.0F, 1e10F, -1e10F};
  std::shuffle(v.begin(), v.end(), std::mt19937(seed));
  return f32({4, 6}, v);
}

std::vector<Case> op_cases() {
  const Tensor a = random_f32({2, 3}, 1), b = random_f32({2, 3}, 2), row = random_f32({3}, 3);
  const Tensor image = random_f32({1, 4, 6, 6}, 6), kernel = random_f32({8, 4, 3, 3}, 7, 0.3F);
  const Tensor mask = boolean({2, 3}, {1, 0, 0, 1, 1, 0});
  const Tensor ints = i64({2, 3}, {1, -2, 3, (std::int64_t{1} << 40) + 1, 5, -(std::int64_t{1} << 35)});
  const auto f = [](std::vector<std::int64_t> dims) { return shaped(DType::F32, std::move(dims)); };
  const auto i = [](std::vector<std::int64_t> dims) { return shaped(DType::I64, std::move(dims)); };
  const auto t = [](std::vector<std::int64_t> dims) { return shaped(DType::Bool, std::move(dims)); };
  std::vector<Case> all = {
      {"AddBroadcast", "Add", {a, row}, {f({2, 3})}},
      {"Conv", "Conv", {image, kernel}, {f({1, 8, 4, 4})}},
      {"ConvPadded",
       "Conv",
       {image, kernel, random_f32({8}, 9)},
       {f({1, 8, 3, 3})},
       {{"pads", ns({1, 1, 1, 1})}, {"strides", ns({2, 2})}}},
      {"ConvGrouped", "Conv", {image, random_f32({4, 1, 3, 3}, 10)}, {f({1, 4, 4, 4})}, {{"group", n(4)}}},
      {"ConvTranspose",
       "ConvTranspose",
       {image, random_f32({4, 2, 3, 3}, 11)},
       {f({1, 2, 13, 13})},
       {{"strides", ns({2, 2})}}},
      {"MatMul", "MatMul", {a, random_f32({3, 4}, 4)}, {f({2, 4})}},
      {"MatMulBatched", "MatMul", {random_f32({2, 5, 3}, 12), random_f32({2, 3, 4}, 13)}, {f({2, 5, 4})}},
      {"MatMulInts", "MatMul", {ints, i64({3, 1}, {2, 3, 4})}, {i({2, 1})}, {}, NotOpenVino},
      {"Gemm", "Gemm", {a, random_f32({4, 3}, 4), random_f32({4}, 5)}, {f({2, 4})}, {{"transB", n(1)}}},
      {"MaxPool", "MaxPool", {image}, {f({1, 4, 3, 3})}, {{"kernel_shape", ns({2, 2})}, {"strides", ns({2, 2})}}},
      {"MaxPoolCeil",
       "MaxPool",
       {image},
       {f({1, 4, 3, 3})},
       {{"kernel_shape", ns({3, 3})}, {"strides", ns({2, 2})}, {"ceil_mode", n(1)}}},
      {"AveragePool",
       "AveragePool",
       {image},
       {f({1, 4, 3, 3})},
       {{"kernel_shape", ns({3, 3})}, {"strides", ns({2, 2})}, {"pads", ns({1, 1, 1, 1})}}},
      {"AveragePoolCounted",
       "AveragePool",
       {image},
       {f({1, 4, 4, 4})},
       {{"kernel_shape", ns({3, 3})},
        {"strides", ns({2, 2})},
        {"pads", ns({1, 1, 1, 1})},
        {"ceil_mode", n(1)},
        {"count_include_pad", n(1)}},
       NotOpenVino},
      {"GlobalAveragePool", "GlobalAveragePool", {image}, {f({1, 4, 1, 1})}},
      {"BatchNormalization",
       "BatchNormalization",
       {image, random_f32({4}, 1), random_f32({4}, 2), random_f32({4}, 3), f32({4}, {1, 2, 3, 4})},
       {f({1, 4, 6, 6})}},
      {"LayerNormalization", "LayerNormalization", {a, row, row}, {f({2, 3})}},
      {"InstanceNormalization",
       "InstanceNormalization",
       {image, random_f32({4}, 1), random_f32({4}, 2)},
       {f({1, 4, 6, 6})}},
      {"GroupNormalization",
       "GroupNormalization",
       {image, random_f32({4}, 1), random_f32({4}, 2)},
       {f({1, 4, 6, 6})},
       {{"num_groups", n(2)}}},
      {"Transpose", "Transpose", {a}, {f({3, 2})}, {{"perm", ns({1, 0})}}},
      {"TransposeBools", "Transpose", {mask}, {t({3, 2})}, {{"perm", ns({1, 0})}}},
      {"Reshape", "Reshape", {a, i64({1}, {6})}, {f({6})}},
      {"ReshapeInts", "Reshape", {ints, i64({1}, {6})}, {i({6})}, {}, NotOpenVino},
      {"Concat", "Concat", {a, b}, {f({4, 3})}, {{"axis", n(0)}}},
      {"ConcatInts", "Concat", {ints, ints}, {i({4, 3})}, {{"axis", n(0)}}, NotOpenVino},
      {"Split", "Split", {a, i64({2}, {1, 2})}, {f({2, 1}), f({2, 2})}, {{"axis", n(1)}}},
      {"Slice", "Slice", {a, i64({1}, {-1}), i64({1}, {-10}), i64({1}, {1}), i64({1}, {-2})}, {f({2, 2})}},
      {"SliceEmpty", "Slice", {a, i64({1}, {2}), i64({1}, {1}), i64({1}, {1})}, {f({2, 0})}},
      {"SliceToTheEnd", "Slice", {a, i64({1}, {1}), i64({1}, {INT64_MAX}), i64({1}, {1})}, {f({2, 2})}},
      {"Squeeze", "Squeeze", {random_f32({1, 3}, 8), i64({1}, {0})}, {f({3})}},
      {"Unsqueeze", "Unsqueeze", {row, i64({1}, {0})}, {f({1, 3})}},
      {"Flatten", "Flatten", {image}, {f({1, 144})}},
      {"Expand", "Expand", {row, i64({2}, {2, 3})}, {f({2, 3})}},
      {"Tile", "Tile", {a, i64({2}, {2, 1})}, {f({4, 3})}},
      {"Pad", "Pad", {a, i64({4}, {1, 0, 0, 1})}, {f({3, 4})}},
      {"PadReflect", "Pad", {a, i64({4}, {1, 1, 1, 1})}, {f({4, 5})}, {{"mode", std::string("reflect")}}},
      {"PadNegative", "Pad", {a, i64({4}, {-1, 0, 0, 1})}, {f({1, 4})}, {}, NotOpenVino},
      {"Gather", "Gather", {a, i64({2}, {1, -1})}, {f({2, 3})}},
      {"GatherInts", "Gather", {ints, i64({1}, {1})}, {i({1, 3})}, {}, NotOpenVino},
      {"GatherElements", "GatherElements", {a, i64({1, 3}, {0, 1, -1})}, {f({1, 3})}, {}, NotOpenVino},
      {"ResizeNearest",
       "Resize",
       {image, {}, f32({4}, {1, 1, 2, 2})},
       {f({1, 4, 12, 12})},
       {{"mode", std::string("nearest")},
        {"coordinate_transformation_mode", std::string("asymmetric")},
        {"nearest_mode", std::string("floor")}}},
      {"ResizeLinear",
       "Resize",
       {image, {}, f32({4}, {1, 1, 2, 2})},
       {f({1, 4, 12, 12})},
       {{"mode", std::string("linear")}}},
      {"ResizeCubic",
       "Resize",
       {image, {}, f32({4}, {1, 1, 2, 2})},
       {f({1, 4, 12, 12})},
       {{"mode", std::string("cubic")}},
       NotOpenVino},
      {"DepthToSpace", "DepthToSpace", {image}, {f({1, 1, 12, 12})}, {{"blocksize", n(2)}}},
      {"Trilu", "Trilu", {a}, {f({2, 3})}},
      {"CumSum", "CumSum", {a, i64({}, {1})}, {f({2, 3})}},
      {"Einsum", "Einsum", {a, b}, {f({2, 2})}, {{"equation", std::string("ij,kj->ik")}}},
      {"Where", "Where", {mask, a, b}, {f({2, 3})}},
      {"WhereInts", "Where", {mask, ints, ints}, {i({2, 3})}, {}, NotOpenVino},
      {"Not", "Not", {mask}, {t({2, 3})}},
      {"And", "And", {mask, boolean({3}, {1, 0, 1})}, {t({2, 3})}},
      {"Or", "Or", {mask, boolean({3}, {1, 0, 1})}, {t({2, 3})}},
      {"Xor", "Xor", {mask, boolean({3}, {1, 0, 1})}, {t({2, 3})}},
      {"EqualBools", "Equal", {mask, boolean({3}, {1, 0, 1})}, {t({2, 3})}},
      {"EqualInts", "Equal", {ints, i64({3}, {1, -2, 3})}, {t({2, 3})}, {}, NotOpenVino},
      {"LessInts", "Less", {ints, i64({3}, {(std::int64_t{1} << 33), 0, 3})}, {t({2, 3})}, {}, NotOpenVino},
      {"AddInts", "Add", {ints, ints}, {i({2, 3})}, {}, NotOpenVino},
      {"DivInts", "Div", {ints, i64({3}, {2, -2, 3})}, {i({2, 3})}, {}, NotOpenVino},
      {"ReduceSumInts", "ReduceSum", {ints, i64({1}, {1})}, {i({2, 1})}, {}, NotOpenVino},
      {"AnyBool", "ReduceMax", {mask, i64({1}, {1})}, {t({2})}, {{"keepdims", n(0)}}},
      {"AllBool", "ReduceMin", {mask, i64({1}, {1})}, {t({2})}, {{"keepdims", n(0)}}},
      {"Lstm",
       "LSTM",
       {random_f32({3, 2, 4}, 30), random_f32({1, 20, 4}, 31), random_f32({1, 20, 5}, 32), random_f32({1, 40}, 33)},
       {f({3, 1, 2, 5}), f({1, 2, 5}), f({1, 2, 5})},
       {{"hidden_size", n(5)}},
       NotOpenVino},
      {"LstmWithState",
       "LSTM",
       {random_f32({1, 2, 4}, 30),
        random_f32({1, 20, 4}, 31),
        random_f32({1, 20, 5}, 32),
        random_f32({1, 40}, 33),
        {},
        random_f32({1, 2, 5}, 34),
        f32({1, 2, 5}, {1, kNaN, kInf, -1, 0, 2, 3, -kInf, 1, 100})},
       {f({1, 1, 2, 5}), f({1, 2, 5}), f({1, 2, 5})},
       {{"hidden_size", n(5)}}},
      {"LstmBackwards",
       "LSTM",
       {random_f32({3, 2, 4}, 30), random_f32({1, 20, 4}, 31), random_f32({1, 20, 5}, 32)},
       {f({3, 1, 2, 5}), f({1, 2, 5}), f({1, 2, 5})},
       {{"hidden_size", n(5)}, {"direction", std::string("reverse")}},
       NotOpenVino},
      {"ArgMaxTies", "ArgMax", {f32({2, 4}, {1, 3, 3, 2, 5, 5, 1, 5})}, {i({2, 1})}, {{"axis", n(1)}}},
      {"ArgMaxColumns", "ArgMax", {f32({3, 2}, {1, 3, 3, 2, 3, 3})}, {i({2})}, {{"axis", n(0)}, {"keepdims", n(0)}}},
      {"ArgMaxWide", "ArgMax", {random_f32({3, 1000}, 14)}, {i({3, 1})}, {{"axis", n(1)}}},
      {"ArgMaxLast",
       "ArgMax",
       {f32({2, 4}, {1, 3, 3, 2, 5, 5, 1, 5})},
       {i({2, 1})},
       {{"axis", n(1)}, {"select_last_index", n(1)}},
       NotOpenVino},
      {"TopKTies",
       "TopK",
       {f32({1, 7}, {1, 3, 3, 2, 3, 3, 1}), i64({1}, {3})},
       {f({1, 3}), i({1, 3})},
       {},
       NotOpenVino},
      {"CastToInt", "Cast", {f32({4}, {1.7F, -1.7F, 1e10F, -3e9F})}, {i({4})}, {{"to", n(7)}}, NotOpenVino},
      {"CastToBool", "Cast", {f32({4}, {kNaN, 0, -0.0F, 2})}, {t({4})}, {{"to", n(9)}}, NotOpenVino},
      {"CastBoolToFloat", "Cast", {mask}, {f({2, 3})}, {{"to", n(1)}}},
      {"CastIntToFloat", "Cast", {ints}, {f({2, 3})}, {{"to", n(1)}}, NotOpenVino},
      {"CastToDouble", "Cast", {a}, {shaped(DType::F64, {2, 3})}, {{"to", n(11)}}, NotOpenVino},
      {"AddDoubles",
       "Add",
       {tensor<double>(DType::F64, {2}, {1e300, 1.0 / 3}), tensor<double>(DType::F64, {2}, {1e300, 1})},
       {shaped(DType::F64, {2})},
       {},
       NotOpenVino},
      {"ShapeOf", "Shape", {a}, {i({2})}},
      {"IdentityInts", "Identity", {ints}, {i({2, 3})}, {}, NotOpenVino},
      {"EmptyAdd", "Add", {f32({0, 3}, {}), row}, {f({0, 3})}},
      {"EmptySum", "ReduceSum", {f32({2, 0}, {}), i64({1}, {1})}, {f({2, 1})}},
      {"EmptyMax", "ReduceMax", {f32({2, 0}, {}), i64({1}, {1})}, {f({2, 1})}, {}, NotOpenVino},
      {"EmptyMatMul", "MatMul", {f32({2, 0}, {}), f32({0, 3}, {})}, {f({2, 3})}, {}, NotOpenVino},
      {"EmptyConcat", "Concat", {f32({0, 3}, {}), a}, {f({2, 3})}, {{"axis", n(0)}}},
      {"EmptySoftmax", "Softmax", {f32({0, 3}, {})}, {f({0, 3})}},
      {"Scalar", "Add", {f32({}, {1.5F}), f32({}, {2})}, {f({})}},
  };
  for (const char* op : {"Abs",       "Neg",       "Floor",   "Ceil", "Round",    "Sign",     "Sqrt",
                         "Log",       "Erf",       "Sigmoid", "Tanh", "Softplus", "Softsign", "Reciprocal",
                         "HardSwish", "LeakyRelu", "Elu",     "Selu", "Relu",     "Exp",      "HardSigmoid"})
    all.push_back({std::string(op) + "OfSpecialValues", op, {special(1)}, {f({4, 6})}});
  all.push_back({"IsNaN", "IsNaN", {special(1)}, {t({4, 6})}});
  all.push_back({"SinOfTameValues", "Sin", {random_f32({2, 3}, 15, 6)}, {f({2, 3})}});
  all.push_back({"GeluOfTameValues", "Gelu", {f32({2, 3}, {kNaN, -9, -0.5F, 0.25F, 3, 30})}, {f({2, 3})}});
  all.push_back({"GeluTanh", "Gelu", {random_f32({2, 3}, 16, 3)}, {f({2, 3})}, {{"approximate", std::string("tanh")}}});
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "PRelu", "Sum", "Mean"})
    all.push_back({std::string(op) + "OfSpecialValues", op, {special(2), special(3)}, {f({4, 6})}});
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
    all.push_back({std::string(op) + "OfSpecialValues", op, {special(2), special(3)}, {t({4, 6})}});
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"}) {
    all.push_back({std::string(op) + "OfSpecialValues", op, {special(4), i64({1}, {1})}, {f({4, 1})}});
    all.push_back({std::string(op) + "All", op, {random_f32({3, 4, 5}, 17)}, {f({})}, {{"keepdims", n(0)}}});
    all.push_back({std::string(op) + "Middle",
                   op,
                   {random_f32({3, 4, 5}, 18), i64({1}, {-2})},
                   {f({3, 5})},
                   {{"keepdims", n(0)}}});
  }
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    all.push_back({std::string(op) + "OfTameValues", op, {random_f32({2, 7}, 19, 30)}, {f({2, 7})}});
    all.push_back({std::string(op) + "OfNaN", op, {f32({3, 3}, {kNaN, 1, 2, 3, 2, 1, 1, kNaN, -kInf})}, {f({3, 3})}});
    all.push_back({std::string(op) + "Masked", op, {f32({1, 3}, {-kInf, 1, 2})}, {f({1, 3})}});
    all.push_back({std::string(op) + "Columns", op, {random_f32({3, 2, 4}, 20)}, {f({3, 2, 4})}, {{"axis", n(1)}}});
  }
  all.push_back({"ClipOfSpecialValues", "Clip", {special(5), f32({}, {-1}), f32({}, {2})}, {f({4, 6})}});
  all.push_back({"ClipCrossed", "Clip", {special(5), f32({}, {2}), f32({}, {-1})}, {f({4, 6})}});
  all.push_back({"ClipHalf", "Clip", {special(5), f32({}, {-1})}, {f({4, 6})}, {}, NotOpenVino});
  return all;
}

struct Param {
  std::string backend;
  Case one;
};

std::vector<Param> params() {
  std::vector<Param> all;
  for (const std::string& backend : installed_backends())
    for (const Case& c : op_cases()) all.push_back({backend, c});
  return all;
}

ir::Type with_open_dims(const Tensor& t) { return shaped(t.dtype, std::vector<std::int64_t>(t.shape.size(), -1)); }

ir::Type with_symbol(const Tensor& t) {
  ir::Type type = type_of(t);
  if (!type.shape->empty()) (*type.shape)[0] = ir::Dim{-1, "N"};
  return type;
}

// By name of the case.
const std::set<std::string>& taken_by_tvm() {
  static const std::set<std::string> names = {"AbsOfSpecialValues",
                                              "AddBroadcast",
                                              "AddOfSpecialValues",
                                              "AllBool",
                                              "And",
                                              "AnyBool",
                                              "ArgMaxColumns",
                                              "ArgMaxTies",
                                              "ArgMaxWide",
                                              "AveragePool",
                                              "BatchNormalization",
                                              "CastBoolToFloat",
                                              "CeilOfSpecialValues",
                                              "ClipCrossed",
                                              "ClipOfSpecialValues",
                                              "Concat",
                                              "ConcatInts",
                                              "Conv",
                                              "ConvGrouped",
                                              "ConvPadded",
                                              "DivOfSpecialValues",
                                              "EluOfSpecialValues",
                                              "EqualOfSpecialValues",
                                              "ErfOfSpecialValues",
                                              "ExpOfSpecialValues",
                                              "Expand",
                                              "Flatten",
                                              "FloorOfSpecialValues",
                                              "Gather",
                                              "GatherInts",
                                              "GeluOfTameValues",
                                              "GeluTanh",
                                              "Gemm",
                                              "GlobalAveragePool",
                                              "GreaterOfSpecialValues",
                                              "GreaterOrEqualOfSpecialValues",
                                              "GroupNormalization",
                                              "HardSigmoidOfSpecialValues",
                                              "HardSwishOfSpecialValues",
                                              "IdentityInts",
                                              "InstanceNormalization",
                                              "IsNaN",
                                              "LayerNormalization",
                                              "LeakyReluOfSpecialValues",
                                              "LessOfSpecialValues",
                                              "LessOrEqualOfSpecialValues",
                                              "LogOfSpecialValues",
                                              "LogSoftmaxColumns",
                                              "LogSoftmaxMasked",
                                              "LogSoftmaxOfNaN",
                                              "LogSoftmaxOfTameValues",
                                              "MatMul",
                                              "MatMulBatched",
                                              "MaxOfSpecialValues",
                                              "MaxPool",
                                              "MeanOfSpecialValues",
                                              "MinOfSpecialValues",
                                              "MulOfSpecialValues",
                                              "NegOfSpecialValues",
                                              "Not",
                                              "Or",
                                              "PReluOfSpecialValues",
                                              "Pad",
                                              "PowOfSpecialValues",
                                              "ReciprocalOfSpecialValues",
                                              "ReduceL1All",
                                              "ReduceL1Middle",
                                              "ReduceL1OfSpecialValues",
                                              "ReduceL2All",
                                              "ReduceL2Middle",
                                              "ReduceL2OfSpecialValues",
                                              "ReduceMaxAll",
                                              "ReduceMaxMiddle",
                                              "ReduceMaxOfSpecialValues",
                                              "ReduceMeanAll",
                                              "ReduceMeanMiddle",
                                              "ReduceMeanOfSpecialValues",
                                              "ReduceMinAll",
                                              "ReduceMinMiddle",
                                              "ReduceMinOfSpecialValues",
                                              "ReduceProdAll",
                                              "ReduceProdMiddle",
                                              "ReduceProdOfSpecialValues",
                                              "ReduceSumAll",
                                              "ReduceSumMiddle",
                                              "ReduceSumOfSpecialValues",
                                              "ReduceSumSquareAll",
                                              "ReduceSumSquareMiddle",
                                              "ReduceSumSquareOfSpecialValues",
                                              "ReluOfSpecialValues",
                                              "Reshape",
                                              "ReshapeInts",
                                              "RoundOfSpecialValues",
                                              "Scalar",
                                              "SeluOfSpecialValues",
                                              "SigmoidOfSpecialValues",
                                              "SinOfTameValues",
                                              "Slice",
                                              "SliceToTheEnd",
                                              "SoftmaxColumns",
                                              "SoftmaxMasked",
                                              "SoftmaxOfNaN",
                                              "SoftmaxOfTameValues",
                                              "SoftplusOfSpecialValues",
                                              "SoftsignOfSpecialValues",
                                              "Split",
                                              "SqrtOfSpecialValues",
                                              "Squeeze",
                                              "SubOfSpecialValues",
                                              "SumOfSpecialValues",
                                              "TanhOfSpecialValues",
                                              "Tile",
                                              "Transpose",
                                              "TransposeBools",
                                              "Unsqueeze",
                                              "Where",
                                              "Xor"};
  return names;
}

bool must_take(const std::string& backend, const Case& c) {
  if (backend == "tvm") return taken_by_tvm().count(c.name) != 0;
  return backend != "openvino" || c.takers == All;
}

class Ops : public testing::TestWithParam<Param> {};

TEST_P(Ops, AgreeWithTheReference) {
  const auto& [backend, c] = GetParam();
  enum Form { Constants, Inputs, Symbolic, Open };  // Symbolic: the first extent; Open: all of them
  for (const Form form : {Constants, Inputs, Symbolic, Open}) {
    ir::Program program = empty_program();
    SubDnn s(program, "s0");
    std::vector<ir::ValueId> operands;
    std::vector<Tensor> inputs;
    for (const Tensor& t : c.operands) {
      const bool absent = t.shape.empty() && t.bytes.empty();
      if (absent)
        operands.emplace_back();
      else if (form != Inputs && !operands.empty())
        operands.push_back(s.constant(t));
      else {
        operands.push_back(s.input(form == Open ? with_open_dims(t) : form == Symbolic ? with_symbol(t) : type_of(t)));
        inputs.push_back(t);
      }
    }
    std::vector<ir::Type> types = c.types;
    if (form == Open || form == Symbolic)
      for (ir::Type& type : types)
        for (ir::Dim& dim : *type.shape) dim = ir::Dim::opaque();
    s.returns(s.op(c.op, operands, types, c.attrs));
    const bool taken = agrees(backend, program, inputs,
                              form == Constants  ? "constants"
                              : form == Inputs   ? "inputs"
                              : form == Symbolic ? "symbolic"
                                                 : "open");
    if (form == Constants || backend == "ort") {
      EXPECT_EQ(taken, must_take(backend, c));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Ops, testing::ValuesIn(params()),
                         [](const auto& p) { return p.param.backend + "_" + p.param.one.name; });

// ---- what engines fuse -------------------------------------------------------------

class Engine : public testing::TestWithParam<std::string> {
 protected:
  static Result<std::unique_ptr<PluginRun>> start(ir::Program& program, int threads, bool cpu_target = true) {
    DYCL_ASSIGN(const auto backend, backends::find_backend(GetParam()));
    backends::BackendOptions compile;
    compile.small_programs = false;
    DYCL_ASSIGN(const auto artifacts, backend->compile_program(program, compile));
    PluginRun::Options options;
    options.backend = GetParam();
    options.threads = threads;
    options.prefer_cpu_target = cpu_target;
    return PluginRun::create(program, artifacts, options);
  }
};

// conv -> relu -> conv -> + -> relu -> pool -> gemm -> relu6 -> softmax -> max -> compare
ir::Program net(std::int64_t channels, std::int64_t extent, std::int64_t batch) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const std::int64_t b = batch, c = channels, e = extent;
  const auto f = [](std::vector<std::int64_t> dims) { return shaped(DType::F32, std::move(dims)); };
  const auto x = s.input(f({b, c, e, e}));
  const auto conv = [&](ir::ValueId v, const char* name, unsigned seed) {
    return s.op("Conv", {v, s.weight(name, random_f32({c, c, 3, 3}, seed, 0.2F))}, f({b, c, e, e}),
                {{"pads", ns({1, 1, 1, 1})}});
  };
  const auto r1 = s.op("Relu", {conv(x, "w1", 1)}, f({b, c, e, e}));
  const auto r2 = s.op("Relu", {s.op("Add", {conv(r1, "w2", 2), x}, f({b, c, e, e}))}, f({b, c, e, e}));
  const auto p = s.op("Flatten", {s.op("GlobalAveragePool", {r2}, f({b, c, 1, 1}))}, f({b, c}));
  const auto g =
      s.op("Gemm", {p, s.weight("w3", random_f32({c, 10}, 3)), s.weight("w4", random_f32({10}, 4))}, f({b, 10}));
  const auto k = s.op("Clip", {g, s.constant(f32({}, {0})), s.constant(f32({}, {6}))}, f({b, 10}));
  const auto soft = s.op("Softmax", {k}, f({b, 10}));
  const auto top = s.op("ReduceMax", {soft, s.constant(i64({1}, {1}))}, f({b, 1}));
  const auto sure = s.op("Greater", {top, s.constant(f32({}, {0.11F}))}, shaped(DType::Bool, {b, 1}));
  const auto best = s.op("ArgMax", {soft}, shaped(DType::I64, {b, 1}), {{"axis", n(1)}});
  s.returns({r2, soft, sure, best});
  return program;
}

TEST_P(Engine, ComputesANetAsTheReferenceDoes) {
  for (const auto& [channels, extent] : {std::pair<std::int64_t, std::int64_t>{16, 8}, {32, 5}, {7, 9}}) {
    const ir::Program program = net(channels, extent, 2);
    EXPECT_TRUE(agrees(GetParam(), program, {random_f32({2, channels, extent, extent}, 5)}, "net"));
  }
}

// A NaN must come out wherever the reference has one, whatever was fused with what.
TEST_P(Engine, HandsOnNaNsThroughFusedOps) {
  for (const auto& [channels, extent] : {std::pair<std::int64_t, std::int64_t>{16, 8}, {32, 5}, {7, 9}, {64, 1}}) {
    for (const float bad : {kNaN, kInf, -kInf}) {
      const ir::Program program = net(channels, extent, 2);
      Tensor x = random_f32({2, channels, extent, extent}, 6);
      const std::size_t at = static_cast<std::size_t>(channels * extent * extent) / 2 * sizeof(float);
      std::memcpy(x.bytes.data() + at, &bad, sizeof bad);
      EXPECT_TRUE(
          agrees(GetParam(), program, {x}, "channels " + std::to_string(channels) + " with " + std::to_string(bad)));
    }
  }
}

// Who compiles a sub-DNN makes no difference.
TEST_P(Engine, CompilesSideBySideTheSame) {
  const auto compiled = [&](int jobs) {
    ir::Program program = empty_program();
    for (int i = 0; i < 6; ++i) {
      SubDnn s(program, "s" + std::to_string(i));
      const auto f = shaped(DType::F32, {1, 8, 6 + i, 6});
      const auto weight =
          s.weight("w" + std::to_string(i), random_f32({8, 8, 3, 3}, static_cast<unsigned>(i) + 1, 0.1F));
      s.returns({s.op("Relu", {s.op("Conv", {s.input(f), weight}, f, {{"pads", ns({1, 1, 1, 1})}})}, f)});
    }
    backends::BackendOptions options;
    options.jobs = jobs;
    auto made = (*backends::find_backend(GetParam()))->compile_program(program, options);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(made).value();
  };
  const auto alone = compiled(1), together = compiled(3);
  ASSERT_EQ(alone.size(), together.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].function, together[i].function);
    ASSERT_EQ(alone[i].artifacts.size(), together[i].artifacts.size());
    for (std::size_t k = 0; k < alone[i].artifacts.size(); ++k) {
      EXPECT_EQ(alone[i].artifacts[k].target, together[i].artifacts[k].target);
      EXPECT_EQ(alone[i].artifacts[k].weights, together[i].artifacts[k].weights);
      // OpenVINO names things by what it counts in a process.
      if (GetParam() == "openvino" && alone[i].artifacts[k].target != backends::kPortableTarget) continue;
      EXPECT_TRUE(alone[i].artifacts[k].bytes == together[i].artifacts[k].bytes) << i << " " << k;
    }
  }
}

// ---- interfaces --------------------------------------------------------------------

TEST_P(Engine, ReturnsParametersConstantsAndOneValueTwice) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto f = shaped(DType::F32, {2, 3});
  const auto x = s.input(f);
  const auto y = s.op("Neg", {x}, f);
  s.returns({x, y, y, s.constant(f32({2}, {1, 2})), s.weight("w", random_f32({300}, 1))});
  EXPECT_TRUE(agrees(GetParam(), program, {random_f32({2, 3}, 2)}, "handed through"));
}

TEST_P(Engine, TakesManyShapesOneAfterTheOther) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto rows_by = [](std::int64_t n) { return ir::Type::tensor(DType::F32, {ir::Dim{-1, "N"}, ir::Dim::of(n)}); };
  const auto x = s.input(rows_by(4));
  const auto y = s.op("MatMul", {x, s.weight("w", random_f32({4, 3}, 1))}, rows_by(3));
  s.returns({s.op("Relu", {y}, rows_by(3))});
  EXPECT_EQ(refuses(GetParam(), program), GetParam() == "tvm");  // its kernels are for one shape
  if (GetParam() == "tvm") return;
  ir::Program compiled = program;
  const auto run = start(compiled, 1);
  ASSERT_TRUE(run.ok()) << run.error().message;
  for (const std::int64_t rows : {3, 1, 0, 200, 3, 0, 7}) {
    const Tensor input = random_f32({rows, 4}, static_cast<unsigned>(rows));
    const auto results = (*run)->run("s0", {input});
    ASSERT_TRUE(results.ok()) << rows << ": " << results.error().message;
    expect_same(*results, reference(program, "s0", {input}), std::to_string(rows) + " rows");
  }
}

TEST_P(Engine, WritesIntoWhateverBufferItIsGiven) {
  ir::Program program = net(16, 4, 1);
  const auto run = start(program, 1);
  ASSERT_TRUE(run.ok()) << run.error().message;
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Tensor input = random_f32({1, 16, 4, 4}, seed);
    const auto results = (*run)->run("s0", {input});  // buffers of its own every time
    ASSERT_TRUE(results.ok()) << results.error().message;
    expect_same(*results, reference(program, "s0", {input}), "seed " + std::to_string(seed));
  }
}

// ---- threads -----------------------------------------------------------------------

TEST_P(Engine, ServesThreadsAtTheSameTime) {
  ir::Program program = net(16, 8, 1);
  for (const int pool : {1, 2}) {
    const auto run = start(program, pool);
    ASSERT_TRUE(run.ok()) << run.error().message;
    std::vector<std::string> failures(4);
    std::vector<std::vector<Tensor>> expected;
    for (unsigned i = 0; i < 4; ++i) expected.push_back(reference(program, "s0", {random_f32({1, 16, 8, 8}, i)}));
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        auto call = (*run)->prepare("s0", {(*run)->buffer(random_f32({1, 16, 8, 8}, i))});
        auto context = (*run)->new_context("s0");
        if (!context) {
          failures[i] = context.error().message;
          return;
        }
        call.context = *context;
        for (int round = 0; round < 20 && failures[i].empty(); ++round) {
          if (auto done = (*run)->call(call); !done) failures[i] = done.error().message;
          const auto bytes = PluginRun::bytes(call.outputs[1]);
          const auto actual = floats({DType::F32, {1, 10}, bytes}), wanted = floats(expected[i][1]);
          for (std::size_t k = 0; k < wanted.size(); ++k)
            if (std::abs(actual[k] - wanted[k]) > 1e-4F) failures[i] = "another thread's result";
        }
        call.inputs.clear();
        call.outputs.clear();
        (*run)->drop_context(*context);
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& failure : failures) EXPECT_EQ(failure, "");
  }
}

// ---- error paths -------------------------------------------------------------------

TEST_P(Engine, SaysWhatAnUnknownOptionIs) {
  const dycl_plugin* plugin = load_plugin(GetParam());
  ASSERT_NE(plugin, nullptr);
  const dycl_plugin_host host{sizeof host, DYCL_PLUGIN_ABI, nullptr, nullptr, nullptr};
  const char* key = "no_such_option";
  const char* value = "1";
  const dycl_engine_options options{sizeof options, 1, -1, 1, &key, &value};
  dycl_engine* engine = nullptr;
  EXPECT_EQ(plugin->create_engine(&host, &options, &engine), DYCL_PLUGIN_UNSUPPORTED);
  EXPECT_NE(std::string(plugin->last_error()).find("no_such_option"), std::string::npos);
}

TEST_P(Engine, AcceptsOnlyThisMachinesArtifacts) {
  const dycl_plugin* plugin = load_plugin(GetParam());
  const dycl_plugin_host host{sizeof host, DYCL_PLUGIN_ABI, nullptr, nullptr, nullptr};
  const dycl_engine_options options{sizeof options, 1, -1, 0, nullptr, nullptr};
  dycl_engine* engine = nullptr;
  ASSERT_EQ(plugin->create_engine(&host, &options, &engine), DYCL_PLUGIN_OK) << plugin->last_error();
  const std::string mine = std::move((*backends::find_backend(GetParam()))->engine()).value();
  EXPECT_EQ(plugin->accepts_target(engine, mine.c_str()), 1);
  EXPECT_EQ(plugin->accepts_target(engine, (mine + "+x").c_str()), 0);
  EXPECT_EQ(plugin->accepts_target(engine, "portable"), 0);
  plugin->destroy_engine(engine);
}

TEST_P(Engine, DamagedModelsAreErrors) {
  ir::Program program = net(16, 4, 1);
  const auto backend = backends::find_backend(GetParam());
  backends::BackendOptions compile;
  compile.small_programs = false;
  compile.portable_only = true;
  const auto artifacts = (*backend)->compile_program(program, compile);
  ASSERT_TRUE(artifacts.ok()) << artifacts.error().message;
  PluginRun::Options options;
  options.backend = GetParam();
  std::mt19937 generator(7);
  int refused = 0;
  for (int round = 0; round < 40; ++round) {
    auto bad = *artifacts;
    auto& bytes = bad[0].artifacts[0].bytes;
    if (round % 4 == 0)
      bytes.resize(generator() % bytes.size());
    else
      for (int k = 0; k <= round % 4; ++k)
        bytes[generator() % bytes.size()] ^= static_cast<std::uint8_t>(1U + generator() % 255U);
    refused += !PluginRun::create(program, bad, options).ok();
  }
  EXPECT_GE(refused, 15);
  auto without = *artifacts;
  without[0].artifacts[0].weights.clear();
  EXPECT_FALSE(PluginRun::create(program, without, options).ok());
  ir::Program other = program;
  other.weights["w3"].type = shaped(DType::F32, {10, 16});
  EXPECT_FALSE(PluginRun::create(other, *artifacts, options).ok());
}

// Extents that contradict each other at run time are an error of the run, or the sub-DNN is refused: no engine may
// read past the end of an operand and go on.
TEST_P(Engine, WrongShapesAreErrors) {
  const auto open = [](std::size_t rank) { return shaped(DType::F32, std::vector<std::int64_t>(rank, -1)); };
  struct Wrong {
    const char* op;
    Tensor data, constant;
    std::map<std::string, ir::Attr> attrs = {};
  };
  const std::vector<Wrong> all = {
      {"MatMul", random_f32({2, 5}, 1), random_f32({4, 3}, 2)},
      {"Gemm", random_f32({2, 5}, 1), random_f32({4, 3}, 2)},
      {"Conv", random_f32({1, 5, 4, 4}, 1), random_f32({8, 4, 3, 3}, 2)},
      {"Add", random_f32({2, 5}, 1), random_f32({4}, 2)},
      {"Less", random_f32({2, 5}, 1), random_f32({4}, 2)},
      {"PRelu", random_f32({2, 5}, 1), random_f32({4}, 2)},
      {"Concat", random_f32({2, 5}, 1), random_f32({2, 4}, 2), {{"axis", n(0)}}},
      {"LayerNormalization", random_f32({2, 5}, 1), random_f32({4}, 2)},
      {"Reshape", random_f32({2, 5}, 1), i64({2}, {3, 2})},
      {"Expand", random_f32({2, 5}, 1), i64({2}, {2, 4})},
      {"Squeeze", random_f32({2, 5}, 1), i64({1}, {0})},
      {"Split", random_f32({2, 5}, 1), i64({1}, {3}), {{"axis", n(1)}}},
      {"Einsum", random_f32({2, 5}, 1), random_f32({4, 3}, 2), {{"equation", std::string("ij,jk->ik")}}},
  };
  int taken = 0;
  for (const Wrong& wrong : all) {
    ir::Program program = empty_program();
    SubDnn s(program, "s0");
    const auto x = s.input(open(wrong.data.shape.size()));
    const DType dtype = std::string(wrong.op) == "Less" ? DType::Bool : DType::F32;
    s.returns({s.op(wrong.op, {x, s.constant(wrong.constant)}, ir::Type::tensor_of_unknown_rank(dtype), wrong.attrs)});
    if (refuses(GetParam(), program)) continue;
    ++taken;
    const auto run = start(program, 1);
    ASSERT_TRUE(run.ok()) << wrong.op << ": " << run.error().message;
    EXPECT_FALSE((*run)->run("s0", {wrong.data}).ok()) << wrong.op;
  }
  if (GetParam() == "ort") {
    EXPECT_EQ(taken, static_cast<int>(all.size()));
  }
}

TEST_P(Engine, GoesOnAfterAnError) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  const auto x = s.input(shaped(DType::F32, {2, 4}));
  s.returns({s.op("Add", {x, s.weight("w", random_f32({4}, 1))}, shaped(DType::F32, {2, 4}))});
  const auto run = start(program, 1);
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_FALSE((*run)->run("s0", {random_f32({2, 5}, 1)}).ok());
  const auto after = (*run)->run("s0", {random_f32({2, 4}, 1)});
  ASSERT_TRUE(after.ok()) << after.error().message;
  expect_same(*after, reference(program, "s0", {random_f32({2, 4}, 1)}), "after an error");
}

TEST_P(Engine, AnOpThatIsNoneIsRefusedOrAnError) {
  ir::Program program = empty_program();
  SubDnn s(program, "s0");
  s.returns({s.op("NoSuchOperator", {s.input(shaped(DType::F32, {2}))}, shaped(DType::F32, {2}))});
  if (refuses(GetParam(), program)) return;
  EXPECT_FALSE(start(program, 1).ok());
}

INSTANTIATE_TEST_SUITE_P(All, Engine, testing::ValuesIn(installed_backends()), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace dycl::test
