// SPDX-License-Identifier: Apache-2.0
// Almost every ONNX op gives the type of its first operand; the sets below are
// the exceptions of opsets 23 to 26.
#include "onnx/import/result_dtype.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "onnx/import/operators.h"

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

using Operands = std::vector<std::optional<DType>>;

// Part number `index` of a text of parts with spaces between them; the last for all that follow.
std::string_view part_of(std::string_view text, std::size_t index) {
  for (; index > 0; --index) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return text;
    text.remove_prefix(space + 1);
  }
  return text.substr(0, text.find(' '));
}

int number_in(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// As the schema says: "=1", a code, or "0,3": as the first of these operands that is there.
std::optional<DType> by_schema(std::string_view origin, const Operands& operands) {
  if (origin.starts_with('=')) return dtype_of_code(number_in(origin.substr(1)));
  while (!origin.empty() && origin != "?" && origin != "-") {
    const std::size_t end = std::min(origin.find(','), origin.size());
    const auto at = static_cast<std::size_t>(number_in(origin.substr(0, end)));
    if (at < operands.size() && operands[at]) return operands[at];
    origin.remove_prefix(std::min(end + 1, origin.size()));
  }
  return std::nullopt;
}

// Classes and labels of ai.onnx.ml are what the attributes that list them are.
std::optional<DType> of_labels(const Node& node) {
  for (const Attribute& a : node.attributes) {
    if (a.name == "classlabels_int64s" || a.name == "classlabels_ints" || a.name == "values_int64s") return DType::I64;
    if (a.name == "values_floats") return DType::F32;
    if (a.name == "values_tensor" && a.tensor.size() == 1) return a.tensor.front().dtype;
  }
  return std::nullopt;
}

std::optional<DType> in_other_domain(const Node& node, std::size_t index, const Operands& operands) {
  const std::string_view origin = part_of(results_of(node), index);
  return origin == "?" && node.domain == "ai.onnx.ml" && index == 0 ? of_labels(node) : by_schema(origin, operands);
}

}  // namespace

std::optional<DType> result_dtype(const Node& node, std::size_t index,
                                  const std::vector<std::optional<DType>>& operands) {
  const std::string& op = node.op_type;
  auto operand = [&](std::size_t i) { return i < operands.size() ? operands[i] : std::nullopt; };
  if (!node.domain.empty()) return in_other_domain(node, index, operands);
  if (kNotHere.count(op)) return std::nullopt;
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
