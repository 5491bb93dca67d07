// SPDX-License-Identifier: Apache-2.0
// A run that may be ended while it is inside an engine. The run's own thread says which engine it is in; a
// Cancellation, or the one thread that watches deadlines for the whole process, asks that engine to give up.
//
// Runs without deadline and cancellation never get here. The watching thread starts with the first deadline that an
// interruptible engine can heed, sleeps until the next one is due, and stays until the process ends.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include "dycl/plugin.h"
#include "dycl/runtime.h"

namespace dycl::runtime {

using Clock = std::chrono::steady_clock;

class ActiveRun {
 public:
  using Interrupt = void (*)(dycl_context* context, std::int32_t on);

  ActiveRun() = default;
  ~ActiveRun() { end(); }
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;

  // The run's thread. `deadline` and `cancellation` may be null; the latter outlives end().
  void begin(const Clock::time_point* deadline, Cancellation* cancellation);
  void end() noexcept;
  // Around a call of an engine. A run that is to end already interrupts the call at once.
  void enter(dycl_context* context, Interrupt interrupt_engine);
  bool leave() noexcept;  // whether it was interrupted

  // Any thread.
  void interrupt() noexcept;

  Clock::time_point deadline() const { return deadline_; }

 private:
  friend class DeadlineWatch;
  friend class Cancellation;

  std::mutex mutex_;  // of these four
  dycl_context* context_ = nullptr;
  Interrupt interrupt_ = nullptr;
  bool ending_ = false;
  bool asked_ = false;  // the engine to give up

  Clock::time_point deadline_;
  bool watched_ = false;
  Cancellation* cancellation_ = nullptr;
  // Neighbours in the lists of who watches, under that one's mutex.
  ActiveRun *next_watched_ = nullptr, *next_cancelled_ = nullptr;
};

struct Cancellation::Parts {
  std::atomic<bool> cancelled{false};
  std::mutex mutex;
  ActiveRun* runs = nullptr;  // that go on
};

}  // namespace dycl::runtime
