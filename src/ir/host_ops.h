// SPDX-License-Identifier: Apache-2.0
// The table of host ops (docs/ir.md): which exist, which have effects or can
// fail, and what types their results have. Parser, printer, builder and verifier
// all ask here, so that an op is described once.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::ir {

struct HostOp {
  std::string_view name;
  bool has_effect = false;  // must run, once, in order
  bool can_fail = false;    // may end the run with an error
};

// The host op of that name; null if there is none.
const HostOp* host_op_named(std::string_view name);
std::size_t host_op_count();

// Functions by name; points into the program, so it is stale once functions move.
// Of two functions with one name it knows the first.
class FunctionIndex {
 public:
  explicit FunctionIndex(const Program& program);
  const Function* find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, const Function*> functions_;
};

// The types of a host op's results, from its operands' types and attributes. An
// Error says what is wrong with operands or attributes. For ops whose operands do
// not determine the result (`list.new` of nothing, `opt.none`, `host_call`) the
// Error has kind Unsupported and an empty message: the op carries its types.
// `index`, if given, finds callees in constant time.
Result<std::vector<Type>> infer_types(const Program& program, const Function& function, const Op& op,
                                      const FunctionIndex* index = nullptr);

// True if a result of `op` may be declared `declared` where `inferred` was inferred:
// a wider type always may; ops whose extents depend on values (list.stack, list.cat,
// list.to_tensor, rand.*) may be declared more precisely.
bool may_declare(const Op& op, const Type& inferred, const Type& declared);

// An attribute of a given alternative of Attr; null if absent or of another kind.
template <typename T>
const T* attr_as(const Op& op, const std::string& key) {
  const Attr* attr = op.attr(key);
  return attr ? std::get_if<T>(attr) : nullptr;
}

// The tensor type a literal has.
Type type_of(const TensorLiteral& literal);

// The scalar type that item and tolist read from a dtype; nullopt for those without scalars.
std::optional<Type> scalar_type_of(DType dtype);

}  // namespace dycl::ir
