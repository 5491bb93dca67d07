// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/pooling_ops.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "backends/kernels/dense/kernels.h"
#include "backends/ort/node_replacement.h"

namespace dycl::backends::ort {
namespace {

namespace field = onnx::field;
using dense::MaxPool;
using protozero::pbf_reader;

constexpr const char* kDomain = "dycl.pool";
constexpr const char* kBlockedDomain = "com.microsoft.nchwc";
constexpr std::int64_t kWorthThreads = 1 << 16;  // elements below which a second thread is not woken

// ---- which nodes ------------------------------------------------------------------------

std::string text(protozero::data_view view) { return {view.data(), view.size()}; }

// What an attribute must say that our kernels compute as ONNX does: padding is given, results are rounded down.
bool is_plain(pbf_reader attribute) {
  std::string name, value;
  std::int64_t integer = 0;
  while (attribute.next()) {
    switch (attribute.tag()) {
      case field::attribute::kName: name = text(attribute.get_view()); break;
      case field::attribute::kI: integer = onnx::int64_of(attribute); break;
      case field::attribute::kS: value = text(attribute.get_view()); break;
      default: attribute.skip();
    }
  }
  if (name == "auto_pad") return value == "NOTSET" || value.empty();
  return (name != "ceil_mode" && name != "storage_order") || integer == 0;
}

std::optional<std::string> name_of(pbf_reader node, int block) {
  std::string op_type, domain;
  bool plain = true;
  while (node.next()) {
    switch (node.tag()) {
      case field::node::kOpType: op_type = text(node.get_view()); break;
      case field::node::kDomain: domain = text(node.get_view()); break;
      case field::node::kAttribute: plain = is_plain(node.get_message()) && plain; break;
      default: node.skip();
    }
  }
  if (op_type != "MaxPool" || !plain) return std::nullopt;
  if (domain.empty()) return "MaxPool";
  if (domain == kBlockedDomain && (block == 8 || block == 16)) return "BlockedMaxPool";
  return std::nullopt;
}

// ---- the kernel -------------------------------------------------------------------------

using Ints = std::vector<std::int64_t>;

Ints ints_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name) {
  std::size_t count = 0;
  OrtStatus* status = api.KernelInfoGetAttributeArray_int64(info, name, nullptr, &count);
  if (status) api.ReleaseStatus(status);
  Ints values(status ? 0 : count);
  if (values.empty()) return values;
  status = api.KernelInfoGetAttributeArray_int64(info, name, values.data(), &count);
  if (status) api.ReleaseStatus(status);
  return status ? Ints() : values;
}

struct Windows {
  Ints kernel, strides, dilations, pads;
};

struct Operand {
  MaxPool how;
  Shape in, out;
  std::int64_t planes = 0;
};

template <typename T>
struct Kernel {
  const OrtApi& api;
  int threads = 1, lanes = 1;
  Windows windows;

