// SPDX-License-Identifier: Apache-2.0
// Everything that a run shows, as text that is equal exactly if every bit is.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "dycl/host.h"

inline std::string bits_of(const dycl::host::Value& v) {
  using Kind = dycl::host::Value::Kind;
  switch (v.kind) {
    case Kind::None: return "none";
    case Kind::Bool: return v.boolean ? "true" : "false";
    case Kind::Int: return std::to_string(v.integer);
    case Kind::Float: {
      if (std::isnan(v.floating)) return "nan";
      char text[40];
      std::snprintf(text, sizeof text, "%a", v.floating);
      return text;
    }
    case Kind::Tensor: {
      std::string text = "tensor " + std::to_string(static_cast<int>(v.tensor.dtype));
      for (const std::int64_t e : v.tensor.shape) text += " " + std::to_string(e);
      return text + ":" + std::string(static_cast<const char*>(v.tensor.data), v.tensor.byte_size());
    }
    case Kind::List: break;
  }
  std::string text = "[";
  for (const dycl::host::Value& item : v.elements) text += bits_of(item) + ",";
  return text + "]";
}

// Everything a run shows.
struct Seen {
  std::vector<std::string> results, states, kept;
  std::string error, printed;
  std::vector<std::uint32_t> arms;
  bool operator==(const Seen&) const = default;
};

inline void note(const dycl::Error& error, Seen& seen) {
  seen.error = std::to_string(static_cast<int>(error.kind)) + " " + error.type + ": " + error.message;
}

inline void finish(dycl::runtime::Run& run, Seen& seen) {
  for (const auto& k : run.kept()) seen.kept.push_back(std::string(k.name) + " " + bits_of(k.value));
  for (const auto& outcome : run.trace()) seen.arms.push_back(outcome.arm);
  for (const auto& port : run.program().states()) seen.states.push_back(bits_of(*run.state(port.name)));
}
