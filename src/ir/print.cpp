// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <unordered_set>
#include <utility>

#include "ir/host_ops.h"
#include "ir/text.h"

namespace dycl::ir {

namespace {

// Hands out names that nobody else in the function has.
class UniqueNames {
 public:
  std::string take(const std::string& wanted) {
    if (taken_.insert(wanted).second) return wanted;
    const std::string base(hint_base(wanted));
    std::uint32_t& next = next_suffix_[base];
    while (true) {
      std::string candidate = base + "." + std::to_string(++next);
      if (taken_.insert(candidate).second) return candidate;
    }
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, std::uint32_t> next_suffix_;
};

template <typename Visit>
void for_each_definition(const Function& function, Visit visit) {
  for (const Param& param : function.params) visit(param.value);
  for (const Block& block : function.blocks) {
    for (ValueId param : block.params) visit(param);
    for (const Op& op : block.body)
      for (ValueId result : op.results) visit(result);
  }
}

std::vector<std::string> block_names(const Function& function) {
  std::vector<std::string> names;
  UniqueNames unique;
  for (const Block& block : function.blocks) {
    const std::string& name = block.name;
    names.push_back(unique.take(name.empty() ? "block" : name));
  }
  for (std::string& name : names)
    if (!is_number_name(name)) name = name_text(name);
  return names;
}

std::string at_name(std::string_view name) { return "@" + name_text(name); }

// Attributes that the special forms of these ops print elsewhere.
const char* inline_attribute(const Op& op) {
  if (op.name == "const" && op.attr("value")) return "value";
  if (op.name == "weight" && attr_as<std::string>(op, "name")) return "name";
  if (op.name == "call" && attr_as<std::string>(op, "callee")) return "callee";
  return nullptr;
}

class Printer {
 public:
  Printer(const Program& program, PrintOptions options) : program_(program), options_(options), index_(program) {}

  std::string take() { return std::move(out_); }

  void header() {
    for (const auto& [name, symbol] : program_.symbols) {
      out_ += "symbol " + name_text(name) + " in [" + std::to_string(symbol.min) + ", ";
      out_ += (symbol.max == INT64_MAX ? "inf" : std::to_string(symbol.max)) + "]\n";
    }
    for (const auto& [name, weight] : program_.weights) print_weight(name, weight);
    for (const auto& [name, state] : program_.states)
      out_ += "state " + at_name(name) + ": " + to_string(state.type) + " = " + initial_text(state) + "\n";
    for (std::size_t i = 0; i < program_.sources.size(); ++i)
      out_ += "source " + std::to_string(i) + " " + quoted(program_.sources[i]) + "\n";
    for (const auto& [key, value] : program_.metadata) out_ += "meta " + quoted(key) + " " + quoted(value) + "\n";
    for (const Function& function : program_.functions) {
      if (!out_.empty()) out_ += '\n';
      print_function(function);
    }
  }

  void print_function(const Function& function) {
    enter(function);
    out_ += (function.kind == FunctionKind::SubDnn ? "subdnn " : "func ") + at_name(function.name) + "(";
    for (std::size_t i = 0; i < function.params.size(); ++i) {
      const Param& param = function.params[i];
      if (i) out_ += ", ";
      declare(param.value);
      if (!param.state.empty()) out_ += " state " + at_name(param.state);
    }
    out_ += ") -> (";
    for (std::size_t i = 0; i < function.results.size(); ++i) print_result(function.results[i], i != 0);
    out_ += ") {";
    span(function.span);
    out_ += '\n';
    for (std::size_t i = 0; i < function.blocks.size(); ++i) print_block(function.blocks[i], i);
    out_ += "}\n";
  }

  void enter(const Function& function) {
    function_ = &function;
    values_ = value_names(function);
    blocks_ = block_names(function);
  }

  BlockText block_text(std::size_t i) {
    const Block& block = function_->blocks[i];
    BlockText text;
    print_head(block, i);
    text.head = std::exchange(out_, {});
    for (const Op& op : block.body) {
      print_op(op);
      text.ops.push_back(std::exchange(out_, {}));
    }
    print_exit(block);
    text.exit = std::exchange(out_, {});
    return text;
  }

