// SPDX-License-Identifier: Apache-2.0
// The lowering behind lower.h: one pass over a sub-DNN's ops, each of which becomes steps of format.h or
// ends it with NotSmall. What an op becomes is in small_lower_<family>.cpp; lower.cpp holds where values lie and
// the table of ops. One object lowers one sub-DNN, in one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "backends/kernels/small/format.h"
#include "backends/kernels/small/lower.h"

namespace dycl::backends::small {

using Dims = std::vector<std::int64_t>;

// Where a value lies, and what it is.
struct Located {
  Place place = Place::None;
  std::int64_t index = 0;
  DType dtype = DType::F32;
  Dims dims;
  bool blocked = false;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    return n;
  }
};

// Thrown when an op is not for us; caught in `lower`.
struct NotSmall {};

inline void require(bool condition) {
  if (!condition) throw NotSmall{};
}

// Extents of a tensor that is small enough.
Dims dims_of(const ir::Type& type);
Dims dense_strides(const Dims& dims);
// Strides of `from` broadcast to `to`, 0 along broadcast dims.
Dims broadcast_strides(const Dims& from, const Dims& to);
// `dims` around one of them.
struct Around {
  std::int64_t outer = 1, middle = 1, inner = 1;
  Around(const Dims& dims, std::size_t axis) : middle(dims[axis]) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (d < axis) outer *= dims[d];
      if (d > axis) inner *= dims[d];
    }
  }
};
std::int64_t bits_of(double value);

class Lowering {
 public:
  Lowering(const ir::Program& program, const ir::Function& function, const std::vector<bool>& blocked, int block)
      : program_(program), function_(function), block_(block) {
    for (std::size_t i = 0; i < function.params.size(); ++i) {
      Located in = located(function.params[i].value);
      in.place = Place::Input;
      in.index = static_cast<std::int64_t>(i);
      in.blocked = i < blocked.size() && blocked[i];
      values_[function.params[i].value.index] = in;
    }
  }

  Lowered run();

 private:
  Located located(ir::ValueId value) const {
    const ir::Type& type = function_.type_of(value);
    require(type.is_tensor() && (type.dtype == DType::F32 || type.dtype == DType::F64 || type.dtype == DType::I64 ||
                                 type.dtype == DType::I32 || type.dtype == DType::Bool));
    return {Place::None, 0, type.dtype, dims_of(type), false};
  }
  const Located& operand(const ir::Op& op, std::size_t i, bool may_be_blocked = false) {
    require(i < op.operands.size() && op.operands[i].present());
    const auto it = value_of(op.operands[i]);
    require(it != values_.end() && (may_be_blocked || !it->second.blocked));
    return it->second;
  }
  // The value, computed now if that was put off.
  std::map<std::uint32_t, Located>::iterator value_of(ir::ValueId value) {
    if (const auto put_off = transposed_.find(value.index); put_off != transposed_.end()) {
      const ir::Op& op = *put_off->second;
      transposed_.erase(put_off);
      permute(op);
    }
    return values_.find(value.index);
  }
  static std::int64_t int_attr(const ir::Op& op, const char* key, std::int64_t otherwise) {
    const ir::Attr* attr = op.attr(key);
    if (!attr) return otherwise;
    const auto* value = std::get_if<std::int64_t>(attr);
    require(value != nullptr);
    return *value;
  }
  static double float_attr(const ir::Op& op, const char* key, double otherwise) {
    const ir::Attr* attr = op.attr(key);
    if (!attr) return otherwise;
    const auto* value = std::get_if<double>(attr);
    require(value != nullptr);
    return *value;
  }

  // The axis attribute, counted from the front.
  static std::size_t axis_of(const ir::Op& op, std::size_t rank, std::int64_t otherwise) {
    std::int64_t axis = int_attr(op, "axis", otherwise);
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    require(axis >= 0 && axis < static_cast<std::int64_t>(rank));
    return static_cast<std::size_t>(axis);
  }

  // Values and steps: lower.cpp.
  void count_uses();
  void op(const ir::Op& op);
  void finish();
  void constant(const ir::Op& op);
  void weight(const ir::Op& op);
  Located result(const ir::Op& op);  // the place of its only result: an output where the value is nothing else
  Located result_of(ir::ValueId value);
  Located literal_of(const std::vector<float>& elements);
  Located scratch_of(std::int64_t floats);
  Dims constant_ints(const ir::Op& op, std::size_t i) const;
  void emit(Opcode opcode, const std::vector<std::int64_t>& numbers, std::initializer_list<const Located*> places,
            std::int64_t work);

  // lower_elementwise.cpp; false: not such an op
  bool unary(const ir::Op& op);
  bool binary(const ir::Op& op);
  void where(const ir::Op& op);
  void cast(const ir::Op& op);

  // lower_products.cpp
  void gemm(const ir::Op& op);
  void matmul(const ir::Op& op);
  void batched_matmul(const ir::Op& op);
  void product(const Located& a, const Located& b, const Located* bias, const Located& out,
               const std::vector<std::int64_t>& numbers);
  void pointwise_conv(const ir::Op& op);
  void lstm(const ir::Op& op);
  std::vector<float> constant_floats(ir::ValueId value) const;

  // lower_reductions.cpp
  void reduce(const ir::Op& op, ReduceFunction function);
  std::vector<std::int64_t> axes_of(const ir::Op& op, std::size_t rank) const;
  void mean_of_blocked(const ir::Op& op, const Located& in);
  void pool(const ir::Op& op);
  void average_pool(const ir::Op& op);
  void arg_max(const ir::Op& op);
  void softmax(const ir::Op& op);
  void layer_norm(const ir::Op& op);
  void top_k(const ir::Op& op);
  void select(const ir::Op& op);

  // lower_layout.cpp
  void alias(const ir::Op& op);
  void gather(const ir::Op& op);
  void pick(const ir::Op& op, std::int64_t which);
  void gather_elements(const ir::Op& op);
  void move(const Located& in, const Dims& dims, const Dims& from, std::int64_t first_in, const Located& out,
            const Dims& to, std::int64_t first_out);
  void part(const Located& in, ir::ValueId value, const Dims& starts, const Dims& steps);
  void split(const ir::Op& op);
  void slice(const ir::Op& op);
  void concat(const ir::Op& op);
  void expand(const ir::Op& op);
  void transpose(const ir::Op& op);
  void permute(const ir::Op& op);

  const ir::Program& program_;
  const ir::Function& function_;
  int block_;
  std::map<std::uint32_t, Located> values_;
  // Transposed in the last two dims but not computed: a product may take the source.
  std::map<std::uint32_t, const ir::Op*> transposed_;
  std::map<std::uint32_t, const ir::TensorLiteral*> literal_of_;
  std::map<std::uint32_t, std::string> weight_of_;
  std::map<std::uint32_t, int> uses_, returns_;
  std::map<std::string, std::int64_t> weight_index_;
  std::vector<std::string> weights_;
  std::vector<std::uint8_t> literals_;
  std::vector<std::int64_t> words_;
  std::int64_t steps_ = 0, scratch_ = 0, work_ = 0;
};

}  // namespace dycl::backends::small
