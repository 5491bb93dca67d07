// SPDX-License-Identifier: Apache-2.0
// A program for tests of packages and for the fuzz targets' corpora.
#pragma once

#include <string>
#include <vector>

#include "support.h"

namespace dycl::testing {

// A bit of everything a plan can hold.
inline const std::string kEverything = R"(symbol N in [1, 4]
weight @w: f32[2] = [1.0,2.0]
weight @big: f32[40] = [1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0]
state @count: int = 0
state @last: optional<f32[2]> = none
func @main(%x: f32[2], %y: f32[N+1], %n: int, %count: int state @count, %last: optional<f32[2]> state @last) -> (%out: f32[?], list<f32[2]>, f32[40], int state @count, optional<f32[2]> state @last) {
^entry:
  %zero = const 0
  %one = const 1
  %c = const f32[2] [0.5,0.5]
  %big = weight @big
  %empty = list.new %c : list<f32[2]>
  goto ^head(%zero, %x, %empty)
^head(%i: int, %h: f32[2], %l: list<f32[2]>):
  %more = int.lt %i, %n
  branch %more, ^body, ^done
^body:
  %h.1, %b = call @add(%h)
  %f = item %b : bool
  %l.1 = list.append %l, %h.1
  %i.1 = int.add %i, %one
  %three = const 3
  %m = int.mod %i.1, %three
  switch %m, [0: ^head(%i.1, %h, %l.1), 1: ^swap], ^head(%i.1, %h.1, %l)
^swap:
  %s = select %f, %h, %h.1
  goto ^head(%i.1, %s, %l.1)
^done:
  %p = call @pos(%h)
  %some = opt.some %h
  %has = opt.is_some %last
  print %n, %has {format="{} {}\n"}
  %count.1 = int.add %count, %one
  %d = dim %y {axis=0}
  %bad = int.eq %d, %zero
  branch %bad, ^fail, ^ok
^fail:
  raise "ValueError" "no {}" %d
^ok:
  return %p, %l, %big, %count.1, %some
}
subdnn @add(%x: f32[2]) -> (f32[2], bool[]) {
^entry:
  %w = weight @w
  %y = Add %x, %w : f32[2]
  %s = ReduceSum %y {keepdims=0} : f32[]
  %z = const f32[] [0.0]
  %c = Greater %s, %z : bool[]
  return %y, %c
}
subdnn @pos(%x: f32[2]) -> (f32[?]) {
^entry:
  %y = Relu %x : f32[?]
  return %y
}
)";

inline std::vector<backends::SubDnnArtifacts> artifacts_of_everything() {
  auto tuned = stub_artifact("weight 1 0 add 2 0 1 sum 3 2 sub 4 3 3 gt 5 3 4 out 2 out 5", {"w"});
  auto other = tuned;
  other.target = "stub-cpu";
  return {{"add", {other, tuned}}, {"pos", {stub_artifact("positive 1 0 out 1")}}};
}

}  // namespace dycl::testing
