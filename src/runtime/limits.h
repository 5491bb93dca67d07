// SPDX-License-Identifier: Apache-2.0
// When a run must end although its program would go on: deadline, cancellation, the limit of steps, the caller's poll.
// (Memory is the heap's.)
//
// Steps are counted down by `spend`, which costs a decrement. When the count is used up, and around every call of an
// engine, `look` asks the clock and the others. How many steps go between two looks follows from how long they took:
// at most half a millisecond, as far as single steps allow.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "dycl/runtime.h"
#include "runtime/active_run.h"
#include "support/result.h"

namespace dycl::runtime {

Error stopped(const char* type, std::string message, std::string help);

class Limits {
 public:
  RunOptions options;
  std::function<bool()> keep_going;  // the caller's poll

  // Around a run. `interruptible`: one of the program's engines can be interrupted.
  void begin(bool interruptible);
  void end() noexcept { active_.end(); }

  // Whether the run may go on so many steps without a look.
  bool spend(std::int64_t steps) { return (left_ -= steps) >= 0; }
  // What ends the run now, if anything.
  std::optional<Error> look();

  bool looks_around_calls() const { return timed_; }
  // The run that engines may be interrupted for; null: nothing would interrupt them.
  ActiveRun* active() { return interrupts_ ? &active_ : nullptr; }

 private:
  std::optional<Error> look_at_clock();
  void grant();

  std::int64_t left_ = 0, granted_ = 0, used_ = 0;
  std::int64_t interval_ = 1;  // steps between looks
  bool timed_ = false;         // something but the steps must be looked at
  bool interrupts_ = false;
  Clock::time_point deadline_, next_poll_, last_look_;
  ActiveRun active_;
};

}  // namespace dycl::runtime
