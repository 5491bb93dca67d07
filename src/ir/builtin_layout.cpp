// SPDX-License-Identifier: Apache-2.0
// Ops that move elements without looking at them, so of any dtype.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/builtin_ops.h"
#include "ir/host_ops.h"

namespace dycl::ir::builtin {

namespace {

using Results = Result<std::vector<Tensor>>;

// out[i] = in[places[i]].
Tensor gather_places(const Tensor& in, Shape shape, const std::vector<std::int64_t>& places) {
  Tensor out{in.dtype, std::move(shape), {}};
  const std::size_t width = size_of(in.dtype);
  out.bytes.resize(places.size() * width);
  for (std::size_t i = 0; i < places.size(); ++i)
    std::memcpy(out.bytes.data() + i * width, in.bytes.data() + static_cast<std::size_t>(places[i]) * width, width);
  return out;
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// Places start + sum(index * stride) over every index below `shape`, in order.
std::vector<std::int64_t> strided_places(const Shape& shape, const std::vector<std::int64_t>& strides,
                                         std::int64_t start = 0) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(element_count(shape)));
  Shape index(shape.size(), 0);
  std::int64_t place = start;
  for (std::int64_t& p : places) {
    p = place;
    for (std::size_t i = shape.size(); i-- > 0;) {
      place += strides[i];
      if (++index[i] < shape[i]) break;
      place -= strides[i] * shape[i];
      index[i] = 0;
    }
  }
  return places;
}

Tensor with_shape(const Tensor& in, Shape shape) { return {in.dtype, std::move(shape), in.bytes}; }

Results identity(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {}));
  return only(call.operand(0));
}

Results transpose(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {"perm"}));
  const Tensor& in = call.operand(0);
  std::vector<std::int64_t> perm(in.shape.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (const auto* given = attr_as<std::vector<std::int64_t>>(call.op, "perm")) perm = *given;
  std::vector<std::int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<std::int64_t>(i) || sorted.size() != in.shape.size())
      return bad_operand(call, "perm is no permutation of the dims");
  if (perm.size() != in.shape.size()) return bad_operand(call, "perm is no permutation of the dims");
  const auto strides = strides_of(in.shape);
  Shape shape;
  std::vector<std::int64_t> moved;
  for (std::int64_t axis : perm) {
    shape.push_back(in.shape[static_cast<std::size_t>(axis)]);
    moved.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  const auto places = strided_places(shape, moved);
  return only(gather_places(in, std::move(shape), places));
}

Results reshape(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {"allowzero"}));
  const Tensor& in = call.operand(0);
  DYCL_ASSIGN(Shape shape, int_operand(call, 1));
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && int_attr(call, "allowzero", 0) == 0) {
      if (i >= in.shape.size()) return bad_operand(call, "0 has no dim to copy");
      shape[i] = in.shape[i];
    }
    if (shape[i] != -1) continue;
    if (open) return bad_operand(call, "two dims are -1");
    open = i;
    shape[i] = 1;
  }
  const std::int64_t rest = element_count(shape), count = in.count();
  if (open && rest > 0 && count % rest == 0) shape[*open] = count / rest;
  if (element_count(shape) != count)
    return bad_operand(call, shape_text(in.shape) + " cannot become " + shape_text(shape));
  return only(with_shape(in, std::move(shape)));
}

Results flatten(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {"axis"}));
  const Tensor& in = call.operand(0);
  std::int64_t axis = int_attr(call, "axis", 1);
  if (axis < -in.rank() || axis > in.rank()) return bad_operand(call, "axis out of range");
  if (axis < 0) axis += in.rank();
  const std::int64_t outer = element_count(std::span(in.shape).first(static_cast<std::size_t>(axis)));
  const std::int64_t inner = element_count(std::span(in.shape).subspan(static_cast<std::size_t>(axis)));
  return only(with_shape(in, {outer, inner}));
}

Result<std::vector<bool>> marked_axes(const Call& call, const std::vector<std::int64_t>& axes, std::int64_t rank) {
  std::vector<bool> marked(static_cast<std::size_t>(rank), false);
  for (std::int64_t axis : axes) {
    DYCL_ASSIGN(const std::size_t place, axis_in(call, axis, rank));
    if (marked[place]) return bad_operand(call, "an axis occurs twice");
    marked[place] = true;
  }
  return marked;
}

