// SPDX-License-Identifier: Apache-2.0
// Artifacts of the engine "eval", which evaluates sub-DNNs with the reference interpreter: their text.
#pragma once

#include <string>
#include <vector>

#include "backends/artifact.h"
#include "ir/print.h"
#include "ir/program.h"

namespace dycl::testing {

inline std::vector<backends::SubDnnArtifacts> eval_artifacts(const ir::Program& program) {
  std::vector<backends::SubDnnArtifacts> out;
  for (const ir::Function& function : program.functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    ir::Program alone;
    alone.symbols = program.symbols;
    for (const ir::Op& op : function.blocks[0].body) {
      if (op.name != "weight") continue;
      const std::string& name = std::get<std::string>(*op.attr("name"));
      alone.weights.emplace(name, program.weights.at(name));
    }
    ir::Function main;
    main.name = "main of " + function.name;
    main.blocks.resize(1);
    main.blocks[0].name = "entry";
    main.blocks[0].exit = ir::Return{};
    alone.functions = {main, function};
    const std::string text = ir::print(alone, {.inline_weights = true});
    backends::Artifact a;
    a.backend = "eval";
    a.target = "portable";
    a.bytes.assign(text.begin(), text.end());
    out.push_back({function.name, {std::move(a)}});
  }
  return out;
}

}  // namespace dycl::testing
