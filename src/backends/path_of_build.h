// SPDX-License-Identifier: Apache-2.0
// Where the build found an engine or left a file. Programs and libraries in the build tree look there last. Those that
// are installed name no folder of the machine that built them: the paths stand in an ELF section of their own, which
// cmake/install.cmake overwrites. What does not begin with '/' is no path any more.
#pragma once

#include <string>

// DYCL_PATH_OF_BUILD(kName, "/a/path") at namespace level; std::string text = path_of_build(kName).
#define DYCL_PATH_OF_BUILD(name, text) __attribute__((section("dycl_build"), used)) const volatile char name[] = text

namespace dycl::backends {

// "": an installed one. Read byte by byte: the compiler must not know what stands there.
template <std::size_t size>
std::string path_of_build(const volatile char (&text)[size]) {
  std::string path;
  if (text[0] != '/') return path;
  for (std::size_t i = 0; i + 1 < size; ++i) path += text[i];
  return path;
}

}  // namespace dycl::backends
