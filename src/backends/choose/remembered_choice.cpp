// SPDX-License-Identifier: Apache-2.0
#include "backends/choose/remembered_choice.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "backends/cache.h"
#include "backends/choose/cuts.h"
#include "ir/print.h"

namespace dycl::backends {
namespace {

// What auto measured, for `dycl inspect`.
std::string to_json(const AutoReport& report, const AutoOptions& limits) {
  nlohmann::json sub_dnns = nlohmann::json::array();
  for (const SubDnnChoice& one : report.sub_dnns) {
    nlohmann::json candidates = nlohmann::json::array();
    for (const Candidate& c : one.candidates) {
      nlohmann::json entry = {{"backend", c.backend}};
      if (c.dropped.empty()) {
        entry["micros"] = c.micros;
        entry["plain_micros"] = c.plain_micros;
      } else {
        entry["dropped"] = c.dropped;
      }
      candidates.push_back(entry);
    }
    sub_dnns.push_back(
        {{"name", one.function}, {"chosen", one.chosen}, {"calls", one.weight}, {"candidates", candidates}});
  }
  return nlohmann::json({{"summary", report.summary},
                         {"threads", limits.threads},
                         {"ort_micros", report.default_micros},
                         {"chosen_micros", report.chosen_micros},
                         {"sub_dnns", sub_dnns}})
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// A choice that was measured before, for the same program, weights, engines and limits.
class RememberedChoice {
 public:
  RememberedChoice(const ir::Program& program, const BackendOptions& options, const AutoOptions& limits)
      : cache_(options.cache), key_("auto") {
    if (!cache_) return;
    for (const std::string& name : backend_names()) {
      const auto backend = find_backend(name);
      const auto engine = (*backend)->engine();
      key_.add(engine ? *engine : name + " is missing");
    }
    key_.add(std::to_string(limits.threads) + " " + std::to_string(limits.budget) + " " + std::to_string(limits.tune) +
             (options.portable_only ? " p" : ""));
    key_.add(ir::print(program));
    for (const auto& [name, weight] : program.weights) key_.add(name).add(weight.bytes.data, weight.bytes.size);
  }

  std::optional<std::string> get() const {
    const auto bytes = cache_ ? cache_->get(key_) : std::nullopt;
    return bytes ? std::optional(std::string(bytes->begin(), bytes->end())) : std::nullopt;
  }
  void put(const std::string& text) const {
    if (cache_) cache_->put(key_, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }

 private:
  const Cache* cache_;
  CacheKey key_;
};

}  // namespace

Result<Assignment> assign_by_measuring(ir::Program& program, const BackendOptions& options, const AutoOptions& limits) {
  ir::Program uncut = program;
  const Origins origins = cut_for_engines(program, {});
  const RememberedChoice known(program, options, limits);
  std::optional<std::string> text = known.get();
  const bool before = text.has_value();
  if (!text) {
    AutoReport report;
    DYCL_TRY(choose_backends(program, options, limits, report));
    text = to_json(report, limits);
    known.put(*text);
  }
  const auto choice = nlohmann::json::parse(*text);
  options.notice("auto: " + choice["summary"].get<std::string>() + (before ? " (measured before)" : ""));
  Assignment assignment;
  for (const auto& one : choice["sub_dnns"]) {
    const std::string function = one["name"];
    assignment[function] = one["chosen"];
    for (const auto& candidate : one["candidates"]) {
      const std::string dropped = candidate.value("dropped", "");
      if (dropped.rfind("differs", 0) != 0) continue;
      options.notice("auto: " + candidate["backend"].get<std::string>() + " is left out for @" + function + ": it " +
                     dropped);
    }
  }
  program = std::move(uncut);
  undo_cuts(program, origins, assignment);
  program.metadata["auto"] = *text;
  return assignment;
}

}  // namespace dycl::backends
