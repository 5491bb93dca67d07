// SPDX-License-Identifier: Apache-2.0
#include "backends/kernels/dense/helper_threads.h"

#include <system_error>

namespace dycl::backends::dense {
namespace {

constexpr int kSpins = 4000;  // some tens of microseconds: the time between two products of a step

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

HelperThreads::~HelperThreads() {
  ends_ = true;
  ++calls_;
  calls_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

// A system that gives no threads leaves the work to the caller.
void HelperThreads::start() {
  try {
    while (helpers_.size() < static_cast<std::size_t>(helpers_wanted_)) helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
  }
}

void HelperThreads::help() {
  std::uint32_t seen = 0;
  for (;;) {
    for (int i = 0; spins_ && i < kSpins && calls_.load(std::memory_order_acquire) == seen; ++i) pause();
    calls_.wait(seen);
    seen = calls_.load();
    if (ends_) return;
    ++inside_;
    if (open_) take_parts();
    --inside_;
  }
}

void HelperThreads::take_parts() {
  for (std::int64_t i = next_.fetch_add(1); i < parts_; i = next_.fetch_add(1)) part_(data_, i);
}

void HelperThreads::run(std::int64_t parts, Part part, void* data) {
  const std::unique_lock lock(one_at_a_time_, std::try_to_lock);
  if (!lock || helpers_wanted_ < 1 || parts < 2) {
    for (std::int64_t i = 0; i < parts; ++i) part(data, i);
    return;
  }
  if (helpers_.empty()) start();
  part_ = part;
  data_ = data;
  parts_ = parts;
  next_ = 0;
  open_ = true;
  ++calls_;
  calls_.notify_all();
  take_parts();
  open_ = false;
  for (int i = 0; inside_ != 0; ++i) {
    pause();
    if (i > kSpins) std::this_thread::yield();
  }
}

}  // namespace dycl::backends::dense
