// SPDX-License-Identifier: Apache-2.0
#include "passes/pipeline.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "ir/verify.h"
#include "passes/constant_outputs.h"
#include "passes/copy_tails.h"
#include "passes/cse.h"
#include "passes/drop_dead.h"
#include "passes/drop_unreachable.h"
#include "passes/fold_branches.h"
#include "passes/fold_decided.h"
#include "passes/fold_host_constants.h"
#include "passes/fold_identities.h"
#include "passes/fold_params.h"
#include "passes/fold_predicates.h"
#include "passes/fold_tensor_constants.h"
#include "passes/forward_gotos.h"
#include "passes/identity_outputs.h"
#include "passes/merge_blocks.h"
#include "passes/outline.h"
#include "passes/propagate_shapes.h"
#include "passes/share_subdnns.h"
#include "passes/share_weights.h"
#include "passes/sink.h"
#include "passes/sum_products.h"
#include "passes/tidy.h"

namespace dycl::passes {
namespace {

constexpr std::array kPipeline = std::to_array<PassEntry>({
    {"propagate_shapes", "works out shapes of tensors", propagate_shapes},
    {"fold_host_constants", "computes host ops whose operands are known", fold_host_constants},
    {"fold_tensor_constants", "moves elements of weights and computes with shapes", fold_tensor_constants},
    {"fold_host_constants", "computes host ops that read known tensors", fold_host_constants},
    {"fold_identities", "reads around tensor ops that change nothing", fold_identities},
    {"fold_params", "replaces block parameters that are always the same", fold_params},
    {"fold_branches", "replaces choices that are none by jumps", fold_branches},
    {"forward_gotos", "sends edges past empty blocks", forward_gotos},
    {"fold_branches", "replaces choices whose edges have become one", fold_branches},
    {"drop_unreachable", "removes blocks that no path reaches", drop_unreachable},
    {"fold_params", "replaces parameters that lost an edge", fold_params},
    {"merge_blocks", "joins a block to the only one that jumps to it", merge_blocks},
    {"cse", "computes a thing once", cse},
    {"fold_decided", "replaces choices that an earlier one has made by jumps", fold_decided},
    {"drop_unreachable", "removes blocks that no path reaches any more", drop_unreachable},
    {"share_weights", "reads equal weights by one name", share_weights},
    {"drop_dead", "removes ops, parameters and weights that nobody needs", drop_dead},
    {"sink", "moves heavy tensor work into the only arm that uses it", sink},
    {"fold_predicates", "computes conditions with their tensors", fold_predicates},
    {"cse", "makes constants of conditions one", cse},
    {"copy_tails", "copies a join's heavy work into the arms before it", copy_tails},
    {"drop_dead", "removes what folding left unused", drop_dead},
    {"sum_products", "makes products of matrices of sums of products", sum_products},
    {"outline", "moves tensor ops into sub-DNN functions", outline},
    {"identity_outputs", "takes handed-through results out of sub-DNNs", identity_outputs},
    {"constant_outputs", "takes constant results out of sub-DNNs", constant_outputs},
    {"drop_dead", "removes results and parameters left unused", drop_dead},
    {"share_subdnns", "keeps one of each kind of sub-DNN", share_subdnns},
    {"tidy", "orders blocks as they run and names sub-DNNs as they are called", tidy},
});

// The rows from the first to this one are run again where a branch was folded: what is left knows more of its shapes.
constexpr std::size_t kEndOfFolding = 14;
static_assert(std::string_view(kPipeline[kEndOfFolding].name) == "drop_unreachable");
constexpr int kMostRounds = 8;

const PassEntry* pass_named(std::string_view name) {
  const auto it =
      std::ranges::find(kPipeline, name, [](const PassEntry& entry) { return std::string_view(entry.name); });
  return it == kPipeline.end() ? nullptr : &*it;
}

Error unknown_pass(const std::string& name) {
  std::vector<std::string_view> names;
  for (const PassEntry& entry : kPipeline)
    if (std::ranges::find(names, entry.name) == names.end()) names.emplace_back(entry.name);
  std::string help = "the passes are:";
  for (const std::string_view known : names) help += " " + std::string(known);
  return {ErrorKind::InvalidInput, "there is no pass called '" + name + "'", help, {}, {}};
}

// The passes to run, by the options.
Result<std::vector<const PassEntry*>> plan(const PipelineOptions& options) {
  std::vector<const PassEntry*> passes;
  for (const std::string& name : options.skip)
    if (!pass_named(name)) return unknown_pass(name);
  for (const std::string& name : options.only) {
    const PassEntry* entry = pass_named(name);
    if (!entry) return unknown_pass(name);
    passes.push_back(entry);
  }
  if (options.only.empty())
    for (const PassEntry& entry : kPipeline) passes.push_back(&entry);
  std::erase_if(passes, [&](const PassEntry* entry) {
    return std::ranges::find(options.skip, entry->name) != options.skip.end();
  });
  return passes;
}

}  // namespace

std::span<const PassEntry> pipeline() { return kPipeline; }

Result<std::vector<PassTiming>> run_pipeline(ir::Program& program, const PipelineOptions& options) {
  DYCL_ASSIGN(const auto passes, plan(options));
  if (options.verify)
    if (const auto errors = ir::verify(program); !errors.empty()) return errors.front();
  std::vector<PassTiming> timings;
  int rounds = 1, folded = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    const PassEntry* pass = passes[i];
    const auto start = std::chrono::steady_clock::now();
    const int changes = pass->run(program);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    timings.push_back({pass->name, changes, elapsed.count()});
    if (options.dump) options.dump(pass->name, program);
    if (options.verify)
      if (const auto errors = ir::verify(program); !errors.empty())
        throw InternalError("the pass " + std::string(pass->name) + " broke the program: " + errors.front().message);
    if (pass->run == fold_branches || pass->run == fold_decided) folded += changes;
    if (pass != &kPipeline[kEndOfFolding] || !options.only.empty() || folded == 0 || rounds == kMostRounds) continue;
    ++rounds;
    folded = 0;
    i = static_cast<std::size_t>(-1);  // from the first on
  }
  return timings;
}

}  // namespace dycl::passes
