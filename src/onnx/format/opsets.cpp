// SPDX-License-Identifier: Apache-2.0
#include "onnx/format/opsets.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace dycl::onnx {
namespace {

constexpr std::string_view kOpsetKey = "onnx.opset:";  // and a domain: a key of a program's metadata

}  // namespace

std::map<std::string, std::int64_t> opsets_of(const ir::Program& program) {
  std::map<std::string, std::int64_t> opsets{{"", kOpset}};
  for (auto it = program.metadata.lower_bound(std::string(kOpsetKey));
       it != program.metadata.end() && it->first.starts_with(kOpsetKey); ++it) {
    std::int64_t version = 0;
    std::from_chars(it->second.data(), it->second.data() + it->second.size(), version);
    std::int64_t& opset = opsets[it->first.substr(kOpsetKey.size())];
    opset = std::max(opset, version);
  }
  return opsets;
}

void state_opset(ir::Program& program, const std::string& domain, std::int64_t opset) {
  program.metadata[std::string(kOpsetKey) + domain] = std::to_string(opset);
}

}  // namespace dycl::onnx
