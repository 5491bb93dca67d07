// SPDX-License-Identifier: Apache-2.0
// A process that compiles with OpenVINO for another one (backends/processes/worker.h): the files `model` (the portable
// artifact) and `weights` (all elements, one after the other) of a folder become `out` there.
//
//   {"folder": "...", "list": [{"bytes": 64, "dtype": 1, "shape": [16]}], "blob": true, "target": "openvino-..."}
//   {"seconds": 0.04}   or   {"error": "..."}, or {"other_engine": true} if its engine is not the one that is meant
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/openvino/model.h"
#include "backends/openvino/target.h"
#include "backends/processes/worker.h"

namespace dycl::backends::openvino {
namespace {

Error failure(std::string message) { return {ErrorKind::RuntimeFailure, std::move(message), {}, {}, {}}; }

Result<std::vector<GivenWeight>> weights_of(const nlohmann::json& list, const std::vector<std::uint8_t>& elements) {
  std::vector<GivenWeight> weights;
  std::uint64_t at = 0;
  for (const auto& one : list) {
    GivenWeight weight{elements.data() + at, one.value("bytes", std::uint64_t{0}), one.value("dtype", 0),
                       one.value("shape", std::vector<std::int64_t>())};
    if (weight.bytes > elements.size() - at) return failure("the file of weights is too short");
    at += weight.bytes;
    weights.push_back(std::move(weight));
  }
  return weights;
}

Result<nlohmann::json> answer(const Core& core, const nlohmann::json& request) {
  const auto start = std::chrono::steady_clock::now();
  if (request.value("target", "") != target_key(core.library->version)) return nlohmann::json{{"other_engine", true}};
  const std::filesystem::path folder = request.value("folder", "");
  DYCL_ASSIGN(const auto model, read_file(folder / "model"));
  DYCL_ASSIGN(const auto elements, read_file(folder / "weights"));
  DYCL_ASSIGN(const auto weights, weights_of(request.value("list", nlohmann::json::array()), elements));
  DYCL_ASSIGN(const CompiledHandle compiled, load_artifact(core, model, weights));
  if (request.value("blob", false)) {
    DYCL_ASSIGN(const auto blob, export_blob(core, compiled));
    if (!write_file(folder / "out", blob.data(), blob.size())) return failure("cannot write to " + folder.string());
  }
  return nlohmann::json{{"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
}

int serve() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int channel = ::dup(1);  // what the engine prints goes to standard error
  if (channel < 0 || ::dup2(2, 1) < 0) return 1;
  std::optional<Result<Core>> core;
  for (std::string line; std::getline(std::cin, line);) {
    if (!core) core.emplace(make_core(1));
    const auto request = nlohmann::json::parse(line, nullptr, false);
    if (!request.is_object()) return 1;
    const auto made = *core ? answer(**core, request) : Result<nlohmann::json>(nlohmann::json{{"other_engine", true}});
    const nlohmann::json reply = made ? *made : nlohmann::json{{"error", made.error().message}};
    const std::string text = reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    if (::write(channel, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace dycl::backends::openvino

int main() {
  try {
    return dycl::backends::openvino::serve();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
