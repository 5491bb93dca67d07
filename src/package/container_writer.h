// SPDX-License-Identifier: Apache-2.0
// Writes the container of a package (runtime/container.h, docs/package_format.md):
// into a temporary file beside the target (temporary_file.h), synced, checked by the caller, then
// renamed. The target is either the old file or the complete new one at any moment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace dycl::package {

// Pieces follow one another in the section, each at a multiple of 64 bytes. They are
// borrowed and must live until the file is written. With runtime::kDeflated among the flags the section is
// stored deflated, if that makes it smaller.
struct SectionContent {
  std::string name;
  std::uint32_t flags = 0;
  std::vector<std::span<const std::uint8_t>> pieces;
};

// `check` sees the temporary file before it gets its name; an error of its own ends the writing.
Result<void> write_container(const std::vector<SectionContent>& sections, const std::filesystem::path& path,
                             const std::function<Result<void>(const std::filesystem::path&)>& check);

}  // namespace dycl::package
