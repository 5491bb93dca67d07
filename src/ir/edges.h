// SPDX-License-Identifier: Apache-2.0
// Walking over what a block's exit mentions. All work on const and mutable exits.
#pragma once

#include "ir/op.h"

namespace dycl::ir {

// Calls visit(edge) for each edge, in the order in which it prints.
template <typename AnyExit, typename Visit>
void for_each_edge(AnyExit& exit, Visit&& visit) {
  if (auto* jump = std::get_if<Goto>(&exit)) {
    visit(jump->edge);
  } else if (auto* branch = std::get_if<Branch>(&exit)) {
    visit(branch->if_true);
    visit(branch->if_false);
  } else if (auto* choice = std::get_if<Switch>(&exit)) {
    for (auto& edge : choice->targets) visit(edge);
    visit(choice->otherwise);
  }
}

// Calls visit(value) for each value the exit reads: condition, selector, returned
// and raised values, then the arguments of its edges.
template <typename AnyExit, typename Visit>
void for_each_exit_use(AnyExit& exit, Visit&& visit) {
  if (auto* branch = std::get_if<Branch>(&exit)) visit(branch->condition);
  if (auto* choice = std::get_if<Switch>(&exit)) visit(choice->selector);
  if (auto* result = std::get_if<Return>(&exit))
    for (auto& value : result->values) visit(value);
  if (auto* failure = std::get_if<Raise>(&exit))
    for (auto& value : failure->args) visit(value);
  for_each_edge(exit, [&](auto& edge) {
    for (auto& value : edge.args) visit(value);
  });
}

}  // namespace dycl::ir
