// SPDX-License-Identifier: Apache-2.0
// What becomes of each value of a host program when it is written as C++: a variable of its own, a variable
// shared with others, an expression where it is used, or nothing. A snapshot: holds its function, and pointers
// into it.
//
//   inlined   a scalar that is used once is written there, if nothing that matters happens in between
//   folded    a number that is read from a result of a call is stored by the call's own statement
//   shared    values that flow into one another along edges and are never needed at the same time have one
//             variable: `x = layer(x)`, as the user wrote it, instead of a copy per block; so have values with
//             one name in Python, and tensors of one type without a name, one after the other
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/dominators.h"
#include "ir/edges.h"
#include "ir/function.h"
#include "package/liveness.h"

namespace dycl::emit {

class CppValues {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffU;

  explicit CppValues(ir::Function function);
  CppValues(const CppValues&) = delete;
  CppValues& operator=(const CppValues&) = delete;

  const ir::Function& main() const { return main_; }
  const ir::Dominators& dominators() const { return dominators_; }
  const ir::Type& type_of(ir::ValueId v) const { return main_.type_of(v); }

  // Reads that emitted code has; arguments of parameters that nothing reads do not count.
  bool is_used(ir::ValueId v) const { return v.present() && uses_[v.index] > 0; }
  bool is_inlined(ir::ValueId v) const { return inlined_[v.index]; }
  bool is_inlined(const ir::Op& op) const { return op.results.size() == 1 && inlined_[op.results[0].index]; }
  // Nothing stands at the place of this op: it is constant, inlined or folded.
  bool is_silent(const ir::Op& op) const;
  const ir::Op* constant(ir::ValueId v) const { return constants_[v.index]; }
  // The op of an inlined value.
  const ir::Op& definition(ir::ValueId v) const { return *definitions_[v.index]; }
  // The number that takes the place of this result of a call; kNone: the result itself.
  std::uint32_t folded(ir::ValueId result) const;
  // Values with the same number have one variable. Only of values that are neither constant nor inlined.
  std::uint32_t variable(ir::ValueId v) const { return shared_[v.index]; }

  // The value is not needed after this op, which reads it once.
  bool dies_at(const ir::Op& op, ir::ValueId v) const { return dies_.count({&op, v.index}) != 0; }
  // The value owns memory and is not needed in `target`.
  bool dies_before(ir::BlockId target, ir::ValueId v) const;
  bool owns_memory(ir::ValueId v) const { return owning_.tracked[v.index]; }
  // Values whose variables are read where `v` is written, seen through what is inlined.
  void collect(ir::ValueId v, std::set<std::uint32_t>& reads) const;

 private:
  struct Place {
    std::uint32_t block = kNone;
    std::size_t index = 0;  // of the op; body.size() for the exit
  };
  void count_uses();
  std::vector<bool> needed_params() const;
  bool is_tied(const ir::Op& op) const;
  void choose_inlined(std::uint32_t block);
  bool feeds_item(const ir::Op& op, const ir::Block& block) const;
  bool is_returned(const ir::Op& op, const ir::Block& block) const;
  void choose_folded(std::uint32_t block);
  void fold_items(const ir::Block& block, std::size_t call);
  bool nothing_between(const ir::Block& block, std::size_t from, std::size_t until) const;
  void find_deaths(std::uint32_t block);

  struct Range {
    std::uint32_t block = kNone;
    std::int64_t index = -1;  // of the op that defines it; -1: a parameter
  };
  void note_ranges();
  void share();
  void share_names();
  void share_unnamed();
  void try_to_share(std::uint32_t a, std::uint32_t b);
  std::uint32_t find(std::uint32_t v);
  bool interfere(std::uint32_t a, std::uint32_t b) const;
  bool needed_after(std::uint32_t v, const Range& place) const;

  const ir::Function main_;
  const ir::Dominators dominators_;
  const package::Liveness owning_, all_;  // of values that own memory; of all but constants
  std::vector<std::uint32_t> uses_;
  std::vector<Place> last_use_;
  std::vector<bool> inlined_;
  std::set<std::uint32_t> tied_inside_;  // inlined values that must be computed at their place
  std::vector<const ir::Op*> constants_, definitions_;
  std::map<std::uint32_t, std::uint32_t> folded_;  // result of a call -> number
  std::set<const ir::Op*> folded_ops_;
  std::set<std::pair<const ir::Op*, std::uint32_t>> dies_;
  std::vector<Range> ranges_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> last_read_;  // by block and value
  std::vector<std::uint32_t> shared_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> members_;  // of shared variables with several values
};

// Condition, selector, returned and raised values; not the arguments of edges.
template <typename Visit>
void for_each_exit_operand(const ir::Exit& exit, Visit&& visit) {
  if (const auto* branch = std::get_if<ir::Branch>(&exit)) visit(branch->condition);
  if (const auto* choice = std::get_if<ir::Switch>(&exit)) visit(choice->selector);
  if (const auto* result = std::get_if<ir::Return>(&exit))
    for (ir::ValueId v : result->values) visit(v);
  if (const auto* failure = std::get_if<ir::Raise>(&exit))
    for (ir::ValueId v : failure->args) visit(v);
}

}  // namespace dycl::emit
