// SPDX-License-Identifier: Apache-2.0
// Early exit on a stream of images, without Python: easy images leave at the first head and cost a quarter.
//
//   dycl compile examples/01_early_exit/model.py:make --input 1,3,32,32 -o early_exit.dycl
//   dycl emit early_exit.dycl -o early_exit_cpp
//   cmake -S examples/02_stream_cpp -B build -DEMITTED=$PWD/early_exit_cpp -DCMAKE_PREFIX_PATH=<prefix>
//   cmake --build build && build/stream early_exit.dycl images.npy
#include <chrono>
#include <cstdio>
#include <map>

#include "early_exit.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s early_exit.dycl images.npy\n", argv[0]), 64;
  try {
    EarlyExit model(argv[1]);
    const dycl::host::Array images = dycl::host::load_npy(argv[2]);  // [n,3,32,32]
    if (images.shape.size() != 4) return std::fprintf(stderr, "%s: not a stack of images\n", argv[2]), 3;
    const auto count = static_cast<std::size_t>(images.shape[0]);
    const std::size_t step = count ? images.bytes.size() / count : 0;
    const std::vector<std::int64_t> one = {1, images.shape[1], images.shape[2], images.shape[3]};
    std::map<std::int64_t, int> exits;
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      const EarlyExit::Outputs out = model({images.bytes.data() + i * step, images.dtype, one});
      const auto* scores = static_cast<const float*>(out.out0.data);
      std::size_t best = 0;
      for (std::size_t k = 1; k < out.out0.element_count(); ++k) best = scores[k] > scores[best] ? k : best;
      std::printf("image %zu: class %zu, exit %lld\n", i, best, static_cast<long long>(out.out1));
      ++exits[out.out1];
    }
    const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
    for (const auto& [exit, times] : exits) std::printf("exit %lld: %d images\n", static_cast<long long>(exit), times);
    if (count) std::printf("%.3f ms per image\n", spent.count() / static_cast<double>(count));
  } catch (const dycl::host::Failure& failure) {
    std::fprintf(stderr, "error: %s\n", failure.what());
    return static_cast<int>(failure.error().kind);
  }
}
