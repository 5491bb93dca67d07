// SPDX-License-Identifier: Apache-2.0
#include "ir/equal.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/print.h"
#include "ir/text.h"

namespace dycl::ir {

namespace {

using Found = std::optional<std::string>;

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

std::string base_of(const std::string& hint) {
  const std::string name = sanitized_hint(hint);
  return std::string(hint_base(name));
}

template <typename Map, typename Same>
Found compare_maps(const Map& a, const Map& b, const char* what, Same same) {
  for (const auto& [name, value] : a) {
    auto it = b.find(name);
    if (it == b.end()) return std::string(what) + " " + name + " is missing";
    if (!same(value, it->second)) return std::string(what) + " " + name + " differs";
  }
  if (a.size() != b.size()) return std::string("there are more of: ") + what;
  return std::nullopt;
}

// Compares two functions, matching values as they are defined.
class Matcher {
 public:
  Matcher(const Function& a, const Function& b, const EqualOptions& options)
      : a_(a), b_(b), options_(options), to_b_(a.values.size(), ValueId::kAbsent) {}

  Found run() {
    if (a_.name != b_.name || a_.kind != b_.kind)
      return "function @" + a_.name + " is @" + b_.name + " or of another kind";
    if (Found f = define_all()) return in_function(*f);
    if (a_.results.size() != b_.results.size()) return in_function("count of results");
    for (std::size_t i = 0; i < a_.results.size(); ++i) {
      const Output &x = a_.results[i], &y = b_.results[i];
      if (x.type != y.type || x.name != y.name || x.state != y.state) return in_function("result " + std::to_string(i));
    }
    if (!same_span(a_.span, b_.span)) return in_function("span");
    for (std::size_t i = 0; i < a_.blocks.size(); ++i)
      if (Found f = compare_block(a_.blocks[i], b_.blocks[i])) return in_function("^" + a_.blocks[i].name + ": " + *f);
    return std::nullopt;
  }

 private:
  std::string in_function(const std::string& what) const { return "@" + a_.name + ": " + what; }
  bool same_span(const SourceSpan& x, const SourceSpan& y) const {
    return !options_.spans || x == y || (!x.known() && !y.known());
  }

  bool define(ValueId x, ValueId y) {
    if (x.index >= a_.values.size() || y.index >= b_.values.size()) return false;
    to_b_[x.index] = y.index;
    const Value &vx = a_.values[x.index], &vy = b_.values[y.index];
    return vx.type == vy.type && base_of(vx.hint) == base_of(vy.hint);
  }
  bool define(const std::vector<ValueId>& x, const std::vector<ValueId>& y) {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!define(x[i], y[i])) return false;
    return true;
  }

  Found define_all() {
    if (a_.params.size() != b_.params.size()) return "count of parameters";
    for (std::size_t i = 0; i < a_.params.size(); ++i)
      if (!define(a_.params[i].value, b_.params[i].value) || a_.params[i].state != b_.params[i].state)
        return "parameter " + std::to_string(i);
    if (a_.blocks.size() != b_.blocks.size()) return "count of blocks";
    for (std::size_t i = 0; i < a_.blocks.size(); ++i) {
      const Block &x = a_.blocks[i], &y = b_.blocks[i];
      if (!define(x.params, y.params)) return "parameters of ^" + x.name;
      if (x.body.size() != y.body.size()) return "count of ops in ^" + x.name;
      for (std::size_t k = 0; k < x.body.size(); ++k)
        if (!define(x.body[k].results, y.body[k].results))
          return "results of op " + std::to_string(k) + " (" + x.body[k].name + ") in ^" + x.name;
    }
    return std::nullopt;
  }

  bool same(ValueId x, ValueId y) const {
    if (!x.present() || !y.present()) return x.present() == y.present();
    return x.index < to_b_.size() && to_b_[x.index] == y.index;
  }
  bool same(const std::vector<ValueId>& x, const std::vector<ValueId>& y) const {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [this](ValueId p, ValueId q) { return same(p, q); });
  }
  bool same(const Edge& x, const Edge& y) const { return x.target == y.target && same(x.args, y.args); }

