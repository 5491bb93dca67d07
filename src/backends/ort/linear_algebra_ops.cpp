// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/linear_algebra_ops.h"

#include <algorithm>

#include "backends/kernels/linear_algebra.h"
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

struct Op : CustomOp<Op> {
  la::Op op;
  ONNXTensorElementDataType elements;
  int threads;

  Op(la::Op which, ONNXTensorElementDataType of, int count) : op(which), elements(of), threads(count) {
    runs<Kernel>();
  }

  const la::OpForm& form() const { return la::form_of(op); }
  const char* name() const { return form().name; }
  std::size_t inputs() const { return form().in.size(); }
  std::size_t outputs() const { return form().out.size(); }
  ONNXTensorElementDataType input(std::size_t index) const { return type_of(form().in[index], elements); }
  ONNXTensorElementDataType output(std::size_t index) const { return type_of(form().out[index], elements); }
  void* kernel(Calls& /*calls*/, const OrtApi& api, const OrtKernelInfo* info) const {
    return new Kernel{api, threads, op, options_of(api, info)};
  }
};

}  // namespace

Result<std::unique_ptr<CustomOps>> make_linear_algebra_ops(const OrtApi& api, int threads) {
  std::vector<std::shared_ptr<OrtCustomOp>> ops;
  for (std::int64_t i = 0; i < la::kOps; ++i) {
    const auto op = static_cast<la::Op>(i);
    ops.push_back(std::make_shared<Op>(op, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, threads));
    if (la::form_of(op).in.front() == 'T')
      ops.push_back(std::make_shared<Op>(op, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, threads));
  }
  return CustomOps::create(api, kLinearAlgebraDomain, std::move(ops));
}

}  // namespace dycl::backends::ort
