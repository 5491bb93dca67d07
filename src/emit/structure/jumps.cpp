// SPDX-License-Identifier: Apache-2.0
#include "emit/structure/jumps.h"

#include <map>
#include <set>

#include "support/result.h"

namespace dycl::emit::recovery {
namespace {

using Kind = Step::Kind;

class Resolver {
 public:
  Resolver(const StructureOptions& options, Structure& out) : options_(options), out_(out) {}

  void run(RawSequence raw) {
    Place place;
    place.target = kExit;
    places_.push_back(std::move(place));
    places_.back().natural = true;
    sequence(std::move(raw), out_.body, true);
    declare(places_.back(), out_.body, 0);
    places_.pop_back();
  }

 private:
  static constexpr Node kExit = 0xfffffffeU;
  using Flags = std::set<std::uint32_t>;

  // Something that jumps lead to, from the inside: the end of a loop's body (next round), a label, the exit.
  struct Place {
    Node target = 0;
    bool loop = false;       // the body of a loop with this header
    bool natural = false;    // falling off what is being written leads here
    std::int64_t flag = -1;  // once it is needed
    Flags escaped;           // loop: flags with which it was left
  };

  bool strict() const { return options_.style == Style::Strict; }

  static void declare(const Place& place, Sequence& out, std::size_t at) {
    if (place.flag < 0) return;
    Step step;
    step.kind = Kind::Flag;
    step.number = static_cast<std::uint32_t>(place.flag);
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), std::move(step));
  }

  std::uint32_t flag_of(Place& place) {
    if (place.flag < 0) place.flag = out_.flags++;
    owner_[static_cast<std::uint32_t>(place.flag)] = place.target;
    return static_cast<std::uint32_t>(place.flag);
  }

  static Step simple(Kind kind) {
    Step step;
    step.kind = kind;
    return step;
  }

  // Index of the place a jump to `target` leads to; places are searched from the inside.
  std::size_t find(Node target) const {
    for (std::size_t i = places_.size(); i-- > 0;)
      if (places_[i].target == target) return i;
    throw InternalError("a jump to a block that is not around it");
  }
  std::size_t innermost_loop() const {
    for (std::size_t i = places_.size(); i-- > 0;)
      if (places_[i].loop) return i;
    return SIZE_MAX;
  }

  // Writes how to get from here to places_[index]. `falls`: nothing of this sequence follows. What is
  // returned must be skipped after this point.
  Flags leap(std::size_t index, Sequence& out, bool falls) {
    Place& place = places_[index];
    const std::size_t loop = innermost_loop();
    const bool crosses = loop != SIZE_MAX && loop > index;
    if (!crosses && falls && place.natural) return {};
    if (!strict()) {
      if (loop == index) return out.push_back(simple(Kind::Continue)), Flags{};
      if (crosses && leaves_to(loop, index)) return out.push_back(simple(Kind::Break)), Flags{};
    }
    Step set = simple(Kind::SetFlag);
    set.number = flag_of(place);
    out.push_back(set);
    if (!crosses) return {set.number};
    for (std::size_t i = index + 1; i < places_.size(); ++i)
      if (places_[i].loop) places_[i].escaped.insert(set.number);
    if (strict()) return {set.number};
    out.push_back(simple(Kind::Break));
    return {};
  }

  // Whether a break of this loop falls to that place.
  bool leaves_to(std::size_t loop, std::size_t index) const { return after_loop_.at(loop_number(loop)) == index; }
  std::size_t loop_number(std::size_t place) const {
    std::size_t number = 0;
    for (std::size_t i = 0; i < place; ++i) number += places_[i].loop ? 1 : 0;
    return number;
  }

  // Where control is when a flag that was set inside a step is looked at after it.
  void settle(Flags& pending, Sequence& out, bool falls) {
    if (strict() || pending.empty()) return;
    for (auto it = pending.begin(); it != pending.end();) {
      const std::size_t index = find(owner_.at(*it));
      const std::size_t loop = innermost_loop();
      const bool crosses = loop != SIZE_MAX && loop > index;
      if (!crosses && loop != index) {
        ++it;
        continue;
      }
      if (loop == index && falls && places_[index].natural) {
        it = pending.erase(it);
        continue;
      }
      Step when = simple(Kind::When);
      when.number = *it;
      when.parts.resize(1);
      when.parts[0].push_back(simple(loop == index ? Kind::Continue : Kind::Break));
      out.push_back(std::move(when));
      it = pending.erase(it);
    }
  }

  // Appends `steps`, around which nothing of `pending` may be set.
  static void guarded(Sequence steps, const Flags& pending, Sequence& out) {
    if (steps.empty()) return;
    if (pending.empty()) {
      for (Step& s : steps) out.push_back(std::move(s));
      return;
    }
    Step unless = simple(Kind::Unless);
    unless.flags.assign(pending.begin(), pending.end());
    unless.parts.push_back(std::move(steps));
    out.push_back(std::move(unless));
  }

