// SPDX-License-Identifier: Apache-2.0
#include "runtime/active_run.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>

namespace dycl::runtime {
namespace {

// Takes a run out of a list that is linked by `next`.
void remove(ActiveRun*& first, ActiveRun* run, ActiveRun* ActiveRun::*next) {
  for (ActiveRun** at = &first; *at; at = &((*at)->*next)) {
    if (*at != run) continue;
    *at = run->*next;
    return;
  }
}

}  // namespace

// The thread that interrupts engines when deadlines pass. Never destroyed: the process may end while it waits.
class DeadlineWatch {
 public:
  static DeadlineWatch& instance() {
    static std::mutex mutex;
    static DeadlineWatch* watch = nullptr;
    const std::lock_guard lock(mutex);
    if (!watch || watch->process_ != ::getpid()) watch = new DeadlineWatch;  // a child of fork has no thread
    return *watch;
  }

  void add(ActiveRun* run) {
    const std::lock_guard lock(mutex_);
    run->next_watched_ = runs_;
    runs_ = run;
    if (run->deadline_ < wakes_at_) changed_.notify_one();
  }

  void take_out(ActiveRun* run) {
    const std::lock_guard lock(mutex_);
    remove(runs_, run, &ActiveRun::next_watched_);
  }

 private:
  DeadlineWatch() : process_(::getpid()) { std::thread(&DeadlineWatch::watch, this).detach(); }

  [[noreturn]] void watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto now = Clock::now();
      wakes_at_ = now + std::chrono::hours(1);
      for (ActiveRun** at = &runs_; *at;) {
        ActiveRun* run = *at;
        if (run->deadline_ <= now) {
          *at = run->next_watched_;
          run->interrupt();
        } else {
          wakes_at_ = std::min(wakes_at_, run->deadline_);
          at = &run->next_watched_;
        }
      }
      changed_.wait_until(lock, wakes_at_);
    }
  }

  const pid_t process_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point wakes_at_ = Clock::time_point::min();
  ActiveRun* runs_ = nullptr;
};

void ActiveRun::begin(const Clock::time_point* deadline, Cancellation* cancellation) {
  ending_ = false;
  if (cancellation) {
    Cancellation::Parts& parts = cancellation->parts();
    const std::lock_guard lock(parts.mutex);
    ending_ = parts.cancelled;
    next_cancelled_ = parts.runs;
    parts.runs = this;
    cancellation_ = cancellation;
  }
  if (deadline) {
    deadline_ = *deadline;
    DeadlineWatch::instance().add(this);
    watched_ = true;
  }
}

void ActiveRun::end() noexcept {
  if (watched_) DeadlineWatch::instance().take_out(this);
  watched_ = false;
  if (!cancellation_) return;
  Cancellation::Parts& parts = cancellation_->parts();
  const std::lock_guard lock(parts.mutex);
  remove(parts.runs, this, &ActiveRun::next_cancelled_);
  cancellation_ = nullptr;
}

void ActiveRun::enter(dycl_context* context, Interrupt interrupt_engine) {
  const std::lock_guard lock(mutex_);
  context_ = context;
  interrupt_ = interrupt_engine;
  asked_ = ending_;
  if (asked_) interrupt_(context_, 1);
}

bool ActiveRun::leave() noexcept {
  const std::lock_guard lock(mutex_);
  if (asked_) interrupt_(context_, 0);
  context_ = nullptr;
  return std::exchange(asked_, false);
}

void ActiveRun::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  if (!context_ || asked_) return;
  asked_ = true;
  interrupt_(context_, 1);
}

Cancellation::Cancellation() : parts_(std::make_unique<Parts>()) {}
Cancellation::~Cancellation() = default;

void Cancellation::cancel() noexcept {
  parts_->cancelled = true;
  const std::lock_guard lock(parts_->mutex);
  for (ActiveRun* run = parts_->runs; run; run = run->next_cancelled_) run->interrupt();
}

bool Cancellation::cancelled() const noexcept { return parts_->cancelled; }

}  // namespace dycl::runtime