Results squeeze(const Call& call) {
  DYCL_TRY(expect(call, 1, 2, {}));
  const Tensor& in = call.operand(0);
  std::vector<bool> drop;
  for (std::int64_t extent : in.shape) drop.push_back(extent == 1);
  if (call.has(1)) {
    DYCL_ASSIGN(const auto axes, int_operand(call, 1));
    DYCL_ASSIGN(drop, marked_axes(call, axes, in.rank()));
  }
  Shape shape;
  for (std::size_t i = 0; i < in.shape.size(); ++i) {
    if (!drop[i])
      shape.push_back(in.shape[i]);
    else if (in.shape[i] != 1)
      return bad_operand(call, "dim " + std::to_string(i) + " is not 1");
  }
  return only(with_shape(in, std::move(shape)));
}

Results unsqueeze(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {}));
  const Tensor& in = call.operand(0);
  DYCL_ASSIGN(const auto axes, int_operand(call, 1));
  DYCL_ASSIGN(const auto fresh, marked_axes(call, axes, in.rank() + static_cast<std::int64_t>(axes.size())));
  Shape shape;
  std::size_t next = 0;
  for (bool is_fresh : fresh) shape.push_back(is_fresh ? 1 : in.shape[next++]);
  return only(with_shape(in, std::move(shape)));
}

Results shape_of(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {"start", "end"}));
  const Tensor& in = call.operand(0);
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + in.rank() : axis, 0, in.rank());
  };
  const std::int64_t start = clamp(int_attr(call, "start", 0)),
                     end = std::max(start, clamp(int_attr(call, "end", in.rank())));
  return only(Tensor::of(DType::I64, {end - start},
                         std::vector<std::int64_t>(in.shape.begin() + start, in.shape.begin() + end)));
}

Results size_of_tensor(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {}));
  return only(Tensor::of(DType::I64, {}, std::vector<std::int64_t>{call.operand(0).count()}));
}

Results expand(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {}));
  DYCL_ASSIGN(const Shape wanted, int_operand(call, 1));
  if (element_count(wanted) < 0) return bad_operand(call, "bad shape " + shape_text(wanted));
  DYCL_ASSIGN(Shape shape, broadcast_shape(call, call.operand(0).shape, wanted));
  const auto places = broadcast_places(call.operand(0).shape, shape);
  return only(gather_places(call.operand(0), std::move(shape), places));
}

Results tile(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {}));
  const Tensor& in = call.operand(0);
  DYCL_ASSIGN(const auto repeats, int_operand(call, 1));
  if (repeats.size() != in.shape.size()) return bad_operand(call, "one repeat for each dim is needed");
  Tensor out = in;
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] < 0) return bad_operand(call, "a repeat is negative");
    const std::int64_t outer = element_count(std::span(out.shape).first(axis));
    const std::size_t row = outer ? out.bytes.size() / static_cast<std::size_t>(outer) : 0;
    std::vector<std::uint8_t> bytes;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t r = 0; r < repeats[axis]; ++r) {
        const auto begin = out.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(o) * row);
        bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
      }
    out.bytes = std::move(bytes);
    out.shape[axis] *= repeats[axis];
  }
  return only(std::move(out));
}

Results concat(const Call& call) {
  DYCL_TRY(expect(call, 1, 1000, {"axis"}));
  const Tensor& first = call.operand(0);
  DYCL_ASSIGN(const std::size_t axis, axis_in(call, int_attr(call, "axis", 0), first.rank()));
  Tensor out{first.dtype, first.shape, {}};
  out.shape[axis] = 0;
  for (const Tensor* in : call.in) {
    if (!in || in->dtype != first.dtype || in->shape.size() != first.shape.size())
      return bad_operand(call, "operands do not go together");
    for (std::size_t i = 0; i < in->shape.size(); ++i)
      if (i != axis && in->shape[i] != first.shape[i])
        return bad_operand(
            call, "shapes " + shape_text(first.shape) + " and " + shape_text(in->shape) + " do not go together");
    out.shape[axis] += in->shape[axis];
  }
  const std::int64_t outer = element_count(std::span(first.shape).first(axis));
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Tensor* in : call.in) {
      const std::size_t row = in->bytes.size() / static_cast<std::size_t>(outer);
      const auto begin = in->bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(o) * row);
      out.bytes.insert(out.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
    }
  return only(std::move(out));
}

