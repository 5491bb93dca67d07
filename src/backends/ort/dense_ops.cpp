// SPDX-License-Identifier: Apache-2.0
#include "backends/ort/dense_ops.h"

#include <algorithm>
#include <cstring>

#include "backends/kernels/dense/kernels.h"

namespace dycl::backends::ort {
namespace {

constexpr std::int64_t kWorthThreads = 1 << 16;  // multiplications below which a second thread is not woken

const float* floats_of(const OrtApi& api, Calls& calls, const OrtValue* value) {
  void* data = nullptr;
  return calls.ok(api.GetTensorMutableData(const_cast<OrtValue*>(value), &data)) ? static_cast<const float*>(data)
                                                                                 : nullptr;
}

// How a bias of this shape is added to [m,n]; false: not at all.
bool place_bias(const Shape& shape, std::int64_t m, std::int64_t n, dense::Product& product) {
  const std::int64_t columns = shape.rank > 0 ? shape.dims[shape.rank - 1] : 1;
  const std::int64_t rows = shape.rank > 1 ? shape.dims[shape.rank - 2] : 1;
  if (shape.rank > 2 || (columns != 1 && columns != n) || (rows != 1 && rows != m)) return false;
  product.bias_column = columns == 1 ? 0 : 1;
  product.bias_row = rows == 1 ? 0 : columns;
  return true;
}

struct DenseKernel {
  const OrtApi& api;
  int threads = 1;
  dense::LazyMatrix* weight = nullptr;
  dense::Activation activation = dense::Activation::None;

  bool compute(Calls& calls, OrtKernelContext* context) const;
  bool output_of(Calls& calls, OrtKernelContext* context, Shape shape, std::int64_t n, dense::Product& product) const;
  bool bias_of(Calls& calls, OrtKernelContext* context, std::int64_t n, dense::Product& product) const;
  bool multiply(Calls& calls, OrtKernelContext* context, const dense::Packed& matrix,
                const dense::Product& product) const;
};

bool DenseKernel::output_of(Calls& calls, OrtKernelContext* context, Shape shape, std::int64_t n,
                            dense::Product& product) const {
  shape.dims[shape.rank - 1] = n;
  OrtValue* value = nullptr;
  if (!calls.ok(api.KernelContext_GetOutput(context, 0, shape.dims, shape.rank, &value))) return false;
  product.out = const_cast<float*>(floats_of(api, calls, value));
  product.ldo = n;
  return product.out != nullptr || shape.count() == 0;
}

bool DenseKernel::bias_of(Calls& calls, OrtKernelContext* context, std::int64_t n, dense::Product& product) const {
  std::size_t count = 0;
  if (!calls.ok(api.KernelContext_GetInputCount(context, &count))) return false;
  if (count < 3) return true;
  const OrtValue* value = nullptr;
  if (!calls.ok(api.KernelContext_GetInput(context, 2, &value))) return false;
  if (!value) return true;
  Shape shape;
  if (!read_shape(api, calls, value, shape)) return false;
  if (!place_bias(shape, product.m, n, product)) return calls.fail("dycl::Dense: a bias of another shape");
  product.bias = floats_of(api, calls, value);
  return product.bias != nullptr;
}

bool DenseKernel::multiply(Calls& calls, OrtKernelContext* context, const dense::Packed& matrix,
                           const dense::Product& product) const {
  const std::int64_t panels = dense::panels_of(matrix.n);
  const std::int64_t parts = std::min<std::int64_t>(threads, panels);
  if (parts > 1 && product.m * matrix.n * matrix.k >= kWorthThreads)
    return in_parallel(api, calls, context, parts, [&](std::int64_t part) {
      dense::best().multiply(matrix, panels * part / parts, panels * (part + 1) / parts, product);
    });
  dense::best().multiply(matrix, 0, panels, product);
  return true;
}

bool DenseKernel::compute(Calls& calls, OrtKernelContext* context) const {
  const dense::Packed matrix = weight->get();
  const OrtValue* x = nullptr;
  if (!calls.ok(api.KernelContext_GetInput(context, 0, &x))) return false;
  Shape shape;
  if (!read_shape(api, calls, x, shape)) return false;
  if (shape.rank == 0 || shape.dims[shape.rank - 1] != matrix.k)
    return calls.fail("dycl::Dense: an operand of another shape");
  dense::Product product;
  product.m = shape.count() / matrix.k;
  product.a = floats_of(api, calls, x);
  product.lda = matrix.k;
  product.activation = activation;
  if (!output_of(calls, context, shape, matrix.n, product)) return false;
  if (product.m == 0) return true;
  return product.a && bias_of(calls, context, matrix.n, product) && multiply(calls, context, matrix, product);
}

std::string text_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name) {
  char text[32] = {};
  std::size_t size = sizeof text;
  OrtStatus* status = api.KernelInfoGetAttribute_string(info, name, text, &size);
  if (status) api.ReleaseStatus(status);
  return status ? std::string() : std::string(text);
}

std::optional<dense::Activation> activation_of(const std::string& name) {
  if (name.empty()) return dense::Activation::None;
  if (name == "Relu") return dense::Activation::Relu;
  if (name == "Sigmoid") return dense::Activation::Sigmoid;
  if (name == "Tanh") return dense::Activation::Tanh;
  return std::nullopt;
}

// ---- the op -----------------------------------------------------------------------------

struct Op : CustomOp<Op> {
  dense::PackedStore* store = nullptr;
  int threads = 1;