  bool same_attrs(const Op& x, const Op& y) const {
    return std::equal(x.attrs.begin(), x.attrs.end(), y.attrs.begin(), y.attrs.end(),
                      [](const auto& p, const auto& q) { return p.first == q.first && equal(p.second, q.second); });
  }

  Found compare_block(const Block& x, const Block& y) const {
    if (x.name != y.name || x.loop_limit != y.loop_limit) return "name or limit";
    if (!same_span(x.span, y.span) || !same_span(x.exit_span, y.exit_span)) return "span";
    for (std::size_t i = 0; i < x.body.size(); ++i) {
      const Op &p = x.body[i], &q = y.body[i];
      const std::string where = "op " + std::to_string(i) + " (" + p.name + "): ";
      if (p.name != q.name) return where + "name";
      if (!same(p.operands, q.operands)) return where + "operands";
      if (!same_attrs(p, q)) return where + "attributes";
      if (!same_span(p.span, q.span)) return where + "span";
    }
    return same_exit(x.exit, y.exit) ? std::nullopt : Found("exit");
  }

  bool same_exit(const Exit& x, const Exit& y) const {
    if (x.index() != y.index()) return false;
    if (const auto* p = std::get_if<Goto>(&x)) return same(p->edge, std::get<Goto>(y).edge);
    if (const auto* p = std::get_if<Branch>(&x)) {
      const auto& q = std::get<Branch>(y);
      return same(p->condition, q.condition) && same(p->if_true, q.if_true) && same(p->if_false, q.if_false);
    }
    if (const auto* p = std::get_if<Switch>(&x)) {
      const auto& q = std::get<Switch>(y);
      return same(p->selector, q.selector) && p->cases == q.cases && same(p->otherwise, q.otherwise) &&
             std::equal(p->targets.begin(), p->targets.end(), q.targets.begin(), q.targets.end(),
                        [this](const Edge& m, const Edge& n) { return same(m, n); });
    }
    if (const auto* p = std::get_if<Return>(&x)) return same(p->values, std::get<Return>(y).values);
    if (const auto* p = std::get_if<Raise>(&x)) {
      const auto& q = std::get<Raise>(y);
      return p->type == q.type && p->message == q.message && same(p->args, q.args);
    }
    return true;
  }

  const Function &a_, &b_;
  const EqualOptions& options_;
  std::vector<std::uint32_t> to_b_;
};

bool same_weight(const Weight& a, const Weight& b) {
  if (a.type != b.type) return false;
  if ((a.bytes.data == nullptr) != (b.bytes.data == nullptr) || a.bytes.size != b.bytes.size) return false;
  return a.bytes.size == 0 || std::memcmp(a.bytes.data, b.bytes.data, a.bytes.size) == 0;
}

}  // namespace

bool equal(const Attr& a, const Attr& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a)) return same_bits(*x, std::get<double>(b));
  if (const auto* x = std::get_if<std::vector<double>>(&a)) {
    const auto& y = std::get<std::vector<double>>(b);
    return std::equal(x->begin(), x->end(), y.begin(), y.end(), same_bits);
  }
  return a == b;
}

std::optional<std::string> difference(const Program& a, const Program& b, const EqualOptions& options) {
  if (Found f = compare_maps(a.symbols, b.symbols, "symbol",
                             [](const Symbol& x, const Symbol& y) { return x.min == y.min && x.max == y.max; }))
    return f;
  if (Found f = compare_maps(a.weights, b.weights, "weight", same_weight)) return f;
  if (Found f = compare_maps(a.states, b.states, "state", [](const State& x, const State& y) {
        return x.type == y.type && equal(x.initial, y.initial);
      }))
    return f;
  if (a.sources != b.sources) return "sources differ";
  if (a.metadata != b.metadata) return "metadata differs";
  if (a.functions.size() != b.functions.size()) return "count of functions";
  for (std::size_t i = 0; i < a.functions.size(); ++i)
    if (Found f = Matcher(a.functions[i], b.functions[i], options).run()) return f;
  return std::nullopt;
}

}  // namespace dycl::ir
