// SPDX-License-Identifier: Apache-2.0
// The host program of a package as C++ source for people: structured control flow, the user's names, the
// Python line beside each step. It stands on dycl/host.h of the installed runtime and loads the package
// for its weights and sub-DNNs; results are those of the runtime's walker, bit for bit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "emit/cpp/results.h"
#include "package/read_program.h"
#include "support/result.h"

namespace dycl::emit {

struct CppOptions {
  std::string name;    // of class and files: snake_case
  bool watch = false;  // decisions can be traced and forced, as tests do
};

// A parameter of the emitted function that computes: an argument or state of the program as a handle.
struct CppParameter {
  std::string name;
  ir::Type type;
  std::uint32_t index;  // among the program's parameters
  bool kept;            // never assigned nor moved from
};

// The body of that function, and what its class must declare.
struct CppBody {
  std::string text;  // statements, indented by two
  std::vector<CppParameter> parameters;
  std::vector<std::string> sub_dnns;  // names of constants, by index
  std::string members;                // lines
};

Result<CppBody> write_cpp_body(const package::PackageProgram& package, const CppOptions& options,
                               const std::vector<ResultField>& fields);

// Writes <name>.h, <name>.cpp, <name>_c.h, <name>_c.cpp, main.cpp, CMakeLists.txt and a copy of the package.
Result<void> write_cpp_project(const std::filesystem::path& package, const CppOptions& options,
                               const std::filesystem::path& folder);

}  // namespace dycl::emit
