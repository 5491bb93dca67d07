// SPDX-License-Identifier: Apache-2.0
// Names of layouts in which values cross cuts (artifact.h). "" is the plain one; engines share one other: ONNX
// Runtime's NCHWc, channels in blocks with each block innermost ("nchwc16"). A tensor so has the shape and the size of
// the plain one. Plain functions; any thread. Also for plug-ins.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dycl::backends {

// The layout tags of a sub-DNN's operands and results; empty: all plain.
struct PortLayouts {
  std::vector<std::string> inputs, outputs;

  bool any() const {
    const auto tagged = [](const std::string& tag) { return !tag.empty(); };
    return std::any_of(inputs.begin(), inputs.end(), tagged) || std::any_of(outputs.begin(), outputs.end(), tagged);
  }
  bool operator==(const PortLayouts&) const = default;
};

// A parameter or result of a sub-DNN.
struct Port {
  std::size_t function = 0;  // index into Program::functions
  bool is_result = false;
  std::size_t index = 0;
};

// Ports whose values are connected and so have one layout.
using LayoutClass = std::vector<Port>;

// Channels in a block of the layout that a tag names; 0: it names none ("" among them).
inline std::int64_t block_of(std::string_view tag) {
  constexpr std::string_view kName = "nchwc";
  std::int64_t block = 0;
  if (tag.substr(0, kName.size()) != kName) return 0;
  const auto [end, error] = std::from_chars(tag.data() + kName.size(), tag.data() + tag.size(), block);
  return error == std::errc() && end == tag.data() + tag.size() && block > 0 ? block : 0;
}

// Whether a tensor of this shape can be in blocks of that many channels.
inline bool fits_block(const std::vector<std::int64_t>& shape, std::int64_t block) {
  return shape.size() == 4 && block > 0 && shape[1] > 0 && shape[1] % block == 0;
}

}  // namespace dycl::backends
