// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/small/run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "backends/kernels/selection.h"
#include "backends/kernels/small/kernels.h"

namespace dycl::backends::small {
namespace {

// A product with a weight of fewer columns or elements is computed from the plain form.
constexpr std::int64_t kLeastColumns = 16, kLeastElements = 1024;

// Forms in which one weight is packed; programs of ours use one or two.
constexpr std::size_t kMostForms = 4;

}  // namespace

// ---- reading -------------------------------------------------------------------------

class SmallProgram::Reader {
 public:
  Reader(const std::uint8_t* bytes, std::size_t size, const Sizes& sizes) : bytes_(bytes), size_(size), sizes_(sizes) {}

  Result<SmallProgram> program();

 private:
  Result<std::int64_t> word() {
    if (size_ - at_ < sizeof(std::int64_t)) return damaged("it ends too early");
    std::int64_t value = 0;
    std::memcpy(&value, bytes_ + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  Result<std::int64_t> number(std::int64_t least, std::int64_t most) {
    DYCL_ASSIGN(const std::int64_t value, word());
    if (value < least || value > most) return damaged("a number is out of range");
    return value;
  }
  static Error damaged(const std::string& why) {
    return {ErrorKind::InvalidPackage, "a small program is damaged: " + why, {}, {}, {}};
  }

  struct Range;
  static bool are_in_conflict(const Range& a, const Range& b);
  Result<Where> where(std::size_t bytes, std::size_t alignment, bool written);
  Result<std::size_t> room(Place place, std::size_t index) const;
  Result<void> numbers(Step& step, std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranges);
  Result<Step> step();
  Result<void> binary(Step& step);
  Result<void> gemm_step(Step& step);
  Result<void> reduction(Step& step, std::size_t result_size, std::size_t first);
  Result<std::size_t> count(const Step& step, std::initializer_list<std::size_t> which) const;
  static Result<void> work(std::size_t results, std::int64_t of_each);
  Result<std::size_t> reach(const Step& step, std::size_t dims, std::size_t strides, std::size_t rank) const;
  Result<std::size_t> extents(Step& step, std::size_t rank, std::size_t lists);
  Result<void> move_step(Step& step);
  Result<void> where_step(Step& step);
  Result<void> mat_mul_step(Step& step);
  Result<void> select_step(Step& step);

  const std::uint8_t* bytes_;
  std::size_t size_;
  const Sizes& sizes_;
  std::size_t at_ = 0;
  struct Range {
    Where where;
    std::size_t bytes = 0;
    bool written = false;
  };
  std::vector<Range> ranges_;  // that the step which is being read touches
  SmallProgram out_;
};

Result<std::size_t> SmallProgram::Reader::room(Place place, std::size_t index) const {
  auto of = [&](const std::vector<std::size_t>& sizes) -> Result<std::size_t> {
    if (index >= sizes.size()) return damaged("a step names a tensor that is not there");
    return sizes[index];
  };
  switch (place) {
    case Place::Input: return of(sizes_.inputs);
    case Place::Output: return of(sizes_.outputs);
    case Place::Weight: return of(sizes_.weights);
    case Place::Scratch: return out_.scratch_ - std::min(index, out_.scratch_);
    case Place::Literal: return out_.literals_.size() - std::min(index, out_.literals_.size());
    case Place::None: return std::size_t{0};
  }
  return damaged("a place of unknown kind");
}

Result<SmallProgram::Where> SmallProgram::Reader::where(std::size_t bytes, std::size_t alignment, bool written) {
  DYCL_ASSIGN(const std::int64_t kind, number(0, 5));
  DYCL_ASSIGN(const std::int64_t index, number(0, kMaxCount * 8));
  const Where found{static_cast<Place>(kind), static_cast<std::size_t>(index)};
  DYCL_ASSIGN(const std::size_t available, room(found.place, found.index));
  if (bytes > available) return damaged("a step reaches beyond a tensor");
  const bool offset = found.place == Place::Scratch || found.place == Place::Literal;
  if (offset && found.index % alignment != 0) return damaged("a step is not aligned");
  if (written && found.place != Place::Output && found.place != Place::Scratch)
    return damaged("a step writes to what may only be read");
  if (!written && found.place == Place::Output) return damaged("a step reads an output");
  const Range range{found, bytes, written};
  if (std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& other) { return are_in_conflict(range, other); }))
    return damaged("a step writes over its own operands");
  ranges_.push_back(range);
  return found;
}

// Whether one of them is written and they have bytes in common.
bool SmallProgram::Reader::are_in_conflict(const Range& a, const Range& b) {
  if (!(a.written || b.written) || a.where.place != b.where.place || a.bytes == 0 || b.bytes == 0) return false;
  if (a.where.place == Place::Output) return a.where.index == b.where.index;
  return a.where.index < b.where.index + b.bytes && b.where.index < a.where.index + a.bytes;
}

Result<void> SmallProgram::Reader::numbers(Step& step,
                                           std::initializer_list<std::pair<std::int64_t, std::int64_t>> ranges) {
  for (const auto& [least, most] : ranges) {
    DYCL_ASSIGN(const std::int64_t value, number(least, most));
    step.numbers.push_back(value);
  }
  return {};
}

Result<std::size_t> SmallProgram::Reader::count(const Step& step, std::initializer_list<std::size_t> which) const {
  std::int64_t product = 1;
  for (const std::size_t i : which) {
    product *= step.numbers[i];
    if (product > kMaxCount) return damaged("a step is too large");
  }
  return static_cast<std::size_t>(product);
}

// Both are at most kMaxCount. A step that does more would go on after a run was told to end.
Result<void> SmallProgram::Reader::work(std::size_t results, std::int64_t of_each) {
  if (static_cast<std::int64_t>(results) * of_each > kMaxProduct) return damaged("a step is too large");
  return {};
}

Result<void> SmallProgram::Reader::binary(Step& step) {
  DYCL_TRY(numbers(step, {{0, static_cast<std::int64_t>(BinaryFunction::Count) - 1}, {0, 16}, {0, kMaxRank}}));
  const auto function = static_cast<BinaryFunction>(step.numbers[0]);
  const auto dtype = dtype_of_code(static_cast<int>(step.numbers[1]));
  const bool is_bool = dtype == DType::Bool;
  if (!dtype || (!is_bool && *dtype != DType::F32 && *dtype != DType::I64))
    return damaged("a dtype it cannot compute with");
  const bool of_bool = function >= BinaryFunction::And && function <= BinaryFunction::Xor;
  const bool of_bits = function >= BinaryFunction::BitAnd;
  if (is_bool ? !of_bool && function != BinaryFunction::Equal : of_bool) return damaged("a function of another dtype");
  if (of_bits && *dtype != DType::I64) return damaged("a function of another dtype");
  if (*dtype == DType::I64 && function == BinaryFunction::Div) return damaged("a division of integers");
  const auto rank = static_cast<std::size_t>(step.numbers[2]);
  std::int64_t elements = 1, reach[2] = {1, 1};
  for (std::size_t i = 0; i < 3 * rank; ++i) DYCL_TRY(numbers(step, {{0, kMaxCount}}));
  for (std::size_t d = 0; d < rank; ++d) {
    elements *= step.numbers[3 + d];
    if (elements > kMaxCount) return damaged("a step is too large");
  }
  for (std::size_t d = 0; d < rank && elements > 0; ++d)
    for (std::size_t k = 0; k < 2; ++k) reach[k] += step.numbers[3 + (k + 1) * rank + d] * (step.numbers[3 + d] - 1);
  if (reach[0] > kMaxCount || reach[1] > kMaxCount) return damaged("a step is too large");
  const std::size_t size = size_of(*dtype), n = static_cast<std::size_t>(elements);
  const bool compares = function >= BinaryFunction::Greater && !of_bits;
  DYCL_ASSIGN(step.a, where(n ? static_cast<std::size_t>(reach[0]) * size : 0, size, false));
  DYCL_ASSIGN(step.b, where(n ? static_cast<std::size_t>(reach[1]) * size : 0, size, false));
  DYCL_ASSIGN(step.out, where(n * (compares ? 1 : size), compares ? 1 : size, true));
  return {};
}

Result<void> SmallProgram::Reader::gemm_step(Step& step) {
  DYCL_TRY(numbers(step, {{1, kMaxCount}, {1, kMaxCount}, {1, kMaxCount}, {0, 1}, {0, 3}}));
  for (int i = 0; i < 2; ++i) {
    DYCL_ASSIGN(const std::int64_t bits, word());
    step.numbers.push_back(bits);
  }
  DYCL_ASSIGN(const std::size_t a, count(step, {0, 2}));
  DYCL_ASSIGN(const std::size_t b, count(step, {1, 2}));
  DYCL_ASSIGN(const std::size_t out, count(step, {0, 1}));
  DYCL_TRY(work(out, step.numbers[2]));
  const std::size_t bias[] = {0, 1, static_cast<std::size_t>(step.numbers[1]), out};
  DYCL_ASSIGN(step.a, where(a * 4, 4, false));
  DYCL_ASSIGN(step.b, where(b * 4, 4, false));
  DYCL_ASSIGN(step.c, where(bias[step.numbers[4]] * 4, 4, false));
  DYCL_ASSIGN(step.out, where(out * 4, 4, true));
  return {};
}

// outer, middle, inner at numbers[first...]
Result<void> SmallProgram::Reader::reduction(Step& step, std::size_t result_size, std::size_t first) {
  if (step.numbers[first + 1] == 0) return damaged("a reduction of nothing");
  DYCL_ASSIGN(const std::size_t in, count(step, {first, first + 1, first + 2}));
  DYCL_ASSIGN(const std::size_t out, count(step, {first, first + 2}));
  const std::size_t size = std::min<std::size_t>(result_size, 4);
  DYCL_ASSIGN(step.a, where(in * size, size, false));
  DYCL_ASSIGN(step.out, where(out * result_size, result_size, true));
  return {};
}

Result<SmallProgram::Step> SmallProgram::Reader::step() {
  Step step;
  DYCL_ASSIGN(const std::int64_t code, number(1, static_cast<std::int64_t>(Opcode::Select)));
  step.opcode = static_cast<Opcode>(code);
  const std::pair<std::int64_t, std::int64_t> extent = {0, kMaxCount}, positive = {1, kMaxCount};
  switch (step.opcode) {
    case Opcode::Unary: {
      DYCL_TRY(numbers(step, {{0, static_cast<std::int64_t>(UnaryFunction::Count) - 1}, extent}));
      const auto function = static_cast<UnaryFunction>(step.numbers[0]);
      const std::size_t size = function == UnaryFunction::Not ? 1 : 4,
                        made = function == UnaryFunction::IsNaN ? 1 : size;
      DYCL_ASSIGN(step.a, where(static_cast<std::size_t>(step.numbers[1]) * size, size, false));
      DYCL_ASSIGN(step.out, where(static_cast<std::size_t>(step.numbers[1]) * made, made, true));
      break;
    }
    case Opcode::Binary: DYCL_TRY(binary(step)); break;
    case Opcode::Gemm: DYCL_TRY(gemm_step(step)); break;
    case Opcode::Reduce:
      DYCL_TRY(numbers(step, {{0, static_cast<std::int64_t>(ReduceFunction::Count) - 1}, extent, extent, extent}));
      DYCL_TRY(reduction(step, static_cast<ReduceFunction>(step.numbers[0]) >= ReduceFunction::Any ? 1 : 4, 1));
      break;
    case Opcode::ArgMax:
      DYCL_TRY(numbers(step, {extent, extent, extent, {0, 1}}));
      DYCL_TRY(reduction(step, 8, 0));
      break;
    case Opcode::BlockedMean: {
      DYCL_TRY(numbers(step, {positive, positive, positive, {8, 16}}));
      const std::int64_t block = step.numbers[3];
      if ((block != 8 && block != 16) || step.numbers[1] % block != 0) return damaged("a block size");
      DYCL_ASSIGN(const std::size_t in, count(step, {0, 1, 2}));
      DYCL_ASSIGN(const std::size_t out, count(step, {0, 1}));
      DYCL_ASSIGN(step.a, where(in * 4, 4, false));
      DYCL_ASSIGN(step.out, where(out * 4, 4, true));
      break;
    }
    case Opcode::Softmax: {
      DYCL_TRY(numbers(step, {{0, 1}, extent, positive}));
      DYCL_ASSIGN(const std::size_t n, count(step, {1, 2}));
      DYCL_ASSIGN(step.a, where(n * 4, 4, false));
      DYCL_ASSIGN(step.out, where(n * 4, 4, true));
      break;
    }
    case Opcode::Cast: {
      DYCL_TRY(numbers(step, {{0, 16}, {0, 16}, extent}));
      std::size_t sizes[2] = {};
      for (std::size_t i = 0; i < 2; ++i) {
        const auto dtype = dtype_of_code(static_cast<int>(step.numbers[i]));
        if (dtype != DType::F32 && dtype != DType::F64 && dtype != DType::I64 && dtype != DType::Bool)
          return damaged("a cast it cannot do");
        sizes[i] = size_of(*dtype);
      }
      DYCL_ASSIGN(step.a, where(static_cast<std::size_t>(step.numbers[2]) * sizes[0], sizes[0], false));
      DYCL_ASSIGN(step.out, where(static_cast<std::size_t>(step.numbers[2]) * sizes[1], sizes[1], true));
      break;
    }
    case Opcode::Copy: {
      DYCL_TRY(numbers(step, {{0, kMaxCount * 8}}));
      DYCL_ASSIGN(step.a, where(static_cast<std::size_t>(step.numbers[0]), 1, false));
      DYCL_ASSIGN(step.out, where(static_cast<std::size_t>(step.numbers[0]), 1, true));
      break;
    }
    case Opcode::Pick: {
      DYCL_TRY(numbers(step, {{1, 8}, extent, positive, extent, extent}));
      if (step.numbers[4] >= step.numbers[2]) return damaged("a step reaches beyond a tensor");
      const auto size = static_cast<std::size_t>(step.numbers[0]);
      DYCL_ASSIGN(const std::size_t in, count(step, {1, 2, 3}));
      DYCL_ASSIGN(const std::size_t out, count(step, {1, 3}));
      DYCL_ASSIGN(step.a, where(in * size, 1, false));
      DYCL_ASSIGN(step.out, where(out * size, 1, true));
      break;
    }
    case Opcode::LstmCell: {
      DYCL_TRY(numbers(step, {{1, kMaxCount / 4}}));
      const auto hidden = static_cast<std::size_t>(step.numbers[0]);
      DYCL_ASSIGN(step.a, where(hidden * 16, 4, false));
      DYCL_ASSIGN(step.b, where(hidden * 4, 4, false));
      DYCL_ASSIGN(step.out, where(hidden * 8, 4, true));
      break;
    }
    case Opcode::Move: DYCL_TRY(move_step(step)); break;
    case Opcode::Norm: {
      DYCL_TRY(numbers(step, {extent, positive}));
      DYCL_ASSIGN(const std::int64_t epsilon, word());
      step.numbers.push_back(epsilon);
      DYCL_TRY(numbers(step, {{0, 1}, {0, 1}}));
      DYCL_ASSIGN(const std::size_t n, count(step, {0, 1}));
      const auto columns = static_cast<std::size_t>(step.numbers[1]);
      DYCL_ASSIGN(step.a, where(n * 4, 4, false));
      DYCL_ASSIGN(step.b, where(step.numbers[3] ? columns * 4 : 0, 4, false));
      DYCL_ASSIGN(step.c, where(step.numbers[4] ? columns * 4 : 0, 4, false));
      DYCL_ASSIGN(step.out, where(n * 4, 4, true));
      break;
    }
    case Opcode::MatMul: DYCL_TRY(mat_mul_step(step)); break;
    case Opcode::Take: {
      DYCL_TRY(numbers(step, {{1, 8}, extent, extent, extent, extent, {0, 16}}));
      const auto dtype = dtype_of_code(static_cast<int>(step.numbers[5]));
      if (dtype != DType::I64 && dtype != DType::I32) return damaged("indices of a dtype that it cannot read");
      const auto size = static_cast<std::size_t>(step.numbers[0]);
      DYCL_ASSIGN(const std::size_t in, count(step, {1, 2, 3}));
      DYCL_ASSIGN(const std::size_t out, count(step, {1, 3, 4}));
      DYCL_ASSIGN(step.a, where(in * size, 1, false));
      DYCL_ASSIGN(step.b, where(static_cast<std::size_t>(step.numbers[4]) * size_of(*dtype), size_of(*dtype), false));
      DYCL_ASSIGN(step.out, where(out * size, 1, true));
      break;
    }
    case Opcode::Where: DYCL_TRY(where_step(step)); break;
    case Opcode::TopK: {
      DYCL_TRY(numbers(step, {extent, positive, positive, {0, 1}}));
      if (step.numbers[2] > step.numbers[1]) return damaged("more of the largest than there are elements");
      DYCL_ASSIGN(const std::size_t in, count(step, {0, 1}));
      DYCL_ASSIGN(const std::size_t out, count(step, {0, 2}));
      DYCL_TRY(work(out, step.numbers[1]));
      DYCL_ASSIGN(step.a, where(in * 4, 4, false));
      DYCL_ASSIGN(step.out, where(out * 4, 4, true));
      DYCL_ASSIGN(step.c, where(out * 8, 8, true));
      break;
    }
    case Opcode::Select: DYCL_TRY(select_step(step)); break;
    case Opcode::Pluck: {
      DYCL_TRY(numbers(step, {{1, 8}, extent, extent, extent, extent}));
      const auto size = static_cast<std::size_t>(step.numbers[0]);
      DYCL_ASSIGN(const std::size_t in, count(step, {1, 2, 3}));
      DYCL_ASSIGN(const std::size_t out, count(step, {1, 3, 4}));
      DYCL_ASSIGN(step.a, where(in * size, 1, false));
      DYCL_ASSIGN(step.b, where(out * 8, 8, false));
      DYCL_ASSIGN(step.out, where(out * size, 1, true));
      break;
    }
  }
  return step;
}

// The elements that strides reach from the first one, of dims that are not empty.
Result<std::size_t> SmallProgram::Reader::reach(const Step& step, std::size_t dims, std::size_t strides,
                                                std::size_t rank) const {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    last += step.numbers[strides + d] * (step.numbers[dims + d] - 1);  // each factor is below 2^26
    if (last > kMaxCount) return damaged("a step is too large");
  }
  return static_cast<std::size_t>(last) + 1;
}

