// SPDX-License-Identifier: Apache-2.0
#include "emit/cpp/text.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>

#include "support/scalar_ops.h"

namespace dycl::emit {
namespace {

// Follows quotes through a line of code, one character after the other.
struct Quotes {
  bool inside = false, escaped = false;

  void pass(char c) {
    if (escaped)
      escaped = false;
    else if (c == '\\')
      escaped = inside;
    else if (c == '"')
      inside = !inside;
  }
};

// The last place where a line may be broken at or before `limit`: after a comma outside of quotes.
std::size_t last_break(const std::string& line, std::size_t from, std::size_t limit) {
  Quotes quotes;
  const bool& in_quotes = quotes.inside;
  int in_angles = 0;  // of template arguments
  std::size_t found = 0, first_after = 0;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    quotes.pass(line[i]);
    if (!in_quotes && line[i] == '<' && i > 0 && std::isalnum(static_cast<unsigned char>(line[i - 1]))) ++in_angles;
    if (!in_quotes && line[i] == '>' && in_angles > 0) --in_angles;
    if (in_quotes || in_angles > 0 || line[i] != ',' || line[i + 1] != ' ' || i <= from) continue;
    if (i + 1 <= limit)
      found = i + 1;
    else if (first_after == 0)
      first_after = i + 1;
  }
  return found ? found : first_after;
}

std::string wrapped_line(std::string line) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  if (line.compare(indent, 2, "//") == 0) return line + "\n";
  const std::string lead(indent + 4, ' ');
  std::string out;
  while (line.size() > kWidth) {
    const std::size_t at = last_break(line, indent + 4, kWidth);
    if (at == 0) break;
    out += line.substr(0, at) + "\n";
    line = lead + line.substr(at + 1);
  }
  return out + line + "\n";
}

}  // namespace

bool is_reserved(const std::string& name) {
  static const std::set<std::string> words = {
      "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
      "class", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "co_await",
      "co_return", "co_yield", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
      "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long",
      "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
      "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed", "sizeof",
      "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true",
      "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
      "while", "xor", "xor_eq", "restrict", "typeof",
      // macros of the headers that emitted code includes, and of compilers
      "assert", "BUFSIZ", "CHAR_BIT", "EOF", "EXIT_FAILURE", "EXIT_SUCCESS", "HUGE_VAL", "INT_MAX", "INT_MIN",
      "LONG_MAX", "RAND_MAX", "SEEK_CUR", "SEEK_END", "SEEK_SET", "SIZE_MAX", "UINT_MAX", "EDOM", "ERANGE", "i386",
      "linux", "major", "makedev", "minor", "unix",
      // names that emitted code uses itself
      "append", "arm", "call", "call_host", "call_many", "cat", "check", "compute", "concat", "constant", "dim",
      "draw", "draw_integers", "draw_samples", "finish", "frame", "get", "give", "input", "insert", "integers", "into", "is_some", "item", "keep",
      "give_back_random", "len", "lend_random", "limited", "list", "list_to_tensor", "pop", "print", "program", "raise", "random_state", "result", "run",
      "seed", "set", "set_random_state", "size",
      "slice", "stack", "std", "dycl", "host", "taken", "to_list", "to_tensor", "type", "value_of", "loop",
      "main", "errno", "stdin", "stdout", "stderr", "NULL", "INT64_MIN", "INFINITY", "NAN", "Tensor", "List",
      "Optional", "Value", "View", "From", "Loop", "Frame", "Outputs", "SubDnn"};
  if (words.count(name) != 0) return true;
  if (name.size() > 1 && name[0] == 'k' && std::isupper(static_cast<unsigned char>(name[1]))) return true;  // a sub-DNN
  std::string op = name;  // int_add and its like
  if (const std::size_t at = op.find('_'); at != std::string::npos) op[at] = '.';
  return scalar::op_named(op).has_value();
}

std::string python_name(const std::string& hint) {
  const std::size_t dot = hint.rfind('.');
  const bool numbered = dot != std::string::npos && dot + 1 < hint.size() &&
                        hint.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  const std::string name = numbered ? hint.substr(0, dot) : hint;
  return name.find_first_not_of("_0123456789") == std::string::npos ? "" : name;  // `for _ in ...`
}

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  while (out.find("__") != std::string::npos) out.erase(out.find("__"), 1);
  while (!out.empty() && out.front() == '_') out.erase(0, 1);
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty()) return "x";
  if (std::isdigit(static_cast<unsigned char>(out.front()))) out = "x" + out;
  return out;
}

std::string class_name(const std::string& name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string snake_name(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto is = [&](std::size_t at, int (*kind)(int)) { return kind(static_cast<unsigned char>(name[at])) != 0; };
    const bool begins =
        i > 0 && is(i, std::isupper) && (is(i - 1, std::islower) || (i + 1 < name.size() && is(i + 1, std::islower)));
    if (begins && out.back() != '_') out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
  }
  return out;
}

