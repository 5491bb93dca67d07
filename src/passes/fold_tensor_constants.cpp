// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_tensor_constants.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "ir/host_ops.h"
#include "ir/tensor_evaluator.h"
#include "passes/cfg.h"
#include "passes/definitions.h"
#include "passes/shape_values.h"
#include "passes/structure.h"

namespace dycl::passes {
namespace {

// Ops that only move elements. Sorted.
// clang-format off
constexpr std::array kMoves = std::to_array<std::string_view>({
    "Concat", "Constant", "Flatten", "Gather", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"});
// clang-format on
static_assert(std::ranges::is_sorted(kMoves));
// Ops that are exact on integers and bools. Sorted.
// clang-format off
constexpr std::array kExactOnIntegers = std::to_array<std::string_view>({
    "Add", "And", "Cast", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mul", "Neg", "Not",
    "Or", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum", "Sub", "Where"});
// clang-format on
static_assert(std::ranges::is_sorted(kExactOnIntegers));

// A result may be larger than what it is made of only while it is small.
constexpr std::size_t kSmall = 4096;
// A weight above this is not stored in two forms.
constexpr std::size_t kStoredOnce = 65536;

class Folder {
 public:
  explicit Folder(ir::Program& program) : program_(program), evaluator_(ir::make_builtin_evaluator()) {}

  int run() {
    for (const ir::Function& function : program_.functions) find_readers(function, definitions_of(function));
    for (ir::Function& function : program_.functions)
      if (function.kind == ir::FunctionKind::Host) fold(function);
    return folded_;
  }

 private:
  void fold(ir::Function& function) {
    const Definitions defs = definitions_of(function);  // ops change in place, so it stays good
    const Cfg cfg = cfg_of(function);
    ShapeValues values(function);
    for (const std::uint32_t b : cfg.order())
      for (ir::Op& op : function.blocks[b].body) {
        values.visit(function, op);
        if (!op.is_tensor_op() || op.results.size() != 1 || !op.results[0].present()) continue;
        if (const Contents* contents = values.of(op.results[0]); contents && fold_known(function, op, *contents))
          continue;
        if (op.name == "Shape" || op.name == "Size")
          fold_shape(function, op);
        else if (is_exact(function, op))
          fold(function, defs, op);
      }
  }

  static bool is_exact(const ir::Function& function, const ir::Op& op) {
    if (std::ranges::binary_search(kMoves, op.name)) return true;
    if (!std::ranges::binary_search(kExactOnIntegers, op.name)) return false;
    const auto is_integer = [&](ir::ValueId v) { return !v.present() || !is_floating(function.type_of(v).dtype); };
    return std::ranges::all_of(op.operands, is_integer) && std::ranges::all_of(op.results, is_integer);
  }

  static const ir::Attr& identity_of(const ir::Op& constant) {
    return *constant.attr(constant.name == "weight" ? "name" : "value");
  }

  // A literal, or a weight with its bytes.
  bool is_known(const ir::Op* op) const {
    if (!op || op->results.empty()) return false;
    if (op->name == "const") return ir::attr_as<ir::TensorLiteral>(*op, "value");
    if (op->name != "weight") return false;
    const auto it = program_.weights.find(std::get<std::string>(*op->attr("name")));
    return it != program_.weights.end() && it->second.bytes.data;
  }

  ir::Tensor tensor_of(const ir::Op& constant) const {
    if (const auto* literal = ir::attr_as<ir::TensorLiteral>(constant, "value")) return ir::Tensor::of(*literal);
    const ir::Weight& weight = program_.weights.at(std::get<std::string>(*constant.attr("name")));
    ir::Tensor tensor{weight.type.dtype, {}, {}};
    for (const ir::Dim& dim : *weight.type.shape) tensor.shape.push_back(dim.value);
    tensor.bytes.assign(weight.bytes.data, weight.bytes.data + weight.bytes.size);
    return tensor;
  }

  // Who reads each weight: the one kind of op that does, or several ("").
  void find_readers(const ir::Function& function, const Definitions& defs) {
    const auto note = [&](ir::ValueId value, const std::string& reader) {
      const ir::Op* made = defs.of(value);
      if (!made || made->name != "weight") return;
      const auto [it, is_new] = reader_.emplace(std::get<std::string>(*made->attr("name")), reader);
      if (!is_new && it->second != reader) it->second.clear();
    };
    for (const ir::Block& block : function.blocks) {
      for (const ir::Op& op : block.body) {
        std::string key;
        append_op(key, function, op);
        for (const ir::ValueId operand : op.operands) note(operand, key);
      }
      for_each_exit_use(block.exit, [&](ir::ValueId value) { note(value, {}); });
    }
  }

  bool would_store_twice(const ir::Op& constant, const std::string& reader) const {
    if (constant.name != "weight") return false;
    const std::string& name = std::get<std::string>(*constant.attr("name"));
    const auto it = reader_.find(name);  // none: a weight made here
    return program_.weights.at(name).bytes.size > kStoredOnce && it != reader_.end() && it->second != reader;
  }

  void fold(ir::Function& function, const Definitions& defs, ir::Op& op) {
    std::string key, name;
    append_op(key, function, op);
    const std::string reader = key;
    for (const ir::ValueId operand : op.operands) {
      const ir::Op* constant = defs.of(operand);
      if (operand.present() && (!is_known(constant) || would_store_twice(*constant, reader))) return;
      key.push_back(operand.present() ? 1 : 0);
      if (operand.present()) append_attr(key, identity_of(*constant));
      if (operand.present() && name.empty() && constant->name == "weight")
        name = std::get<std::string>(identity_of(*constant));
    }
    if (const auto it = made_.find(key); it != made_.end()) return become_weight(function, op, it->second);
    std::vector<ir::Tensor> held;
    std::vector<const ir::Tensor*> operands;
    std::size_t bytes = 0;
    held.reserve(op.operands.size());
    for (const ir::ValueId operand : op.operands) {
      if (operand.present()) bytes += held.emplace_back(tensor_of(*defs.of(operand))).bytes.size();
      operands.push_back(operand.present() ? &held.back() : nullptr);
    }
    const ir::Type type = function.type_of(op.results[0]);
    const auto results = evaluator_->evaluate(op, operands, std::span(&type, 1));
    if (!results || results->size() != 1 || results->front().bytes.size() > std::max(bytes, kSmall)) return;
    replace(function, op, results->front(), std::move(key), name);
  }

  // One extent of a shape may be known where the others are not.
  bool fold_known(ir::Function& function, ir::Op& op, const Contents& contents) {
    const ir::Type& type = function.type_of(op.results[0]);
    const auto constants = constants_of(contents);
    if (!constants || !type.shape || type.shape->size() > 1 || type.dtype != DType::I64) return false;
    if (type.shape->empty() && constants->size() != 1) return false;
    const std::vector<std::int64_t> shape(type.shape->size(), std::ssize(*constants));
    const int before = folded_;
    replace(function, op, ir::Tensor::of(DType::I64, shape, *constants), {}, {});
    return folded_ != before;
  }

  void fold_shape(ir::Function& function, ir::Op& op) {
    const auto& shape = function.type_of(op.operands[0]).shape;
    if (!shape || std::ranges::any_of(*shape, [](const ir::Dim& dim) { return !dim.is_known(); })) return;
    const auto rank = static_cast<std::int64_t>(shape->size());
    const auto place = [&](const char* attr, std::int64_t otherwise) {
      const auto* stated = ir::attr_as<std::int64_t>(op, attr);
      const std::int64_t at = stated ? *stated : otherwise;
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    std::vector<std::int64_t> extents;
    for (std::int64_t i = place("start", 0); i < place("end", rank); ++i)
      extents.push_back((*shape)[static_cast<std::size_t>(i)].value);
    if (op.name == "Shape")
      return replace(function, op, ir::Tensor::of(DType::I64, {std::ssize(extents)}, extents), {}, {});
    std::int64_t count = 1;
    for (const ir::Dim& dim : *shape)
      if (__builtin_mul_overflow(count, dim.value, &count)) return;
    replace(function, op, ir::Tensor::of(DType::I64, {}, std::vector<std::int64_t>{count}), {}, {});
  }

  void replace(ir::Function& function, ir::Op& op, const ir::Tensor& result, std::string key, const std::string& base) {
    const ir::TensorLiteral shape_only{result.dtype, result.shape, {}};
    const ir::Type type = ir::type_of(shape_only);
    if (!fits(type, function.type_of(op.results[0]))) return;  // the program says otherwise: not ours to judge
    if (result.bytes.size() <= ir::kMaxLiteralBytes) {
      function.values[op.results[0].index].type = type;
      op = {"const",
            {},
            std::move(op.results),
            {{"value", ir::TensorLiteral{result.dtype, result.shape, result.bytes}}},
            op.span};
      ++folded_;
      return;
    }
    const std::string name = fresh_name((base.empty() ? "constant" : base) + "." + op.name);
    program_.weights[name] = {type, ir::Bytes::copy_of(result.bytes.data(), result.bytes.size())};
    made_.emplace(std::move(key), name);
    become_weight(function, op, name);
  }

  void become_weight(ir::Function& function, ir::Op& op, const std::string& name) {
    function.values[op.results[0].index].type = program_.weights.at(name).type;
    op = {"weight", {}, std::move(op.results), {{"name", name}}, op.span};
    ++folded_;
  }

  std::string fresh_name(const std::string& base) const {
    std::string name = base;
    for (int n = 1; program_.weights.contains(name); ++n) name = base + "." + std::to_string(n);
    return name;
  }

  ir::Program& program_;
  std::unique_ptr<ir::TensorEvaluator> evaluator_;
  std::unordered_map<std::string, std::string> made_;  // structure -> weight, so that equal expressions share one
  std::unordered_map<std::string, std::string> reader_;
  int folded_ = 0;
};

}  // namespace

int fold_tensor_constants(ir::Program& program) { return Folder(program).run(); }

}  // namespace dycl::passes