  bool compute(Calls& calls, OrtKernelContext* context) const;
  bool place(Calls& calls, Operand& operand) const;
  bool pool(Calls& calls, OrtKernelContext* context, const Operand& operand, const T* x, T* y) const;
};

std::int64_t at_or(const Ints& values, std::size_t i, std::int64_t otherwise) {
  return i < values.size() ? values[i] : otherwise;
}

// How far the windows reach, from the operand's shape.
template <typename T>
bool Kernel<T>::place(Calls& calls, Operand& operand) const {
  const Shape& in = operand.in;
  const std::size_t axes = windows.kernel.size();
  if (axes < 1 || axes > 3 || in.rank != axes + 2 || in.dims[1] % lanes != 0)
    return calls.fail("dycl.pool::MaxPool: an operand of another shape");
  operand.out = in;
  operand.how.lanes = lanes;
  operand.planes = in.dims[0] * (in.dims[1] / lanes);
  for (std::size_t i = 0; i < axes; ++i) {
    MaxPool::Axis& axis = operand.how.axes[3 - axes + i];
    axis.in = in.dims[i + 2], axis.kernel = windows.kernel[i];
    axis.stride = at_or(windows.strides, i, 1), axis.dilation = at_or(windows.dilations, i, 1);
    axis.before = at_or(windows.pads, i, 0);
    const std::int64_t after = at_or(windows.pads, axes + i, 0);
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // so that no product of two overflows
    if (axis.kernel < 1 || axis.stride < 1 || axis.dilation < 1 || axis.before < 0 || after < 0 || axis.in > kMost ||
        axis.kernel > kMost || axis.stride > kMost || axis.dilation > kMost || axis.before > kMost || after > kMost)
      return calls.fail("dycl.pool::MaxPool: windows that are none");
    const std::int64_t rest = axis.in + axis.before + after - axis.dilation * (axis.kernel - 1) - 1;
    axis.out = rest / axis.stride + 1;  // as ONNX Runtime: one window where a stride is larger than what is missing
    if (axis.out < 0) return calls.fail("dycl.pool::MaxPool: a window that is larger than its operand");
    operand.out.dims[i + 2] = axis.out;
  }
  return true;
}

// Each window's first largest element, or its last NaN.
template <typename T>
void with_positions(const Operand& operand, const T* x, T* y, std::int64_t* positions) {
  const MaxPool& how = operand.how;
  const MaxPool::Axis &d = how.axes[0], &h = how.axes[1], &w = how.axes[2];
  const auto each_place = [](const MaxPool::Axis& axis, std::int64_t out, const auto& visit) {
    for (std::int64_t k = 0; k < axis.kernel; ++k)
      if (const std::int64_t at = out * axis.stride + k * axis.dilation - axis.before; at >= 0 && at < axis.in) visit(at);
  };
  for (std::int64_t p = 0; p < operand.planes; ++p, x += how.places())
    for (std::int64_t r = 0; r < how.results(); ++r) {
      using Limits = std::numeric_limits<T>;
      T most = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
      std::int64_t position = -1;
      each_place(d, r / (h.out * w.out), [&](std::int64_t i) {
        each_place(h, r / w.out % h.out, [&](std::int64_t j) {
          each_place(w, r % w.out, [&](std::int64_t k) {
            const std::int64_t at = (i * h.in + j) * w.in + k;
            if (!(x[at] > most || x[at] != x[at] || position < 0)) return;
            most = x[at], position = at;
          });
        });
      });
      *y++ = most;
      *positions++ = p * how.places() + position;
    }
}

template <typename T>
struct Shared {
  const Operand* operand;
  const T* x;
  T *lines, *y;
  std::int64_t parts;
};

template <typename T>
void run_part(void* data, std::size_t part) {
  const auto& shared = *static_cast<const Shared<T>*>(data);
  const Operand& operand = *shared.operand;
  const MaxPool& how = operand.how;
  const auto at = static_cast<std::int64_t>(part);
  const std::int64_t last = operand.planes * (at + 1) / shared.parts;
  T* line = how.lanes == 1 ? shared.lines + at * how.line() : nullptr;
  for (std::int64_t p = operand.planes * at / shared.parts; p < last; ++p) {
    const T* x = shared.x + p * how.places() * how.lanes;
    T* y = shared.y + p * how.results() * how.lanes;
    if constexpr (std::is_same_v<T, float>)
      dense::best().max_pool(how, x, line, y);
    else if constexpr (std::is_same_v<T, double>)
      dense::best().max_pool_of_doubles(how, x, line, y);
    else if constexpr (std::is_same_v<T, std::int8_t>)
      dense::best().max_pool_of_int8(how, x, line, y);
    else
      dense::best().max_pool_of_uint8(how, x, line, y);
  }
}

template <typename T>
bool Kernel<T>::pool(Calls& calls, OrtKernelContext* context, const Operand& operand, const T* x, T* y) const {
  const bool large = operand.in.count() >= kWorthThreads;
  const std::int64_t parts = large ? std::min<std::int64_t>(threads, operand.planes) : 1;
  std::vector<T> lines(lanes == 1 ? static_cast<std::size_t>(parts * operand.how.line()) : 0);  // of plain planes
  Shared<T> shared{&operand, x, lines.data(), y, parts};
  if (parts > 1)
    return calls.ok(
        api.KernelContext_ParallelFor(context, run_part<T>, static_cast<std::size_t>(parts), 0, &shared));
  run_part<T>(&shared, 0);
  return true;
}

template <typename T>
bool Kernel<T>::compute(Calls& calls, OrtKernelContext* context) const {
  const OrtValue* x = nullptr;
  Operand operand;
  if (!calls.ok(api.KernelContext_GetInput(context, 0, &x)) || !read_shape(api, calls, x, operand.in) ||
      !place(calls, operand))
    return false;
  std::size_t outputs = 0;
  if (!calls.ok(api.KernelContext_GetOutputCount(context, &outputs))) return false;
  void* made[2] = {};
  for (std::size_t i = 0; i < std::min<std::size_t>(outputs, 2); ++i) {
    OrtValue* value = nullptr;
    if (!calls.ok(api.KernelContext_GetOutput(context, i, operand.out.dims, operand.out.rank, &value))) return false;
    if (value && !calls.ok(api.GetTensorMutableData(value, &made[i]))) return false;
  }
  void* data = nullptr;
  if (!calls.ok(api.GetTensorMutableData(const_cast<OrtValue*>(x), &data))) return false;
  if (operand.out.count() == 0) return true;
  if (operand.in.count() == 0) return calls.fail("dycl.pool::MaxPool: windows without an element");
  const auto* from = static_cast<const T*>(data);
  auto* values = static_cast<T*>(made[0]);
  std::vector<T> unread;
  if (!values) {
    unread.resize(static_cast<std::size_t>(operand.out.count()));
    values = unread.data();
  }
  if (!made[1]) return pool(calls, context, operand, from, values);
  if (lanes != 1) return calls.fail("dycl.pool::MaxPool: positions in a blocked layout");
  with_positions(operand, from, values, static_cast<std::int64_t*>(made[1]));
  return true;
}

template <typename T>
void* create_kernel(const OrtApi& api, const OrtKernelInfo* info, int threads, int lanes) {
  const auto ints = [&](const char* name) { return ints_attribute(api, info, name); };
  return new Kernel<T>{api, threads, lanes, {ints("kernel_shape"), ints("strides"), ints("dilations"), ints("pads")}};
}

template <typename T>
struct Op : CustomOp<Op<T>> {
  ONNXTensorElementDataType elements;
  int threads = 1, lanes = 1;

