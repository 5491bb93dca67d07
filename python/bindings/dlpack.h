// SPDX-License-Identifier: Apache-2.0
// DLPack 1.x as C structs, and its fast exchange: a table of C functions that a
// framework publishes as `__dlpack_c_exchange_api__` on its tensor type (torch 2.10
// and later). The layouts are DLPack's ABI; https://dmlc.github.io/dlpack specifies them.
#pragma once

#include <cstdint>

namespace dycl::bindings::dlpack {

struct Version {
  std::uint32_t major, minor;
};

struct Tensor {
  void* data;
  std::int32_t device_type, device_id;
  std::int32_t rank;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t* shape;
  std::int64_t* strides;  // null: row-major
  std::uint64_t byte_offset;
};

struct Managed {
  Version version;
  void* context;
  void (*deleter)(Managed* self);
  std::uint64_t flags;
  Tensor tensor;
};

struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  int (*allocate)(Tensor* prototype, Managed** out, void* error, void (*set_error)(void*, const char*, const char*));
  int (*from_object)(void* object, Managed** out);  // sets a Python error on failure, as the next
  int (*to_object)(Managed* tensor, void** out);    // takes `tensor` over
  int (*view_of_object)(void* object, Tensor* out);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

inline constexpr std::int32_t kCpu = 1;

}  // namespace dycl::bindings::dlpack
