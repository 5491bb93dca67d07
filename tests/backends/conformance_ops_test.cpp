// SPDX-License-Identifier: Apache-2.0
// The conformance suite, op by op: dtypes, shapes, dynamic dims (conformance.h). Which op a back end must take is said
// case by case, so that refusing everything does not pass.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "conformance.h"

namespace dycl::test {
namespace {

enum Takers { All, NotOpenVino };

struct Case {
  std::string name, op;
  std::vector<Tensor> operands;  // the first is an input; the others are tried as inputs and as constants
  std::vector<ir::Type> types;
  std::map<std::string, ir::Attr> attrs = {};
  Takers takers = All;  // with constants after the first operand
};

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
  Tensor special_planes = special(6);
  special_planes.shape = {1, 2, 3, 4};
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
      {"MaxPoolOfSpecialValues",
       "MaxPool",
       {special_planes},
       {f({1, 2, 3, 4})},
       {{"kernel_shape", ns({2, 2})}, {"pads", ns({1, 0, 0, 1})}}},
      {"MaxPoolOfMinusInfinity",
       "MaxPool",
       {f32({1, 1, 2, 2}, {-kInf, -kInf, -kInf, -kInf})},
       {f({1, 1, 1, 1})},
       {{"kernel_shape", ns({2, 2})}}},
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
  for (const char* op : {"ReduceMax", "ReduceMin"})
    all.push_back({std::string(op) + "OfInfinities",
                   op,
                   {f32({3, 2}, {kInf, kInf, -kInf, -kInf, -kInf, kInf}), i64({1}, {1})},
                   {f({3, 1})}});
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    all.push_back({std::string(op) + "OfTameValues", op, {random_f32({2, 7}, 19, 30)}, {f({2, 7})}});
    all.push_back({std::string(op) + "OfNaN", op, {f32({3, 3}, {kNaN, 1, 2, 3, 2, 1, 1, kNaN, -kInf})}, {f({3, 3})}});
    all.push_back({std::string(op) + "OfInfinities",
                   op,
                   {f32({3, 3}, {kInf, 1, 2, -kInf, -kInf, -kInf, kInf, -kInf, kInf})},
                   {f({3, 3})}});
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
                                              "LogSoftmaxOfInfinities",
                                              "LogSoftmaxOfNaN",
                                              "LogSoftmaxOfTameValues",
                                              "MatMul",
                                              "MatMulBatched",
                                              "MaxOfSpecialValues",
                                              "MaxPool",
                                              "MaxPoolOfMinusInfinity",
                                              "MaxPoolOfSpecialValues",
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
                                              "ReduceMaxOfInfinities",
                                              "ReduceMaxOfSpecialValues",
                                              "ReduceMeanAll",
                                              "ReduceMeanMiddle",
                                              "ReduceMeanOfSpecialValues",
                                              "ReduceMinAll",
                                              "ReduceMinMiddle",
                                              "ReduceMinOfInfinities",
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
                                              "SoftmaxOfInfinities",
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

}  // namespace
}  // namespace dycl::test