Result<std::size_t> SmallProgram::Reader::extents(Step& step, std::size_t rank, std::size_t lists) {
  const std::size_t dims = step.numbers.size();
  for (std::size_t i = 0; i < lists * rank; ++i) DYCL_TRY(numbers(step, {{0, kMaxCount}}));
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    elements *= step.numbers[dims + d];
    if (elements > kMaxCount) return damaged("a step is too large");
  }
  return static_cast<std::size_t>(elements);
}

Result<void> SmallProgram::Reader::move_step(Step& step) {
  DYCL_TRY(numbers(step, {{1, 8}, {0, kMaxRank}}));
  const auto size = static_cast<std::size_t>(step.numbers[0]), rank = static_cast<std::size_t>(step.numbers[1]);
  if (size != 1 && size != 4 && size != 8) return damaged("elements of another size");
  DYCL_ASSIGN(const std::size_t elements, extents(step, rank, 3));
  DYCL_TRY(numbers(step, {{0, kMaxCount}, {0, kMaxCount}}));
  const auto first_in = static_cast<std::size_t>(step.numbers[2 + 3 * rank]);
  const auto first_out = static_cast<std::size_t>(step.numbers[3 + 3 * rank]);
  std::size_t in = 0, out = 0;
  if (elements > 0) {
    DYCL_ASSIGN(in, reach(step, 2, 2 + rank, rank));
    DYCL_ASSIGN(out, reach(step, 2, 2 + 2 * rank, rank));
    in += first_in;
    out += first_out;
  }
  DYCL_ASSIGN(step.a, where(in * size, size, false));
  DYCL_ASSIGN(step.out, where(out * size, size, true));
  return {};
}