  void print_op(const Op& op) {
    values(op.results);
    if (!op.results.empty()) out_ += " = ";
    out_ += is_plain_name(op.name) ? op.name : quoted(op.name);
    const char* hidden = inline_attribute(op);
    if (hidden) {
      const Attr& attr = *op.attr(hidden);
      out_ += ' ';
      if (op.name == "const")
        out_ += to_string(attr);
      else
        out_ += at_name(std::get<std::string>(attr));
    }
    if (op.name == "call" && hidden) {
      out_ += '(';
      values(op.operands);
      out_ += ')';
    } else if (!op.operands.empty()) {
      out_ += ' ';
      values(op.operands);
    }
    attributes(op, hidden);
    types(op);
  }

 private:
  void print_weight(const std::string& name, const Weight& weight) {
    out_ += "weight " + at_name(name) + ": " + to_string(weight.type);
    if (options_.inline_weights && weight.bytes.data) {
      out_ += " = [";
      append_elements(out_, weight.type.dtype, {weight.bytes.data, weight.bytes.size});
      out_ += ']';
    }
    out_ += '\n';
  }

  static std::string initial_text(const State& state) {
    if (const auto* name = std::get_if<std::string>(&state.initial)) return name->empty() ? "none" : at_name(*name);
    return to_string(state.initial);
  }

  void print_result(const Output& result, bool comma) {
    if (comma) out_ += ", ";
    if (!result.name.empty()) out_ += "%" + name_text(result.name) + ": ";
    out_ += to_string(result.type);
    if (!result.state.empty()) out_ += " state " + at_name(result.state);
  }

  void print_head(const Block& block, std::size_t i) {
    out_ += '^' + blocks_[i];
    if (!block.params.empty()) {
      out_ += '(';
      for (std::size_t k = 0; k < block.params.size(); ++k) {
        if (k) out_ += ", ";
        declare(block.params[k]);
      }
      out_ += ')';
    }
    if (block.loop_limit != 0) out_ += " limit " + std::to_string(block.loop_limit);
    out_ += ':';
  }

  void print_block(const Block& block, std::size_t i) {
    print_head(block, i);
    span(block.span);
    out_ += '\n';
    for (const Op& op : block.body) {
      out_ += "  ";
      print_op(op);
      span(op.span);
      out_ += '\n';
    }
    if (std::holds_alternative<std::monostate>(block.exit)) return;
    out_ += "  ";
    print_exit(block);
    span(block.exit_span);
    out_ += '\n';
  }

  void print_exit(const Block& block) {
    if (const auto* jump = std::get_if<Goto>(&block.exit)) {
      out_ += "goto ";
      edge(jump->edge);
    } else if (const auto* branch = std::get_if<Branch>(&block.exit)) {
      out_ += "branch ";
      value(branch->condition);
      out_ += ", ";
      edge(branch->if_true);
      out_ += ", ";
      edge(branch->if_false);
    } else if (const auto* choice = std::get_if<Switch>(&block.exit)) {
      print_switch(*choice);
    } else if (const auto* result = std::get_if<Return>(&block.exit)) {
      out_ += "return";
      if (!result->values.empty()) out_ += ' ';
      values(result->values);
    } else if (const auto* failure = std::get_if<Raise>(&block.exit)) {
      out_ += "raise " + quoted(failure->type) + " " + quoted(failure->message);
      if (!failure->args.empty()) out_ += ' ';
      values(failure->args);
    }
  }

  void print_switch(const Switch& choice) {
    out_ += "switch ";
    value(choice.selector);
    out_ += ", [";
    for (std::size_t i = 0; i < choice.cases.size() && i < choice.targets.size(); ++i) {
      if (i) out_ += ", ";
      out_ += std::to_string(choice.cases[i]) + ": ";
      edge(choice.targets[i]);
    }
    out_ += "], ";
    edge(choice.otherwise);
  }

  void edge(const Edge& e) {
    out_ += '^';
    out_ += e.target.index < blocks_.size() ? blocks_[e.target.index] : "?" + std::to_string(e.target.index);
    if (e.args.empty()) return;
    out_ += '(';
    values(e.args);
    out_ += ')';
  }

  void declare(ValueId v) {
    value(v);
    out_ += ": ";
    out_ += v.index < function_->values.size() ? to_string(function_->type_of(v)) : "?";
  }

