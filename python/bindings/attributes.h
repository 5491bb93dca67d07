// SPDX-License-Identifier: Apache-2.0
// Python values as attributes of ops: int, float, bool, str; a list or tuple of
// ints, floats or strs (an empty one is a list of ints unless it is wrapped as
// Floats or Strings); a tensor (copied; at most 1024 bytes); a Type.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <string>

#include "ir/op.h"

namespace dycl::bindings {

// Raises TypeError or ValueError naming `key`.
ir::Attr import_attribute(const std::string& key, nanobind::handle value);
std::map<std::string, ir::Attr> import_attributes(nanobind::dict attributes);

void bind_attributes(nanobind::module_& module);

}  // namespace dycl::bindings
