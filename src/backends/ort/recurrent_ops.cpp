// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/recurrent_ops.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "backends/kernels/recurrent.h"

namespace dycl::backends::ort {
namespace {

using recurrent::Cell;
using recurrent::Direction;
using recurrent::is_tame;

enum Input : std::size_t { kY, kH, kC, kX, kW, kR, kB, kLengths, kH0, kC0, kP, kInputs };
constexpr std::size_t kOutputs = 3;

struct Operand {
  Shape shape;
  const void* data = nullptr;  // null: left out
};

template <typename T>
struct Kernel {
  const OrtApi& api;
  Cell cell{};
  Direction direction{};
  bool coupled = false;
  Operand constant[kInputs] = {};  // weights that no call changes; data null: of others
  bool is_wild[kInputs] = {};  // of constant ones

  bool compute(Calls& calls, OrtKernelContext* context) const;
  bool read(Calls& calls, OrtKernelContext* context, std::size_t index, Operand& operand) const;
  bool tame(const Operand (&in)[kInputs]) const;
  recurrent::Layer<T> layer_of(const Operand (&in)[kInputs]) const;
  bool outputs_of(Calls& calls, OrtKernelContext* context, const Operand (&in)[kInputs], recurrent::Layer<T>& layer,
                  void* (&out)[kOutputs]) const;
};

template <typename T>
bool Kernel<T>::read(Calls& calls, OrtKernelContext* context, std::size_t index, Operand& operand) const {
  const OrtValue* value = nullptr;
  if (!calls.ok(api.KernelContext_GetInput(context, index, &value))) return false;
  if (!value) return true;
  void* data = nullptr;
  if (!read_shape(api, calls, value, operand.shape) ||
      !calls.ok(api.GetTensorMutableData(const_cast<OrtValue*>(value), &data)))
    return false;
  static std::uint8_t nothing[64];
  operand.data = data ? data : nothing;
  return true;
}

template <typename T>
bool Kernel<T>::tame(const Operand (&in)[kInputs]) const {
  for (const std::size_t i : {kX, kH0, kC0, kW, kR, kB, kP}) {
    if (!in[i].data) continue;
    if (constant[i].data ? is_wild[i] : !is_tame(static_cast<const T*>(in[i].data), in[i].shape.count())) return false;
  }
  return true;
}

bool is_shape(const Operand& operand, std::initializer_list<std::int64_t> dims) {
  return !operand.data ||
         (operand.shape.rank == dims.size() && std::equal(dims.begin(), dims.end(), operand.shape.dims));
}

// The operands as a layer; what is not yet known to fit is read by nobody.
template <typename T>
recurrent::Layer<T> Kernel<T>::layer_of(const Operand (&in)[kInputs]) const {
  const auto at = [&](std::size_t i) { return static_cast<const T*>(in[i].data); };
  recurrent::Layer<T> layer;
  layer.cell = cell, layer.direction = direction, layer.coupled = coupled;
  layer.time = in[kX].shape.dims[0], layer.batch = in[kX].shape.dims[1], layer.inputs = in[kX].shape.dims[2];
  layer.hidden = in[kR].shape.dims[2];
  layer.x = at(kX), layer.w = at(kW), layer.r = at(kR), layer.b = at(kB), layer.h0 = at(kH0), layer.c0 = at(kC0);
  layer.p = at(kP);
  layer.lengths = static_cast<const std::int32_t*>(in[kLengths].data);
  return layer;
}

// Whether the operands have the shapes that the layer's extents ask for: what `compute` would read or write beyond.
template <typename T>
bool fits(const recurrent::Layer<T>& l, const Operand (&in)[kInputs]) {
  const std::int64_t d = l.directions();
  std::int64_t rows = 0, steps = 0;
  if (!in[kX].data || !in[kW].data || !in[kR].data || __builtin_mul_overflow(2 * l.gates(), l.hidden, &rows) ||
      __builtin_mul_overflow(l.time, l.batch, &steps))
    return false;
  rows /= 2;
  return is_shape(in[kX], {l.time, l.batch, l.inputs}) && is_shape(in[kW], {d, rows, l.inputs}) &&
         is_shape(in[kR], {d, rows, l.hidden}) && is_shape(in[kB], {d, 2 * rows}) &&
         is_shape(in[kP], {d, 3 * l.hidden}) && is_shape(in[kLengths], {l.batch}) && is_shape(in[kH0], {d, l.batch, l.hidden}) &&
         is_shape(in[kC0], {d, l.batch, l.hidden}) && is_shape(in[kY], {l.time, d, l.batch, l.hidden}) &&
         is_shape(in[kH], {d, l.batch, l.hidden}) && is_shape(in[kC], {d, l.batch, l.hidden});
}

// Of a layer without steps or sequences: the engine's results are those of filled operands.
template <typename T>
void give_shapes(Operand (&in)[kInputs], const recurrent::Layer<T>& l) {
  const std::int64_t d = l.directions(), time = std::max<std::int64_t>(l.time, 1);
  const std::int64_t batch = std::max<std::int64_t>(l.batch, 1);
  if (is_shape(in[kY], {time, d, batch, l.hidden})) in[kY].shape = {{l.time, d, l.batch, l.hidden}, 4};
  for (const std::size_t i : {kH, kC})
    if (is_shape(in[i], {d, batch, l.hidden})) in[i].shape = {{d, l.batch, l.hidden}, 3};
}

template <typename T>
bool Kernel<T>::outputs_of(Calls& calls, OrtKernelContext* context, const Operand (&in)[kInputs],
                           recurrent::Layer<T>& layer, void* (&out)[kOutputs]) const {
  std::size_t count = 0;
  if (!calls.ok(api.KernelContext_GetOutputCount(context, &count))) return false;
  for (std::size_t i = 0; i < std::min(count, kOutputs); ++i) {
    OrtValue* value = nullptr;
    const Shape& shape = in[i].shape;
    if (!calls.ok(api.KernelContext_GetOutput(context, i, shape.dims, shape.rank, &value))) return false;
    if (!value) continue;
    if (!in[i].data) return calls.fail("mend::Recurrent: a result without its operand");
    if (!calls.ok(api.GetTensorMutableData(value, &out[i]))) return false;
  }
  layer.y = static_cast<T*>(out[kY]), layer.h = static_cast<T*>(out[kH]), layer.c = static_cast<T*>(out[kC]);
  return true;
}

template <typename T>
bool Kernel<T>::compute(Calls& calls, OrtKernelContext* context) const {
  Operand in[kInputs];
  std::size_t count = 0;
  if (!calls.ok(api.KernelContext_GetInputCount(context, &count))) return false;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, kInputs); ++i) {
    if (constant[i].data)
      in[i] = constant[i];
    else if (!read(calls, context, i, in[i]))
      return false;
  }
  recurrent::Layer<T> layer = layer_of(in);
  const bool is_empty = layer.time == 0 || layer.batch == 0;
  if (is_empty) give_shapes(in, layer);
  if (!fits(layer, in)) return calls.fail("mend::Recurrent: operands that do not fit each other");
  void* out[kOutputs] = {};
  if (!outputs_of(calls, context, in, layer, out)) return false;
  if (is_empty) {
    for (std::size_t i = 0; i < kOutputs; ++i)
      if (out[i]) std::memset(out[i], 0, static_cast<std::size_t>(in[i].shape.count()) * sizeof(T));
    return true;
  }
  if (!tame(in)) {
    recurrent::compute(layer);
    return true;
  }
  for (std::size_t i = 0; i < kOutputs; ++i)
    if (out[i] && out[i] != in[i].data)
      std::memcpy(out[i], in[i].data, static_cast<std::size_t>(in[i].shape.count()) * sizeof(T));
  return true;
}

