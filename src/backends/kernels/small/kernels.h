// SPDX-License-Identifier: Apache-2.0
// The kernels of small programs (format.h). `n` are a step's numbers in the order that the format gives them;
// sizes were checked when the program was read. The heavy ones are dense kernels (backends/kernels/dense/kernels.h).
#pragma once

#include <cstdint>

#include "backends/kernels/dense/helper_threads.h"
#include "backends/kernels/dense/kernels.h"
#include "backends/kernels/small/format.h"
#include "support/dtype.h"

namespace dycl::backends::small {

void unary(UnaryFunction function, const void* in, void* out, std::int64_t count);
void binary(const std::int64_t* n, const void* a, const void* b, void* out);
void gemm(const std::int64_t* n, const float* a, const float* b, const float* c, float* out);
// The helpers may be missing.
void packed_gemm(const std::int64_t* n, const dense::Packed& b, const float* a, const float* c, float* out,
                 dense::HelperThreads* helpers);
void mat_mul(const std::int64_t* n, const float* a, const float* b, float* out);
void reduce(const std::int64_t* n, const void* in, void* out);
void blocked_mean(const std::int64_t* n, const float* in, float* out);
void arg_max(const std::int64_t* n, const float* in, std::int64_t* out);
void top_k(const std::int64_t* n, const float* in, float* values, std::int64_t* indices);
void cast(const std::int64_t* n, const void* in, void* out);
void pick(const std::int64_t* n, const void* in, void* out);
void move(const std::int64_t* n, const void* in, void* out);
void where(const std::int64_t* n, const std::uint8_t* condition, const void* a, const void* b, void* out);
void lstm_cell(std::int64_t hidden, const float* gates, const float* cell, float* out);

// False: an index is out of range.
[[nodiscard]] bool take(const std::int64_t* n, const void* in, const void* indices, void* out);
[[nodiscard]] bool pluck(const std::int64_t* n, const void* in, const std::int64_t* indices, void* out);

double double_of(std::int64_t bits);

}  // namespace dycl::backends::small
