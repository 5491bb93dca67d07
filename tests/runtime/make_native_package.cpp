// SPDX-License-Identifier: Apache-2.0
// Writes a package whose artifact is a shared library: `make_native_package marker.so native.dycl target [portable]`,
// with a portable form beside it if the last word is there.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "ir/parse.h"
#include "package/package_writer.h"

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto program = dycl::ir::parse(R"(func @main(%x: f32[1]) -> (%y: f32[1]) {
^entry:
  %y = call @s0(%x)
  return %y
}
subdnn @s0(%x: f32[1]) -> (f32[1]) {
^entry:
  %y = Relu %x : f32[1]
  return %y
}
)");
  if (!program) return std::cerr << program.error().message << "\n", 1;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string library((std::istreambuf_iterator<char>(file)), {}), stub = "relu 1 0 out 1";
  dycl::backends::SubDnnArtifacts artifacts{"s0", {{"native", argv[3], {library.begin(), library.end()}, {}, {}, {}}}};
  if (argc > 4) artifacts.artifacts.push_back({"stub", "portable", {stub.begin(), stub.end()}, {}, {}, {}});
  const auto written = dycl::package::write_package(*program, {artifacts}, {}, argv[2]);
  if (!written) return std::cerr << written.error().message << "\n", 1;
  return 0;
}