// Which weights are constant, where they are, and whether they are tame.
template <typename T>
void look_at_weights(const OrtApi& api, const OrtKernelInfo* info, Kernel<T>& kernel) {
  for (const std::size_t i : {kW, kR, kB, kP}) {
    int is_constant = 0;
    const OrtValue* value = nullptr;
    Calls calls(api);
    Shape shape;
    void* data = nullptr;
    if (!calls.ok(api.KernelInfoGetConstantInput_tensor(info, i, &is_constant, &value)) || !is_constant || !value ||
        !read_shape(api, calls, value, shape) ||
        !calls.ok(api.GetTensorMutableData(const_cast<OrtValue*>(value), &data)))
      continue;
    kernel.constant[i] = {shape, data};
    kernel.is_wild[i] = !is_tame(static_cast<const T*>(data), shape.count());
  }
}

// Null: an error is in `calls`.
template <typename T>
void* create_kernel(Calls& calls, const OrtApi& api, const OrtKernelInfo* info) {
  const std::int64_t cell = int_attribute(api, info, "cell", 0), direction = int_attribute(api, info, "direction", 0);
  if (cell < 0 || cell >= recurrent::kCells || direction < 0 || direction >= recurrent::kDirections) {
    (void)calls.fail("mend::Recurrent: an unknown cell or direction");
    return nullptr;
  }
  auto made = std::make_unique<Kernel<T>>(Kernel<T>{api, static_cast<Cell>(cell), static_cast<Direction>(direction)});
  made->coupled = int_attribute(api, info, "coupled", 0) != 0;
  look_at_weights(api, info, *made);
  return made.release();
}

