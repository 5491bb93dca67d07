// SPDX-License-Identifier: Apache-2.0
// The C library's allocations, each of which fails where is_out_of_memory() says so: the file that includes this one has
// defined it before. Defines DYCL_COUNTS_ALLOCATIONS, unless a sanitizer owns malloc. For one file of a program.
#pragma once

#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((visibility("default"))) void* malloc(std::size_t n) {
  return is_out_of_memory() ? nullptr : __libc_malloc(n);
}
__attribute__((visibility("default"))) void* calloc(std::size_t n, std::size_t m) {
  return is_out_of_memory() ? nullptr : __libc_calloc(n, m);
}
__attribute__((visibility("default"))) void* realloc(void* p, std::size_t n) {
  return is_out_of_memory() ? nullptr : __libc_realloc(p, n);
}
__attribute__((visibility("default"))) void* aligned_alloc(std::size_t a, std::size_t n) {
  return is_out_of_memory() ? nullptr : __libc_memalign(a, n);
}
#define DYCL_COUNTS_ALLOCATIONS 1
#endif
}
