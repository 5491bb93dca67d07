// SPDX-License-Identifier: Apache-2.0
#include "passes/fold_identities.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ir/host_ops.h"
#include "passes/definitions.h"
#include "passes/substitution.h"

namespace dycl::passes {
namespace {

// Ops that keep elements in order: with the same shape they change nothing. Sorted.
// clang-format off
constexpr std::array kKeepOrder = std::to_array<std::string_view>({
    "CastLike", "Expand", "Flatten", "Reshape", "Squeeze", "Tile", "Unsqueeze"});
// clang-format on
static_assert(std::ranges::is_sorted(kKeepOrder));
// Ops that with one operand are that operand. Sorted.
// clang-format off
constexpr std::array kOverMany = std::to_array<std::string_view>({"Concat", "Max", "Mean", "Min", "Sum"});
// clang-format on
static_assert(std::ranges::is_sorted(kOverMany));

class IdentityFolder {
 public:
  explicit IdentityFolder(ir::Function& function)
      : function_(function), defs_(definitions_of(function)), used_(used_values(function)), reads_as_(function) {}

  int run() {
    for (ir::Block& block : function_.blocks)
      for (ir::Op& op : block.body) {
        if (!hands_on(op)) continue;
        reads_as_.replace(op.results[0], op.operands[0]);
        removed_.push_back(op.results[0].index);
      }
    if (removed_.empty()) return 0;
    std::vector<bool> gone(function_.values.size());
    for (const std::uint32_t value : removed_) gone[value] = true;
    for (ir::Block& block : function_.blocks)
      std::erase_if(block.body, [&](const ir::Op& op) {
        return !op.results.empty() && op.results[0].present() && gone[op.results[0].index];
      });
    reads_as_.apply(function_);
    return static_cast<int>(removed_.size());
  }

 private:
  const ir::Type& type(ir::ValueId value) const { return function_.type_of(value); }

  bool hands_on(const ir::Op& op) const {
    if (!op.is_tensor_op() || op.operands.empty() || !op.operands[0].present() || !op.results[0].present())
      return false;
    for (std::size_t i = 1; i < op.results.size(); ++i)
      if (op.results[i].present() && used_[op.results[i].index]) return false;
    if (!fits(type(op.operands[0]), type(op.results[0]))) return false;
    if (op.name == "Identity" || op.name == "Cast") return true;  // the types agree
    if (op.name == "Dropout") return !trains(op);
    if (op.name == "Transpose") return keeps_axes(op);
    if (std::ranges::binary_search(kOverMany, op.name)) return op.operands.size() == 1;
    return std::ranges::binary_search(kKeepOrder, op.name) && shape_is_stated(op.results[0]);
  }

  bool trains(const ir::Op& op) const {
    if (op.operands.size() < 3 || !op.operands[2].present()) return false;
    const ir::TensorLiteral* mode = defs_.constant_tensor(op.operands[2]);
    return !mode || std::ranges::any_of(mode->bytes, [](std::uint8_t byte) { return byte != 0; });
  }

  bool keeps_axes(const ir::Op& op) const {
    const auto* order = ir::attr_as<std::vector<std::int64_t>>(op, "perm");
    return order && std::ranges::is_sorted(*order);
  }

  // No `?` in the result's type; as the operand's type fits it, both are that shape.
  bool shape_is_stated(ir::ValueId value) const {
    const auto& shape = type(value).shape;
    return shape && std::ranges::none_of(*shape, [](const ir::Dim& dim) { return dim.is_opaque(); });
  }

  ir::Function& function_;
  const Definitions defs_;
  const std::vector<bool> used_;
  Substitution reads_as_;
  std::vector<std::uint32_t> removed_;
};

}  // namespace

int fold_identities(ir::Program& program) {
  int removed = 0;
  for (ir::Function& function : program.functions) removed += IdentityFolder(function).run();
  return removed;
}

}  // namespace dycl::passes