Result<void> SmallProgram::Reader::where_step(Step& step) {
  DYCL_TRY(numbers(step, {{1, 8}, {0, kMaxRank}}));
  const auto size = static_cast<std::size_t>(step.numbers[0]), rank = static_cast<std::size_t>(step.numbers[1]);
  if (size != 1 && size != 4 && size != 8) return damaged("elements of another size");
  DYCL_ASSIGN(const std::size_t elements, extents(step, rank, 4));
  std::size_t reached[3] = {};
  for (std::size_t i = 0; i < 3 && elements > 0; ++i) {
    DYCL_ASSIGN(reached[i], reach(step, 2, 2 + (i + 1) * rank, rank));
  }
  DYCL_ASSIGN(step.a, where(reached[0], 1, false));
  DYCL_ASSIGN(step.b, where(reached[1] * size, size, false));
  DYCL_ASSIGN(step.c, where(reached[2] * size, size, false));
  DYCL_ASSIGN(step.out, where(elements * size, size, true));
  return {};
}

selection::Selection selection_of(const std::int64_t* n) {
  return {static_cast<selection::Kind>(n[0]), n[1] != 0, n[2] != 0, n[3] != 0, n[4] != 0, n[5]};
}

Result<void> SmallProgram::Reader::select_step(Step& step) {
  const std::pair<std::int64_t, std::int64_t> extent = {0, kMaxCount}, flag = {0, 1};
  DYCL_TRY(numbers(
      step, {{0, selection::kKinds - 1}, flag, flag, flag, flag, extent, {0, 16}, extent, {1, kMaxCount}, extent}));
  const auto dtype = dtype_of_code(static_cast<int>(step.numbers[6]));
  const selection::Selection how = selection_of(step.numbers.data());
  if (!dtype || !selection::takes(*dtype)) return damaged("a dtype it cannot order");
  if (selection::refuses(how, step.numbers[8])) return damaged("more elements chosen than there are");
  DYCL_ASSIGN(const std::size_t in, count(step, {7, 8, 9}));
  DYCL_ASSIGN(const std::size_t lines, count(step, {7, 9}));
  const std::size_t out = lines * static_cast<std::size_t>(selection::count_of(how, step.numbers[8]));
  const std::size_t size = size_of(*dtype);
  DYCL_ASSIGN(step.a, where(in * size, size, false));
  DYCL_ASSIGN(step.out, where(out * size, size, true));
  DYCL_ASSIGN(step.c, where(out * 8, 8, true));
  return {};
}