  Op(ONNXTensorElementDataType of, int count, int block) : elements(of), threads(count), lanes(block) {
    this->template runs<Kernel<T>>();
  }

  const char* name() const { return lanes == 1 ? "MaxPool" : "BlockedMaxPool"; }
  static std::size_t inputs() { return 1; }
  static std::size_t outputs() { return 2; }
  ONNXTensorElementDataType input(std::size_t /*index*/) const { return elements; }
  ONNXTensorElementDataType output(std::size_t index) const {
    return index == 0 ? elements : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  }
  void* kernel(Calls& /*calls*/, const OrtApi& api, const OrtKernelInfo* info) const {
    return create_kernel<T>(api, info, threads, lanes);
  }
};

}  // namespace

std::optional<std::string> with_pooling_ops(const void* bytes, std::size_t size, int block) {
  return with_nodes_replaced(bytes, size, kDomain, [&](const pbf_reader& node) { return name_of(node, block); });
}

Result<std::unique_ptr<CustomOps>> make_pooling_ops(const OrtApi& api, int threads, int block) {
  std::vector<std::shared_ptr<OrtCustomOp>> ops = {
      std::make_shared<Op<float>>(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, threads, 1),
      std::make_shared<Op<double>>(ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, threads, 1),
      std::make_shared<Op<std::int8_t>>(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, threads, 1),
      std::make_shared<Op<std::uint8_t>>(ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, threads, 1)};
  if (block > 1) ops.push_back(std::make_shared<Op<float>>(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, threads, block));
  return CustomOps::create(api, kDomain, std::move(ops));
}

}  // namespace dycl::backends::ort
