// SPDX-License-Identifier: Apache-2.0
// How a command talks: results to standard output, everything else to standard
// error. --json turns results and errors into one JSON object on standard output;
// progress shows only on a terminal, and never with --json or --quiet.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace dycl::tools {

class Console {
 public:
  bool json = false;
  bool quiet = false;

  // A result: `text` for people, `object` with --json.
  void result(const std::string& text, const nlohmann::ordered_json& object) const;

  // Prints the error (`rendered` if it is not empty) and returns the exit code.
  int fail(const Error& error, const std::string& rendered = {}) const;

  void notice(std::string_view text) const;  // to standard error unless --quiet
  void say(std::string_view text) const;     // to standard error

  // Ends the stage under way with its time and starts the next; "" only ends.
  void stage(std::string_view name);

 private:
  bool shows_progress() const;

  std::string stage_;
  std::chrono::steady_clock::time_point started_;
};

std::string human_bytes(std::uint64_t bytes);  // "3.2 MB"

}  // namespace dycl::tools
