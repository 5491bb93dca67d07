// SPDX-License-Identifier: Apache-2.0
// Almost every ONNX op gives the type of its first operand; the sets below are
// the exceptions of opsets 23 to 26.
#include "onnx/import/result_dtype.h"

#include <set>

namespace dycl::onnx {
namespace {

using Names = std::set<std::string>;

const Names kBool = {"And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual",
                     "Or",  "Xor",   "Not"};
const Names kInt64 = {"ArgMax", "ArgMin", "NonMaxSuppression", "NonZero", "Shape", "Size"};
const Names kInt32 = {"ConvInteger", "MatMulInteger"};
const Names kIndicesAfterFirst = {"MaxPool", "TopK", "Unique"};
const Names kSecond = {"CastLike", "DequantizeLinear", "RMSNormalization", "Where"};
const Names kNotHere = {"ConcatFromSequence",
                        "Constant",
                        "If",
                        "ImageDecoder",
                        "Loop",
                        "Scan",
                        "Optional",
                        "OptionalGetElement",
                        "OptionalHasElement",
                        "RegexFullMatch",
                        "SequenceAt",
                        "SequenceConstruct",
                        "SequenceEmpty",
                        "SequenceErase",
                        "SequenceInsert",
                        "SequenceLength",
                        "SequenceMap",
                        "SplitToSequence",
                        "StringConcat",
                        "StringNormalizer",
                        "StringSplit",
                        "TfIdfVectorizer",
                        "Bernoulli",
                        "Multinomial",
                        "RandomNormal",
                        "RandomNormalLike",
                        "RandomUniform",
                        "RandomUniformLike"};

std::optional<DType> named_by(const Node& node, const char* key, std::optional<DType> otherwise) {
  const Attribute* a = node.attribute(key);
  if (!a || a->kind != Attribute::Kind::Int) return otherwise;
  return dtype_of_code(static_cast<int>(a->i));
}

// 0 is as good as nothing.
bool states(const Node& node, const char* key) {
  const Attribute* a = node.attribute(key);
  return a && a->i != 0;
}

}  // namespace

std::optional<DType> result_dtype(const Node& node, std::size_t index,
                                  const std::vector<std::optional<DType>>& operands) {
  const std::string& op = node.op_type;
  auto operand = [&](std::size_t i) { return i < operands.size() ? operands[i] : std::nullopt; };
  if (!node.domain.empty() || kNotHere.count(op)) return std::nullopt;
  if (kBool.count(op)) return DType::Bool;
  if (kInt64.count(op)) return DType::I64;
  if (kInt32.count(op)) return DType::I32;
  if (kIndicesAfterFirst.count(op) && index > 0) return DType::I64;
  if (op == "Dropout" && index > 0) return DType::Bool;
  if (op == "DequantizeLinear" && states(node, "output_dtype")) return named_by(node, "output_dtype", {});
  if (kSecond.count(op)) return operand(1);
  if (op == "OneHot") return operand(2);
  if (op == "Cast" || op == "BitCast") return named_by(node, "to", std::nullopt);
  if (op == "EyeLike") return named_by(node, "dtype", operand(0));
  if (op == "BlackmanWindow" || op == "HammingWindow" || op == "HannWindow" || op == "MelWeightMatrix")
    return named_by(node, "output_datatype", DType::F32);
  if (op == "ConstantOfShape") {
    const Attribute* value = node.attribute("value");
    return value && value->tensor.size() == 1 ? value->tensor.front().dtype : DType::F32;
  }
  if (op == "DynamicQuantizeLinear") return index == 1 ? DType::F32 : DType::U8;
  if (op == "QuantizeLinear")
    return operand(2) ? operand(2) : states(node, "output_dtype") ? named_by(node, "output_dtype", {}) : DType::U8;
  if (op == "QLinearConv" || op == "QLinearMatMul") return operand(7);
  if (op == "LayerNormalization" && index > 0) return named_by(node, "stash_type", DType::F32);
  if (op == "BatchNormalization" && index > 0) return operand(3);
  if (op == "Attention" && index == 2) return operand(5) ? operand(5) : operand(2);
  return operand(0);
}

}  // namespace dycl::onnx
