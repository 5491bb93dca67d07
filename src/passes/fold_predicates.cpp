// SPDX-License-Identifier: Apache-2.0
// First every host op that could be tensor arithmetic is a candidate; then those
// whose numbers are read by anyone else drop out, with all that depends on them;
// the bools that remain and are read from outside are the conditions to fold.
#include "passes/fold_predicates.h"

#include <algorithm>
#include <limits>

#include "passes/definitions.h"
#include "passes/effects.h"
#include "passes/tensor_arithmetic.h"

namespace dycl::passes {
namespace {

__extension__ using Wide = __int128;

struct Range {
  Wide low = std::numeric_limits<std::int64_t>::min();
  Wide high = std::numeric_limits<std::int64_t>::max();

  bool fits() const {
    return low >= std::numeric_limits<std::int64_t>::min() && high <= std::numeric_limits<std::int64_t>::max();
  }
};

template <typename T>
Range range_of() {
  return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::Bool: return {0, 1};
    case DType::U8: return range_of<std::uint8_t>();
    case DType::I8: return range_of<std::int8_t>();
    case DType::U16: return range_of<std::uint16_t>();
    case DType::I16: return range_of<std::int16_t>();
    case DType::U32: return range_of<std::uint32_t>();
    case DType::I32: return range_of<std::int32_t>();
    default: return {};
  }
}

// What an index of a tensor can be: no tensor has 2^48 elements along a dim.
bool gives_index(const ir::Op& op) { return op.name == "ArgMax" || op.name == "ArgMin" || op.name == "Shape"; }
constexpr Range kIndexRange{0, Wide{1} << 48};

Range product(Range a, Range b) {
  const Wide corners[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {*std::ranges::min_element(corners), *std::ranges::max_element(corners)};
}

Range range_after(const std::string& op, const std::vector<Range>& r) {
  if (op == "int.add") return {r[0].low + r[1].low, r[0].high + r[1].high};
  if (op == "int.sub") return {r[0].low - r[1].high, r[0].high - r[1].low};
  if (op == "int.mul") return product(r[0], r[1]);
  if (op == "int.neg") return {-r[0].high, -r[0].low};
  if (op == "int.abs") return {0, std::max(-r[0].low, r[0].high)};
  if (op == "int.min") return {std::min(r[0].low, r[1].low), std::min(r[0].high, r[1].high)};
  if (op == "int.max") return {std::max(r[0].low, r[1].low), std::max(r[0].high, r[1].high)};
  if (op == "select") return {std::min(r[1].low, r[2].low), std::max(r[1].high, r[2].high)};
  if (op == "bool.to_int") return {0, 1};
  return {};
}

class PredicateFolder {
 public:
  explicit PredicateFolder(ir::Function& function)
      : function_(function),
        defs_(definitions_of(function)),
        candidate_(function.values.size()),
        range_(function.values.size()),
        uses_(function.values.size()),
        inside_uses_(function.values.size()),
        users_(function.values.size()),
        constant_(function.values.size()) {
    for (std::uint32_t v = 0; v < constant_.size(); ++v)
      if (const ir::Attr* value = defs_.constant({v})) constant_[v] = scalar_of(*value);
  }

  int run() {
    find_candidates();
    if (!any_) return 0;
    count_uses();
    drop_shared();
    for (std::uint32_t b = 0; b < function_.blocks.size(); ++b) rewrite(b);
    return folded_;
  }

 private:
  // ---- candidates --------------------------------------------------------------------

  void find_candidates() {
    const Cfg cfg = cfg_of(function_);
    for (const std::uint32_t b : cfg.order())
      for (const ir::Op& op : function_.blocks[b].body) {
        if (op.results.size() != 1) continue;
        const bool is = op.name == "item" ? is_leaf(b, op) : is_arithmetic(b, op);
        candidate_[op.results[0].index] = is;
        any_ = any_ || is;
      }
  }

  bool is_leaf(std::uint32_t b, const ir::Op& op) {
    const ir::ValueId tensor = op.operands[0];
    const DType dtype = function_.type_of(tensor).dtype;
    const ir::Op* made = defs_.of(tensor);
    if (may_raise(function_, op) || !made || !made->is_tensor_op() || defs_.block[tensor.index] != b) return false;
    range_[op.results[0].index] = gives_index(*made) ? kIndexRange : range_of(dtype);
    return dtype != DType::U64;
  }

  bool is_arithmetic(std::uint32_t b, const ir::Op& op) {
    if (!TensorArithmetic::knows(op.name) || !function_.type_of(op.results[0]).is_scalar()) return false;
    bool reads_tensor = false;
    std::vector<Range> ranges;
    for (const ir::ValueId operand : op.operands) {
      if (const auto& constant = constant_[operand.index]) {
        ranges.push_back(constant->kind == scalar::Kind::Int ? Range{constant->i, constant->i} : Range{});
        continue;
      }
      if (!candidate_[operand.index] || defs_.block[operand.index] != b) return false;
      reads_tensor = true;
      ranges.push_back(range_[operand.index]);
    }
    if (!reads_tensor || !divides_safely(op)) return false;
    const Range range = range_after(op.name, ranges);
    range_[op.results[0].index] = range;
    return range.fits() && choice_is_simple(op);
  }

  bool divides_safely(const ir::Op& op) const {
    if (op.name != "float.truediv") return true;
    const auto& divisor = constant_[op.operands[1].index];
    return divisor && divisor->f != 0.0;
  }

  // A choice by a constant is another pass's work.
  bool choice_is_simple(const ir::Op& op) const { return op.name != "select" || !constant_[op.operands[0].index]; }

  // ---- who else reads them --------------------------------------------------------------

  void count_uses() {
    const auto use = [&](ir::ValueId value) {
      if (value.present()) ++uses_[value.index];
    };
    for (const ir::Block& block : function_.blocks) {
      for (const ir::Op& op : block.body) {
        for (const ir::ValueId operand : op.operands) use(operand);
        if (op.results.size() != 1 || op.name == "item" || !candidate_[op.results[0].index]) continue;
        for (const ir::ValueId operand : op.operands) {
          ++inside_uses_[operand.index];
          users_[operand.index].push_back(op.results[0]);
        }
      }
      for_each_exit_use(block.exit, use);
    }
  }

  bool read_outside(ir::ValueId value) const { return uses_[value.index] > inside_uses_[value.index]; }
  bool is_bool(ir::ValueId value) const { return function_.type_of(value).kind == ir::Type::Kind::Bool; }

  // A number that somebody else reads leaves the sub-DNN anyway; so it stays on the
  // host, with all that is made of it.
  void drop_shared() {
    std::vector<ir::ValueId> work;
    for (std::uint32_t v = 0; v < candidate_.size(); ++v)
      if (candidate_[v] && !is_bool({v}) && read_outside({v})) work.push_back({v});
    while (!work.empty()) {
      const ir::ValueId value = work.back();
      work.pop_back();
      if (!candidate_[value.index]) continue;
      candidate_[value.index] = false;
      for (const ir::ValueId user : users_[value.index]) work.push_back(user);
      const ir::Op& op = *defs_.of(value);
      if (op.name == "item") continue;
      for (const ir::ValueId operand : op.operands) {
        --inside_uses_[operand.index];
        if (candidate_[operand.index] && !is_bool(operand)) work.push_back(operand);
      }
    }
  }

  // ---- rewriting ------------------------------------------------------------------------------

  bool is_condition(const ir::Op& op) const {
    return op.results.size() == 1 && op.name != "item" && candidate_[op.results[0].index] && is_bool(op.results[0]) &&
           read_outside(op.results[0]);
  }

  void rewrite(std::uint32_t b) {
    auto& body = function_.blocks[b].body;
    if (std::ranges::none_of(body, [&](const ir::Op& op) { return is_condition(op); })) return;
    terms_.resize(function_.values.size());
    std::vector<ir::Op> out;
    TensorArithmetic arithmetic(function_, out);
    for (ir::Op& op : body) {
      if (op.results.size() != 1 || !candidate_[op.results[0].index]) {
        out.push_back(std::move(op));
        continue;
      }
      const ir::ValueId result = op.results[0];
      const bool leaves = op.name == "item" ? read_outside(result) : is_condition(op);
      terms_[result.index] =
          op.name == "item" ? arithmetic.leaf(op.operands[0]) : arithmetic.apply(op.name, terms_of(op), op.span);
      if (!leaves) continue;
      if (op.name == "item") {
        out.push_back(std::move(op));
      } else {
        arithmetic.item(terms_[result.index], result, op.span);
        ++folded_;
      }
    }
    body = std::move(out);
  }

  std::vector<TensorArithmetic::Term> terms_of(const ir::Op& op) const {
    std::vector<TensorArithmetic::Term> terms;
    for (const ir::ValueId operand : op.operands) {
      if (const auto& constant = constant_[operand.index])
        terms.push_back({{}, DType::F64, *constant});
      else
        terms.push_back(terms_[operand.index]);
    }
    return terms;
  }

  ir::Function& function_;
  Definitions defs_;
  std::vector<bool> candidate_;
  std::vector<Range> range_;
  std::vector<std::uint32_t> uses_, inside_uses_;
  std::vector<std::vector<ir::ValueId>> users_;          // candidates that read a value
  std::vector<std::optional<scalar::Scalar>> constant_;  // per value: a copy, for bodies change
  std::vector<TensorArithmetic::Term> terms_;
  bool any_ = false;
  int folded_ = 0;
};

}  // namespace

int fold_predicates(ir::Program& program) {
  int folded = 0;
  for (ir::Function& function : program.functions)
    if (function.kind == ir::FunctionKind::Host) folded += PredicateFolder(function).run();
  return folded;
}

}  // namespace dycl::passes