  // Writes a sequence. `falls`: its end is the end of what encloses it. Returns the flags that may be
  // set when control falls off it, whose places lie further out.
  Flags sequence(RawSequence raw, Sequence& out, bool falls) {
    Flags pending;
    Sequence group;  // steps under the same pending flags
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const bool last = i + 1 == raw.size();
      if (strict() && raw[i].hoisted && !last && depth_ < options_.max_nesting) {
        RawSequence& arm = raw[i].parts[raw[i].open_arm];
        for (std::size_t k = i + 1; k < raw.size(); ++k) arm.push_back(std::move(raw[k]));
        raw.resize(i + 1);
        raw[i].hoisted = false;
        --i;
        continue;
      }
      Sequence made;
      Flags fresh = step(std::move(raw[i]), made, falls && last);
      for (Step& s : made) group.push_back(std::move(s));
      settle(fresh, group, falls && last);
      if (fresh.empty()) continue;
      guarded(std::move(group), pending, out);
      group.clear();
      pending.insert(fresh.begin(), fresh.end());
    }
    guarded(std::move(group), pending, out);
    return pending;
  }

  Flags step(Raw raw, Sequence& out, bool falls) {
    if (raw.what == Raw::What::Jump) return leap(find(raw.target), out, falls);
    if (raw.what == Raw::What::Chain) return chain(std::move(raw), out);
    Step& made = raw.step;
    if (made.kind == Kind::Loop) return loop(std::move(raw), out, falls);
    if (raw.parts.empty()) {
      const bool ends = made.kind == Kind::Return || made.kind == Kind::Raise;
      out.push_back(std::move(made));
      return ends && strict() ? leap(find(kExit), out, falls) : Flags{};
    }
    Flags pending;
    ++depth_;
    made.parts.resize(raw.parts.size());
    for (std::size_t i = 0; i < raw.parts.size(); ++i) {
      const Flags set = sequence(std::move(raw.parts[i]), made.parts[i], falls);
      pending.insert(set.begin(), set.end());
    }
    --depth_;
    out.push_back(std::move(made));
    return pending;
  }

  // Parts one after another; a part starts where the jumps to its label arrive.
  Flags chain(Raw raw, Sequence& out) {
    const std::size_t base = places_.size();
    const std::size_t begin = out.size();
    // Outermost is the last label.
    for (std::size_t i = raw.labels.size(); i-- > 0;) {
      Place place;
      place.target = raw.labels[i];
      places_.push_back(std::move(place));
    }
    const std::vector<bool> hidden = hide_natural(base);
    Flags pending;
    for (std::size_t i = 0; i < raw.parts.size(); ++i) {
      const std::size_t here = base + raw.labels.size() - 1 - i;
      places_[here].natural = true;
      Sequence part;
      Flags set = sequence(std::move(raw.parts[i]), part, true);
      places_[here].natural = false;
      guarded(std::move(part), pending, out);
      pending.insert(set.begin(), set.end());
      if (places_[here].flag >= 0) pending.erase(static_cast<std::uint32_t>(places_[here].flag));
    }
    restore_natural(hidden);
    for (std::size_t i = base; i < places_.size(); ++i) declare(places_[i], out, begin);
    places_.resize(base);
    return pending;
  }

  // More follows a chain, so falling off its parts leads nowhere further out.
  std::vector<bool> hide_natural(std::size_t until) {
    std::vector<bool> hidden(until);
    for (std::size_t i = 0; i < until; ++i) {
      hidden[i] = places_[i].natural;
      places_[i].natural = false;
    }
    return hidden;
  }
  void restore_natural(const std::vector<bool>& hidden) {
    for (std::size_t i = 0; i < hidden.size(); ++i) places_[i].natural = hidden[i];
  }

  Flags loop(Raw raw, Sequence& out, bool falls) {
    // A break falls to the innermost place that is natural here.
    std::size_t after = SIZE_MAX;
    if (falls)
      for (std::size_t i = places_.size(); i-- > 0 && after == SIZE_MAX;)
        if (places_[i].natural) after = i;
    const std::vector<bool> hidden = hide_natural(places_.size());
    Place place;
    place.target = raw.target;
    place.loop = true;
    place.natural = true;
    places_.push_back(std::move(place));
    after_loop_.push_back(after);
    ++depth_;
    Step made = std::move(raw.step);
    made.parts.resize(1);
    const Flags left = sequence(std::move(raw.parts[0]), made.parts[0], true);
    --depth_;
    Place done = std::move(places_.back());
    places_.pop_back();
    after_loop_.pop_back();
    restore_natural(hidden);
    declare(done, made.parts[0], 0);
    made.flags.assign(done.escaped.begin(), done.escaped.end());
    if (!strict()) made.flags.clear();
    out.push_back(std::move(made));
    Flags pending = done.escaped;
    if (falls) drop_natural(pending);
    return pending;
  }

  // Flags whose place is where control falls to anyway.
  void drop_natural(Flags& pending) const {
    for (auto it = pending.begin(); it != pending.end();)
      it = places_[find(owner_.at(*it))].natural ? pending.erase(it) : std::next(it);
  }

  const StructureOptions& options_;
  Structure& out_;
  std::vector<Place> places_;
  std::vector<std::size_t> after_loop_;  // by open loop: the place a break falls to
  std::map<std::uint32_t, Node> owner_;  // flag -> where it leads
  int depth_ = 0;
};

}  // namespace

void resolve_jumps(RawSequence sequence, const StructureOptions& options, Structure& out) {
  Resolver(options, out).run(std::move(sequence));
}

}  // namespace dycl::emit::recovery
