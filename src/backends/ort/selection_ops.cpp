// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/selection_ops.h"

#include <algorithm>


namespace dycl::backends::ort {
namespace {

using selection::Kind;
using selection::Lines;
using selection::Selection;

constexpr std::int64_t kWorthThreads = 1 << 14;  // elements below which a second thread is not woken

const void* data_of(const OrtApi& api, Calls& calls, const OrtValue* value) {
  void* data = nullptr;
  return calls.ok(api.GetTensorMutableData(const_cast<OrtValue*>(value), &data)) ? data : nullptr;
}

bool has_k(Kind kind) { return kind == Kind::TopK || kind == Kind::KthValue; }

struct Kernel {
  const OrtApi& api;
  int threads = 1;
  std::int64_t axis = -1;
  Selection how;

  bool compute(Calls& calls, OrtKernelContext* context) const;
  bool read_k(Calls& calls, OrtKernelContext* context, Selection& chosen) const;
  bool output(Calls& calls, OrtKernelContext* context, std::size_t index, const Shape& shape, void** data) const;
  bool run(Calls& calls, OrtKernelContext* context, const Selection& chosen, DType dtype, const Lines& lines) const;
};

bool Kernel::read_k(Calls& calls, OrtKernelContext* context, Selection& chosen) const {
  if (!has_k(how.kind)) return true;
  const OrtValue* value = nullptr;
  if (!calls.ok(api.KernelContext_GetInput(context, 1, &value))) return false;
  Shape shape;
  if (!value || !read_shape(api, calls, value, shape)) return false;
  if (shape.count() != 1) return calls.fail("k is not one number");
  const void* data = data_of(api, calls, value);
  if (!data) return false;
  chosen.k = *static_cast<const std::int64_t*>(data);
  return true;
}

bool Kernel::output(Calls& calls, OrtKernelContext* context, std::size_t index, const Shape& shape, void** data) const {
  std::size_t count = 0;
  if (!calls.ok(api.KernelContext_GetOutputCount(context, &count))) return false;
  if (index >= count) return true;
  OrtValue* value = nullptr;
  if (!calls.ok(api.KernelContext_GetOutput(context, index, shape.dims, shape.rank, &value))) return false;
  return !value || calls.ok(api.GetTensorMutableData(value, data));
}

bool Kernel::run(Calls& calls, OrtKernelContext* context, const Selection& chosen, DType dtype,
                 const Lines& lines) const {
  const std::int64_t count = lines.outer * lines.inner, parts = std::min<std::int64_t>(threads, count);
  if (parts > 1 && count * lines.extent >= kWorthThreads)
    return in_parallel(api, calls, context, parts, [&](std::int64_t part) {
      selection::select(chosen, dtype, lines, count * part / parts, count * (part + 1) / parts);
    });
  selection::select(chosen, dtype, lines, 0, count);
  return true;
}

bool Kernel::compute(Calls& calls, OrtKernelContext* context) const {
  const OrtValue* x = nullptr;
  if (!calls.ok(api.KernelContext_GetInput(context, 0, &x))) return false;
  Shape shape;
  if (!read_shape(api, calls, x, shape)) return false;
  const auto rank = static_cast<std::int64_t>(shape.rank), at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) return calls.fail("an axis that the operand does not have");
  const auto dtype = dtype_of_code(static_cast<int>(shape.elements));
  if (!dtype || !selection::takes(*dtype)) return calls.fail("elements that cannot be ordered");
  Selection chosen = how;
  chosen.flat = rank == 1;
  if (!read_k(calls, context, chosen)) return false;
  Lines lines;
  lines.outer = lines.inner = 1;
  for (std::int64_t i = 0; i < rank; ++i) (i < at ? lines.outer : lines.inner) *= i == at ? 1 : shape.dims[i];
  lines.extent = shape.dims[at];
  if (const char* why = selection::refuses(chosen, lines.extent)) return calls.fail(why);
  lines.in = data_of(api, calls, x);
  if (!lines.in && shape.count() > 0) return false;
  Shape out = shape;
  out.dims[at] = selection::count_of(chosen, lines.extent);
  void* indices = nullptr;
  if (!output(calls, context, 0, out, &lines.values) || !output(calls, context, 1, out, &indices)) return false;
  lines.indices = static_cast<std::int64_t*>(indices);
  return out.count() == 0 || run(calls, context, chosen, *dtype, lines);
}

Selection selection_of(const OrtApi& api, const OrtKernelInfo* info, Kind kind) {
  Selection how;
  how.kind = kind;
  how.descending = int_attribute(api, info, kind == Kind::TopK ? "largest" : "descending", kind == Kind::TopK) != 0;
  how.sorted = int_attribute(api, info, "sorted", 1) != 0;
  how.stable = int_attribute(api, info, "stable", 0) != 0;
  return how;
}

struct Op : CustomOp<Op> {
  Kind kind;
  int threads = 1;

  Op(Kind which, int count) : kind(which), threads(count) { runs<Kernel>(); }

  const char* name() const {
    static constexpr const char* kNames[] = {"TopK", "Sort", "KthValue", "Mode"};
    return kNames[static_cast<std::size_t>(kind)];
  }
  std::size_t inputs() const { return has_k(kind) ? 2 : 1; }
  static std::size_t outputs() { return 2; }
  static ONNXTensorElementDataType input(std::size_t index) {
    return index == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  }
  static ONNXTensorElementDataType output(std::size_t index) { return input(index); }
  void* kernel(Calls& /*calls*/, const OrtApi& api, const OrtKernelInfo* info) const {
    return new Kernel{api, threads, int_attribute(api, info, "axis", -1), selection_of(api, info, kind)};
  }
};

}  // namespace

Result<std::unique_ptr<CustomOps>> make_selection_ops(const OrtApi& api, int threads) {
  std::vector<std::shared_ptr<OrtCustomOp>> ops;
  for (std::size_t i = 0; i < selection::kKinds; ++i)
    ops.push_back(std::make_shared<Op>(static_cast<Kind>(i), threads));
  return CustomOps::create(api, kTorchDomain, std::move(ops));
}

}  // namespace dycl::backends::ort
