// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/linear_algebra_ops.h"

#include <algorithm>

#include "backends/kernels/linear_algebra.h"
#include "backends/ort/kernel_calls.h"
#include "backends/ort/plugin_ops.h"

namespace dycl::backends::ort {
namespace {

namespace la = linear_algebra;

constexpr double kWorthThreads = 1 << 16;  // operations below which a second thread is not woken

struct Kernel {
  const OrtApi& api;
  int threads = 1;
  la::Op op{};
  la::Options how;

  bool compute(Calls& calls, OrtKernelContext* context) const;
  bool read(Calls& calls, OrtKernelContext* context, std::vector<la::Dims>& dims, std::vector<const void*>& data,
            bool& is_double) const;
  bool run(Calls& calls, OrtKernelContext* context, const la::Problem& problem) const;
};

bool Kernel::read(Calls& calls, OrtKernelContext* context, std::vector<la::Dims>& dims, std::vector<const void*>& data,
                  bool& is_double) const {
  const la::OpForm& form = la::form_of(op);
  for (std::size_t i = 0; i < form.in.size(); ++i) {
    const OrtValue* value = nullptr;
    Shape shape;
    void* at = nullptr;
    if (!calls.ok(api.KernelContext_GetInput(context, i, &value)) || !read_shape(api, calls, value, shape) ||
        !calls.ok(api.GetTensorMutableData(const_cast<OrtValue*>(value), &at)))
      return false;
    dims.emplace_back(shape.dims, shape.dims + shape.rank);
    data.push_back(at);
    if (form.in[i] == 'T') is_double = shape.elements == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
  }
  return true;
}

bool Kernel::run(Calls& calls, OrtKernelContext* context, const la::Problem& problem) const {
  const std::int64_t parts = std::min<std::int64_t>(threads, problem.batch);
  if (parts > 1 && problem.work() >= kWorthThreads)
    return in_parallel(api, calls, context, parts, [&](std::int64_t part) {
      la::compute(problem, problem.batch * part / parts, problem.batch * (part + 1) / parts);
    });
  la::compute(problem, 0, problem.batch);
  return true;
}

bool Kernel::compute(Calls& calls, OrtKernelContext* context) const {
  std::vector<la::Dims> dims;
  std::vector<const void*> data;
  bool is_double = false;
  if (!read(calls, context, dims, data, is_double)) return false;
  const std::vector<la::Dims> results = la::result_shapes(op, how, dims);
  if (results.empty()) return calls.fail("matrices that do not fit each other");
  la::Problem problem = la::problem_of(op, how, is_double, dims, results);
  for (std::size_t i = 0; i < data.size(); ++i) problem.in[i].data = const_cast<void*>(data[i]);
  std::size_t count = 0;
  if (!calls.ok(api.KernelContext_GetOutputCount(context, &count))) return false;
  for (std::size_t i = 0; i < std::min(results.size(), count); ++i) {
    OrtValue* value = nullptr;
    if (!calls.ok(api.KernelContext_GetOutput(context, i, results[i].data(), results[i].size(), &value))) return false;
    const bool is_empty = std::count(results[i].begin(), results[i].end(), 0) > 0;  // as if nobody read it
    if (value && !is_empty && !calls.ok(api.GetTensorMutableData(value, &problem.out[i].data))) return false;
  }
  return run(calls, context, problem);
}

la::Options options_of(const OrtApi& api, const OrtKernelInfo* info) {
  la::Options how;
  for (const auto& [name, option] : la::kOptions) how.*option = int_attribute(api, info, name, how.*option);
  return how;
}

ONNXTensorElementDataType type_of(char letter, ONNXTensorElementDataType elements) {
  if (letter == 'i') return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
  return letter == 'l' ? ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 : elements;
}

}  // namespace

// ---- the ops ----------------------------------------------------------------------------

struct LinearAlgebraOps::Op : OrtCustomOp {
  la::Op op;
  ONNXTensorElementDataType elements;
  int threads;

  Op(la::Op which, ONNXTensorElementDataType of, int count);
};

LinearAlgebraOps::Op::Op(la::Op which, ONNXTensorElementDataType of, int count)
    : OrtCustomOp{}, op(which), elements(of), threads(count) {
  version = ORT_API_VERSION;
  GetName = [](const OrtCustomOp* self) { return la::form_of(static_cast<const Op*>(self)->op).name; };
  GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  GetInputType = [](const OrtCustomOp* self, std::size_t index) {
    const auto& own_op = *static_cast<const Op*>(self);
    return type_of(la::form_of(own_op.op).in[index], own_op.elements);
  };
  GetInputTypeCount = [](const OrtCustomOp* self) { return la::form_of(static_cast<const Op*>(self)->op).in.size(); };
  GetOutputType = [](const OrtCustomOp* self, std::size_t index) {
    const auto& own_op = *static_cast<const Op*>(self);
    return type_of(la::form_of(own_op.op).out[index], own_op.elements);
  };
  GetOutputTypeCount = [](const OrtCustomOp* self) { return la::form_of(static_cast<const Op*>(self)->op).out.size(); };
  GetInputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
  GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_OPTIONAL; };
  GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
  GetStartVersion = [](const OrtCustomOp*) { return 1; };
  GetEndVersion = [](const OrtCustomOp*) { return 1; };
  CreateKernelV2 = [](const OrtCustomOp* self, const OrtApi* api, const OrtKernelInfo* info, void** out) -> OrtStatus* {
    try {
      const auto& own_op = *static_cast<const Op*>(self);
      *out = new Kernel{*api, own_op.threads, own_op.op, options_of(*api, info)};
      return nullptr;
    } catch (const std::exception& e) {
      return api->CreateStatus(ORT_FAIL, e.what());
    }
  };
  KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
  KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatus* {
    const auto& own_kernel = *static_cast<const Kernel*>(kernel);
    try {
      Calls calls(own_kernel.api);
      (void)own_kernel.compute(calls, context);
      return calls.release();
    } catch (const std::exception& e) {  // no memory
      return own_kernel.api.CreateStatus(ORT_FAIL, e.what());
    }
  };
}

Result<std::unique_ptr<LinearAlgebraOps>> LinearAlgebraOps::create(const OrtApi& api, int threads) {
  std::unique_ptr<LinearAlgebraOps> made(new LinearAlgebraOps(api));
  OrtCustomOpDomain* raw = nullptr;
  DYCL_TRY(check(api, api.CreateCustomOpDomain(kLinearAlgebraDomain, &raw), "ops of ours"));
  made->domain_ = own(raw, api.ReleaseCustomOpDomain);
  for (std::int64_t i = 0; i < la::kOps; ++i) {
    const auto op = static_cast<la::Op>(i);
    const bool has_elements = la::form_of(op).in.front() == 'T';
    for (const auto elements : {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE}) {
      if (!has_elements && elements == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) continue;
      made->ops_.push_back(std::make_unique<Op>(op, elements, threads));
      DYCL_TRY(check(api, api.CustomOpDomain_Add(raw, made->ops_.back().get()), "ops of ours"));
    }
  }
  return made;
}

Result<void> LinearAlgebraOps::add_to(OrtSessionOptions* options) const {
  return check(api_, api_.AddCustomOpDomain(options, domain_.get()), "ops of ours");
}

LinearAlgebraOps::LinearAlgebraOps(const OrtApi& api) : api_(api) {}
LinearAlgebraOps::~LinearAlgebraOps() = default;

}  // namespace dycl::backends::ort
