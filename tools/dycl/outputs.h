// SPDX-License-Identifier: Apache-2.0
// The results of a run: for people, as JSON, as .npy/.npz, and compared with expected ones.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "dycl/runtime.h"
#include "support/result.h"

namespace dycl::tools {

// The output's own name, or output_<i>.
std::string name_of_output(const runtime::Program& program, std::size_t i);

// What the model returns where its result `variant` is 0, 1, ...; nothing if there is no such result.
std::vector<std::string> variants_of(std::string_view metadata);

// Tensors up to 10,000 elements with their data.
nlohmann::ordered_json value_json(const runtime::Value& value);

// A line: type, shape and the first few elements.
std::string value_text(const runtime::Value& value);

// By extension: .npz holds every output by name (scalars as 0-d arrays; None and lists
// are refused), .npy the only one, anything else is a folder of .npy files.
Result<void> write_outputs(const runtime::Program& program, std::span<const runtime::Value> results,
                           const std::filesystem::path& path);

// One line per output that differs from the array of its name in `path` (.npy: the only
// output): |a - b| <= tolerance * (1 + |b|), NaN equals NaN; other dtype or shape differs.
Result<std::vector<std::string>> differences(const runtime::Program& program, std::span<const runtime::Value> results,
                                             const std::filesystem::path& path, double tolerance);

}  // namespace dycl::tools
