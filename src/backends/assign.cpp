// SPDX-License-Identifier: Apache-2.0
#include "backends/assign.h"

#include <set>

#include "backends/default_engine.h"

namespace dycl::backends {
namespace {

constexpr const char* kFallback = kDefaultEngine;

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

namespace {

// Compiles a program part by part. Engines that know only the plain layout come first; then ONNX Runtime, for its own
// and for those of engines that share its layouts, so that it is known which values cross in them; then these engines.
class Parts {
 public:
  Parts(ir::Program& program, Assignment& assignment, const BackendOptions& options)
      : program_(program), assignment_(assignment), options_(options) {}

  Result<std::vector<SubDnnArtifacts>> run() {
    std::vector<std::string> sharing;
    for (const std::string& name : backend_names()) {
      if (name == kFallback) continue;
      DYCL_ASSIGN(const auto backend, find_backend(name));
      if (backend->shares_layouts() && has_fallback())
        sharing.push_back(name);
      else
        DYCL_TRY(compile(*backend, {}));
    }
    DYCL_TRY(compile_fallback(sharing));
    for (const std::string& name : sharing) {
      DYCL_ASSIGN(const auto backend, find_backend(name));
      DYCL_TRY(compile(*backend, fallback_));
    }
    std::vector<SubDnnArtifacts> all;
    for (const ir::Function& function : program_.functions)
      if (const auto it = made_.find(function.name); it != made_.end()) all.push_back(std::move(it->second));
    join_targets(all);
    return all;
  }

 private:
  std::set<std::string> functions_of(const std::string& backend) const {
    std::set<std::string> names;
    for (const auto& [function, name] : assignment_)
      if (name == backend) names.insert(function);
    return names;
  }

  // `known`: ONNX Runtime's artifacts of the same sub-DNNs, whose layouts are to be kept; what fails stays there.
  Result<void> compile(const Backend& backend, const std::vector<SubDnnArtifacts>& known) {
    const std::string name(backend.name());
    BackendOptions own = options_;
    own.only = functions_of(name);
    if (own.only->empty()) return {};
    if (!known.empty() && !options_.portable) own.portable = &known;
    for (const SubDnnArtifacts& sub_dnn : known) {
      const Artifact& best = sub_dnn.artifacts.front();
      own.agreed[sub_dnn.function] = {best.input_layouts, best.output_layouts};
    }
    Moves moves;
    if (has_fallback())
      own.failed = [&](const ir::Function& function, const Error& error) {
        moves.add(function.name, error.message);
        assignment_[function.name] = kFallback;
      };
    DYCL_ASSIGN(auto artifacts, backend.compile_program(program_, own));
    moves.tell(name, own.only->size(), options_);
    for (SubDnnArtifacts& sub_dnn : artifacts) made_.insert_or_assign(sub_dnn.function, std::move(sub_dnn));
    return {};
  }

  Result<void> compile_fallback(const std::vector<std::string>& sharing) {
    BackendOptions own = options_;
    own.only = functions_of(kFallback);
    for (const std::string& name : sharing) own.only->merge(functions_of(name));
    if (own.only->empty()) return {};
    DYCL_ASSIGN(const auto backend, find_backend(kFallback));
    DYCL_ASSIGN(fallback_, backend->compile_program(program_, own));
    for (const SubDnnArtifacts& sub_dnn : fallback_) made_.insert_or_assign(sub_dnn.function, sub_dnn);
    return {};
  }

  ir::Program& program_;
  Assignment& assignment_;
  const BackendOptions& options_;
  std::map<std::string, SubDnnArtifacts> made_;
  std::vector<SubDnnArtifacts> fallback_;
};

}  // namespace

Result<std::vector<SubDnnArtifacts>> compile_assigned(ir::Program& program, Assignment& assignment,
                                                      const BackendOptions& options) {
  return Parts(program, assignment, options).run();
}

}  // namespace dycl::backends
