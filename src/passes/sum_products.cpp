// SPDX-License-Identifier: Apache-2.0
#include "passes/sum_products.h"

#include <cstring>
#include <optional>
#include <utility>

#include "ir/edges.h"
#include "ir/host_ops.h"
#include "passes/definitions.h"

namespace dycl::passes {
namespace {

using Extents = std::vector<std::int64_t>;

constexpr std::int64_t kSmallestMatrix = 4096;  // elements; below, a call of a product costs more than it saves
constexpr std::int64_t kMostMatrices = 16;

// A sum over one axis of a product that can become a product of matrices.
struct Found {
  ir::ValueId matrix, vector;
  Extents turned;           // the vector's extents as a row, or as a column
  std::int64_t axis = 0;    // that is summed
  bool row_first = false;   // row x matrix, else matrix x column
  bool keeps_axis = false;  // of the result
};

class Rewriter {
 public:
  explicit Rewriter(ir::Function& function)
      : function_(function), defs_(definitions_of(function)), reads_(function.values.size()) {
    for (const ir::Block& block : function.blocks)
      for (const ir::Op& op : block.body)
        for (const ir::ValueId operand : op.operands) count(operand);
    for (const ir::Block& block : function.blocks)
      ir::for_each_exit_use(block.exit, [&](ir::ValueId value) { count(value); });
  }

  int run() {
    // All are found before the first block changes: definitions point into the blocks.
    std::vector<Sums> sums;
    for (std::uint32_t b = 0; b < function_.blocks.size(); ++b) sums.push_back(sums_of(b));
    int replaced = 0;
    for (std::uint32_t b = 0; b < function_.blocks.size(); ++b) replaced += rewrite(function_.blocks[b].body, sums[b]);
    return replaced;
  }

 private:
  // The sums of a block, and which ops go with them.
  struct Sums {
    std::vector<std::pair<std::size_t, Found>> found;
    std::vector<bool> gone;
  };

  void count(ir::ValueId value) {
    if (value.present()) ++reads_[value.index];
  }

  // Of an f32 tensor whose shape is known and not empty.
  std::optional<Extents> extents_of(ir::ValueId value) const {
    const ir::Type& type = function_.type_of(value);
    if (type.kind != ir::Type::Kind::Tensor || type.dtype != DType::F32 || !type.shape) return std::nullopt;
    Extents extents;
    for (const ir::Dim& dim : *type.shape) {
      if (!dim.is_known() || dim.value < 1) return std::nullopt;
      extents.push_back(dim.value);
    }
    return extents;
  }

  std::optional<std::int64_t> axis_of(const ir::Op& sum, std::int64_t rank) const {
    if (sum.operands.size() != 2 || !sum.operands[1].present()) return std::nullopt;
    const ir::TensorLiteral* literal = defs_.constant_tensor(sum.operands[1]);
    if (!literal) return std::nullopt;
    const auto axes = integers_of(*literal);
    if (!axes || axes->size() != 1) return std::nullopt;
    return axes->front() < 0 ? axes->front() + rank : axes->front();
  }

  std::optional<Found> find(std::uint32_t block, const ir::Op& sum) const {
    if (sum.name != "ReduceSum") return std::nullopt;
    const ir::Op* product = defs_.of(sum.operands[0]);
    if (!product || product->name != "Mul" || defs_.block[sum.operands[0].index] != block ||
        reads_[sum.operands[0].index] != 1)
      return std::nullopt;
    const auto whole = extents_of(sum.operands[0]);
    if (!whole || whole->size() < 2) return std::nullopt;
    const auto axis = axis_of(sum, static_cast<std::int64_t>(whole->size()));
    if (!axis) return std::nullopt;
    for (const auto& [matrix, vector] : {std::pair{0, 1}, std::pair{1, 0}}) {
      auto found = match(product->operands[static_cast<std::size_t>(matrix)],
                         product->operands[static_cast<std::size_t>(vector)], *whole, *axis);
      if (!found) continue;
      const auto* keeps = ir::attr_as<std::int64_t>(sum, "keepdims");
      found->keeps_axis = !keeps || *keeps != 0;
      return found;
    }
    return std::nullopt;
  }