void select(const std::int64_t* n, const void* in, void* values, void* indices) {
  const selection::Lines lines{in, values, static_cast<std::int64_t*>(indices), n[7], n[8], n[9]};
  selection::select(selection_of(n), static_cast<DType>(n[6]), lines, 0, n[7] * n[9]);
}

Result<void> SmallProgram::Reader::mat_mul_step(Step& step) {
  const std::pair<std::int64_t, std::int64_t> extent = {0, kMaxCount};
  DYCL_TRY(numbers(step, {extent, extent, extent, {1, kMaxCount}, extent, extent, {0, 1}}));
  DYCL_ASSIGN(const std::size_t out, count(step, {0, 1, 2}));
  DYCL_ASSIGN(const std::size_t a, count(step, {1, 3}));
  DYCL_ASSIGN(const std::size_t b, count(step, {2, 3}));
  DYCL_TRY(work(out, step.numbers[3]));
  const std::int64_t batches = step.numbers[0];
  const auto all = [&](std::size_t one, std::int64_t distance) {  // factors below 2^26
    return batches == 0 ? 0 : one + static_cast<std::size_t>((batches - 1) * distance);
  };
  DYCL_ASSIGN(step.a, where(out == 0 ? 0 : all(a, step.numbers[4]) * 4, 4, false));
  DYCL_ASSIGN(step.b, where(out == 0 ? 0 : all(b, step.numbers[5]) * 4, 4, false));
  DYCL_ASSIGN(step.out, where(out * 4, 4, true));
  return {};
}

