// SPDX-License-Identifier: Apache-2.0
// Runs small programs (format.h). `read` takes untrusted bytes: every place of
// every step is checked against the sizes that inputs, outputs and weights have, so
// that `run` needs no checks. Immutable after reading; shared by threads, each with
// scratch memory of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "backends/kernels/dense/helper_threads.h"
#include "backends/kernels/dense/packed_weights.h"
#include "backends/kernels/small/format.h"
#include "support/result.h"

namespace dycl::backends::small {

struct Sizes {  // in bytes
  std::vector<std::size_t> inputs, outputs, weights;
};

class SmallProgram {
 public:
  static bool is_small(const void* bytes, std::size_t size);
  static Result<SmallProgram> read(const void* bytes, std::size_t size, const Sizes& sizes);

  std::size_t scratch_bytes() const { return scratch_; }

  // Once, before it runs: lets products use packed forms of weights, which must stay as long as the program does.
  void pack(dense::PackedStore& store, const void* const* weights);

  // How a run ends; results are complete only if it is done.
  struct Ending {
    enum class Kind { Done, OutOfRange, Interrupted } kind = Kind::Done;
    const char* op = nullptr;  // OutOfRange: the ONNX op that the index was for
  };
  // `helpers` may be missing. `interrupted` is looked at before each step.
  [[nodiscard]] Ending run(const void* const* inputs, void* const* outputs, const void* const* weights, void* scratch,
                           dense::HelperThreads* helpers, const std::atomic<bool>& interrupted) const;

 private:
  struct Where {
    Place place = Place::None;
    std::size_t index = 0;  // or byte offset
  };
  struct Step {
    Opcode opcode = Opcode::Copy;
    std::vector<std::int64_t> numbers;  // the words before the places
    Where a, b, c, out;
    dense::LazyMatrix* packed = nullptr;  // a product's matrix, if it is a weight of some size
  };
  class Reader;
  struct Memory;
  static const char* execute(const Step& step, const Memory& memory);

  std::size_t scratch_ = 0;
  std::vector<std::uint8_t> literals_;
  std::vector<Step> steps_;
};

}  // namespace dycl::backends::small
