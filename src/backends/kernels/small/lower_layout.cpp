// SPDX-License-Identifier: Apache-2.0
// Ops that move elements and compute nothing: parts, permutations, repetitions, look-ups.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/kernels/small/lowering.h"

namespace dycl::backends::small {

// The same elements under another shape.
void Lowering::alias(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.results.size() == 1);
  Located out = located(op.results[0]);
  require(out.dtype == in.dtype && out.count() == in.count());
  out.place = in.place;
  out.index = in.index;
  require(in.place != Place::Output);
  values_[op.results[0].index] = out;
}

// One element of an axis, known now or not, or several.
void Lowering::gather(const ir::Op& op) {
  require(op.operands.size() == 2 && op.operands[1].present());
  const auto known = literal_of_.find(op.operands[1].index);
  if (known != literal_of_.end() && known->second->dtype == DType::I64 && known->second->bytes.size() == 8) {
    std::int64_t which = 0;
    std::memcpy(&which, known->second->bytes.data(), sizeof which);
    return pick(op, which);
  }
  const Located in = operand(op, 0), indices = operand(op, 1), out = result(op);
  require(indices.dtype == DType::I64 || indices.dtype == DType::I32);
  const Around around(in.dims, axis_of(op, in.dims.size(), 0));
  require(out.dtype == in.dtype && out.count() == around.outer * around.inner * indices.count());
  const auto size = static_cast<std::int64_t>(size_of(in.dtype));
  emit(Opcode::Take,
       {size, around.outer, around.middle, around.inner, indices.count(), static_cast<std::int64_t>(indices.dtype)},
       {&in, &indices, &out}, out.count() * size / 16 + around.outer * indices.count() * 16);
}

void Lowering::pick(const ir::Op& op, std::int64_t which) {
  const Located in = operand(op, 0);
  const Around around(in.dims, axis_of(op, in.dims.size(), 0));
  if (which < 0) which += around.middle;
  const Located out = result(op);
  require(which >= 0 && which < around.middle && out.dtype == in.dtype && out.count() == around.outer * around.inner);
  const auto size = static_cast<std::int64_t>(size_of(in.dtype));
  emit(Opcode::Pick, {size, around.outer, around.middle, around.inner, which}, {&in, &out},
       out.count() * size / 16 + around.outer * 8);
}

void Lowering::gather_elements(const ir::Op& op) {
  const Located in = operand(op, 0), indices = operand(op, 1), out = result(op);
  const std::size_t axis = axis_of(op, in.dims.size(), 0);
  require(indices.dtype == DType::I64 && indices.dims == out.dims && out.dtype == in.dtype &&
          indices.dims.size() == in.dims.size());
  for (std::size_t d = 0; d < in.dims.size(); ++d) require(d == axis || in.dims[d] == indices.dims[d]);
  const Around around(in.dims, axis);
  emit(Opcode::Pluck,
       {static_cast<std::int64_t>(size_of(in.dtype)), around.outer, around.middle, around.inner, indices.dims[axis]},
       {&in, &indices, &out}, out.count() * 8);
}

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * std::max<std::int64_t>(dims[d], 1);
  return strides;
}

// Neighbouring dims that lie in one line on both sides become one.
void Lowering::move(const Located& in, const Dims& dims, const Dims& from, std::int64_t first_in, const Located& out,
                    const Dims& to, std::int64_t first_out) {
  Dims d, f, t;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!d.empty() && f.back() == from[i] * dims[i] && t.back() == to[i] * dims[i]) {
      d.back() *= dims[i];
      f.back() = from[i];
      t.back() = to[i];
      continue;
    }
    d.push_back(dims[i]);
    f.push_back(from[i]);
    t.push_back(to[i]);
  }
  require(d.size() <= kMaxRank);
  std::int64_t count = 1;
  for (const std::int64_t dim : d) count *= dim;
  const auto size = static_cast<std::int64_t>(size_of(in.dtype));
  require(size == 1 || size == 4 || size == 8);
  const bool in_lines = d.empty() || (f.back() == 1 && t.back() == 1);
  const std::int64_t line = d.empty() || d.back() == 0 ? 1 : d.back();
  std::vector<std::int64_t> numbers = {size, static_cast<std::int64_t>(d.size())};
  for (const Dims& list : {d, f, t}) numbers.insert(numbers.end(), list.begin(), list.end());
  numbers.push_back(first_in);
  numbers.push_back(first_out);
  emit(Opcode::Move, numbers, {&in, &out}, in_lines ? count * size / 64 + count / line * 16 : count * 3);
}

// `value` is the elements of `in` from `starts` on in `steps`: in place where they lie in one piece of our own memory.
void Lowering::part(const Located& in, ir::ValueId value, const Dims& starts, const Dims& steps) {
  const Dims strides = dense_strides(in.dims);
  Located out = located(value);
  require(out.dtype == in.dtype && out.dims.size() == in.dims.size());
  std::int64_t first = 0;
  bool one_piece = true;
  std::int64_t before = 1;  // of the result, over the dims so far
  Dims from(strides.size());
  for (std::size_t d = 0; d < in.dims.size(); ++d) {
    const std::int64_t last = starts[d] + (out.dims[d] - 1) * steps[d];
    require(starts[d] >= 0 && steps[d] > 0 && (out.dims[d] == 0 || last < in.dims[d]));
    first += starts[d] * strides[d];
    from[d] = strides[d] * steps[d];
    if (out.dims[d] != in.dims[d]) one_piece = one_piece && before == 1 && (steps[d] == 1 || out.dims[d] == 1);
    before *= out.dims[d];
  }
  const bool returned = returns_[value.index] > 0;
  if (one_piece && !returned && out.count() > 0 && (in.place == Place::Scratch || in.place == Place::Literal)) {
    out.place = in.place;
    out.index = in.index + first * static_cast<std::int64_t>(size_of(in.dtype));
    values_[value.index] = out;
    return;
  }
  out = result_of(value);
  move(in, out.dims, from, out.count() > 0 ? first : 0, out, dense_strides(out.dims), 0);
}