Result<SmallProgram> SmallProgram::Reader::program() {
  at_ = sizeof kMagic;
  DYCL_ASSIGN(const std::int64_t scratch, number(0, kMaxScratch));
  DYCL_ASSIGN(const std::int64_t literals, number(0, kMaxCount));
  DYCL_ASSIGN(const std::int64_t steps, number(0, kMaxCount));
  out_.scratch_ = static_cast<std::size_t>(scratch);
  const std::size_t padded = (static_cast<std::size_t>(literals) + 7) / 8 * 8;
  if (size_ - at_ < padded) return damaged("it ends too early");
  out_.literals_.assign(bytes_ + at_, bytes_ + at_ + literals);
  at_ += padded;
  for (std::int64_t i = 0; i < steps; ++i) {
    ranges_.clear();
    DYCL_ASSIGN(Step one, step());
    out_.steps_.push_back(std::move(one));
  }
  if (at_ != size_) return damaged("it goes on after its end");
  return std::move(out_);
}

bool SmallProgram::is_small(const void* bytes, std::size_t size) {
  return size >= sizeof kMagic && std::memcmp(bytes, kMagic, sizeof kMagic) == 0;
}

Result<SmallProgram> SmallProgram::read(const void* bytes, std::size_t size, const Sizes& sizes) {
  return Reader(static_cast<const std::uint8_t*>(bytes), size, sizes).program();
}

