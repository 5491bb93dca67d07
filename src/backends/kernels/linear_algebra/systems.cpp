// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/linear_algebra/systems.h"

namespace dycl::backends::linear_algebra {

#define DYCL_DECLARED(set)                          \
  extern const Systems<float> systems_##set##_single; \
  extern const Systems<double> systems_##set##_double;
DYCL_DECLARED(any)
#if defined(__x86_64__)
DYCL_DECLARED(avx2)
DYCL_DECLARED(avx512)
#endif
#undef DYCL_DECLARED

namespace {

template <typename T>
struct Available {
  const Systems<T>* tables[3];
  std::size_t count = 0;

  void add(const Systems<float>& single, const Systems<double>& wide) {
    if constexpr (sizeof(T) == 4)
      tables[count++] = &single;
    else
      tables[count++] = &wide;
  }
  Available() {
#if defined(__x86_64__)
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
      add(systems_avx512_single, systems_avx512_double);
    if (fma) add(systems_avx2_single, systems_avx2_double);
#endif
    add(systems_any_single, systems_any_double);
  }
};

}  // namespace

Rounding rounding_of_eager([[maybe_unused]] std::int64_t rows, [[maybe_unused]] std::int64_t columns) {
#if defined(__x86_64__)
  static const bool fuses = __builtin_cpu_is("intel");
  return {fuses, rows == 2 && columns == 2};
#else
  return {};
#endif
}

template <typename T>
const Systems<T>* const* available_systems(std::size_t* count) {
  static const Available<T> all;
  *count = all.count;
  return all.tables;
}

template <typename T>
const Systems<T>& systems() {
  std::size_t count = 0;
  return *available_systems<T>(&count)[0];
}

template const Systems<float>* const* available_systems(std::size_t*);
template const Systems<double>* const* available_systems(std::size_t*);
template const Systems<float>& systems();
template const Systems<double>& systems();

}  // namespace dycl::backends::linear_algebra
