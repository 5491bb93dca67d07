// SPDX-License-Identifier: Apache-2.0
// What kernels of our own inside ONNX Runtime say to its C interface; what their ops say is in custom_ops.h.
#pragma once

#include <onnxruntime_c_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "backends/ort/library.h"

namespace dycl::backends::ort {

// An OrtStatus of ours carried through functions that make several calls.
class Calls {
 public:
  explicit Calls(const OrtApi& api) : api_(api) {}
  ~Calls() {
    if (status_) api_.ReleaseStatus(status_);
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  bool ok(OrtStatus* status) {
    if (!status) return true;
    if (status_) api_.ReleaseStatus(status_);
    status_ = status;
    return false;
  }
  bool fail(const char* why) { return ok(api_.CreateStatus(ORT_FAIL, why)); }
  OrtStatus* release() {
    OrtStatus* status = status_;
    status_ = nullptr;
    return status;
  }

 private:
  const OrtApi& api_;
  OrtStatus* status_ = nullptr;
};

struct Shape {
  static constexpr std::size_t kMaxRank = 16;
  std::int64_t dims[kMaxRank] = {};
  std::size_t rank = 0;
  ONNXTensorElementDataType elements = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;

  std::int64_t count() const {
    std::int64_t n = 1;
    for (std::size_t i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }
};

inline bool read_shape(const OrtApi& api, Calls& calls, const OrtValue* value, Shape& shape) {
  OrtTensorTypeAndShapeInfo* raw = nullptr;
  if (!calls.ok(api.GetTensorTypeAndShape(value, &raw))) return false;
  const auto info = own(raw, api.ReleaseTensorTypeAndShapeInfo);
  if (!calls.ok(api.GetTensorElementType(raw, &shape.elements))) return false;
  if (!calls.ok(api.GetDimensionsCount(raw, &shape.rank))) return false;
  if (shape.rank > Shape::kMaxRank) return calls.fail("more than 16 dims");
  return calls.ok(api.GetDimensions(raw, shape.dims, shape.rank));
}

// Calls body(part) for each of `parts` parts, on the engine's threads, where nothing may be thrown.
template <typename Body>
bool in_parallel(const OrtApi& api, Calls& calls, OrtKernelContext* context, std::int64_t parts, const Body& body) {
  struct Shared {
    const Body& body;
    std::atomic<bool> failed{false};
  } shared{body};
  const auto run_part = [](void* data, std::size_t part) {
    auto& all = *static_cast<Shared*>(data);
    try {
      all.body(static_cast<std::int64_t>(part));
    } catch (const std::exception&) {
      all.failed = true;
    }
  };
  if (!calls.ok(api.KernelContext_ParallelFor(context, run_part, static_cast<std::size_t>(parts), 0, &shared)))
    return false;
  return !shared.failed || calls.fail("out of memory");
}

inline std::int64_t int_attribute(const OrtApi& api, const OrtKernelInfo* info, const char* name,
                                  std::int64_t otherwise) {
  std::int64_t value = 0;
  OrtStatus* status = api.KernelInfoGetAttribute_int64(info, name, &value);
  if (status) api.ReleaseStatus(status);
  return status ? otherwise : value;
}

}  // namespace dycl::backends::ort
