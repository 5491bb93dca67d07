// SPDX-License-Identifier: Apache-2.0
// The IR as Python builds it. A ProgramBuilder owns one ir::Program; a
// FunctionBuilder is a handle to one of its functions and keeps it alive.
// Values and blocks are plain ints; types are text ("f32[1,N]", "list<int>").
// Ids are checked at each call; everything else by ProgramBuilder.verify().
// Not thread-safe: one thread builds one program.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "ir/program.h"

namespace dycl::bindings {

struct ProgramBuilder {
  std::shared_ptr<ir::Program> program = std::make_shared<ir::Program>();
  std::unordered_map<std::string, ir::Type> types;  // parsed before, by text

  const ir::Type& type(const std::string& text);
};

void bind_builder(nanobind::module_& module);

}  // namespace dycl::bindings