  Op(dense::PackedStore& weights, int count) : store(&weights), threads(count) { runs<DenseKernel>(); }

  static const char* name() { return "Dense"; }
  static std::size_t inputs() { return 3; }
  static std::size_t outputs() { return 1; }
  static ONNXTensorElementDataType input(std::size_t /*index*/) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
  static ONNXTensorElementDataType output(std::size_t /*index*/) { return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT; }
  static bool requires_input(std::size_t index) { return index != 2; }
  void* kernel(Calls& calls, const OrtApi& api, const OrtKernelInfo* info) const;

 private:
  bool make(Calls& calls, const OrtApi& api, const OrtKernelInfo* info, DenseKernel& kernel) const;
};

bool Op::make(Calls& calls, const OrtApi& api, const OrtKernelInfo* info, DenseKernel& kernel) const {
  int is_constant = 0;
  const OrtValue* matrix = nullptr;
  if (!calls.ok(api.KernelInfoGetConstantInput_tensor(info, 1, &is_constant, &matrix))) return false;
  Shape shape;
  if (!is_constant || !matrix || !read_shape(api, calls, matrix, shape) || shape.rank != 2 || shape.count() == 0)
    return calls.fail("dycl::Dense: its matrix is not a constant");
  const float* data = floats_of(api, calls, matrix);
  if (!data) return false;
  const bool transposed = int_attribute(api, info, "transB", 0) != 0;
  const auto activation = activation_of(text_attribute(api, info, "activation"));
  if (!activation) return calls.fail("dycl::Dense: an unknown activation");
  kernel.weight = store->matrix(data, shape.dims[transposed ? 0 : 1], shape.dims[transposed ? 1 : 0], transposed);
  kernel.activation = *activation;
  return true;
}

void* Op::kernel(Calls& calls, const OrtApi& api, const OrtKernelInfo* info) const {
  auto made = std::make_unique<DenseKernel>(DenseKernel{api, threads});
  return make(calls, api, info, *made) ? made.release() : nullptr;
}

}  // namespace

Result<std::unique_ptr<DenseOp>> DenseOp::create(const OrtApi& api, int threads) {
  std::unique_ptr<DenseOp> made(new DenseOp);
  DYCL_ASSIGN(made->ops_, CustomOps::create(api, "dycl", {std::make_shared<Op>(made->store_, threads)}));
  return made;
}

}  // namespace dycl::backends::ort
