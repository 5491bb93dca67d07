// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/recurrent_ops.h"

#include <cstring>
#include <utility>

#include "backends/kernels/recurrent.h"
#include "backends/ort/kernel_calls.h"

namespace dycl::backends::ort {
namespace {

using recurrent::Cell;
using recurrent::Direction;
using recurrent::is_tame;

enum Input : std::size_t { kY, kH, kC, kX, kW, kR, kB, kLengths, kH0, kC0, kInputs };
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
  bool is_constant[kInputs] = {}, is_wild[kInputs] = {};  // of constant weights

  bool compute(Calls& calls, OrtKernelContext* context) const;
  bool read(Calls& calls, OrtKernelContext* context, std::size_t index, Operand& operand) const;
  bool tame(const Operand (&in)[kInputs]) const;
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
  for (const std::size_t i : {kX, kH0, kC0, kW, kR, kB}) {
    if (!in[i].data) continue;
    if (is_constant[i] ? is_wild[i] : !is_tame(static_cast<const T*>(in[i].data), in[i].shape.count())) return false;
  }
  return true;
}

template <typename T>
bool Kernel<T>::compute(Calls& calls, OrtKernelContext* context) const {
  Operand in[kInputs];
  std::size_t count = 0;
  if (!calls.ok(api.KernelContext_GetInputCount(context, &count))) return false;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, kInputs); ++i)
    if (!read(calls, context, i, in[i])) return false;
  void* out[kOutputs] = {};
  std::size_t outputs = 0;
  if (!calls.ok(api.KernelContext_GetOutputCount(context, &outputs))) return false;
  for (std::size_t i = 0; i < std::min(outputs, kOutputs); ++i) {
    if (!in[i].data) continue;
    OrtValue* value = nullptr;
    const Shape& shape = in[i].shape;
    if (!calls.ok(api.KernelContext_GetOutput(context, i, shape.dims, shape.rank, &value))) return false;
    if (value && !calls.ok(api.GetTensorMutableData(value, &out[i]))) return false;
  }
  if (tame(in)) {
    for (std::size_t i = 0; i < kOutputs; ++i)
      if (out[i] && out[i] != in[i].data)
        std::memcpy(out[i], in[i].data, static_cast<std::size_t>(in[i].shape.count()) * sizeof(T));
    return true;
  }
  const auto at = [&](std::size_t i) { return static_cast<const T*>(in[i].data); };
  recurrent::Layer<T> layer;
  layer.cell = cell, layer.direction = direction;
  layer.time = in[kX].shape.dims[0], layer.batch = in[kX].shape.dims[1], layer.inputs = in[kX].shape.dims[2];
  layer.hidden = in[kR].shape.dims[2];
  layer.x = at(kX), layer.w = at(kW), layer.r = at(kR), layer.b = at(kB), layer.h0 = at(kH0), layer.c0 = at(kC0);
  layer.lengths = static_cast<const std::int32_t*>(in[kLengths].data);
  layer.y = static_cast<T*>(out[0]), layer.h = static_cast<T*>(out[1]), layer.c = static_cast<T*>(out[2]);
  recurrent::compute(layer);
  return true;
}

// Which weights are constant, and whether they are tame.
template <typename T>
void look_at_weights(const OrtApi& api, const OrtKernelInfo* info, Kernel<T>& kernel) {
  for (const std::size_t i : {kW, kR, kB}) {
    int is_constant = 0;
    const OrtValue* value = nullptr;
    Calls calls(api);
    Shape shape;
    void* data = nullptr;
    if (!calls.ok(api.KernelInfoGetConstantInput_tensor(info, i, &is_constant, &value)) || !is_constant || !value ||
        !read_shape(api, calls, value, shape) ||
        !calls.ok(api.GetTensorMutableData(const_cast<OrtValue*>(value), &data)))
      continue;
    kernel.is_constant[i] = true;
    kernel.is_wild[i] = !is_tame(static_cast<const T*>(data), shape.count());
  }
}

