// SPDX-License-Identifier: Apache-2.0
#include "emit/structure/flatten.h"

#include <utility>

namespace dycl::emit::recovery {
namespace {

using Kind = Step::Kind;
using Flags = std::vector<std::uint32_t>;

void flush(Sequence& group, const Flags& flags, Sequence& out) {
  if (group.empty()) return;
  Step unless;
  unless.kind = Kind::Unless;
  unless.flags = flags;
  unless.parts.push_back(std::move(group));
  out.push_back(std::move(unless));
  group.clear();
}

void split(Step unless, Sequence& out) {
  Sequence group;
  for (Step& step : unless.parts[0]) {
    if (step.kind == Kind::Flag) {  // false until it is set further on, whether that is skipped or not
      out.push_back(std::move(step));
    } else if (step.kind == Kind::Unless) {
      flush(group, unless.flags, out);
      step.flags.insert(step.flags.begin(), unless.flags.begin(), unless.flags.end());
      split(std::move(step), out);
    } else {
      group.push_back(std::move(step));
    }
  }
  flush(group, unless.flags, out);
}

void flatten(Sequence& steps, int depth, int max_nesting) {
  if (depth >= max_nesting) {
    Sequence out;
    for (Step& step : steps) {
      if (step.kind == Kind::Unless)
        split(std::move(step), out);
      else
        out.push_back(std::move(step));
    }
    steps = std::move(out);
  }
  for (Step& step : steps)
    for (Sequence& part : step.parts) flatten(part, depth + 1, max_nesting);
}

}  // namespace

void flatten_guards(Sequence& body, int max_nesting) { flatten(body, 0, max_nesting); }

}  // namespace dycl::emit::recovery
