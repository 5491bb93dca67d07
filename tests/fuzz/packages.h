// SPDX-License-Identifier: Apache-2.0
// For targets that load packages: a package from and to its sections, with right checksums, and what becomes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace dycl::fuzz {

using Bytes = std::vector<std::uint8_t>;

// The bytes as a file that is in memory alone.
class File {
 public:
  explicit File(std::span<const std::uint8_t> bytes);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

struct Section {
  std::string name;
  std::uint32_t flags = 0;
  Bytes bytes;  // inflated
};

// Nothing if the file is no package.
std::optional<std::vector<Section>> sections_of(std::span<const std::uint8_t> file);
// Nothing is deflated.
Bytes package_of(const std::vector<Section>& sections);

// Cuts, overwrites and moves bytes.
void damage(Bytes& bytes, std::mt19937& random);

// Loads the file, and runs it twice on zeros if it loads, with the engine of tests.
void load_and_run(std::span<const std::uint8_t> file);

// A custom mutator: damages one of the named sections, or any if none is named.
std::size_t mutate_section(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed, const char* name);

}  // namespace dycl::fuzz
