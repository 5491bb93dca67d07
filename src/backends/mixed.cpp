// SPDX-License-Identifier: Apache-2.0
#include "backends/mixed.h"

#include <set>

namespace dycl::backends {
namespace {

constexpr const char* kFallback = "ort";

bool has_fallback() {
  for (const std::string& name : backend_names())
    if (name == kFallback) return true;
  return false;
}

std::string describe(const Refusal& refusal) { return (refusal.op ? refusal.op->name + ": " : "") + refusal.reason; }

Error nobody_takes(const std::string& backend, const ir::Function& function, const Refusal& refusal) {
  return {ErrorKind::Unsupported,
          "the back end '" + backend + "' cannot take sub-DNN @" + function.name + ": " + describe(refusal),
          "choose another back end, or write this step with other ops",
          refusal.op ? refusal.op->span : function.span,
          {}};
}

// One sentence for all that went elsewhere, with the first few reasons.
class Moves {
 public:
  void add(const std::string& function, const std::string& why) {
    constexpr int kShown = 3;
    if (count_++ < kShown) shown_ += (shown_.empty() ? "@" : "; @") + function + " (" + why + ")";
  }
  void tell(const std::string& from, std::size_t of, const BackendOptions& options) const {
    if (count_ == 0 || !options.notice) return;
    options.notice(std::to_string(count_) + " of " + std::to_string(of) + " sub-DNNs go to " + kFallback + ", not " +
                   from + ": " + shown_ + (count_ > 3 ? "; ..." : ""));
  }

 private:
  int count_ = 0;
  std::string shown_;
};

// Every artifact for a CPU gets the keys of all of them.
void join_targets(std::vector<SubDnnArtifacts>& all) {
  std::set<std::string> keys;
  for (const SubDnnArtifacts& sub_dnn : all)
    for (const Artifact& artifact : sub_dnn.artifacts)
      if (artifact.target != kPortableTarget) keys.insert(artifact.target);
  if (keys.size() < 2) return;
  std::string joined;
  for (const std::string& key : keys) joined += (joined.empty() ? "" : " & ") + key;
  for (SubDnnArtifacts& sub_dnn : all)
    for (Artifact& artifact : sub_dnn.artifacts)
      if (artifact.target != kPortableTarget) artifact.target = joined;
}

}  // namespace

Result<Assignment> assign_all(const ir::Program& program, const std::string& backend, const BackendOptions& options) {
  DYCL_ASSIGN(const auto found, find_backend(backend));
  DYCL_TRY(found->engine());
  Assignment assignment;
  Moves moves;
  for (const ir::Function& function : program.functions) {
    if (function.kind != ir::FunctionKind::SubDnn) continue;
    const auto refusals = found->refuse(program, function);
    if (!refusals.empty() && (backend == kFallback || !has_fallback()))
      return nobody_takes(backend, function, refusals.front());
    if (!refusals.empty()) moves.add(function.name, describe(refusals.front()));
    assignment[function.name] = refusals.empty() ? backend : kFallback;
  }
  moves.tell(backend, assignment.size(), options);
  return assignment;
}

Result<std::vector<SubDnnArtifacts>> compile_assigned(ir::Program& program, Assignment& assignment,
                                                      const BackendOptions& options) {
  std::map<std::string, SubDnnArtifacts> made;
  for (const std::string& name : backend_names()) {
    if (name == kFallback) continue;
    BackendOptions own = options;
    own.only.emplace();
    for (const auto& [function, backend] : assignment)
      if (backend == name) own.only->insert(function);
    if (own.only->empty()) continue;
    Moves moves;
    if (has_fallback())
      own.failed = [&](const ir::Function& function, const Error& error) {
        moves.add(function.name, error.message);
        assignment[function.name] = kFallback;
      };
    DYCL_ASSIGN(const auto backend, find_backend(name));
    DYCL_ASSIGN(auto artifacts, backend->compile_program(program, own));
    moves.tell(name, own.only->size(), options);
    for (SubDnnArtifacts& sub_dnn : artifacts) made.insert_or_assign(sub_dnn.function, std::move(sub_dnn));
  }
  BackendOptions rest = options;
  rest.only.emplace();
  for (const auto& [function, backend] : assignment)
    if (backend == kFallback) rest.only->insert(function);
  if (!rest.only->empty()) {
    DYCL_ASSIGN(const auto backend, find_backend(kFallback));
    DYCL_ASSIGN(auto artifacts, backend->compile_program(program, rest));
    for (SubDnnArtifacts& sub_dnn : artifacts) made.insert_or_assign(sub_dnn.function, std::move(sub_dnn));
  }
  std::vector<SubDnnArtifacts> all;
  for (const ir::Function& function : program.functions)
    if (const auto it = made.find(function.name); it != made.end()) all.push_back(std::move(it->second));
  join_targets(all);
  return all;
}

}  // namespace dycl::backends
