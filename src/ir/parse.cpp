// SPDX-License-Identifier: Apache-2.0
#include "ir/parse.h"

#include <algorithm>
#include <unordered_map>

#include "ir/edges.h"
#include "ir/host_ops.h"
#include "ir/text.h"
#include "ir/value_reader.h"

namespace dycl::ir {

namespace {

constexpr std::uint32_t kThisText = 0xffffffffU;  // a span's file until the sources are all known

// An op whose result types the text leaves to its operands.
struct UntypedOp {
  std::uint32_t block, op;
  std::size_t offset;
};

// What is known of a function while its text is read. Names get an id where they
// are first mentioned, which may be before their definition.
struct Scope {
  struct Name {
    std::size_t first_mention = 0;
    bool defined = false;
  };
  Function function;
  std::unordered_map<std::string, std::uint32_t> value_ids, block_ids;
  std::vector<Name> values, blocks;
  std::vector<bool> typed;                  // by value
  std::vector<std::uint32_t> block_places;  // block id -> index in function.blocks
  std::vector<UntypedOp> untyped;
};

class Parser : private ValueReader {
 public:
  Parser(std::string_view text, const std::string& file_name, const ParseOptions& options)
      : ValueReader(text), file_name_(file_name), options_(options) {}

  ParseOutcome run() {
    while (token_.kind != Kind::End && !full()) {
      const std::size_t start = statement_ = token_.offset;
      if (!top_level()) recover(start, [this] { return at_top_level(); });
    }
    if (errors_.empty()) infer_all();
    if (options_.spans_from_text) name_this_text();
    std::stable_sort(errors_.begin(), errors_.end(), [](const Error& a, const Error& b) {
      return std::pair(a.span.line, a.span.column) < std::pair(b.span.line, b.span.column);
    });
    ParseOutcome outcome;
    outcome.errors = std::move(errors_);
    if (outcome.errors.empty()) outcome.program = std::move(program_);
    return outcome;
  }

 private:
  bool at_top_level() const {
    if (token_.kind != Kind::Word) return false;
    for (const char* word : {"symbol", "weight", "state", "source", "meta", "func", "subdnn"})
      if (token_.text == word) return true;
    return false;
  }

  // ---- declarations ------------------------------------------------------------------

  bool top_level() {
    if (at_word("func") || at_word("subdnn")) return function();
    if (at_word("symbol")) return symbol() && expect_line_end();
    if (at_word("weight")) return weight() && expect_line_end();
    if (at_word("state")) return state() && expect_line_end();
    if (at_word("source")) return source() && expect_line_end();
    if (at_word("meta")) return meta() && expect_line_end();
    return fail("expected symbol, weight, state, source, meta, func or subdnn");
  }

  bool symbol() {
    advance();
    std::string name;
    const std::size_t offset = token_.offset;
    if (!expect_name(Kind::Word, name, "a symbol's name")) return false;
    Symbol range;
    if (!take_word("in")) return fail("expected 'in [min, max]'");
    if (!expect_punct("[") || !expect_int(range.min) || !expect_punct(",")) return false;
    if (!take_word("inf") && !expect_int(range.max)) return false;
    if (!expect_punct("]")) return false;
    return program_.symbols.emplace(name, range).second || fail_at(offset, "symbol " + name + " is declared twice");
  }

  bool weight() {
    advance();
    std::string name;
    const std::size_t offset = token_.offset;
    Weight weight;
    if (!expect_name(Kind::Global, name, "@name") || !expect_punct(":") || !parse_type(weight.type)) return false;
    if (take_punct("=")) {
      std::vector<std::uint8_t> bytes;
      if (!weight.type.is_tensor()) return fail_at(offset, "a weight is a tensor");
      if (!elements(weight.type.dtype, bytes)) return false;
      weight.bytes = Bytes::copy_of(bytes.data(), bytes.size());
    }
    return program_.weights.emplace(name, std::move(weight)).second ||
           fail_at(offset, "weight @" + name + " is declared twice");
  }