template <typename T>
void* create_kernel(const OrtApi& api, const OrtKernelInfo* info) {
  auto made = std::unique_ptr<Kernel<T>>(new Kernel<T>{api,
                                                       static_cast<Cell>(int_attribute(api, info, "cell", 0)),
                                                       static_cast<Direction>(int_attribute(api, info, "direction", 0)),
                                                       {},
                                                       {}});
  look_at_weights(api, info, *made);
  return made.release();
}

template <typename T>
OrtStatus* run_kernel(void* kernel, OrtKernelContext* context) {
  const auto& own_kernel = *static_cast<const Kernel<T>*>(kernel);
  try {
    Calls calls(own_kernel.api);
    (void)own_kernel.compute(calls, context);
    return calls.release();
  } catch (const std::exception& e) {  // no memory
    return own_kernel.api.CreateStatus(ORT_FAIL, e.what());
  }
}

}  // namespace

// ---- the op, for both dtypes -----------------------------------------------------------

struct RecurrentOps::Op : OrtCustomOp {
  ONNXTensorElementDataType elements;

  explicit Op(ONNXTensorElementDataType of);
};

RecurrentOps::Op::Op(ONNXTensorElementDataType of) : OrtCustomOp{}, elements(of) {
  version = ORT_API_VERSION;
  GetName = [](const OrtCustomOp*) { return "Recurrent"; };
  GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  GetInputType = [](const OrtCustomOp* self, std::size_t index) {
    return index == kLengths ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 : static_cast<const Op*>(self)->elements;
  };
  GetInputTypeCount = [](const OrtCustomOp*) -> std::size_t { return kInputs; };
  GetOutputType = [](const OrtCustomOp* self, std::size_t) { return static_cast<const Op*>(self)->elements; };
  GetOutputTypeCount = [](const OrtCustomOp*) -> std::size_t { return kOutputs; };
  GetInputCharacteristic = [](const OrtCustomOp*, std::size_t index) {
    return index == kX || index == kW || index == kR ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
  };
  GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_OPTIONAL; };
  GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
  GetStartVersion = [](const OrtCustomOp*) { return 1; };
  GetEndVersion = [](const OrtCustomOp*) { return 1; };
  GetMayInplace = [](int** inputs, int** outputs) -> std::size_t {
    static int places[kOutputs] = {0, 1, 2};
    *inputs = *outputs = places;
    return kOutputs;
  };
  ReleaseMayInplace = [](int*, int*) {};
  CreateKernelV2 = [](const OrtCustomOp* self, const OrtApi* api, const OrtKernelInfo* info, void** out) -> OrtStatus* {
    try {
      const bool single = static_cast<const Op*>(self)->elements == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
      *out = single ? create_kernel<float>(*api, info) : create_kernel<double>(*api, info);
      return nullptr;
    } catch (const std::exception& e) {
      return api->CreateStatus(ORT_FAIL, e.what());
    }
  };
  const bool single = of == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  KernelDestroy = single ? [](void* kernel) { delete static_cast<Kernel<float>*>(kernel); }
                         : [](void* kernel) { delete static_cast<Kernel<double>*>(kernel); };
  KernelComputeV2 = single ? run_kernel<float> : run_kernel<double>;
}

Result<std::unique_ptr<RecurrentOps>> RecurrentOps::create(const OrtApi& api) {
  std::unique_ptr<RecurrentOps> made(new RecurrentOps(api));
  OrtCustomOpDomain* raw = nullptr;
  DYCL_TRY(check(api, api.CreateCustomOpDomain(kMendDomain, &raw), "ops of ours"));
  made->domain_ = own(raw, api.ReleaseCustomOpDomain);
  const ONNXTensorElementDataType elements[] = {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
                                                ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE};
  for (std::size_t i = 0; i < made->ops_.size(); ++i) {
    made->ops_[i] = std::make_unique<Op>(elements[i]);
    DYCL_TRY(check(api, api.CustomOpDomain_Add(raw, made->ops_[i].get()), "ops of ours"));
  }
  return made;
}

Result<void> RecurrentOps::add_to(OrtSessionOptions* options) const {
  return check(api_, api_.AddCustomOpDomain(options, domain_.get()), "ops of ours");
}

RecurrentOps::RecurrentOps(const OrtApi& api) : api_(api) {}
RecurrentOps::~RecurrentOps() = default;

}  // namespace dycl::backends::ort
