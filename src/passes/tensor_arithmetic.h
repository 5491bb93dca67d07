// SPDX-License-Identifier: Apache-2.0
// Writes host arithmetic as tensor ops on tensors of one element, bit for bit the
// same (the proof for comparisons is in fold_predicates.h). Ints are i64; floats are
// f32 while that is exact, else f64; what a host op may raise on must be ruled out
// by the caller.
#pragma once

#include <string>
#include <vector>

#include "ir/function.h"
#include "support/scalar_ops.h"

namespace dycl::passes {

class TensorArithmetic {
 public:
  TensorArithmetic(ir::Function& function, std::vector<ir::Op>& out) : function_(function), out_(out) {}

  // An operand: a tensor of one element, or a constant.
  struct Term {
    ir::ValueId tensor;        // absent: a constant
    DType dtype = DType::F64;  // of the tensor: Bool, I64, F32 or F64
    scalar::Scalar constant;
  };

  static bool knows(const std::string& host_op);

  Term leaf(ir::ValueId tensor);  // what `item` of it would read
  Term apply(const std::string& host_op, const std::vector<Term>& operands, SourceSpan span);
  ir::ValueId item(const Term& term, ir::ValueId result, SourceSpan span);

 private:
  Term compare(const std::string& relation, Term a, Term b);
  Term float_op(const std::string& op, const std::vector<Term>& operands);
  Term int_op(const std::string& op, const std::vector<Term>& operands);
  Term bool_op(const std::string& op, const std::vector<Term>& operands);
  Term choose(const Term& condition, const Term& a, const Term& b);
  Term pick(const char* relation, const Term& a, const Term& b);
  Term negated(const Term& term);
  Term cast(const Term& term, DType dtype);
  Term literal(const scalar::Scalar& value, DType dtype);
  Term emit(const char* name, std::vector<Term> operands, DType dtype);

  ir::Function& function_;
  std::vector<ir::Op>& out_;
  SourceSpan span_;
};

}  // namespace dycl::passes