  bool state() {
    advance();
    std::string name;
    const std::size_t offset = token_.offset;
    State state;
    if (!expect_name(Kind::Global, name, "@name") || !expect_punct(":") || !parse_type(state.type) ||
        !expect_punct("="))
      return false;
    if (token_.kind == Kind::Global) {
      state.initial = std::move(token_.text);
      advance();
    } else if (take_word("none")) {
      state.initial = std::string();
    } else if (!attribute_value(state.initial)) {
      return false;
    }
    return program_.states.emplace(name, std::move(state)).second ||
           fail_at(offset, "state @" + name + " is declared twice");
  }

  bool source() {
    advance();
    std::int64_t number;
    std::string name;
    const std::size_t offset = token_.offset;
    if (!expect_int(number) || !expect_string(name)) return false;
    if (number != static_cast<std::int64_t>(program_.sources.size()))
      return fail_at(offset,
                     "sources are numbered in order; this is number " + std::to_string(program_.sources.size()));
    program_.sources.push_back(std::move(name));
    return true;
  }

  bool meta() {
    advance();
    std::string key, value;
    const std::size_t offset = token_.offset;
    if (!expect_string(key) || !expect_string(value)) return false;
    return program_.metadata.emplace(key, value).second || fail_at(offset, "meta " + quoted(key) + " is given twice");
  }

  // ---- functions -----------------------------------------------------------------------

  bool function() {
    const std::size_t start = token_.offset;
    scope_ = Scope{};
    current_ = nullptr;
    Function& f = scope_.function;
    f.kind = at_word("subdnn") ? FunctionKind::SubDnn : FunctionKind::Host;
    advance();
    const std::size_t name_offset = token_.offset;
    if (!expect_name(Kind::Global, f.name, "@name") || !parameters() || !results()) return false;
    if (!function_names_.emplace(f.name, true).second)
      fail_at(name_offset, "function @" + f.name + " is defined twice");
    if (!expect_punct("{")) return false;
    f.span = span_since(start);
    body();
    check_names();
    const bool ended = at_punct("}");
    statement_ = token_.offset;
    if (!ended)
      fail("expected '}'");
    else
      advance();
    untyped_.push_back(std::move(scope_.untyped));
    typed_.push_back(std::move(scope_.typed));
    program_.functions.push_back(std::move(f));
    return ended && expect_line_end();
  }

  // The span written here, or the place in this text if the caller wants those.
  SourceSpan span_since(std::size_t start) {
    if (token_.kind == Kind::Span && !token_.first_on_line) {
      const SourceSpan span = token_.span;
      advance();
      return span;
    }
    if (!options_.spans_from_text) return {};
    return lines_.span(start, last_end_, kThisText);
  }

  void name_this_text() {
    auto it = std::find(program_.sources.begin(), program_.sources.end(), file_name_);
    const auto file = static_cast<std::uint32_t>(it - program_.sources.begin());
    if (it == program_.sources.end()) program_.sources.push_back(file_name_);
    const auto patch = [&](SourceSpan& span) {
      if (span.file == kThisText) span.file = file;
    };
    for (Function& f : program_.functions) {
      patch(f.span);
      for (Block& block : f.blocks) {
        patch(block.span);
        patch(block.exit_span);
        for (Op& op : block.body) patch(op.span);
      }
    }
  }

  bool parameters() {
    if (!expect_punct("(")) return false;
    if (take_punct(")")) return true;
    do {
      Param param;
      if (!declaration(param.value)) return false;
      if (take_word("state") && !expect_name(Kind::Global, param.state, "@name of a state")) return false;
      scope_.function.params.push_back(std::move(param));
    } while (take_punct(","));
    return expect_punct(")");
  }