  std::optional<Found> match(ir::ValueId matrix, ir::ValueId vector, const Extents& whole, std::int64_t axis) const {
    const auto m = extents_of(matrix), v = extents_of(vector);
    const std::size_t rank = whole.size();
    if (!m || !v || *m != whole || v->size() != rank) return std::nullopt;
    const std::size_t other = axis == static_cast<std::int64_t>(rank) - 2 ? rank - 1 : rank - 2;
    if (axis < static_cast<std::int64_t>(rank) - 2 || whole[rank - 1] * whole[rank - 2] < kSmallestMatrix)
      return std::nullopt;
    std::int64_t matrices = 1;
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      matrices *= whole[i];
      if ((*v)[i] != whole[i]) return std::nullopt;
    }
    if (matrices > kMostMatrices || (*v)[other] != 1 || whole[other] == 1 ||
        (*v)[static_cast<std::size_t>(axis)] != whole[static_cast<std::size_t>(axis)])
      return std::nullopt;
    Found found{matrix, vector, *v, axis, other == rank - 1, false};
    std::swap(found.turned[rank - 1], found.turned[rank - 2]);
    return found;
  }

  ir::ValueId add_integers(std::vector<ir::Op>& body, const Extents& integers, const SourceSpan& span) {
    ir::TensorLiteral literal{DType::I64, {static_cast<std::int64_t>(integers.size())}, {}};
    literal.bytes.resize(integers.size() * sizeof(std::int64_t));
    std::memcpy(literal.bytes.data(), integers.data(), literal.bytes.size());
    const ir::ValueId value = function_.add_value(
        ir::Type::tensor(DType::I64, {ir::Dim::of(static_cast<std::int64_t>(integers.size()))}), "extents");
    body.push_back({"const", {}, {value}, {{"value", std::move(literal)}}, span});
    return value;
  }

  ir::ValueId add_tensor(std::vector<ir::Op>& body, const char* name, std::vector<ir::ValueId> operands,
                         const Extents& extents, const SourceSpan& span) {
    std::vector<ir::Dim> dims;
    for (const std::int64_t extent : extents) dims.push_back(ir::Dim::of(extent));
    const ir::ValueId value = function_.add_value(ir::Type::tensor(DType::F32, std::move(dims)));
    body.push_back({name, std::move(operands), {value}, {}, span});
    return value;
  }

  void replace(std::vector<ir::Op>& body, const ir::Op& sum, const Found& found) {
    const ir::ValueId shape = add_integers(body, found.turned, sum.span);
    const ir::ValueId turned = add_tensor(body, "Reshape", {found.vector, shape}, found.turned, sum.span);
    Extents extents = *extents_of(found.matrix);
    extents[static_cast<std::size_t>(found.axis)] = 1;
    std::vector<ir::ValueId> factors = {turned, found.matrix};
    if (!found.row_first) std::swap(factors[0], factors[1]);
    if (found.keeps_axis) {
      body.push_back({"MatMul", std::move(factors), sum.results, {}, sum.span});
      return;
    }
    const ir::ValueId made = add_tensor(body, "MatMul", std::move(factors), extents, sum.span);
    const ir::ValueId axis = add_integers(body, {found.axis}, sum.span);
    body.push_back({"Squeeze", {made, axis}, sum.results, {}, sum.span});
  }

  Sums sums_of(std::uint32_t b) const {
    const std::vector<ir::Op>& body = function_.blocks[b].body;
    Sums sums{{}, std::vector<bool>(body.size())};
    for (std::size_t i = 0; i < body.size(); ++i)
      if (auto found = find(b, body[i])) {
        sums.gone[static_cast<std::size_t>(defs_.of(body[i].operands[0]) - body.data())] = true;
        sums.found.emplace_back(i, std::move(*found));
      }
    return sums;
  }

  int rewrite(std::vector<ir::Op>& body, const Sums& sums) {
    if (sums.found.empty()) return 0;
    std::vector<ir::Op> made;
    std::size_t next = 0;
    for (std::size_t i = 0; i < body.size(); ++i) {
      if (next < sums.found.size() && sums.found[next].first == i)
        replace(made, body[i], sums.found[next++].second);
      else if (!sums.gone[i])
        made.push_back(std::move(body[i]));
    }
    body = std::move(made);
    return static_cast<int>(sums.found.size());
  }

  ir::Function& function_;
  const Definitions defs_;
  std::vector<int> reads_;
};

}  // namespace

int sum_products(ir::Program& program) {
  int replaced = 0;
  for (ir::Function& function : program.functions) replaced += Rewriter(function).run();
  return replaced;
}

}  // namespace dycl::passes
