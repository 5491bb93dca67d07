// SPDX-License-Identifier: Apache-2.0
// What a back end made of one sub-DNN: bytes that its run-time plug-in loads, the
// weights it wants beside them, and the memory layout of what crosses the cut.
// A function may have several artifacts, best first: the runtime makes one choice
// of target for the whole program (a value's producer and consumers must agree on
// its layout), takes the function's first artifact for that target, and falls back
// to its first "portable" one. Plain data; no threads, no ownership beyond the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dycl::backends {

struct Artifact {
  std::string backend;  // names the plug-in: "ort" is libdycl_plugin_ort.so
  std::string target;   // "portable", or a CPU/engine key that the plug-in understands
  std::vector<std::uint8_t> bytes;

  // Names of program weights the artifact takes, in its own order. They are stored
  // once in the package, mapped, and handed to the plug-in as pointers.
  std::vector<std::string> weights;

  // One per operand/result, or empty altogether: all plain. "" is plain row-major;
  // anything else is an engine's opaque layout tag. The same tag means the same
  // bytes; a tagged tensor has the shape and number of bytes of the plain one.
  // A "portable" artifact has plain layouts only. A value with a tag may only flow
  // to sub-DNNs that take that tag, never to a host op or a result of the program.
  std::vector<std::string> input_layouts;
  std::vector<std::string> output_layouts;
};

inline constexpr const char* kPortableTarget = "portable";

struct SubDnnArtifacts {
  std::string function;  // the sub-DNN's name
  std::vector<Artifact> artifacts;
};

}  // namespace dycl::backends