  bool results() {
    if (!take_punct("->")) return true;
    const bool many = take_punct("(");
    if (many && take_punct(")")) return true;
    do {
      Output result;
      if (token_.kind == Kind::Value) {
        result.name = std::move(token_.text);
        advance();
        if (!expect_punct(":")) return false;
      }
      if (!parse_type(result.type)) return false;
      if (take_word("state") && !expect_name(Kind::Global, result.state, "@name of a state")) return false;
      scope_.function.results.push_back(std::move(result));
    } while (many && take_punct(","));
    return !many || expect_punct(")");
  }

  void body() {
    while (token_.kind != Kind::End && !at_punct("}") && !full()) {
      if (token_.first_on_line && (at_word("func") || at_word("subdnn"))) return;
      const std::size_t start = statement_ = token_.offset;
      const bool ok = token_.kind == Kind::Block ? block_header() : statement();
      if (!ok || !expect_line_end()) recover(start, [this] { return token_.kind != Kind::Invalid; });
    }
    close_block();
  }

  void close_block() {
    statement_ = token_.offset;
    if (current_ && std::holds_alternative<std::monostate>(current_->exit) && !exit_failed_)
      fail("block ^" + current_->name + " has no exit (goto, branch, switch, return or raise)");
  }

  bool block_header() {
    close_block();
    const std::size_t start = token_.offset;
    const std::string name = token_.text;
    Function& f = scope_.function;
    const std::uint32_t id = mention(scope_.block_ids, scope_.blocks, name);
    scope_.block_places.resize(scope_.blocks.size());
    scope_.block_places[id] = static_cast<std::uint32_t>(f.blocks.size());
    const bool twice = scope_.blocks[id].defined;
    scope_.blocks[id].defined = true;
    f.blocks.emplace_back();
    current_ = &f.blocks.back();
    exit_failed_ = false;
    current_->name = name;
    if (twice) fail("block ^" + name + " is defined twice");
    advance();
    if (at_punct("(")) {
      advance();
      do {
        ValueId param;
        if (!declaration(param)) return false;
        current_->params.push_back(param);
      } while (take_punct(","));
      if (!expect_punct(")")) return false;
    }
    if (take_word("limit") && !expect_int(current_->loop_limit)) return false;
    if (!expect_punct(":")) return false;
    current_->span = span_since(start);
    return true;
  }

  // ---- names -----------------------------------------------------------------------------

  std::uint32_t mention(std::unordered_map<std::string, std::uint32_t>& ids, std::vector<Scope::Name>& names,
                        const std::string& name) {
    const auto [it, fresh] = ids.emplace(name, static_cast<std::uint32_t>(names.size()));
    if (fresh) names.push_back({token_.offset, false});
    return it->second;
  }

  ValueId mention_value(const std::string& name) {
    const std::uint32_t id = mention(scope_.value_ids, scope_.values, name);
    if (id == scope_.function.values.size()) {
      scope_.function.add_value({}, is_number_name(name) ? std::string() : name);
      scope_.typed.push_back(false);
    }
    return {id};
  }

  bool define(const std::string& name, ValueId& id) {
    id = mention_value(name);
    if (scope_.values[id.index].defined) return fail("%" + name + " is defined twice");
    scope_.values[id.index].defined = true;
    return true;
  }

  void give_type(ValueId v, Type type) {
    scope_.function.values[v.index].type = std::move(type);
    scope_.typed[v.index] = true;
  }

  // %name: type
  bool declaration(ValueId& id) {
    if (token_.kind != Kind::Value) return fail("expected %name: type");
    if (!define(token_.text, id)) return false;
    advance();
    Type type;
    if (!expect_punct(":") || !parse_type(type)) return false;
    give_type(id, std::move(type));
    return true;
  }

  bool use(ValueId& id) {
    if (token_.kind != Kind::Value) return fail("expected a value");
    id = mention_value(token_.text);
    advance();
    return true;
  }

  bool uses(std::vector<ValueId>& ids) {
    do {
      ValueId id;
      if (!use(id)) return false;
      ids.push_back(id);
    } while (take_punct(","));
    return true;
  }

