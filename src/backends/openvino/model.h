// SPDX-License-Identifier: Apache-2.0
// Models inside OpenVINO, as both halves of the back end need them: made from an
// artifact's bytes, portable (an ONNX model whose weights w0, w1, ... are handed over by
// pointer and used in place) or compiled (kBlobMagic, then what OpenVINO exported).
//
// Every model runs in f32 as stated, for the latency of one request at a time, on one
// stream, without binding threads to cores. A Core is used by one thread at a time;
// a compiled Model may be shared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/openvino/library.h"
#include "support/dtype.h"
#include "support/result.h"

namespace dycl::backends::openvino {

inline constexpr char kBlobMagic[16] = "dycl.openvino.1";

// An external tensor in a portable form: OpenVINO reads a tensor of this location from
// the address that its offset gives. As stored, the offset is kNoAddress, whose
// digits bind_weights replaces.
inline constexpr const char* kMemoryLocation = "*/_ORT_MEM_ADDR_/*";
inline constexpr std::int64_t kNoAddress = 1'000'000'000'000'000'000;
inline constexpr std::size_t kAddressDigits = 19;

// A weight of the program, in the order in which the artifact counts them.
struct GivenWeight {
  const void* data = nullptr;
  std::uint64_t bytes = 0;
  std::int32_t dtype = 0;
  std::vector<std::int64_t> shape;
};

template <auto Free>
struct Freed {
  const Library* library = nullptr;
  template <typename T>
  void operator()(T* object) const {
    (library->*Free)(object);
  }
};
using CoreHandle = std::unique_ptr<ov_core_t, Freed<&Library::ov_core_free>>;
using ModelHandle = std::unique_ptr<ov_model_t, Freed<&Library::ov_model_free>>;
using CompiledHandle = std::unique_ptr<ov_compiled_model_t, Freed<&Library::ov_compiled_model_free>>;
using RequestHandle = std::unique_ptr<ov_infer_request_t, Freed<&Library::ov_infer_request_free>>;
using PortHandle = std::unique_ptr<ov_output_const_port_t, Freed<&Library::ov_output_const_port_free>>;
using TensorHandle = std::unique_ptr<ov_tensor_t, Freed<&Library::ov_tensor_free>>;

struct Core {
  const Library* library = nullptr;
  CoreHandle handle;
  int threads = 1;  // 0: OpenVINO's choice
};

Result<Core> make_core(int threads);

// A copy of an ONNX model whose external tensors point at the weights' memory. The
// bytes may come from a hostile file: every external tensor must be a given weight, with its
// dtype and shape, and nothing may name a file.
Result<std::string> bind_weights(std::span<const std::uint8_t> model, const std::vector<GivenWeight>& weights);

// Whether an artifact is a compiled form, which is taken as it is, rather than a model.
bool is_blob(std::span<const std::uint8_t> bytes);

// From either form. Weights must outlive the result.
Result<CompiledHandle> load_artifact(const Core& core, std::span<const std::uint8_t> bytes,
                                     const std::vector<GivenWeight>& weights);

// The compiled form of a model: kBlobMagic and OpenVINO's bytes. Holds a copy of the weights.
Result<std::vector<std::uint8_t>> export_blob(const Core& core, const CompiledHandle& model);

// The model's inputs or outputs, in the order of the ONNX model.
Result<std::vector<PortHandle>> ports_of(const Core& core, const CompiledHandle& model, bool outputs,
                                         std::size_t count);

// OpenVINO's number for a dtype, or nothing.
Result<ov_element_type_e> element_type(DType dtype);

}  // namespace dycl::backends::openvino
