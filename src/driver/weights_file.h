// SPDX-License-Identifier: Apache-2.0
// The side file of a .dyir: its weights in the safetensors format, so that they are
// mapped rather than copied and other tools can read and write them. model.dyir has
// its weights in model.safetensors.
//
//   bytes 0-7     N, little-endian u64: length of the header
//   N bytes       JSON: {"name": {"dtype": "F32", "shape": [2,3], "data_offsets": [begin, end]}, ...}
//   the rest      the tensors' bytes, row-major, little-endian; offsets count from here
//
// A damaged or hostile file is an error naming the file and the tensor; sizes are
// checked before anything is allocated or read.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "ir/program.h"
#include "support/result.h"

namespace dycl::driver {

// model.dyir -> model.safetensors.
std::filesystem::path weights_path(const std::filesystem::path& dyir);

// Maps the file; each weight's bytes keep the mapping alive.
Result<std::map<std::string, ir::Weight>> read_weights(const std::filesystem::path& path);

// Gives the weights that `program` declares their bytes. Every declared weight must
// be there with its type; others in the file are ignored.
Result<void> attach_weights(ir::Program& program, const std::filesystem::path& path);

Result<void> write_weights(const ir::Program& program, const std::filesystem::path& path);

}  // namespace dycl::driver