  void value(ValueId v) {
    if (!v.present()) {
      out_ += '_';
      return;
    }
    out_ += '%';
    out_ += v.index < values_.size() && !values_[v.index].empty() ? values_[v.index] : "?" + std::to_string(v.index);
  }

  void values(const std::vector<ValueId>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i) out_ += ", ";
      value(all[i]);
    }
  }

  void attributes(const Op& op, const char* hidden) {
    bool first = true;
    for (const auto& [key, attr] : op.attrs) {
      if (hidden && key == hidden) continue;
      out_ += first ? " {" : ", ";
      out_ += name_text(key) + "=" + to_string(attr);
      first = false;
    }
    if (!first) out_ += '}';
  }

  void types(const Op& op) {
    if (op.results.empty()) return;
    const bool always = op.is_tensor_op() || op.name == "item" || op.name == "list.new";
    if (!always && types_follow(op)) return;
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      out_ += i ? ", " : " : ";
      const ValueId v = op.results[i];
      out_ += v.index < function_->values.size() ? to_string(function_->type_of(v)) : "?";
    }
  }

  // True if a reader can infer the result types exactly.
  bool types_follow(const Op& op) const {
    const auto inferred = infer_types(program_, *function_, op, &index_);
    if (!inferred || inferred->size() != op.results.size()) return false;
    for (std::size_t i = 0; i < op.results.size(); ++i) {
      const ValueId v = op.results[i];
      if (v.index >= function_->values.size() || (*inferred)[i] != function_->type_of(v)) return false;
    }
    return true;
  }

  void span(const SourceSpan& s) {
    if (!options_.spans || !s.known()) return;
    out_ += " @" + std::to_string(s.file) + ":" + std::to_string(s.line) + ":" + std::to_string(s.column) + "-" +
            std::to_string(s.end_line) + ":" + std::to_string(s.end_column);
  }

  const Program& program_;
  PrintOptions options_;
  FunctionIndex index_;
  const Function* function_ = nullptr;
  std::vector<std::string> values_, blocks_;
  std::string out_;
};

template <typename T, typename Show>
std::string list_text(const std::vector<T>& items, const char* kind, Show show) {
  if (items.empty()) return std::string(kind) + "[]";
  std::string out = "[";
  for (std::size_t i = 0; i < items.size(); ++i) out += (i ? "," : "") + show(items[i]);
  return out + "]";
}

}  // namespace

std::string to_string(const Attr& attr) {
  struct Show {
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return float_text(v); }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return list_text(v, "ints", [](std::int64_t x) { return std::to_string(x); });
    }
    std::string operator()(const std::vector<double>& v) const {
      return list_text(v, "floats", [](double x) { return float_text(x); });
    }
    std::string operator()(const std::vector<std::string>& v) const {
      return list_text(v, "strings", [](const std::string& x) { return quoted(x); });
    }
    std::string operator()(const TensorLiteral& v) const {
      std::string out = to_string(type_of(v)) + " [";
      append_elements(out, v.dtype, v.bytes);
      return out + "]";
    }
    std::string operator()(const Type& v) const { return "type:" + to_string(v); }
  };
  return std::visit(Show{}, attr);
}

std::vector<std::string> value_names(const Function& function) {
  std::vector<std::string> names(function.values.size());
  UniqueNames unique;
  std::uint32_t number = 0;
  for_each_definition(function, [&](ValueId v) {
    if (v.index >= names.size() || !names[v.index].empty()) return;
    const std::string hint = sanitized_hint(function.values[v.index].hint);
    names[v.index] = hint.empty() ? std::to_string(number++) : unique.take(hint);
  });
  return names;
}

std::string print(const Program& program, const PrintOptions& options) {
  Printer printer(program, options);
  printer.header();
  return printer.take();
}

std::string print(const Program& program, const Function& function, const Op& op) {
  Printer printer(program, {});
  printer.enter(function);
  printer.print_op(op);
  return printer.take();
}

std::vector<BlockText> print_blocks(const Program& program, const Function& function) {
  Printer printer(program, {});
  printer.enter(function);
  std::vector<BlockText> texts;
  for (std::size_t i = 0; i < function.blocks.size(); ++i) texts.push_back(printer.block_text(i));
  return texts;
}

}  // namespace dycl::ir