void Lowering::split(const ir::Op& op) {
  const Located in = operand(op, 0);
  const std::size_t axis = axis_of(op, in.dims.size(), 0);
  std::int64_t at = 0;
  for (const ir::ValueId value : op.results) {
    require(value.present());
    Dims starts(in.dims.size(), 0);
    starts[axis] = at;
    const Dims dims = located(value).dims;
    require(dims.size() == in.dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) require(d == axis || dims[d] == in.dims[d]);
    part(in, value, starts, Dims(in.dims.size(), 1));
    at += dims[axis];
  }
  require(at == in.dims[axis]);
}

void Lowering::slice(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.results.size() == 1 && op.attrs.empty());
  const Dims starts = constant_ints(op, 1), ends = constant_ints(op, 2);
  const auto rank = static_cast<std::int64_t>(in.dims.size());
  Dims axes;
  for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (op.operands.size() > 3 && op.operands[3].present()) axes = constant_ints(op, 3);
  Dims steps(starts.size(), 1);
  if (op.operands.size() > 4 && op.operands[4].present()) steps = constant_ints(op, 4);
  require(ends.size() == starts.size() && axes.size() == starts.size() && steps.size() == starts.size());
  Dims first(in.dims.size(), 0), step(in.dims.size(), 1), extent = in.dims;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    require(axis >= 0 && axis < rank && steps[i] > 0);
    const auto d = static_cast<std::size_t>(axis);
    const auto inside = [&](std::int64_t v) {
      return std::clamp<std::int64_t>(v < 0 ? v + in.dims[d] : v, 0, in.dims[d]);
    };
    first[d] = inside(starts[i]);
    step[d] = steps[i];
    extent[d] = std::max<std::int64_t>((inside(ends[i]) - first[d] + steps[i] - 1) / steps[i], 0);
  }
  require(located(op.results[0]).dims == extent);
  part(in, op.results[0], first, step);
}

void Lowering::concat(const ir::Op& op) {
  const Located out = result(op);
  const std::size_t along = axis_of(op, out.dims.size(), 0);
  std::int64_t at = 0;
  const Dims to = dense_strides(out.dims);
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Located in = operand(op, i);
    require(in.dtype == out.dtype && in.dims.size() == out.dims.size());
    for (std::size_t d = 0; d < in.dims.size(); ++d) require(d == along || in.dims[d] == out.dims[d]);
    if (in.count() > 0) move(in, in.dims, dense_strides(in.dims), 0, out, to, at * to[along]);
    at += in.dims[along];
  }
  require(at == out.dims[along]);
}

void Lowering::expand(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.results.size() == 1);
  if (located(op.results[0]).count() == in.count()) return alias(op);
  const Located out = result(op);
  require(out.dtype == in.dtype && out.dims.size() <= kMaxRank);
  move(in, out.dims, broadcast_strides(in.dims, out.dims), 0, out, dense_strides(out.dims), 0);
}

namespace {
Dims perm_of(const ir::Op& op, std::size_t rank) {
  Dims perm;
  for (std::size_t d = rank; d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
  if (const ir::Attr* attr = op.attr("perm")) {
    const auto* given = std::get_if<std::vector<std::int64_t>>(attr);
    require(given != nullptr && given->size() == rank);
    perm = *given;
  }
  Dims sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t d = 0; d < rank; ++d) require(sorted[d] == static_cast<std::int64_t>(d));
  return perm;
}
}  // namespace

void Lowering::transpose(const ir::Op& op) {
  const Located in = operand(op, 0);
  require(op.results.size() == 1);
  const Dims perm = perm_of(op, in.dims.size());
  Dims moved;  // the dims of more than one element, in their new order
  for (const std::int64_t d : perm)
    if (in.dims[static_cast<std::size_t>(d)] != 1) moved.push_back(d);
  if (std::is_sorted(moved.begin(), moved.end())) return alias(op);
  const std::size_t rank = perm.size();
  bool swaps_last = rank >= 2;
  for (std::size_t d = 0; d < rank && swaps_last; ++d) {
    const std::size_t other = d + 2 < rank ? d : 2 * rank - 3 - d;
    swaps_last = perm[d] == static_cast<std::int64_t>(other);
  }
  if (swaps_last && returns_[op.results[0].index] == 0) {
    transposed_[op.results[0].index] = &op;
    return;
  }
  permute(op);
}

void Lowering::permute(const ir::Op& op) {
  const Located in = operand(op, 0);
  const Dims perm = perm_of(op, in.dims.size()), strides = dense_strides(in.dims);
  const Located out = result(op);
  require(out.dtype == in.dtype && out.dims.size() == in.dims.size());
  Dims from;
  for (std::size_t d = 0; d < perm.size(); ++d) {
    require(out.dims[d] == in.dims[static_cast<std::size_t>(perm[d])]);
    from.push_back(strides[static_cast<std::size_t>(perm[d])]);
  }
  move(in, out.dims, from, 0, out, dense_strides(out.dims), 0);
}

}  // namespace dycl::backends::small
