// SPDX-License-Identifier: Apache-2.0
// Sub-DNNs cut for the sake of a choice among engines. Ops that an engine refuses do not keep it from the heavy work
// before them, and what follows the last convolution is work of another kind: where either is worth one more call, the
// sub-DNN becomes two, which may go to different engines. A cut whose parts go to the same one is undone.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backends/assign.h"
#include "ir/program.h"

namespace dycl::backends {

// Parts of sub-DNNs: of which sub-DNN of the uncut program.
using Origins = std::map<std::string, std::string>;

// A sub-DNN with much work that does not depend on ops that an engine refuses is cut there, at the price of one more
// call. `whole`: sub-DNNs that are not cut.
Origins cut_for_engines(ir::Program& program, const std::set<std::string>& whole);

// A cut whose parts all go to one engine gains nothing: `program`, which is uncut, is cut again where engines differ,
// and `assignment` is for that.
void undo_cuts(ir::Program& program, const Origins& origins, Assignment& assignment);

}  // namespace dycl::backends
