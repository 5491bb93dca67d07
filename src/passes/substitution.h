// SPDX-License-Identifier: Apache-2.0
// "Read this value instead of that one", collected by a pass and applied to a
// whole function at once, in time linear in the function and the replacements.
#pragma once

#include <vector>

#include "ir/function.h"

namespace dycl::passes {

class Substitution {
 public:
  explicit Substitution(const ir::Function& function) : to_(function.values.size()) {}

  // From now on `from` reads as `to`. `from` must not have been replaced before.
  void replace(ir::ValueId from, ir::ValueId to);

  // What `value` reads as, through all replacements.
  ir::ValueId operator()(ir::ValueId value);

  void rewrite(ir::Op& op);
  void rewrite(ir::Exit& exit);
  void apply(ir::Function& function);

 private:
  std::vector<ir::ValueId> to_;  // absent: itself; values born later read as themselves
};

}  // namespace dycl::passes
