// SPDX-License-Identifier: Apache-2.0
#include "console.h"

#include <unistd.h>

#include <array>
#include <cstdio>

#include "support/utf8.h"

namespace dycl::tools {
namespace {

// Text that is not UTF-8 (a damaged package's names) must not stop the error from showing.
std::string dump(const nlohmann::ordered_json& object) {
  return object.dump(2, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
}

// Names, messages and lines are a stranger's: none of them steers the terminal.
void put(std::FILE* stream, std::string_view given) {
  const std::string text = printable(given);
  std::fwrite(text.data(), 1, text.size(), stream);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stream);
}

}  // namespace

void Console::result(const std::string& text, const nlohmann::ordered_json& object) const {
  if (json)
    put(stdout, dump(object));
  else if (!text.empty())
    put(stdout, text);
}

int Console::fail(const Error& error, const std::string& rendered) const {
  std::string text = rendered;
  if (text.empty()) {
    text = "error: " + error.message;
    if (!error.help.empty()) text += "\n  help: " + error.help;
  }
  if (shows_progress() && !stage_.empty()) std::fputc('\n', stderr);
  put(stderr, text);
  if (json) {
    nlohmann::ordered_json object = {{"kind", name_of(error.kind)}, {"message", error.message}};
    if (!error.help.empty()) object["help"] = error.help;
    if (!error.type.empty()) object["type"] = error.type;
    if (error.span.known()) object["where"] = {{"line", error.span.line}, {"column", error.span.column}};
    put(stdout, dump({{"error", object}}));
  }
  return static_cast<int>(error.kind);
}

void Console::notice(std::string_view text) const {
  if (!quiet) say(text);
}

void Console::say(std::string_view text) const { put(stderr, text); }

void Console::stage(std::string_view name) {
  if (!shows_progress()) return;
  const auto now = std::chrono::steady_clock::now();
  if (!stage_.empty()) {
    const double seconds = std::chrono::duration<double>(now - started_).count();
    std::fprintf(stderr, "\r  %-24s %8.3f s\n", stage_.c_str(), seconds);
  }
  stage_ = name;
  started_ = now;
  if (!stage_.empty()) std::fprintf(stderr, "  %-24s ...", stage_.c_str());
}

bool Console::shows_progress() const { return !json && !quiet && ::isatty(STDERR_FILENO); }

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace dycl::tools
