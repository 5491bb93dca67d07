// SPDX-License-Identifier: Apache-2.0
// OpenVINO's C library, opened at run time: neither the compiler nor the plug-in links
// it, so that a machine without it is told which command installs it. Looked for at DYCL_OPENVINO_LIBRARY,
// beside this code's own library or executable, in ../lib of it, where the dynamic linker
// looks, and where the build found it. Opened once per process and never closed.
#pragma once

#include <openvino/c/openvino.h>

#include <string>

#include "support/result.h"

namespace dycl::backends::openvino {

// The C functions in use, by their own names.
#define DYCL_OPENVINO_FUNCTIONS(X)             \
  X(ov_get_openvino_version)                   \
  X(ov_version_free)                           \
  X(ov_get_error_info)                         \
  X(ov_get_last_err_msg)                       \
  X(ov_free)                                   \
  X(ov_core_create)                            \
  X(ov_core_free)                              \
  X(ov_core_set_properties)                    \
  X(ov_core_read_model_from_memory_buffer)     \
  X(ov_core_compile_model_props)               \
  X(ov_core_import_model)                      \
  X(ov_model_free)                             \
  X(ov_compiled_model_free)                    \
  X(ov_compiled_model_inputs_size)             \
  X(ov_compiled_model_outputs_size)            \
  X(ov_compiled_model_input_by_index)          \
  X(ov_compiled_model_output_by_index)         \
  X(ov_compiled_model_export_model)            \
  X(ov_compiled_model_get_property)            \
  X(ov_compiled_model_create_infer_request)    \
  X(ov_output_const_port_free)                 \
  X(ov_port_get_element_type)                  \
  X(ov_infer_request_free)                     \
  X(ov_infer_request_infer)                    \
  X(ov_infer_request_set_tensor_by_const_port) \
  X(ov_infer_request_get_tensor_by_const_port) \
  X(ov_tensor_create_from_host_ptr)            \
  X(ov_tensor_get_shape)                       \
  X(ov_tensor_get_element_type)                \
  X(ov_tensor_data)                            \
  X(ov_tensor_free)                            \
  X(ov_shape_free)

struct Library {
#define DYCL_OPENVINO_MEMBER(name) decltype(&::name) name = nullptr;
  DYCL_OPENVINO_FUNCTIONS(DYCL_OPENVINO_MEMBER)
#undef DYCL_OPENVINO_MEMBER
  std::string version;  // "2026.4.1"
};

// The same library on every call; thread-safe.
Result<const Library*> library();

// Success, or an Error with OpenVINO's own words.
Result<void> check(const Library& library, ov_status_e status, const char* what);

}  // namespace dycl::backends::openvino
