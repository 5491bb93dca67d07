// SPDX-License-Identifier: Apache-2.0
// A package's program as JSON, for tools that show it (`dycl view`): blocks with their ops and edges, decisions, call
// sites, sub-DNNs with their ops, weights, artifacts, and the source lines that were kept. Indices are those that
// traces, profiles and timelines use. Files, lines and columns: [file, line, column, end line, end column], file an
// index into "sources"; null where the place is not known. docs/view.md has the fields.
#pragma once

#include <nlohmann/json.hpp>

#include "package/read_program.h"

namespace dycl::package {

nlohmann::ordered_json describe(const PackageProgram& package);

}  // namespace dycl::package
