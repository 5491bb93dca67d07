// SPDX-License-Identifier: Apache-2.0
// The host program of a package as C++ source for people: structured control flow, the user's names, the
// Python line beside each step. It stands on dycl/host.h of the installed runtime and loads the package
// for its weights and sub-DNNs; results are those of the runtime's walker, bit for bit.
#pragma once

#include <filesystem>
#include <string>

#include "emit/package_program.h"
#include "support/result.h"

namespace dycl::emit {

struct CppOptions {
  std::string name;    // of class and files: snake_case
  bool watch = false;  // decisions can be traced and forced, as tests do
};

// The body of the emitted run function and what its class must declare.
struct CppBody {
  std::string text;       // statements, indented by two
  std::string constants;  // lines: indices of sub-DNNs
  std::string types;      // lines: members that hold indices of types
};

Result<CppBody> write_cpp_body(const PackageProgram& package, const CppOptions& options);

// Writes <name>.h, <name>.cpp, <name>_c.h, <name>_c.cpp, main.cpp, CMakeLists.txt and a copy of the package.
Result<void> write_cpp_project(const std::filesystem::path& package, const CppOptions& options,
                               const std::filesystem::path& folder);

// "my-model.v2" -> "my_model_v2"; never empty, never a keyword.
std::string identifier(const std::string& text);
std::string class_name(const std::string& name);  // my_model -> MyModel
std::string cpp_type(const ir::Type& type);       // of handles and scalars inside

}  // namespace dycl::emit
