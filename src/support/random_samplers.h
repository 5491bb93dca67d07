// SPDX-License-Identifier: Apache-2.0
// Distributions that torch samples by rejection, one element at a time, from parameters that are tensors: how many
// words an element takes depends on its parameters. The arithmetic is torch's to the bit, in its types and order.
#pragma once

#include <cstdint>

#include "support/random.h"

namespace dycl {

std::int64_t sample_poisson(Random& random, double rate);  // needs rate >= 0

// T: float or double, in which some steps are computed.
template <typename T>
T sample_gamma(Random& random, T shape);
template <typename T>
T sample_binomial(Random& random, T count, T probability);

extern template float sample_gamma(Random&, float);
extern template double sample_gamma(Random&, double);
extern template float sample_binomial(Random&, float, float);
extern template double sample_binomial(Random&, double, double);

}  // namespace dycl
