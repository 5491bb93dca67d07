// SPDX-License-Identifier: Apache-2.0
// A folder that goes with its owner.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace dycl::tests {

class Scratch {
 public:
  Scratch() {
    // In memory where possible: packages are synced to disk, and tests write thousands.
    const bool memory = ::access("/dev/shm", W_OK) == 0;
    const std::filesystem::path parent = memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string pattern = (parent / "dycl-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace dycl::tests
