// SPDX-License-Identifier: Apache-2.0
// The routines of LAPACK and BLAS that backends/kernels/linear_algebra.cpp calls, for f32 and f64. Matrices are column
// by column there; Fortran passes the length of each text after all other arguments.
#pragma once

#include <cstddef>

// clang-format off
#define DYCL_LAPACK_ROUTINES(T, p)                                                                                      \
  void p##gemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const T* alpha, const T* a,   \
                const int* lda, const T* b, const int* ldb, const T* beta, T* c, const int* ldc, std::size_t,           \
                std::size_t);                                                                                           \
  void p##potrf_(const char* uplo, const int* n, T* a, const int* lda, int* info, std::size_t);                         \
  void p##geqrf_(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* size, int* info);        \
  void p##orgqr_(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,                 \
                 const int* size, int* info);                                                                           \
  void p##ormqr_(const char* side, const char* trans, const int* m, const int* n, const int* k, const T* a,             \
                 const int* lda, const T* tau, T* c, const int* ldc, T* work, const int* size, int* info, std::size_t,  \
                 std::size_t);                                                                                          \
  void p##gesdd_(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt,  \
                 const int* ldvt, T* work, const int* size, int* iwork, int* info, std::size_t);                        \
  void p##syevd_(const char* job, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,                  \
                 const int* size, int* iwork, const int* isize, int* info, std::size_t, std::size_t);                   \
  void p##stedc_(const char* job, const int* n, T* d, T* e, T* z, const int* ldz, T* work, const int* size,             \
                 int* iwork, const int* isize, int* info, std::size_t);                                                 \
  void p##sterf_(const int* n, T* d, T* e, int* info);                                                                  \
  void p##geev_(const char* left, const char* right, const int* n, T* a, const int* lda, T* wr, T* wi, T* vl,           \
                const int* ldvl, T* vr, const int* ldvr, T* work, const int* size, int* info, std::size_t,              \
                std::size_t);                                                                                           \
  void p##gels_(const char* trans, const int* m, const int* n, const int* r, T* a, const int* lda, T* b,                \
                const int* ldb, T* work, const int* size, int* info, std::size_t);                                      \
  void p##gelsy_(const int* m, const int* n, const int* r, T* a, const int* lda, T* b, const int* ldb, int* columns,    \
                 const T* rcond, int* rank, T* work, const int* size, int* info);                                       \
  void p##gelsd_(const int* m, const int* n, const int* r, T* a, const int* lda, T* b, const int* ldb, T* s,            \
                 const T* rcond, int* rank, T* work, const int* size, int* iwork, int* info);                           \
  void p##gelss_(const int* m, const int* n, const int* r, T* a, const int* lda, T* b, const int* ldb, T* s,            \
                 const T* rcond, int* rank, T* work, const int* size, int* info);                                       \
  void p##laic1_(const int* job, const int* rank, const T* x, const T* estimate, const T* w, const T* gamma,            \
                 T* next, T* s, T* c);                                                                                  \
  void p##sytrf_(const char* uplo, const int* n, T* a, const int* lda, int* pivots, T* work, const int* size,           \
                 int* info, std::size_t);                                                                               \
  void p##sytrs_(const char* uplo, const int* n, const int* r, const T* a, const int* lda, const int* pivots, T* b,     \
                 const int* ldb, int* info, std::size_t);

extern "C" {
DYCL_LAPACK_ROUTINES(float, s)
DYCL_LAPACK_ROUTINES(double, d)
}

namespace dycl::backends::linear_algebra {

template <typename T>
struct Lapack;

#define DYCL_LAPACK_TABLE(T, p)                                                                                    \
  template <>                                                                                                      \
  struct Lapack<T> {                                                                                               \
    static constexpr auto gemm = p##gemm_;   static constexpr auto potrf = p##potrf_;                              \
    static constexpr auto geqrf = p##geqrf_; static constexpr auto orgqr = p##orgqr_;                              \
    static constexpr auto ormqr = p##ormqr_; static constexpr auto gesdd = p##gesdd_;                              \
    static constexpr auto stedc = p##stedc_; static constexpr auto sterf = p##sterf_;                              \
    static constexpr auto syevd = p##syevd_; static constexpr auto geev = p##geev_;                                \
    static constexpr auto gels = p##gels_;   static constexpr auto gelsy = p##gelsy_;                              \
    static constexpr auto gelsd = p##gelsd_; static constexpr auto gelss = p##gelss_;                              \
    static constexpr auto laic1 = p##laic1_;                                                                       \
    static constexpr auto sytrf = p##sytrf_; static constexpr auto sytrs = p##sytrs_;                              \
  };
DYCL_LAPACK_TABLE(float, s)
DYCL_LAPACK_TABLE(double, d)
// clang-format on

#undef DYCL_LAPACK_ROUTINES
#undef DYCL_LAPACK_TABLE

}  // namespace dycl::backends::linear_algebra
