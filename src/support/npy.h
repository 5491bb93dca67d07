// SPDX-License-Identifier: Apache-2.0
// numpy's .npy and .npz files: what the command line reads and writes. Versions 1 to 3 of
// .npy, little-endian or single-byte elements, either memory order; .npz as np.savez
// writes it (a zip whose members are stored, not compressed). Sizes are checked
// against the file before anything is allocated. What numpy lacks, bf16 and 8-bit floats, is written as f32.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "support/dtype.h"
#include "support/result.h"

namespace dycl {

struct NamedArray {
  std::string name;  // member of an .npz, without ".npy"; the file's stem for an .npy
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;  // row-major
};

// A view of an array to write.
struct ArrayView {
  std::string name;
  DType dtype = DType::F32;
  std::span<const std::int64_t> shape;
  std::span<const std::uint8_t> bytes;
};

// What an array of this dtype is written as.
DType npy_dtype(DType dtype);

// Errors are InvalidInput (Missing if the file is not there) and name the file.
Result<NamedArray> read_npy(const std::filesystem::path& path);
Result<std::vector<NamedArray>> read_npz(const std::filesystem::path& path);
// Either, by what the file starts with; an .npy gives one array.
Result<std::vector<NamedArray>> read_arrays(const std::filesystem::path& path);

Result<void> write_npy(const std::filesystem::path& path, const ArrayView& array);
Result<void> write_npz(const std::filesystem::path& path, std::span<const ArrayView> arrays);

}  // namespace dycl
