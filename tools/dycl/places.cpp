// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <filesystem>

#include "support/utf8.h"

namespace dycl::tools {

std::string place_text(const runtime::Program& program, const SourceSpan& span) {
  if (!span.known() || span.file >= program.sources().size()) return {};
  return std::filesystem::path(program.sources()[span.file]).filename().string() + ":" + std::to_string(span.line);
}

std::string source_text(const runtime::Program& program, const SourceSpan& span) {
  const std::string_view text = program.source_line(span.file, span.line);
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

std::string name_of_arm(const runtime::Decision& decision, std::uint32_t arm) {
  if (decision.cases.empty()) return arm ? "true" : "false";
  return arm < decision.cases.size() ? std::to_string(decision.cases[arm]) : "otherwise";
}

std::string decision_text(const runtime::Program& program, std::size_t decision) {
  const runtime::Decision& d = program.decisions()[decision];
  std::string text = place_text(program, d.span);
  if (text.empty())
    text = "decision " + std::to_string(decision) + (d.block.empty() ? "" : " in ^" + d.block);
  else
    text += "  " + source_text(program, d.span);
  return one_line(d.origin.empty() ? text : text + "  [" + d.origin + "]");
}

}  // namespace dycl::tools
