// SPDX-License-Identifier: Apache-2.0
#include "runtime/limits.h"

#include <algorithm>
#include <cstdio>

namespace dycl::runtime {
namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;

std::string seconds_text(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

Error stopped(const char* type, std::string message, std::string help) {
  return {ErrorKind::Stopped, std::move(message), std::move(help), {}, type};
}

void Limits::begin(bool interruptible) {
  const bool has_deadline = options.deadline.count() != 0;  // a negative one has passed
  Cancellation* cancellation = options.cancellation.get();
  timed_ = has_deadline || cancellation || keep_going;
  interrupts_ = interruptible && (has_deadline || cancellation);
  used_ = 0;
  interval_ = 1;
  if (timed_) last_look_ = Clock::now();
  // A deadline beyond what the clock counts is none that could pass.
  const auto longest = Clock::time_point::max() - last_look_;
  if (has_deadline) deadline_ = last_look_ + std::min<Clock::duration>(options.deadline, longest);
  grant();
  if (interrupts_) active_.begin(has_deadline ? &deadline_ : nullptr, cancellation);
}

void Limits::grant() {
  granted_ = timed_ ? interval_ : kUnlimited;
  if (options.step_limit > 0) granted_ = std::min(granted_, options.step_limit - used_);
  left_ = granted_;
}

std::optional<Error> Limits::look() {
  used_ += granted_ - left_;
  granted_ = left_ = 0;  // a run that goes on all the same is looked at again
  if (options.step_limit > 0 && used_ > options.step_limit)
    return stopped("StepLimitExceeded", "the run took more than " + std::to_string(options.step_limit) + " steps",
                   "raise the step limit if that is intended");
  if (timed_)
    if (auto error = look_at_clock()) return error;
  grant();
  return std::nullopt;
}

std::optional<Error> Limits::look_at_clock() {
  constexpr std::chrono::microseconds kOften(100), kSeldom(500);
  constexpr std::int64_t kLongest = 256;
  constexpr std::chrono::milliseconds kPollInterval(20);
  if (options.cancellation && options.cancellation->cancelled())
    return stopped("Cancelled", "the run was cancelled", "");
  const auto now = Clock::now();
  if (options.deadline.count() != 0 && now >= deadline_)
    return stopped("DeadlineExceeded", "the run took longer than its " + seconds_text(options.deadline) + " s",
                   "give it more time if that is intended");
  const auto passed = now - std::exchange(last_look_, now);
  if (passed < kOften)
    interval_ = std::min(interval_ * 2, kLongest);
  else if (passed > kSeldom)
    interval_ = 1;
  if (keep_going && now >= next_poll_) {
    next_poll_ = now + kPollInterval;
    if (!keep_going()) return stopped("Interrupted", "the run was stopped by its caller", "");
  }
  return std::nullopt;
}

}  // namespace dycl::runtime