  void check_names() {
    std::vector<std::pair<std::size_t, std::string>> problems;
    for (const auto& [name, id] : scope_.value_ids)
      if (!scope_.values[id].defined)
        problems.emplace_back(scope_.values[id].first_mention,
                              "%" + name + " is not defined in @" + scope_.function.name);
    for (const auto& [name, id] : scope_.block_ids)
      if (!scope_.blocks[id].defined)
        problems.emplace_back(scope_.blocks[id].first_mention,
                              "there is no block ^" + name + " in @" + scope_.function.name);
    std::sort(problems.begin(), problems.end());
    for (auto& [offset, problem] : problems) fail_at(offset, std::move(problem));
    scope_.block_places.resize(scope_.blocks.size());
    for (Block& block : scope_.function.blocks)
      for_each_edge(block.exit, [&](Edge& edge) { edge.target.index = scope_.block_places[edge.target.index]; });
  }

  // ---- statements ------------------------------------------------------------------------

  bool statement() {
    const std::size_t start = token_.offset;
    if (!current_) return fail("a block header (^entry:) must come first");
    if (!std::holds_alternative<std::monostate>(current_->exit)) return fail("nothing may follow the exit of a block");
    for (const char* word : {"goto", "branch", "switch", "return", "raise"}) {
      if (!at_word(word)) continue;
      exit_failed_ = true;
      if (!exit()) return false;
      exit_failed_ = false;
      current_->exit_span = span_since(start);
      return true;
    }
    return op(start);
  }

  bool op(std::size_t start) {
    Op op;
    const bool named = token_.kind != Kind::Value || result_names(op);
    if (!named) return false;
    const std::size_t name_offset = token_.offset;
    if (token_.kind != Kind::Word && token_.kind != Kind::String) return fail("expected an op");
    op.name = std::move(token_.text);
    advance();
    if (!inline_form(op) || !operands(op) || !attributes(op)) return false;
    std::vector<Type> types;
    if (!token_.first_on_line && take_punct(":") && !type_list(types)) return false;
    op.span = span_since(start);
    return finish_op(std::move(op), std::move(types), name_offset);
  }

  bool result_names(Op& op) {
    do {
      if (token_.kind != Kind::Value) return fail("expected the name of a result");
      ValueId id;
      if (!define(token_.text, id)) return false;
      advance();
      op.results.push_back(id);
    } while (take_punct(","));
    return expect_punct("=");
  }

  // `const 3`, `weight @w`, `call @f(%x)`.
  bool inline_form(Op& op) {
    if (token_.first_on_line) return true;
    if (op.name == "const" && !at_punct("{")) return attribute_value(op.attrs["value"]);
    if (op.name != "weight" && op.name != "call") return true;
    if (token_.kind != Kind::Global) return at_punct("{") || token_.kind == Kind::Value || fail("expected @name");
    op.attrs[op.name == "call" ? "callee" : "name"] = std::move(token_.text);
    const bool call = op.name == "call";
    advance();
    if (!call) return true;
    if (!expect_punct("(")) return false;
    if (take_punct(")")) return true;
    return uses(op.operands) && expect_punct(")");
  }

  bool operands(Op& op) {
    if (token_.first_on_line || (token_.kind != Kind::Value && !at_word("_"))) return true;
    do {
      ValueId id;
      if (!take_word("_") && !use(id)) return false;
      op.operands.push_back(id);
    } while (take_punct(","));
    return true;
  }

  bool attributes(Op& op) {
    if (token_.first_on_line || !take_punct("{")) return true;
    if (take_punct("}")) return true;
    do {
      std::string key = token_.text;
      if (token_.kind != Kind::Word && token_.kind != Kind::String) return fail("expected the name of an attribute");
      if (op.attrs.count(key)) return fail("attribute " + key + " is given twice");
      advance();
      if (!expect_punct("=") || !attribute_value(op.attrs[key])) return false;
    } while (take_punct(","));
    return expect_punct("}");
  }

