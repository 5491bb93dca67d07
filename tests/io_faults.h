// SPDX-License-Identifier: Apache-2.0
// Calls of the system that fail, or that the process does not survive, one after the other. Included once by a test
// program: the functions stand in for the C library's, in what the program links and in the libraries that it loads.
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <string>

namespace dycl::tests::io {

enum class Fault { None, Error, Death };
constexpr int kDied = 42;

struct Plan {
  Fault fault = Fault::None;
  long calls_until = 0;
  long calls = 0;         // made since it was armed
  std::string last;       // the call that failed
};
inline thread_local Plan plan;

inline bool fails(const char* name, int code) {
  if (plan.fault == Fault::None) return false;
  ++plan.calls;
  if (plan.calls_until-- != 0) return false;
  if (plan.fault == Fault::Death) ::_exit(kDied);
  plan.last = name;
  errno = code;
  return true;
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// What `body` does when its n-th call fails; how many calls it made.
inline long with_fault(Fault fault, long number, const std::function<void()>& body) {
  plan = {fault, number, 0, {}};
  body();
  plan.fault = Fault::None;
  return plan.calls;
}

// In a process of its own that its n-th call ends. False: it made fewer calls.
inline bool dies(long number, const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    with_fault(Fault::Death, number, body);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == kDied;
}

}  // namespace dycl::tests::io

#define DYCL_FAILING(type, name, parameters, arguments, code, failure)                     \
  extern "C" __attribute__((visibility("default"), used)) type name parameters {           \
    static const auto next = dycl::tests::io::real<type parameters>(#name);                \
    return dycl::tests::io::fails(#name, code) ? static_cast<type>(failure) : next arguments; \
  }

extern "C" __attribute__((visibility("default"), used)) int open(const char* path, int flags, ...) {
  static const auto next = dycl::tests::io::real<int(const char*, int, ...)>("open");
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list more;
    va_start(more, flags);
    mode = static_cast<mode_t>(va_arg(more, int));
    va_end(more);
  }
  return dycl::tests::io::fails("open", flags & O_CREAT ? ENOSPC : EMFILE) ? -1 : next(path, flags, mode);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnonnull-compare"
#pragma GCC diagnostic ignored "-Wmissing-attributes"
#pragma GCC diagnostic ignored "-Wshadow"
DYCL_FAILING(ssize_t, write, (int file, const void* data, size_t size), (file, data, size), ENOSPC, -1)
DYCL_FAILING(ssize_t, read, (int file, void* data, size_t size), (file, data, size), EIO, -1)
DYCL_FAILING(int, fsync, (int file), (file), EIO, -1)
DYCL_FAILING(int, rename, (const char* from, const char* to) noexcept, (from, to), EIO, -1)
DYCL_FAILING(int, unlink, (const char* path) noexcept, (path), EIO, -1)
DYCL_FAILING(int, mkdir, (const char* path, mode_t mode) noexcept, (path, mode), ENOSPC, -1)
DYCL_FAILING(int, fstat, (int file, struct stat* info) noexcept, (file, info), EIO, -1)
DYCL_FAILING(int, lstat, (const char* path, struct stat* info) noexcept, (path, info), EIO, -1)
DYCL_FAILING(int, flock, (int file, int how) noexcept, (file, how), ENOLCK, -1)
DYCL_FAILING(int, linkat, (int a, const char* from, int b, const char* to, int flags) noexcept, (a, from, b, to, flags), EIO, -1)
DYCL_FAILING(void*, mmap, (void* at, size_t size, int how, int flags, int file, off_t from) noexcept, (at, size, how, flags, file, from), ENOMEM, reinterpret_cast<void*>(-1))
DYCL_FAILING(int, memfd_create, (const char* name, unsigned flags) noexcept, (name, flags), EMFILE, -1)
DYCL_FAILING(int, posix_fallocate, (int file, off_t from, off_t size), (file, from, size), 0, ENOSPC)
DYCL_FAILING(ssize_t, getrandom, (void* to, size_t size, unsigned flags), (to, size, flags), EAGAIN, -1)
#pragma GCC diagnostic pop
