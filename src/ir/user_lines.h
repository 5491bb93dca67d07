// SPDX-License-Identifier: Apache-2.0
// Which places in sources are the model author's own. A call of nn.Linear happens in torch's file; people look for the
// line of their own that led there.
#pragma once

#include <string>
#include <vector>

#include "support/source_span.h"

namespace dycl::ir {

// Known, and not in an installed package (site-packages, dist-packages).
inline bool is_users(const SourceSpan& span, const std::vector<std::string>& sources) {
  return span.known() && span.file < sources.size() && sources[span.file].find("-packages/") == std::string::npos;
}

}  // namespace dycl::ir