  bool type_list(std::vector<Type>& types) {
    do {
      Type type;
      if (!parse_type(type)) return false;
      types.push_back(std::move(type));
    } while (take_punct(","));
    return true;
  }

  bool finish_op(Op op, std::vector<Type> types, std::size_t offset) {
    if (!types.empty()) {
      if (types.size() != op.results.size())
        return fail_at(offset, "there are " + std::to_string(op.results.size()) + " results but " +
                                   std::to_string(types.size()) + " types");
      for (std::size_t i = 0; i < types.size(); ++i) give_type(op.results[i], std::move(types[i]));
    } else if (!op.results.empty()) {
      if (op.is_tensor_op())
        return fail_at(offset, "a tensor op needs the types of its results: " + op.name + " ... : f32[2]");
      scope_.untyped.push_back({static_cast<std::uint32_t>(scope_.function.blocks.size() - 1),
                                static_cast<std::uint32_t>(current_->body.size()), offset});
    }
    current_->body.push_back(std::move(op));
    return true;
  }

  bool edge(Edge& e) {
    if (token_.kind != Kind::Block) return fail("expected ^block");
    e.target.index = mention(scope_.block_ids, scope_.blocks, token_.text);
    advance();
    if (!take_punct("(")) return true;
    return uses(e.args) && expect_punct(")");
  }

  bool exit() {
    const std::string word = token_.text;
    advance();
    if (word == "goto") {
      Goto jump;
      if (!edge(jump.edge)) return false;
      current_->exit = std::move(jump);
    } else if (word == "branch") {
      Branch branch;
      if (!use(branch.condition) || !expect_punct(",") || !edge(branch.if_true) || !expect_punct(",") ||
          !edge(branch.if_false))
        return false;
      current_->exit = std::move(branch);
    } else if (word == "switch") {
      return switch_exit();
    } else if (word == "return") {
      Return result;
      if (token_.kind == Kind::Value && !token_.first_on_line && !uses(result.values)) return false;
      current_->exit = std::move(result);
    } else {
      Raise failure;
      if (!expect_string(failure.type) || !expect_string(failure.message)) return false;
      if (token_.kind == Kind::Value && !token_.first_on_line && !uses(failure.args)) return false;
      current_->exit = std::move(failure);
    }
    return true;
  }

  bool switch_exit() {
    Switch choice;
    if (!use(choice.selector) || !expect_punct(",") || !expect_punct("[")) return false;
    if (!take_punct("]")) {
      do {
        std::int64_t value;
        Edge target;
        if (!expect_int(value) || !expect_punct(":") || !edge(target)) return false;
        choice.cases.push_back(value);
        choice.targets.push_back(std::move(target));
      } while (take_punct(","));
      if (!expect_punct("]")) return false;
    }
    if (!expect_punct(",") || !edge(choice.otherwise)) return false;
    current_->exit = std::move(choice);
    return true;
  }

  // ---- result types ----------------------------------------------------------------------

  void infer_all() {
    const FunctionIndex index(program_);
    for (std::size_t i = 0; i < program_.functions.size(); ++i)
      infer_function(program_.functions[i], untyped_[i], typed_[i], index);
  }

