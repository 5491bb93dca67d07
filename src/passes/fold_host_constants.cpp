// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_host_constants.h"

#include "passes/definitions.h"
#include "passes/effects.h"
#include "passes/substitution.h"

namespace dycl::passes {
namespace {

class Folder {
 public:
  explicit Folder(ir::Function& function) : function_(function), defs_(definitions_of(function)), reads_as_(function) {}

  int run() {
    const Cfg cfg = cfg_of(function_);
    for (const std::uint32_t b : cfg.order())  // definitions before uses
      for (ir::Op& op : function_.blocks[b].body) {
        reads_as_.rewrite(op);
        if (op.is_tensor_op() || has_effect(op) || op.results.size() != 1 || op.name == "const") continue;
        if (const auto known = known_value(op))
          become_constant(op, *known);
        else if (const ir::ValueId same = alias(op); same.present())
          become_alias(op, same);
      }
    if (folded_ == 0) return 0;
    reads_as_.apply(function_);
    for (ir::Block& block : function_.blocks)
      std::erase_if(block.body, [](const ir::Op& op) { return op.name.empty(); });
    return folded_;
  }

 private:
  std::optional<ir::Attr> known_value(const ir::Op& op) const {
    if (const auto code = scalar::op_named(op.name)) return known_scalar(*code, op);
    if (op.name == "item") return known_item(op);
    if (op.name == "to_tensor") return known_tensor(op);
    if (op.name == "dim" || op.name == "size") return known_extent(op);
    if (op.name == "opt.is_some") return known_presence(op);
    if (op.name == "list.len") return known_length(op);
    return std::nullopt;
  }

  std::optional<ir::Attr> known_scalar(scalar::OpCode code, const ir::Op& op) const {
    scalar::Scalar operands[2] = {};
    if (op.operands.size() > 2) return std::nullopt;
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      const ir::Attr* constant = defs_.constant(op.operands[i]);
      const auto value = constant ? scalar_of(*constant) : std::nullopt;
      if (!value) return std::nullopt;
      operands[i] = *value;
    }
    scalar::Scalar result;
    if (scalar::apply(code, operands[0], operands[1], &result) != scalar::Fault::None) return std::nullopt;
    return attr_of(result);
  }

  std::optional<ir::Attr> known_item(const ir::Op& op) const {
    const ir::TensorLiteral* literal = defs_.constant_tensor(op.operands[0]);
    const auto value = literal ? item_of(*literal) : std::nullopt;
    return value ? std::optional(attr_of(*value)) : std::nullopt;
  }

  std::optional<ir::Attr> known_tensor(const ir::Op& op) const {
    const ir::Attr* constant = defs_.constant(op.operands[0]);
    const auto value = constant ? scalar_of(*constant) : std::nullopt;
    if (!value) return std::nullopt;
    auto literal = literal_of(*value, function_.type_of(op.results[0]).dtype);
    return literal ? std::optional<ir::Attr>(std::move(*literal)) : std::nullopt;
  }

  std::optional<ir::Attr> known_extent(const ir::Op& op) const {
    const auto& shape = function_.type_of(op.operands[0]).shape;
    if (!shape) return std::nullopt;
    if (op.name == "dim") {
      const auto axis = static_cast<std::size_t>(std::get<std::int64_t>(*op.attr("axis")));
      if (axis >= shape->size() || !(*shape)[axis].is_known()) return std::nullopt;
      return (*shape)[axis].value;
    }
    std::int64_t size = 1;
    for (const ir::Dim& dim : *shape)
      if (!dim.is_known() || __builtin_mul_overflow(size, dim.value, &size)) return std::nullopt;
    return size;
  }

  std::optional<ir::Attr> known_presence(const ir::Op& op) const {
    const ir::Op* made = defs_.of(op.operands[0]);
    if (made && made->name == "opt.some") return true;
    if (made && made->name == "opt.none") return false;
    return std::nullopt;
  }

  std::optional<ir::Attr> known_length(const ir::Op& op) const {
    const ir::Op* made = defs_.of(op.operands[0]);
    if (!made || made->name != "list.new") return std::nullopt;
    return static_cast<std::int64_t>(made->operands.size());
  }

  // The value that the op only hands on; absent if there is none.
  ir::ValueId alias(const ir::Op& op) {
    if (op.name == "select") return chosen(op);
    if (op.name == "bool.and" || op.name == "bool.or") return neutral(op);
    const ir::Op* made = op.operands.empty() ? nullptr : defs_.of(op.operands[0]);
    if (!made) return {};
    if (op.name == "opt.get" && made->name == "opt.some") return reads_as_(made->operands[0]);
    if (op.name == "bool.not" && made->name == "bool.not") return reads_as_(made->operands[0]);
    if (op.name == "list.get" && made->name == "list.new") return element(op, *made);
    return {};
  }

  ir::ValueId chosen(const ir::Op& op) const {
    if (op.operands[1] == op.operands[2]) return op.operands[1];
    const auto condition = defs_.constant_bool(op.operands[0]);
    return condition ? op.operands[*condition ? 1 : 2] : ir::ValueId{};
  }

  // x and true, x or false: x; x and false, x or true: the constant.
  ir::ValueId neutral(const ir::Op& op) const {
    if (op.operands[0] == op.operands[1]) return op.operands[0];
    for (std::size_t i = 0; i < 2; ++i)
      if (const auto known = defs_.constant_bool(op.operands[i]))
        return op.operands[*known == (op.name == "bool.and") ? 1 - i : i];
    return {};
  }

  ir::ValueId element(const ir::Op& op, const ir::Op& list) {
    const auto index = defs_.constant_int(op.operands[1]);
    const auto count = static_cast<std::int64_t>(list.operands.size());
    if (!index || *index < -count || *index >= count) return {};
    return reads_as_(list.operands[static_cast<std::size_t>(*index < 0 ? *index + count : *index)]);
  }

  void become_constant(ir::Op& op, ir::Attr value) {
    op.name = "const";
    op.operands.clear();
    op.attrs = {{"value", std::move(value)}};
    ++folded_;
  }

  void become_alias(ir::Op& op, ir::ValueId same) {
    if (!fits(function_.type_of(same), function_.type_of(op.results[0]))) return;
    reads_as_.replace(op.results[0], same);
    defs_.op[op.results[0].index] = nullptr;
    op.name.clear();  // erased at the end: definitions point into the bodies
    ++folded_;
  }

  ir::Function& function_;
  Definitions defs_;
  Substitution reads_as_;
  int folded_ = 0;
};

}  // namespace

int fold_host_constants(ir::Program& program) {
  int folded = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) folded += Folder(function).run();
  return folded;
}

}  // namespace dycl::passes