Tensor sliced(const Tensor& in, std::size_t axis, std::int64_t start, std::int64_t count, std::int64_t step = 1) {
  auto strides = strides_of(in.shape);
  Shape shape = in.shape;
  const std::int64_t first = start * strides[axis];
  shape[axis] = count;
  strides[axis] *= step;
  const auto places = strided_places(shape, strides, count > 0 ? first : 0);
  return gather_places(in, std::move(shape), places);
}

Results slice(const Call& call) {
  DYCL_TRY(expect(call, 3, 5, {}));
  Tensor out = call.operand(0);
  DYCL_ASSIGN(const auto starts, int_operand(call, 1));
  DYCL_ASSIGN(const auto ends, int_operand(call, 2));
  std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) {
    DYCL_ASSIGN(axes, int_operand(call, 3));
  }
  if (call.has(4)) {
    DYCL_ASSIGN(steps, int_operand(call, 4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    return bad_operand(call, "starts, ends, axes and steps differ in length");
  DYCL_TRY(marked_axes(call, axes, out.rank()));
  for (std::size_t i = 0; i < starts.size(); ++i) {
    DYCL_ASSIGN(const std::size_t axis, axis_in(call, axes[i], out.rank()));
    const std::int64_t extent = out.shape[axis], step = steps[i];
    if (step == 0) return bad_operand(call, "a step is 0");
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
    const auto clamp = [&](std::int64_t v) {
      return std::clamp(v < 0 ? (v < -extent ? low : v + extent) : v, low, std::max(low, high));
    };
    const std::int64_t start = clamp(starts[i]), end = clamp(ends[i]);
    const std::int64_t distance = step > 0 ? end - start : start - end,
                       pace = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
    out = sliced(out, axis, start, distance > 0 ? (distance - 1) / pace + 1 : 0, step);
  }
  return only(std::move(out));
}

Results split(const Call& call) {
  DYCL_TRY(expect(call, 1, 2, {"axis", "num_outputs"}));
  const Tensor& in = call.operand(0);
  DYCL_ASSIGN(const std::size_t axis, axis_in(call, int_attr(call, "axis", 0), in.rank()));
  const std::int64_t extent = in.shape[axis];
  std::vector<std::int64_t> sizes;
  if (call.has(1)) {
    DYCL_ASSIGN(sizes, int_operand(call, 1));
  } else {
    const auto count = static_cast<std::int64_t>(call.op.results.size());
    if (int_attr(call, "num_outputs", count) != count || count == 0)
      return bad_operand(call, "num_outputs is not the count of results");
    const std::int64_t chunk = (extent + count - 1) / count;
    for (std::int64_t i = 0; i < count; ++i)
      sizes.push_back(std::max<std::int64_t>(0, std::min(chunk, extent - i * chunk)));
  }
  std::vector<Tensor> out;
  std::int64_t start = 0;
  for (std::int64_t size : sizes) {
    if (size < 0 || size > extent - start) return bad_operand(call, "the parts do not add up to the dim");
    out.push_back(sliced(in, axis, start, size));
    start += size;
  }
  if (start != extent || out.size() != call.op.results.size())
    return bad_operand(call, "the parts do not add up to the dim, or are not as many as the results");
  return out;
}

Results gather(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {"axis"}));
  const Tensor& in = call.operand(0);
  DYCL_ASSIGN(const std::size_t axis, axis_in(call, int_attr(call, "axis", 0), in.rank()));
  DYCL_ASSIGN(const auto indices, int_operand(call, 1));
  const std::int64_t extent = in.shape[axis];
  Shape shape(in.shape.begin(), in.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), call.operand(1).shape.begin(), call.operand(1).shape.end());
  shape.insert(shape.end(), in.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, in.shape.end());
  const std::int64_t outer = element_count(std::span(in.shape).first(axis));
  const std::int64_t inner = element_count(std::span(in.shape).subspan(axis + 1));
  std::vector<std::int64_t> places;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t index : indices) {
      if (index < -extent || index >= extent)
        return bad_operand(call,
                           "index " + std::to_string(index) + " is out of range for dim of " + std::to_string(extent));
      const std::int64_t row = (o * extent + (index < 0 ? index + extent : index)) * inner;
      for (std::int64_t i = 0; i < inner; ++i) places.push_back(row + i);
    }
  return only(gather_places(in, std::move(shape), places));
}

