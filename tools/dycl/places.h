// SPDX-License-Identifier: Apache-2.0
// Decisions and calls as people know them: by file, line and the text of that line.
#pragma once

#include <cstdint>
#include <string>

#include "dycl/runtime.h"

namespace dycl::tools {

// "model.py:12", without folders; "" if the place is not known.
std::string place_text(const runtime::Program& program, const SourceSpan& span);

// The line without the spaces around it; "" if the package does not keep it.
std::string source_text(const runtime::Program& program, const SourceSpan& span);

// "true" or "false" of a branch; the value that selects the arm of a switch, or "otherwise".
std::string name_of_arm(const runtime::Decision& decision, std::uint32_t arm);

// "model.py:12  if gate(x) > 0:  [gates.1]": where a decision stands and what its condition is computed from.
std::string decision_text(const runtime::Program& program, std::size_t decision);

}  // namespace dycl::tools
