// SPDX-License-Identifier: Apache-2.0
// Writes the package that c_api_test.c runs.
#include <iostream>

#include "ir/parse.h"
#include "package/package_writer.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto program = dycl::ir::parse(R"(state @count: int = 0
func @main(%x: f32[3], %count: int state @count) -> (%y: f32[3], list<int>, int state @count) {
^entry:
  %y = call @s0(%x)
  %one = const 1
  %n = int.add %count, %one
  %most = const 1000000000
  %many = int.gt %n, %most
  branch %many, ^no, ^on
^no:
  keep %n, %y {names=["@count","y"]}
  raise "ValueError" "counted to {}" %n
^on:
  %l = list.new %one, %n
  return %y, %l, %n
}
subdnn @s0(%x: f32[3]) -> (f32[3]) {
^entry:
  %z = Add %x, %x : f32[3]
  %y = Relu %z : f32[3]
  return %y
}
)");
  if (!program) return std::cerr << program.error().message << "\n", 1;
  const std::string text = "add 1 0 0 relu 2 1 out 2";
  dycl::backends::Artifact a{"stub", "portable", {text.begin(), text.end()}, {}, {}, {}};
  const auto written = dycl::package::write_package(*program, {{"s0", {a}}}, {}, argv[1]);
  if (!written) return std::cerr << written.error().message << "\n", 1;
  return 0;
}