// ---- constants ---------------------------------------------------------------------

template <typename T>
std::vector<T> converted(const std::vector<double>& values) {
  return std::vector<T>(values.begin(), values.end());
}

Results constant(const Call& call) {
  DYCL_TRY(expect(call, 0, 0, {"value", "value_float", "value_floats", "value_int", "value_ints"}));
  if (call.op.attrs.size() != 1) return bad_operand(call, "needs exactly one value");
  if (const auto* v = attr_as<TensorLiteral>(call.op, "value")) return only(Tensor::of(*v));
  if (const auto* v = attr_as<double>(call.op, "value_float"))
    return only(Tensor::of(DType::F32, {}, std::vector<float>{static_cast<float>(*v)}));
  if (const auto* v = attr_as<std::int64_t>(call.op, "value_int"))
    return only(Tensor::of(DType::I64, {}, std::vector<std::int64_t>{*v}));
  if (const auto* v = attr_as<std::vector<std::int64_t>>(call.op, "value_ints"))
    return only(Tensor::of(DType::I64, {static_cast<std::int64_t>(v->size())}, *v));
  if (const auto* v = attr_as<std::vector<double>>(call.op, "value_floats"))
    return only(Tensor::of(DType::F32, {static_cast<std::int64_t>(v->size())}, converted<float>(*v)));
  return bad_operand(call, "the value has the wrong kind");
}

Results constant_of_shape(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {"value"}));
  DYCL_ASSIGN(Shape shape, int_operand(call, 0));
  if (element_count(shape) < 0 || element_count(shape) > (std::int64_t{1} << 32))
    return bad_operand(call, "bad shape " + shape_text(shape));
  const auto* value = attr_as<TensorLiteral>(call.op, "value");
  const Tensor one = value ? Tensor::of(*value) : Tensor::zeros(DType::F32, {1});
  if (one.count() != 1) return bad_operand(call, "the value must be one element");
  const std::vector<std::int64_t> places(static_cast<std::size_t>(element_count(shape)), 0);
  return only(gather_places(one, std::move(shape), places));
}

Results range(const Call& call) {
  DYCL_TRY(expect(call, 3, 3, {}));
  const Tensor &start = call.operand(0), &limit = call.operand(1), &delta = call.operand(2);
  if (start.dtype != limit.dtype || start.dtype != delta.dtype || start.count() != 1 || limit.count() != 1 ||
      delta.count() != 1)
    return bad_operand(call, "takes three elements of one dtype");
  std::optional<Tensor> out;
  const bool known = with_number(start.dtype, [&](auto type) {
    using T = decltype(type);
    const T first = *start.data<T>(), last = *limit.data<T>(), step = *delta.data<T>();
    if (step == 0) return;
    const double count =
        std::max(0.0, std::ceil((static_cast<double>(last) - static_cast<double>(first)) / static_cast<double>(step)));
    if (!(count <= 1e8)) return;
    std::vector<T> values;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i)
      values.push_back(static_cast<T>(first + static_cast<T>(i) * step));
    out = Tensor::of(start.dtype, {static_cast<std::int64_t>(values.size())}, values);
  });
  if (!known) return unsupported(call, "of " + std::string(name_of(start.dtype)));
  if (!out) return bad_operand(call, "the step is 0 or there are too many elements");
  return only(std::move(*out));
}

constexpr OpEntry kOps[] = {
    {"Identity", identity}, {"Transpose", transpose}, {"Reshape", reshape},   {"Flatten", flatten},
    {"Squeeze", squeeze},   {"Unsqueeze", unsqueeze}, {"Shape", shape_of},    {"Size", size_of_tensor},
    {"Expand", expand},     {"Tile", tile},           {"Concat", concat},     {"Slice", slice},
    {"Split", split},       {"Gather", gather},       {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
    {"Range", range},
};

}  // namespace

std::span<const OpEntry> layout_ops() { return kOps; }

}  // namespace dycl::ir::builtin
