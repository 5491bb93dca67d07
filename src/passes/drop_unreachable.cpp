// SPDX-License-Identifier: Apache-2.0
#include "passes/drop_unreachable.h"

#include "passes/cfg.h"

namespace dycl::passes {

int drop_unreachable(ir::Program& program) {
  int dropped = 0;
  for (ir::Function& function : program.functions) {
    const Cfg cfg = cfg_of(function);
    const std::size_t lost = function.blocks.size() - cfg.order().size();
    if (lost == 0) continue;
    std::vector<bool> keep(function.blocks.size());
    for (const std::uint32_t block : cfg.order()) keep[block] = true;
    keep_blocks(function, keep);
    dropped += static_cast<int>(lost);
  }
  return dropped;
}

}  // namespace dycl::passes
