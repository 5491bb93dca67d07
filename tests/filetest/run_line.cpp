// SPDX-License-Identifier: Apache-2.0
#include "filetest/run_line.h"

#include <limits>

#include "ir/lexer.h"
#include "ir/literal_reader.h"

namespace dycl::filetest {

namespace {

using namespace dycl::ir;
using Kind = Token::Kind;

constexpr int kMaxDepth = 16;
constexpr Tolerance kTolerance{1e-6, 1e-5, 1e-9};

struct Expectation {
  const Function* function = nullptr;
  std::vector<HostValue> arguments, results;
  RunOptions options;
  std::map<std::string, HostValue> states_after;
  std::optional<std::string> printed;
  std::string raises, message;  // raises empty: results
};

class LineReader {
 public:
  LineReader(std::string_view text, const Program& program) : lexer_(text), program_(program) { advance(); }

  // False: problem() says why.
  bool read(Expectation& e) {
    if (token_.kind != Kind::Global) return fail("expected @function");
    e.function = program_.find(token_.text);
    if (!e.function) return fail("there is no function @" + token_.text);
    advance();
    std::vector<Type> types;
    for (const Param& param : e.function->params)
      if (param.state.empty()) types.push_back(e.function->type_of(param.value));
    if (!expect("(") || !values(types, e.arguments) || !expect(")")) return false;
    if (at("{") && !states(e.options.states)) return false;
    if (word("forcing") && !outcomes(e.options.forced)) return false;
    if (word("prints")) {
      if (token_.kind != Kind::String) return fail("expected a string");
      e.printed = token_.text;
      advance();
    }
    if (word("raises")) return raised(e);
    if (!expect("=") || !expect("=")) return false;
    types.clear();
    for (const Output& result : e.function->results)
      if (result.state.empty()) types.push_back(result.type);
    if (!values(types, e.results)) return false;
    if (at("{") && !states(e.states_after)) return false;
    return token_.kind == Kind::End || fail("unexpected text at the end");
  }
  const std::string& problem() const { return problem_; }

 private:
  void advance() { token_ = lexer_.next(); }
  bool fail(const std::string& what) {
    if (problem_.empty()) problem_ = what + " (column " + std::to_string(token_.offset + 1) + " of the run line)";
    return false;
  }
  bool at(std::string_view punct) const { return token_.kind == Kind::Punct && token_.text == punct; }
  bool take(std::string_view punct) {
    if (!at(punct)) return false;
    advance();
    return true;
  }
  bool expect(std::string_view punct) { return take(punct) || fail("expected '" + std::string(punct) + "'"); }
  bool word(std::string_view text) {
    if (token_.kind != Kind::Word || token_.text != text) return false;
    advance();
    return true;
  }

  bool raised(Expectation& e) {
    if (token_.kind != Kind::Word) return fail("expected the exception's type");
    e.raises = token_.text;
    advance();
    if (token_.kind == Kind::String) {
      e.message = token_.text;
      advance();
    }
    if (at("{") && !states(e.states_after)) return false;
    return token_.kind == Kind::End || fail("unexpected text at the end");
  }

  bool outcomes(std::vector<std::uint32_t>& out) {
    do {
      if (token_.kind != Kind::Int) return fail("expected an outcome");
      out.push_back(static_cast<std::uint32_t>(token_.integer));
      advance();
    } while (take(","));
    return true;
  }

  bool states(std::map<std::string, HostValue>& out) {
    expect("{");
    do {
      if (token_.kind != Kind::Global) return fail("expected @state");
      auto it = program_.states.find(token_.text);
      if (it == program_.states.end()) return fail("there is no state @" + token_.text);
      advance();
      if (!expect("=") || !value(it->second.type, out[it->first], 0)) return false;
    } while (take(","));
    return expect("}");
  }

  bool values(const std::vector<Type>& types, std::vector<HostValue>& out) {
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (i && !expect(",")) return false;
      out.emplace_back();
      if (!value(types[i], out.back(), 0)) return false;
    }
    return true;
  }

  bool value(const Type& type, HostValue& out, int depth) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    switch (type.kind) {
      case Type::Kind::Bool: {
        const bool yes = word("true");
        if (!yes && !word("false")) return fail("expected true or false");
        out = HostValue::of(yes);
        return true;
      }
      case Type::Kind::Int:
        if (token_.kind != Kind::Int || !token_.exact) return fail("expected an int");
        out = HostValue::of(token_.integer);
        advance();
        return true;
      case Type::Kind::Float: {
        Number n;
        if (!number(n)) return false;
        out = HostValue::of(to_double(n));
        return true;
      }
      case Type::Kind::Optional: {
        if (word("none")) return out = HostValue::none(), true;
        HostValue inside;
        if (!value(type.element[0], inside, depth + 1)) return false;
        out = HostValue::some(std::move(inside));
        return true;
      }
      case Type::Kind::List: return list(type.element[0], out, depth);
      case Type::Kind::Tensor: return tensor(type.dtype, out);
    }
    return fail("unknown type");
  }