  // Blocks may stand in any order, so an op can wait for operands that come later.
  void infer_function(Function& f, const std::vector<UntypedOp>& untyped, std::vector<bool>& typed,
                      const FunctionIndex& index) {
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> waiting;  // value -> ops
    std::vector<bool> done(untyped.size(), false);
    std::vector<std::size_t> ready;
    for (std::size_t first = 0; first < untyped.size(); ++first) {
      ready.push_back(first);
      while (!ready.empty()) {
        const std::size_t i = ready.back();
        ready.pop_back();
        const Op& op = f.blocks[untyped[i].block].body[untyped[i].op];
        const auto missing = std::find_if(op.operands.begin(), op.operands.end(),
                                          [&](ValueId v) { return v.present() && !typed[v.index]; });
        if (missing != op.operands.end()) {
          waiting[missing->index].push_back(i);
          continue;
        }
        done[i] = true;
        if (!infer_op(f, op, untyped[i].offset, index)) continue;
        for (ValueId result : op.results) {
          typed[result.index] = true;
          auto node = waiting.extract(result.index);
          if (!node.empty()) ready.insert(ready.end(), node.mapped().begin(), node.mapped().end());
        }
      }
    }
    // What waits for an op that failed needs no error of its own.
    if (!errors_.empty()) return;
    for (std::size_t i = 0; i < untyped.size(); ++i)
      if (!done[i])
        fail_at(untyped[i].offset, "the type of the result depends on itself", "write the result's type after ':'");
  }

  bool infer_op(Function& f, const Op& op, std::size_t offset, const FunctionIndex& index) {
    const auto types = infer_types(program_, f, op, &index);
    if (!types && types.error().kind == ErrorKind::Unsupported)
      return fail_at(offset, op.name + " needs the types of its results: " + op.name + " ... : type");
    if (!types) return fail_at(offset, op.name + ": " + types.error().message);
    if (types->size() != op.results.size())
      return fail_at(offset, op.name + " has " + std::to_string(types->size()) + " results, not " +
                                 std::to_string(op.results.size()));
    for (std::size_t i = 0; i < types->size(); ++i) f.values[op.results[i].index].type = (*types)[i];
    return true;
  }

  const std::string& file_name_;
  ParseOptions options_;
  Program program_;
  Scope scope_;
  Block* current_ = nullptr;  // in scope_.function.blocks; reset whenever that grows
  bool exit_failed_ = false;
  std::unordered_map<std::string, bool> function_names_;
  std::vector<std::vector<UntypedOp>> untyped_;  // per function
  std::vector<std::vector<bool>> typed_;
};

std::string_view line_of(std::string_view text, std::uint32_t number) {
  std::size_t start = 0;
  for (std::uint32_t i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string_view::npos) return {};
    start = end + 1;
  }
  return text.substr(start, std::min(text.find('\n', start), text.size()) - start);
}

}  // namespace

ParseOutcome parse_all(std::string_view text, const std::string& file_name, const ParseOptions& options) {
  return Parser(text, file_name, options).run();
}

Result<Program> parse(std::string_view text, const std::string& file_name, const ParseOptions& options) {
  ParseOutcome outcome = parse_all(text, file_name, options);
  if (outcome.program) return std::move(*outcome.program);
  Error all = outcome.errors.front();
  all.message.clear();
  all.help.clear();
  for (const Error& error : outcome.errors)
    all.message += (all.message.empty() ? "" : "\n") + draw_error(error, text, file_name);
  return all;
}

Result<Type> parse_type(std::string_view text) {
  Result<Type> type = ValueReader::read_type(text);
  if (!type)
    return Error{ErrorKind::InvalidModel,
                 "bad type '" + std::string(text.substr(0, 80)) + "': " + type.error().message,
                 {},
                 {},
                 {}};
  return type;
}

std::string draw_error(const Error& error, std::string_view text, const std::string& file_name) {
  std::string out = file_name + ":" + std::to_string(error.span.line) + ":" + std::to_string(error.span.column) +
                    ": error: " + error.message;
  std::string_view line = line_of(text, error.span.line);
  if (!line.empty() && line.size() <= 400) {
    std::string shown(line);
    std::replace(shown.begin(), shown.end(), '\t', ' ');
    std::replace(shown.begin(), shown.end(), '\r', ' ');
    out += "\n  " + shown + "\n  " + std::string(error.span.column ? error.span.column - 1 : 0, ' ') + "^";
  }
  if (!error.help.empty()) out += "\n  help: " + error.help;
  return out;
}

}  // namespace dycl::ir