// ---- running -------------------------------------------------------------------------

struct SmallProgram::Memory {
  const void* const* inputs;
  void* const* outputs;
  const void* const* weights;
  std::uint8_t* scratch;
  const std::uint8_t* literals;
  dense::HelperThreads* helpers;

  const void* read(const Where& w) const {
    switch (w.place) {
      case Place::Input: return inputs[w.index];
      case Place::Weight: return weights[w.index];
      case Place::Scratch: return scratch + w.index;
      case Place::Literal: return literals + w.index;
      case Place::Output:
      case Place::None: return nullptr;
    }
    return nullptr;
  }
  void* write(const Where& w) const { return w.place == Place::Output ? outputs[w.index] : scratch + w.index; }
};

const char* SmallProgram::execute(const Step& step, const Memory& memory) {
  const std::int64_t* n = step.numbers.data();
  const void* a = memory.read(step.a);
  const void* b = memory.read(step.b);
  void* out = memory.write(step.out);
  const auto* x = static_cast<const float*>(a);
  const auto* w = static_cast<const float*>(b);
  auto* y = static_cast<float*>(out);
  const auto c = [&] { return static_cast<const float*>(memory.read(step.c)); };
  switch (step.opcode) {
    case Opcode::Unary: unary(static_cast<UnaryFunction>(n[0]), a, out, n[1]); break;
    case Opcode::Binary: binary(n, a, b, out); break;
    case Opcode::Gemm:
      if (step.packed)
        packed_gemm(n, step.packed->get(), x, c(), y, memory.helpers);
      else
        gemm(n, x, w, c(), y);
      break;
    case Opcode::Reduce: reduce(n, a, out); break;
    case Opcode::BlockedMean: blocked_mean(n, x, y); break;
    case Opcode::Softmax: dense::best().softmax(n[0] != 0, n[1], n[2], x, y); break;
    case Opcode::ArgMax: arg_max(n, x, static_cast<std::int64_t*>(out)); break;
    case Opcode::Cast: cast(n, a, out); break;
    case Opcode::Copy:
      if (n[0] > 0) std::memcpy(out, a, static_cast<std::size_t>(n[0]));
      break;
    case Opcode::Pick: pick(n, a, out); break;
    case Opcode::LstmCell: lstm_cell(n[0], x, w, y); break;
    case Opcode::Move: move(n, a, out); break;
    case Opcode::Norm:
      dense::best().layer_norm(n[0], n[1], static_cast<float>(double_of(n[2])), x, n[3] ? w : nullptr,
                               n[4] ? c() : nullptr, y);
      break;
    case Opcode::MatMul: mat_mul(n, x, w, y); break;
    case Opcode::Take: return take(n, a, b, out) ? nullptr : "Gather";
    case Opcode::Where: where(n, static_cast<const std::uint8_t*>(a), b, c(), out); break;
    case Opcode::TopK: top_k(n, x, y, static_cast<std::int64_t*>(memory.write(step.c))); break;
    case Opcode::Select: select(n, a, out, memory.write(step.c)); break;
    case Opcode::Pluck: return pluck(n, a, static_cast<const std::int64_t*>(b), out) ? nullptr : "GatherElements";
  }
  return nullptr;
}

