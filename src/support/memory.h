// SPDX-License-Identifier: Apache-2.0
// How much memory this process could still get. A file's size is a stranger's choice, and a sparse file costs nothing:
// what is read into memory as a whole is held against this first, for the system would rather end processes, this one or
// others, than refuse.
#pragma once

#include <cstdint>
#include <filesystem>

#include "support/result.h"

namespace dycl {

// By the system and by the control group that this process is in; the greatest number if neither says.
std::uint64_t available_memory();

// An error if a file of this size cannot be held in memory.
Result<void> check_fits_into_memory(std::uint64_t size, const std::string& name);

}  // namespace dycl
