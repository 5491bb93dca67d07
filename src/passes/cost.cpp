// SPDX-License-Identifier: Apache-2.0
#include "passes/cost.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace dycl::passes {
namespace {

// ONNX's ops that do about one pass over their data. Sorted.
// clang-format off
constexpr std::array kLight = std::to_array<std::string_view>({
    "Abs", "Acos", "Acosh", "Add", "And", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh", "AveragePool",
    "BatchNormalization", "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Cast", "CastLike", "Ceil",
    "Celu", "Clip", "Compress", "Concat", "Constant", "ConstantOfShape", "Cos", "Cosh", "CumSum", "DepthToSpace",
    "DequantizeLinear", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Expand", "EyeLike", "Flatten", "Floor",
    "Gather", "GatherElements", "GatherND", "Gelu", "GlobalAveragePool", "GlobalMaxPool", "Greater", "GreaterOrEqual",
    "GroupNormalization", "HardSigmoid", "HardSwish", "Hardmax", "Identity", "InstanceNormalization", "IsInf", "IsNaN",
    "LRN", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax", "LpNormalization", "Max",
    "MaxPool", "Mean", "MeanVarianceNormalization", "Min", "Mish", "Mod", "Mul", "Neg", "NonZero", "Not", "OneHot",
    "Or", "PRelu", "Pad", "Pow", "QuantizeLinear", "RMSNormalization", "Range", "Reciprocal", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "Relu", "Reshape", "Resize", "Round", "ScatterElements", "ScatterND", "Selu", "Shape", "Shrink",
    "Sigmoid", "Sign", "Sin", "Sinh", "Size", "Slice", "Softmax", "Softplus", "Softsign", "SpaceToDepth", "Split",
    "Sqrt", "Squeeze", "Sub", "Sum", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Tile", "TopK", "Transpose", "Trilu",
    "Unsqueeze", "Where", "Xor", "torch.KthValue", "torch.TopK",
});
// clang-format on
static_assert(std::ranges::is_sorted(kLight));

constexpr double kUnknown = 1e9;

double count_of(const ir::Type& type) {
  if (!type.is_tensor() || !type.shape) return kUnknown;
  double count = 1;
  for (const ir::Dim& dim : *type.shape) {
    if (!dim.is_known()) return kUnknown;
    count *= static_cast<double>(dim.value);
  }
  return count;
}

// The extents of an operand; empty where they are not known.
std::vector<double> extents_of(const ir::Function& function, const ir::Op& op, std::size_t operand) {
  std::vector<double> extents;
  if (operand >= op.operands.size() || !op.operands[operand].present()) return extents;
  const ir::Type& type = function.type_of(op.operands[operand]);
  if (count_of(type) >= kUnknown) return extents;
  for (const ir::Dim& dim : *type.shape) extents.push_back(static_cast<double>(dim.value));
  return extents;
}

}  // namespace

bool is_heavy(const ir::Op& op) { return op.is_tensor_op() && !std::ranges::binary_search(kLight, op.name); }

double work_of(const ir::Function& function, const ir::Op& op) {
  if (!is_heavy(op) || op.results.empty() || !op.results[0].present()) return 0;
  const double results = count_of(function.type_of(op.results[0]));
  const std::vector<double> first = extents_of(function, op, 0), second = extents_of(function, op, 1);
  if (results >= kUnknown || first.empty() || second.empty()) return kUnknown;
  if (op.name == "Conv" && second[0] > 0) {
    double weights = 1;
    for (const double extent : second) weights *= extent;
    return results * weights / second[0];  // per result: one filter
  }
  if (op.name == "MatMul" || op.name == "Gemm") return results * first.back();
  if (op.name == "LSTM" || op.name == "GRU" || op.name == "RNN") {
    double weights = 0;
    for (const std::size_t operand : {1, 2}) {
      double count = 1;
      for (const double extent : extents_of(function, op, operand)) count *= extent;
      weights += count;
    }
    return weights * first[0] * (first.size() > 1 ? first[1] : 1);
  }
  return kUnknown;
}

}  // namespace dycl::passes
