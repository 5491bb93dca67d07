// SPDX-License-Identifier: Apache-2.0
// Writes the package that make_corpus.py begins with: corpus FILE.
#include <iostream>

#include "../runtime/package_of_everything.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  dycl::package::PackageOptions options;
  options.source_texts["test.dyir"] = dycl::testing::kEverything;
  const auto program = dycl::ir::parse(dycl::testing::kEverything, "test.dyir", {.spans_from_text = true});
  if (!program) return std::cerr << program.error().message << "\n", 1;
  const auto artifacts = dycl::testing::artifacts_of_everything();
  const auto written = dycl::package::write_package(*program, artifacts, options, arguments[1]);
  if (!written) std::cerr << written.error().message << "\n";
  return written ? 0 : 1;
}
