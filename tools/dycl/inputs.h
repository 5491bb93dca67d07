// SPDX-License-Identifier: Apache-2.0
// The arguments of a run from the command line: each word is one of
//
//   x.npy  x=x.npy      a tensor, by position or by name
//   all.npz             several, by name (arr_0, arr_1, ...: by position)
//   3  n=3  t=0.5  b=true   scalars
//
// and what is still missing may be drawn at random from the program's own types.
// Knows the runtime alone: dycl-run uses it too.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dycl/runtime.h"
#include "support/npy.h"
#include "support/result.h"

namespace dycl::tools {

struct InputOptions {
  std::vector<std::string> words;
  std::optional<std::uint64_t> random_seed;
  std::map<std::string, std::int64_t> dims;  // symbols of random inputs; default: each one's least value
};

// Owns the tensors that `values` point to; moving it keeps them valid.
struct Inputs {
  std::vector<runtime::Value> values;
  std::deque<NamedArray> tensors;

  Inputs() = default;
  Inputs(const Inputs&) = delete;  // a copy's values would point into the original
  Inputs& operator=(const Inputs&) = delete;
  Inputs(Inputs&&) = default;
  Inputs& operator=(Inputs&&) = default;
};

Result<Inputs> read_inputs(const runtime::Program& program, const InputOptions& options);

// "n=8" words into InputOptions::dims.
Result<std::map<std::string, std::int64_t>> parse_dims(const std::vector<std::string>& words);

}  // namespace dycl::tools
