// SPDX-License-Identifier: Apache-2.0
// What numpy (RandomState over mt19937, Generator over PCG64) and Python's random.Random make of the words of their
// generators, word for word. Which of numpy's two a function means says the generator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/random.h"

namespace dycl {

double library_double(Random& random);  // [0, 1), 53 bits

std::int64_t numpy_integer(Random& random, std::int64_t low, std::int64_t last);  // both may be drawn
double numpy_normal(Random& random);
void numpy_permutation(Random& random, std::int64_t* data, std::size_t count);
// `count` different ones of 0 to `population` (at most 2**32), as Generator.choice draws them; count <= population.
void numpy_choice(Random& random, std::int64_t population, std::int64_t* data, std::size_t count);
std::uint64_t numpy_choice_bytes(std::int64_t population, std::size_t count);  // that it takes meanwhile

std::int64_t python_below(Random& random, std::int64_t end);  // needs end > 0
double python_normal(Random& random);
void python_permutation(Random& random, std::int64_t* data, std::size_t count);

}  // namespace dycl
