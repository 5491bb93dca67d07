// SPDX-License-Identifier: Apache-2.0
// Tensors of torch, numpy or anything with DLPack, seen from C++ without a copy.
// A tensor that is not contiguous row-major CPU memory is made so first (a copy);
// `owner` keeps whatever holds the bytes alive and may be dropped on any thread.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/dtype.h"

namespace dycl::bindings {

// A Python object that C++ code may copy and drop on any thread, with or without the
// GIL. After the interpreter's end it is left to the operating system.
std::shared_ptr<nanobind::object> share(nanobind::object object);

struct HostTensor {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  void* data = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<const void> owner;
};

// True for objects that offer DLPack or the buffer protocol.
bool is_tensor(nanobind::handle object);

// Raises TypeError, naming `what`, for anything that is no tensor of a known dtype.
HostTensor import_tensor(nanobind::handle object, const char* what);

// Memory of a tensor that Python takes over.
struct FreeElements {
  void operator()(void* memory) const { std::free(memory); }
};
using Elements = std::unique_ptr<void, FreeElements>;
Elements copy_elements(const void* data, std::size_t bytes);

// The elements as a tensor of `framework` ("torch" or "numpy").
nanobind::object export_tensor(DType dtype, std::span<const std::int64_t> shape, Elements elements,
                               const std::string& framework);

}  // namespace dycl::bindings