std::string project_name(const std::string& text) {
  // Targets of CMake's own, headers of the system, types that emitted code writes without their scope.
  static const std::set<std::string> taken = {
      "all",           "clean",         "depend",   "edit_cache",  "help",      "install",  "package", "package_source",
      "preinstall",    "rebuild_cache", "test",     "aio",         "assert",    "complex",  "ctype",   "dirent",
      "dlfcn",         "elf",           "errno",    "error",       "fcntl",     "features", "fenv",    "float",
      "getopt",        "grp",           "iconv",    "inttypes",    "libgen",    "limits",   "link",    "locale",
      "malloc",        "math",          "memory",   "monetary",    "netdb",     "poll",     "pthread", "pwd",
      "regex",         "resolv",        "sched",    "search",      "semaphore", "setjmp",   "signal",  "spawn",
      "stdint",        "stdio",         "stdlib",   "string",      "strings",   "syslog",   "termios", "tgmath",
      "threads",       "time",          "uchar",    "unistd",      "utime",     "values",   "wait",    "wchar",
      "wctype",        "zlib",          "array",    "failure",     "frame",     "from",     "into",    "list",
      "loop",          "machine",       "optional", "outputs",     "tensor",    "value",    "view",    "guarded",
      "host_function", "sub_dnn",       "runtime",  "dycl_runtime"};
  const std::string name = identifier(text), lower = snake_name(name);
  return is_reserved(name) || is_reserved(lower) || taken.count(lower) || lower.starts_with("dycl") ? name + "_model"
                                                                                                    : name;
}

std::string cpp_type(const ir::Type& type) {
  switch (type.kind) {
    case ir::Type::Kind::Bool: return "bool";
    case ir::Type::Kind::Int: return "std::int64_t";
    case ir::Type::Kind::Float: return "double";
    case ir::Type::Kind::Tensor: return "Tensor";
    case ir::Type::Kind::List: return "List<" + cpp_type(type.element.at(0)) + ">";
    case ir::Type::Kind::Optional: return "Optional<" + cpp_type(type.element.at(0)) + ">";
  }
  return "";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 32 || byte >= 127) {
      char octal[8];
      std::snprintf(octal, sizeof octal, "\\%03o", byte);
      out += octal;
    } else if (c == '?' && out.back() == '?') {
      out += "\\?";  // no trigraphs
    } else {
      out += c;
    }
  }
  return out + "\"";
}

bool is_quoted(const std::string& line, std::size_t place) {
  Quotes quotes;
  for (std::size_t i = 0; i < place; ++i) quotes.pass(line[i]);
  return quotes.inside;
}

std::string comment_text(const std::string& text, std::size_t most) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 32 || byte == 127 ? ' ' : c;
  }
  // Marks that turn the direction of what follows (U+202A to U+202E, U+2066 to U+2069), which compilers warn about.
  for (std::size_t i = 0; i + 2 < out.size();) {
    const auto last = static_cast<unsigned char>(out[i + 2]);
    const bool turns = (out.compare(i, 2, "\xe2\x80") == 0 && last >= 0xaa && last <= 0xae) ||
                       (out.compare(i, 2, "\xe2\x81") == 0 && last >= 0xa6 && last <= 0xa9);
    turns ? static_cast<void>(out.erase(i, 3)) : static_cast<void>(++i);
  }
  if (out.size() > most) {
    std::size_t end = most - 3;
    while (end > 0 && (static_cast<unsigned char>(out[end]) & 0xc0) == 0x80) --end;  // not within a character
    out = out.substr(0, end) + "...";
  }
  while (!out.empty() && (out.back() == '\\' || out.back() == ' ')) out.pop_back();  // would go on in the next line
  return out;
}

std::string literal(double v) {
  if (std::isnan(v)) {
    char text[64];
    std::snprintf(text, sizeof text, "std::bit_cast<double>(std::uint64_t{0x%llx})",
                  static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(v)));
    return text;
  }
  if (std::isinf(v))
    return v < 0 ? "-std::numeric_limits<double>::infinity()" : "std::numeric_limits<double>::infinity()";
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, v).ptr;
  std::string out(text, end);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string literal(std::int64_t v) { return v == INT64_MIN ? "INT64_MIN" : std::to_string(v); }

std::string inside(const Expression& e, int at_least) { return e.binding >= at_least ? e.text : "(" + e.text + ")"; }

std::string tabs(int indent) { return std::string(static_cast<std::size_t>(indent) * 2, ' '); }

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string wrapped(const std::string& code) {
  std::string out;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    out += wrapped_line(code.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace dycl::emit
