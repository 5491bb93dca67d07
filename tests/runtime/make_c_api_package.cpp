// SPDX-License-Identifier: Apache-2.0
// Writes the packages that c_api_test.c and dycl_run_test.sh run: `make_c_api_package counts.dycl [endless.dycl
// [prints.dycl]]`.
#include <iostream>
#include <string>

#include "ir/parse.h"
#include "package/package_writer.h"

namespace {

const char* const kCounts = R"(state @count: int = 0
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
)";

// By %what: 1 loops within loops, 2 a list that grows, 3 a long call of a sub-DNN; else nothing.
const char* const kEndless = R"(func @main(%x: f32[3], %what: int) -> (f32[3]) {
^entry:
  %zero = const 0
  %one = const 1
  %far = const 900000000000
  %few = const 10
  %l = list.new : list<f32[3]>
  switch %what, [1: ^outer(%zero), 2: ^grow(%zero, %l), 3: ^wait], ^done(%x)
^outer(%i: int) limit 1000000000000:
  %more = int.lt %i, %far
  branch %more, ^inner(%zero), ^done(%x)
^inner(%j: int):
  %again = int.lt %j, %few
  branch %again, ^step, ^next
^step:
  %j.1 = int.add %j, %one
  goto ^inner(%j.1)
^next:
  %i.1 = int.add %i, %one
  goto ^outer(%i.1)
^grow(%k: int, %list: list<f32[3]>) limit 1000000000000:
  %room = int.lt %k, %far
  branch %room, ^push, ^done(%x)
^push:
  %y = call @double(%x)
  %list.1 = list.append %list, %y
  %k.1 = int.add %k, %one
  goto ^grow(%k.1, %list.1)
^wait:
  %z = call @wait(%x)
  %w = call @wait(%z)
  goto ^done(%w)
^done(%result: f32[3]):
  return %result
}
subdnn @double(%x: f32[3]) -> (f32[3]) {
^entry:
  %y = Add %x, %x : f32[3]
  return %y
}
subdnn @wait(%x: f32[3]) -> (f32[3]) {
^entry:
  %y = Relu %x : f32[3]
  return %y
}
)";

const char* const kPrints = R"(state @seen: list<int> = ints[]
func @main(%x: f32[3], %seen: list<int> state @seen) -> (f32[3], int, list<int> state @seen) {
^entry:
  %n = list.len %seen
  print %n {format="{} seen\n"}
  %more = list.append %seen, %n
  return %x, %n, %more
}
)";

dycl::backends::SubDnnArtifacts stub(const std::string& name, const std::string& text) {
  return {name, {{"stub", "portable", {text.begin(), text.end()}, {}, {}, {}}}};
}

bool write(const char* text, const std::vector<dycl::backends::SubDnnArtifacts>& artifacts, const char* path) {
  const auto program = dycl::ir::parse(text, "test.dyir", {.spans_from_text = true});
  if (!program) return std::cerr << program.error().message << "\n", false;
  dycl::package::PackageOptions options;
  options.source_texts["test.dyir"] = text;
  const auto written = dycl::package::write_package(*program, artifacts, options, path);
  if (!written) return std::cerr << written.error().message << "\n", false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  bool ok = write(kCounts, {stub("s0", "add 1 0 0 relu 2 1 out 2")}, argv[1]);
  if (argc > 2)
    ok = ok && write(kEndless, {stub("double", "add 1 0 0 out 1"), stub("wait", "relu 1 0 wait 3000 out 1")}, argv[2]);
  if (argc > 3) ok = ok && write(kPrints, {}, argv[3]);
  return ok ? 0 : 1;
}