// For both dtypes.
struct Op : CustomOp<Op> {
  ONNXTensorElementDataType elements;

  explicit Op(ONNXTensorElementDataType of) : elements(of) {
    if (is_single())
      runs<Kernel<float>>();
    else
      runs<Kernel<double>>();
    GetMayInplace = [](int** inputs, int** outputs) -> std::size_t {
      static int places[kOutputs] = {0, 1, 2};
      *inputs = *outputs = places;
      return kOutputs;
    };
    ReleaseMayInplace = [](int*, int*) {};
  }

  bool is_single() const { return elements == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
  static const char* name() { return "Recurrent"; }
  static std::size_t inputs() { return kInputs; }
  static std::size_t outputs() { return kOutputs; }
  ONNXTensorElementDataType input(std::size_t index) const {
    return index == kLengths ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 : elements;
  }
  ONNXTensorElementDataType output(std::size_t /*index*/) const { return elements; }
  static bool requires_input(std::size_t index) { return index == kX || index == kW || index == kR; }
  void* kernel(Calls& calls, const OrtApi& api, const OrtKernelInfo* info) const {
    return is_single() ? create_kernel<float>(calls, api, info) : create_kernel<double>(calls, api, info);
  }
};

// ---- operands for layers that take none without elements ----

struct Filling {
  const OrtApi& api;
  std::size_t size;  // of an element
  bool only_whole;   // images without pixels are an error, and nothing is filled

  bool compute(Calls& calls, OrtKernelContext* context) const;
};

bool Filling::compute(Calls& calls, OrtKernelContext* context) const {
  const OrtValue* value = nullptr;
  OrtValue* made = nullptr;
  Shape shape;
  void *from = nullptr, *to = nullptr;
  if (!calls.ok(api.KernelContext_GetInput(context, 0, &value)) || !read_shape(api, calls, value, shape)) return false;
  const bool is_empty = shape.count() == 0;
  if (only_whole && is_empty && shape.rank > 2 && shape.dims[0] != 0 && shape.dims[1] != 0)
    return calls.fail("ConvTranspose: an input without extent along one of its spatial dims");
  if (!only_whole) std::replace(shape.dims, shape.dims + shape.rank, std::int64_t{0}, std::int64_t{1});
  if (!calls.ok(api.KernelContext_GetOutput(context, 0, shape.dims, shape.rank, &made)) ||
      !calls.ok(api.GetTensorMutableData(const_cast<OrtValue*>(value), &from)) ||
      !calls.ok(api.GetTensorMutableData(made, &to)))
    return false;
  const auto count = static_cast<std::size_t>(shape.count());
  if (count == 0) return true;
  if (!is_empty)
    std::memcpy(to, from, count * size);
  else if (shape.elements == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32)
    std::fill_n(static_cast<std::int32_t*>(to), count, 1);  // lengths
  else
    std::memset(to, 0, count * size);
  return true;
}

struct Filled : CustomOp<Filled> {
  ONNXTensorElementDataType elements;

  explicit Filled(ONNXTensorElementDataType of) : elements(of) { runs<Filling>(); }

  static const char* name() { return "Filled"; }
  static std::size_t inputs() { return 1; }
  static std::size_t outputs() { return 1; }
  ONNXTensorElementDataType input(std::size_t /*index*/) const { return elements; }
  ONNXTensorElementDataType output(std::size_t /*index*/) const { return elements; }
  void* kernel(Calls& /*calls*/, const OrtApi& api, const OrtKernelInfo* info) const {
    const std::size_t size = elements == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE    ? 8
                             : elements == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 ? 2
                                                                                 : 4;
    return new Filling{api, size, int_attribute(api, info, "only_whole", 0) != 0};
  }
};

}  // namespace

Result<std::unique_ptr<CustomOps>> make_recurrent_ops(const OrtApi& api) {
  return CustomOps::create(api, kMendDomain,
                           {std::make_shared<Op>(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT),
                            std::make_shared<Op>(ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE),
                            std::make_shared<Filled>(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT),
                            std::make_shared<Filled>(ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE),
                            std::make_shared<Filled>(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16),
                            std::make_shared<Filled>(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32)});
}

}  // namespace dycl::backends::ort