  bool list(const Type& element, HostValue& out, int depth) {
    HostValue::List items;
    if (!expect("[")) return false;
    if (!at("]")) {
      do {
        items.emplace_back();
        if (!value(element, items.back(), depth + 1)) return false;
      } while (take(","));
    }
    out = HostValue::list(std::move(items));
    return expect("]");
  }

  bool number(Number& n) {
    n = {};
    n.text = token_.text;
    n.is_integer = token_.kind == Kind::Int;
    n.fits_signed = token_.exact;
    n.integer = token_.integer;
    n.bits = token_.bits;
    if (token_.kind == Kind::Real)
      n.real = token_.real;
    else if (token_.kind == Kind::Word && token_.text == "inf")
      n.real = std::numeric_limits<double>::infinity();
    else if (token_.kind == Kind::Word && token_.text == "nan")
      n.real = std::numeric_limits<double>::quiet_NaN();
    else if (!n.is_integer)
      return fail("expected a number");
    advance();
    return true;
  }

  bool tensor(DType dtype, HostValue& out) {
    Tensor t;
    t.dtype = dtype;
    if (token_.kind == Kind::Word && lexer_.peek() == '[' && dtype_named(token_.text)) {
      t.dtype = *dtype_named(token_.text);
      advance();
      if (!expect("[")) return false;
      std::vector<std::int64_t> shape, flat;
      while (token_.kind == Kind::Int) {
        shape.push_back(token_.integer);
        advance();
        if (!take(",")) break;
      }
      if (!expect("]") || !elements(t, 0, flat)) return false;
      if (element_count(shape) != element_count(flat)) return fail("the elements do not fit the shape");
      t.shape = shape;
    } else {
      std::vector<std::int64_t> shape;
      if (!elements(t, 0, shape)) return false;
      t.shape = shape;
    }
    out = HostValue::of(std::move(t));
    return true;
  }

  // Appends a nested list; `shape` gets its extents from this depth on.
  bool elements(Tensor& t, int depth, std::vector<std::int64_t>& shape) {
    if (depth > kMaxDepth) return fail("nested too deeply");
    shape.clear();
    if (!at("[")) return element(t);
    advance();
    std::int64_t count = 0;
    std::vector<std::int64_t> inner, first;
    if (!at("]")) {
      do {
        if (!elements(t, depth + 1, inner)) return false;
        if (count++ == 0)
          first = inner;
        else if (inner != first)
          return fail("the rows differ in length");
      } while (take(","));
    }
    shape.push_back(count);
    shape.insert(shape.end(), first.begin(), first.end());
    return expect("]");
  }

  bool element(Tensor& t) {
    if (t.dtype == DType::Bool) {
      const bool yes = word("true");
      if (!yes && !word("false")) return fail("expected true or false");
      t.bytes.push_back(yes);
      return true;
    }
    Number n;
    if (!number(n)) return false;
    if (const char* what = append_element(t.dtype, n, t.bytes)) return fail(what);
    return true;
  }

  Lexer lexer_;
  const Program& program_;
  Token token_;
  std::string problem_;
};

std::optional<std::string> check_failure(const Expectation& e, const Error& error, const RunTrace& trace) {
  if (e.raises.empty()) return "fails: " + (error.type.empty() ? "" : error.type + ": ") + error.message;
  if (error.type != e.raises)
    return "raises " + (error.type.empty() ? "an error without a type" : error.type) + ", not " + e.raises + ": " +
           error.message;
  if (error.message.find(e.message) == std::string::npos)
    return "raises " + error.type + " with message \"" + error.message + "\"";
  for (const auto& [name, expected] : e.states_after) {
    const auto kept = trace.kept.find("@" + name);
    if (kept == trace.kept.end()) return "does not keep state @" + name;
    if (auto d = difference(kept->second, expected, kTolerance)) return "state @" + name + ": " + *d;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_run_line(std::string_view line, const Program& program, TensorEvaluator& evaluator) {
  Expectation e;
  LineReader reader(line, program);
  if (!reader.read(e)) return reader.problem();
  auto interpreter = Interpreter::create(program, evaluator);
  if (!interpreter) return interpreter.error().message;
  RunTrace trace;
  e.options.trace = &trace;
  e.options.loop_limit = 100'000;
  const auto outcome = interpreter->run(*e.function, e.arguments, e.options);
  if (e.printed && *e.printed != trace.printed) return "prints \"" + trace.printed + "\"";
  if (!outcome) return check_failure(e, outcome.error(), trace);
  if (!e.raises.empty()) return "does not raise " + e.raises;
  for (std::size_t i = 0; i < e.results.size(); ++i)
    if (auto d = difference(outcome->results[i], e.results[i], kTolerance))
      return "result " + std::to_string(i + 1) + ": " + *d;
  for (const auto& [name, expected] : e.states_after)
    if (auto d = difference(outcome->states.at(name), expected, kTolerance)) return "state @" + name + ": " + *d;
  return std::nullopt;
}

}  // namespace dycl::filetest