void SmallProgram::pack(dense::PackedStore& store, const void* const* weights) {
  std::map<std::size_t, std::set<std::array<std::int64_t, 3>>> forms;  // of each weight
  for (Step& step : steps_) {
    const std::int64_t* n = step.numbers.data();
    if (step.opcode != Opcode::Gemm || step.b.place != Place::Weight || n[1] < kLeastColumns ||
        n[1] * n[2] < kLeastElements)
      continue;
    if (double_of(n[5]) != 1.0 || (n[4] != 0 && double_of(n[6]) != 1.0)) continue;
    auto& known = forms[step.b.index];
    const std::array<std::int64_t, 3> form = {n[1], n[2], n[3]};
    if (!known.count(form) && known.size() == kMostForms) continue;
    known.insert(form);
    step.packed = store.matrix(static_cast<const float*>(weights[step.b.index]), n[1], n[2], n[3] != 0);
  }
}

SmallProgram::Ending SmallProgram::run(const void* const* inputs, void* const* outputs, const void* const* weights,
                                       void* scratch, dense::HelperThreads* helpers,
                                       const std::atomic<bool>& interrupted) const {
  const Memory memory{inputs, outputs, weights, static_cast<std::uint8_t*>(scratch), literals_.data(), helpers};
  for (const Step& step : steps_) {
    if (interrupted.load(std::memory_order_relaxed)) return {Ending::Kind::Interrupted};
    if (const char* failed = execute(step, memory)) return {Ending::Kind::OutOfRange, failed};
  }
  return {};
}

}  // namespace dycl::backends::small
