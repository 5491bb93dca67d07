// SPDX-License-Identifier: Apache-2.0
// The files around an emitted host program: class, C header, CMake project, example.
#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

#include "emit/cpp/results.h"
#include "emit/cpp/text.h"
#include "emit/cpp/writer.h"
#include "package/package_writer.h"
#include "support/files.h"

namespace dycl::emit {
namespace {

constexpr int kInterface = 2;  // dycl::host::kInterface the sources are written for

struct Input {
  std::string name;
  const ir::Type* type;
};

// As the user of the class sees a type.
std::string outer_type(const ir::Type& type) {
  switch (type.kind) {
    case ir::Type::Kind::Tensor: return "dycl::host::View";
    case ir::Type::Kind::List: return "std::vector<" + outer_type(type.element.at(0)) + ">";
    case ir::Type::Kind::Optional: return "std::optional<" + outer_type(type.element.at(0)) + ">";
    default: return cpp_type(type);
  }
}
// Of handles, where no using declaration reaches.
std::string full_type(const ir::Type& type) {
  if (type.is_scalar()) return cpp_type(type);
  if (type.is_tensor()) return "dycl::host::Tensor";
  const bool list = type.kind == ir::Type::Kind::List;
  return std::string("dycl::host::") + (list ? "List<" : "Optional<") + full_type(type.element.at(0)) + ">";
}
std::string parameter_type(const ir::Type& type) {
  if (type.is_tensor()) return "const dycl::host::View&";
  return type.is_scalar() ? cpp_type(type) : "const dycl::host::Value&";
}
std::string outer_type(const ResultField& field) {
  const std::string type = outer_type(field.type);
  return field.is_array ? "std::array<" + type + ", " + std::to_string(field.count) + ">" : type;
}
std::string full_type(const ResultField& field) {
  const std::string type = full_type(field.type);
  return field.is_array ? "std::array<" + type + ", " + std::to_string(field.count) + ">" : type;
}
bool fits_c(const ir::Type& type) { return type.is_tensor() || type.is_scalar(); }
std::string c_type(const ir::Type& type) {
  switch (type.kind) {
    case ir::Type::Kind::Bool: return "int32_t";
    case ir::Type::Kind::Int: return "int64_t";
    case ir::Type::Kind::Float: return "double";
    default: return "dycl_tensor";
  }
}

bool is_part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Whether a word stands in a line of code outside of quotes.
bool mentions(const std::string& line, const std::string& word) {
  for (std::size_t i = 0; (i = line.find(word, i)) != std::string::npos; i += word.size()) {
    const std::size_t end = i + word.size();
    const bool alone = (i == 0 || !is_part_of_name(line[i - 1])) && (end == line.size() || !is_part_of_name(line[end]));
    if (alone && !is_quoted(line, i)) return true;
  }
  return false;
}

// The standard headers that `code` needs, once each: {what it says, header}.
std::string includes(const std::string& code, std::initializer_list<std::pair<const char*, const char*>> headers_of) {
  std::set<std::string> headers;
  for (const auto& [word, header] : headers_of)
    if (code.find(word) != std::string::npos) headers.insert(header);
  std::string text;
  for (const std::string& header : headers) text += "#include <" + header + ">\n";
  return text;
}

// Names of dycl::host without their scope, behind the declarations that allow it. Comments stay as they are.
std::string with_short_names(const std::string& code) {
  const std::string scope = "dycl::host::";
  std::set<std::string> used = {"Value"};
  std::string text;
  for (std::size_t at = 0, end = 0; at < code.size(); at = end) {
    end = std::min(code.find('\n', at), code.size() - 1) + 1;
    std::string line = code.substr(at, end - at);
    const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    if (line.compare(first, 2, "//") != 0) {
      for (std::size_t p = 0; (p = line.find(scope, p)) != std::string::npos;) {
        if (is_quoted(line, p)) {
          p += scope.size();
          continue;
        }
        line.erase(p, scope.size());
        std::size_t until = p;
        while (until < line.size() && is_part_of_name(line[until])) ++until;
        used.insert(line.substr(p, until - p));
      }
      for (const std::string name : {"List", "Optional", "Tensor"})
        if (mentions(line, name)) used.insert(name);
    }
    text += line;
  }
  std::string declarations;
  for (const std::string& name : used) declarations += "using dycl::host::" + name + ";\n";
  return declarations + "\n" + text;
}

class Project {
 public:
  Project(const package::PackageProgram& package, const CppOptions& options, std::vector<ResultField> fields,
          CppBody body)
      : package_(package),
        main_(package.program.main()),
        name_(options.name),
        class_(class_name(options.name)),
        c_name_(snake_name(options.name)),
        body_(std::move(body)),
        fields_(std::move(fields)),
        returns_(python_returns(package, fields_)) {
    std::set<std::string> taken;
    for (const ir::Param& p : main_.params) {
      if (!p.state.empty()) continue;
      const std::string& hint = main_.values[p.value.index].hint;
      const std::string base = safe(hint.empty() ? "input" : hint);
      std::string name = base;
      for (int n = 1; !taken.insert(name).second; ++n) name = base + "_" + std::to_string(n);
      inputs_.push_back({name, &main_.type_of(p.value)});
    }
    std::copy_if(fields_.begin(), fields_.end(), std::back_inserter(outputs_),
                 [](const ResultField& field) { return !field.is_state; });
  }

  std::string header() const {
    const std::string declared = declarations();
    return wrapped("// Written by dycl emit from " + name_ + ".dycl: the host program as a class.\n#pragma once\n\n" +
                   includes(declared, {{"std::array", "array"},
                                       {"std::int64_t", "cstdint"},
                                       {"std::uint32_t", "cstdint"},
                                       {"std::filesystem", "filesystem"},
                                       {"std::optional", "optional"},
                                       {"std::vector", "vector"}}) +
                   "\n#include \"dycl/host.h\"\n\n" +
                   "static_assert(dycl::host::kInterface == " + std::to_string(kInterface) +
                   ", \"written for another version of dycl/host.h: emit it again\");\n\n" + declared);
  }

  std::string declarations() const {
    std::string text =
        "// One caller's program: call it from one thread at a time. Throws dycl::host::Failure.\nclass " + class_ +
        " : public dycl::host::Machine {\n public:\n" +
        "  // Views and lists are valid until the next call.\n  struct Outputs {\n";
    for (const ResultField& f : outputs_) {
      if (&f == outputs_.data()) text += returns_note("    // ");
      text += "    " + outer_type(f) + " " + f.name + initial(f.type) + ";" + note(f.type);
    }
    text += "  };\n\n  explicit " + class_ +
            "(const std::filesystem::path& package, dycl::runtime::LoadOptions options = {});\n\n";
    for (const Input& f : inputs_) text += "  // " + f.name + ": " + ir::to_string(*f.type) + "\n";
    text += "  Outputs operator()(" + parameters() + ");\n\n private:\n";
    if (!body_.sub_dnns.empty()) text += "  enum SubDnn : std::uint32_t { " + joined(body_.sub_dnns) + " };\n\n";
    text += "  Outputs compute(" + handles("dycl::host::") + ");\n  Outputs give(" + results() + ");\n" +
            (body_.members.empty() ? "" : "\n") + body_.members;
    return text + "};\n";
  }

  std::string source() const {
    std::vector<std::string> arguments, inputs;
    for (const Input& f : inputs_) {
      const bool made = f.type->is_tensor() || f.type->is_scalar();
      arguments.push_back(made ? "Value::of(" + f.name + ")" : f.name);
    }
    for (const CppParameter& p : body_.parameters)
      inputs.push_back("input<" + cpp_type(p.type) + ">(" + std::to_string(p.index) + ")");
    std::string text = "// Written by dycl emit from " + name_ + ".dycl.\n#include \"" + name_ + ".h\"\n\n" +
                       includes(body_.text + "std::move", {{"std::bit_cast", "bit"},
                                                           {"std::abort", "cstdlib"},
                                                           {"_to<>", "functional"},
                                                           {"std::less", "functional"},
                                                           {"std::greater", "functional"},
                                                           {"std::numeric_limits", "limits"},
                                                           {"std::tie", "tuple"},
                                                           {"std::ignore", "tuple"},
                                                           {"std::move", "utility"}}) +
                       "\n";
    std::string code = class_ + "::" + class_ +
                       "(const std::filesystem::path& package, dycl::runtime::LoadOptions options)\n" +
                       "    : Machine(package, " + fingerprint() + ", std::move(options)) {}\n\n";
    code += class_ + "::Outputs " + class_ + "::operator()(" + parameters() + ") {\n  const Frame frame(*this, {" +
            joined(arguments) + "});\n  return compute(" + joined(inputs) + ");\n}\n\n";
    code += class_ + "::Outputs " + class_ + "::compute(" + handles("") + ") {\n" + body_.text + "}\n\n";
    return wrapped(text + with_short_names(code + give()));
  }

  bool has_c() const {
    return std::all_of(inputs_.begin(), inputs_.end(), [](const Input& f) { return fits_c(*f.type); }) &&
           std::all_of(outputs_.begin(), outputs_.end(), [](const ResultField& f) { return fits_c(f.type); });
  }

  std::string c_header() const {
    const std::string upper = upper_name();
    std::string text =
        "/* Written by dycl emit from " + name_ + ".dycl: the program from C. No function throws.\n" +
        " * Those that can fail return 0 or a dycl_error_kind; " + c_name_ +
        "_error() then says more, on the\n * same thread until its next call. One thread at a time per program. */\n" +
        "#ifndef " + upper + "_C_H\n#define " + upper + "_C_H\n\n#include \"dycl/dycl.h\"\n\n" +
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n#define " + upper + "_VERSION 1u\n\n" + "typedef struct " +
        c_name_ + " " + c_name_ + ";\n\n";
    text += "typedef struct " + c_name_ + "_inputs {\n";
    for (const Input& f : inputs_) text += "  " + c_type(*f.type) + " " + f.name + ";" + c_note(*f.type);
    if (inputs_.empty()) text += "  int32_t unused;\n";
    text += "} " + c_name_ +
            "_inputs;\n\n/* Tensors point into the program, valid until the next call. */\ntypedef struct " + c_name_ +
            "_outputs {\n";
    text += returns_note("  /* ", " */");
    for (const ResultField& f : outputs_)
      text += "  " + c_type(f.type) + " " + f.name + extent(f) + ";" + c_note(f.type);
    if (outputs_.empty()) text += "  int32_t unused;\n";
    text += "} " + c_name_ + "_outputs;\n\n";
    text += "uint32_t " + c_name_ + "_version(void) DYCL_NOEXCEPT;\n" + "int32_t " + c_name_ +
            "_create(const char* package, " + c_name_ + "** program) DYCL_NOEXCEPT;\n" +
            "/* `options` say what dycl_program_load is told: a signature that is required, say. */\n" + "int32_t " +
            c_name_ + "_create_with(const char* package, const dycl_load_options* options,\n    " + c_name_ +
            "** program) DYCL_NOEXCEPT;\n" + "int32_t " + c_name_ + "_run(" + c_name_ + "* program, const " + c_name_ + "_inputs* inputs, " + c_name_ +
            "_outputs* outputs) DYCL_NOEXCEPT;\n" + "void " + c_name_ + "_destroy(" + c_name_ +
            "* program) DYCL_NOEXCEPT; /* NULL is fine */\n" + "const char* " + c_name_ +
            "_error(void) DYCL_NOEXCEPT;\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
    return wrapped(text);
  }

  std::string c_source() const {
    std::string call, store;
    for (const Input& f : inputs_) {
      const std::string field = "inputs->" + f.name;
      call += (call.empty() ? "" : ", ") + (f.type->is_tensor() ? "dycl::host::view_of(" + field + ")"
                                            : f.type->kind == ir::Type::Kind::Bool ? field + " != 0"
                                                                                   : field);
    }
    for (const ResultField& f : outputs_) {
      const std::string at = f.is_array ? "[i]" : "", field = "made." + f.name + at;
      store += "    " + each(f) + "outputs->" + f.name + at + " = " +
               (f.type.is_tensor()                    ? "dycl::host::c_tensor_of(" + field + ")"
                : f.type.kind == ir::Type::Kind::Bool ? field + " ? 1 : 0"
                                                      : field) +
               ";\n";
    }
    std::string text =
        "// Written by dycl emit from " + name_ + ".dycl.\n#include \"" + name_ + "_c.h\"\n\n" +
        (store.find("std::size_t") == std::string::npos ? "" : "#include <cstddef>\n") +
        "#include <exception>\n#include <memory>\n#include <string>\n\n#include \"" + name_ +
        ".h\"\n\nnamespace {\n\nthread_local std::string last_error;\n\n" +
        "int32_t failed(int32_t kind, const char* text) noexcept {\n  try {\n    last_error = text;\n" +
        "  } catch (...) {  // no memory for the text\n    last_error.clear();\n  }\n  return kind;\n}\n\n" +
        "template <typename Work>\nint32_t guarded(Work work) noexcept {\n  try {\n    work();\n    return 0;\n" +
        "  } catch (const dycl::host::Failure& failure) {\n" +
        "    return failed(static_cast<int32_t>(failure.error().kind), failure.what());\n" +
        "  } catch (const std::exception& error) {\n    return failed(DYCL_INTERNAL, error.what());\n" +
        "  } catch (...) {\n    return failed(DYCL_INTERNAL, \"unknown\");\n  }\n}\n\n}  // namespace\n\n";
    text += "struct " + c_name_ + " {\n  " + c_name_ + "(const char* package, const dycl_load_options* options)\n" +
            "      : program(package, dycl::host::load_options_of(options)) {}\n  " + class_ + " program;\n};\n\nextern \"C\" {\n\n";
    text += "uint32_t " + c_name_ + "_version(void) noexcept { return " + upper_name() + "_VERSION; }\n\n";
    text += "int32_t " + c_name_ + "_create(const char* package, " + c_name_ + "** program) noexcept {\n" +
            "  return " + c_name_ + "_create_with(package, nullptr, program);\n}\n\n";
    text += "int32_t " + c_name_ + "_create_with(const char* package, const dycl_load_options* options,\n    " + c_name_ +
            "** program) noexcept {\n" + refuses_null({"package", "program"}) +
            "  return guarded([&] { *program = std::make_unique<" + c_name_ +
            ">(package, options).release(); });\n}\n\n";
    const std::string unused = "[[maybe_unused]] ";
    std::vector<std::string> needed = {"program"};
    if (!inputs_.empty()) needed.emplace_back("inputs");
    if (!outputs_.empty()) needed.emplace_back("outputs");
    text += "int32_t " + c_name_ + "_run(" + c_name_ + "* program, " + (inputs_.empty() ? unused : "") + "const " +
            c_name_ + "_inputs* inputs, " + (outputs_.empty() ? unused : "") + c_name_ +
            "_outputs* outputs) noexcept {\n" + refuses_null(needed) + "  return guarded([&] {\n    " +
            (outputs_.empty() ? "" : "const " + class_ + "::Outputs made = ") + "program->program(" + call + ");\n" +
            store + "  });\n}\n\n";
    text += "void " + c_name_ + "_destroy(" + c_name_ + "* program) noexcept { delete program; }\n\n";
    text += "const char* " + c_name_ + "_error(void) noexcept { return last_error.c_str(); }\n\n}  // extern \"C\"\n";
    return wrapped(text);
  }

  std::string example() const {
    std::string usage, loads, call;
    std::size_t at = 2;
    for (const Input& f : inputs_) {
      usage += " " + f.name + (f.type->is_tensor() ? ".npy" : "");
      const std::string word = "argv[" + std::to_string(at++) + "]";
      if (f.type->is_tensor()) loads += "    const auto " + f.name + " = dycl::host::load_npy(" + word + ");\n";
      call += (call.empty() ? "" : ", ") +
              (f.type->is_tensor()                     ? f.name + ".view()"
               : f.type->kind == ir::Type::Kind::Float ? "std::strtod(" + word + ", nullptr)"
               : f.type->kind == ir::Type::Kind::Bool  ? "std::strtoll(" + word + ", nullptr, 10) != 0"
               : f.type->is_scalar()                   ? "std::strtoll(" + word + ", nullptr, 10)"
                                                       : "dycl::host::Value::none()");
    }
    std::string text = "// Runs " + name_ + " on arrays from .npy files.\n#include <cstdio>\n" +
                       includes(call, {{"std::strto", "cstdlib"}}) + "\n#include \"" + name_ + ".h\"\n\n";
    text += "int main(int argc, char** argv) {\n  if (argc != " + std::to_string(at) +
            ") return std::fprintf(stderr, \"usage: %s " + name_ + ".dycl" + usage +
            "\\n\", argv[0]), 64;\n  try {\n    " + class_ + " program(argv[1]);\n" + loads + "    " +
            (outputs_.empty() ? "" : "const " + class_ + "::Outputs out = ") + "program(" + call + ");\n";
    for (const ResultField& f : outputs_) text += shown(f);
    return wrapped(text +
                   "  } catch (const dycl::host::Failure& failure) {\n    std::fprintf(stderr, \"error: %s\\n\", "
                   "failure.what());\n" +
                   "    if (!failure.error().help.empty()) std::fprintf(stderr, \"  help: %s\\n\", "
                   "failure.error().help.c_str());\n" +
                   "    return static_cast<int>(failure.error().kind);\n  }\n}\n");
  }

  std::string cmake() const {
    return "# Written by dycl emit. Needs the installed runtime: cmake -DCMAKE_PREFIX_PATH=<prefix> ...\n"
           "cmake_minimum_required(VERSION 3.20)\nproject(" +
           name_ +
           " LANGUAGES CXX)\n\nfind_package(dycl_runtime REQUIRED)\n\n"
           "add_library(" +
           name_ + " STATIC " + name_ + ".cpp" + (has_c() ? " " + name_ + "_c.cpp" : "") +
           ")\n"
           "target_compile_features(" +
           name_ +
           " PUBLIC cxx_std_20)\n"
           "# Numbers must come out as the runtime computes them.\n"
           "target_compile_options(" +
           name_ +
           " PRIVATE -Wall -Wextra -Werror -ffp-contract=off)\n"
           "target_include_directories(" +
           name_ +
           " PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
           "target_link_libraries(" +
           name_ +
           " PUBLIC dycl::runtime)\n\n"
           "add_executable(" +
           name_ + "_example main.cpp)\ntarget_link_libraries(" + name_ + "_example PRIVATE " + name_ + ")\n";
  }

 private:
  static std::string refuses_null(const std::vector<std::string>& pointers) {
    std::string text;
    for (const std::string& name : pointers)
      text += "  if (!" + name + ") return failed(DYCL_INVALID_INPUT, \"" + name + " is NULL\");\n";
    return text;
  }
  static std::string safe(const std::string& text) {
    const std::string name = identifier(text);
    static const std::set<std::string> own = {"out", "values", "inputs", "outputs", "argc", "argv", "failure"};
    return is_reserved(name) || own.count(name) ? name + "_" : name;
  }
  // Prints a field of `out`: numbers as they are, of all else how much it holds.
  static std::string shown(const ResultField& f) {
    const std::string field = f.is_array ? "item" : "out." + f.name;
    const bool counts = !f.type.is_scalar();
    const std::string lead =
        f.is_array ? "    for (const auto& item : out." + f.name + ")\n      std::printf(\"" : "    std::printf(\"";
    const std::string number = f.type.kind == ir::Type::Kind::Float ? field : "static_cast<long long>(" + field + ")";
    if (!counts)
      return lead + f.name + (f.type.kind == ir::Type::Kind::Float ? ": %.17g" : ": %lld") + "\\n\", " + number +
             ");\n";
    if (f.type.kind == ir::Type::Kind::Optional)
      return lead + f.name + ": %s\\n\", " + field + ".has_value() ? \"there\" : \"none\");\n";
    if (f.type.is_tensor())
      return lead + f.name + ": %lld elements\\n\", static_cast<long long>(" + field + ".element_count()));\n";
    return lead + f.name + ": %zu items\\n\", " + field + ".size());\n";
  }
  // Before a statement about an array's elements.
  static std::string each(const ResultField& f) {
    return f.is_array ? "for (std::size_t i = 0; i < " + std::to_string(f.count) + "; ++i) " : "";
  }
  static std::string extent(const ResultField& f) { return f.is_array ? "[" + std::to_string(f.count) + "]" : ""; }
  static std::string initial(const ir::Type& type) { return type.is_scalar() ? "{}" : ""; }
  // What the C++ type does not say: dtype and shape.
  static std::string note(const ir::Type& type) {
    const std::string text = ir::to_string(type);
    return text.find('[') == std::string::npos ? "\n" : "  // " + text + "\n";
  }
  // Which fields belong to which `return` of the Python function, where they differ.
  std::string returns_note(const std::string& lead, const std::string& end = "") const {
    std::string text;
    for (std::size_t i = 0; i < returns_.size(); ++i) {
      std::string told = comment_text(returns_[i], 200);
      for (std::size_t at = 0; (at = told.find("*/", at)) != std::string::npos;) told.insert(at + 1, " ");
      text += lead + fields_[0].name + " " + std::to_string(i) + ": " + told + end + "\n";
    }
    return text;
  }
  static std::string c_note(const ir::Type& type) {
    if (type.kind == ir::Type::Kind::Bool) return " /* 0 or 1 */\n";
    return type.is_scalar() ? "\n" : " /* " + ir::to_string(type) + " */\n";
  }
  std::string upper_name() const {
    std::string upper = c_name_;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return upper;
  }
  std::string fingerprint() const {
    char text[40];
    const auto* code = reinterpret_cast<const std::uint8_t*>(package_.plan.code.data());
    std::snprintf(text, sizeof text, "0x%016llxULL",
                  static_cast<unsigned long long>(
                      runtime::checksum_of({code, package_.plan.code.size() * sizeof(std::uint32_t)})));
    return text;
  }
  // Of the function that users call, and of the one behind it, which has handles.
  std::string parameters() const {
    std::vector<std::string> list;
    for (const Input& f : inputs_) list.push_back(parameter_type(*f.type) + " " + f.name);
    return joined(list);
  }
  std::string handles(const std::string& scope) const {
    std::vector<std::string> list;
    for (const CppParameter& p : body_.parameters) {
      const std::string type = scope.empty() ? cpp_type(p.type) : full_type(p.type);
      list.push_back((p.kept && !p.type.is_scalar() ? "const " + type + "& " : type + " ") + p.name);
    }
    return joined(list);
  }
  std::string results() const {
    std::vector<std::string> list;
    for (const ResultField& f : fields_) list.push_back(full_type(f) + " " + f.name);
    return joined(list);
  }
  std::string give() const {
    std::string text = class_ + "::Outputs " + class_ + "::give(" + results() + ") {\n";
    for (const ResultField& f : fields_) {
      const std::string value = f.type.is_scalar() ? f.name : "std::move(" + f.name + ")";
      text += "  result(" + std::to_string(f.first) + ", " + value + ");\n";
    }
    if (outputs_.empty()) return text + "  finish();\n  return {};\n}\n";
    text += "  const auto values = finish();\n  return {";
    std::size_t at = 0;  // among results that are given out
    for (const ResultField& f : outputs_) {
      text += (at ? ",\n          " : "") + ("dycl::host::From<" + outer_type(f) + ">::");
      text += f.is_array ? "values(values.subspan(" + std::to_string(at) + "))"
                         : "value(values[" + std::to_string(at) + "])";
      at += f.count;
    }
    return text + "};\n}\n";
  }

  const package::PackageProgram& package_;
  const ir::Function& main_;
  const std::string name_, class_, c_name_;  // of files, of the class, of functions for C
  const CppBody body_;
  const std::vector<ResultField> fields_;
  const std::vector<std::string> returns_;
  std::vector<ResultField> outputs_;
  std::vector<Input> inputs_;
};

}  // namespace

Result<void> write_cpp_project(const std::filesystem::path& package_path, const CppOptions& given,
                               const std::filesystem::path& folder) {
  CppOptions options = given;
  options.name = project_name(options.name.empty() ? package_path.stem().string() : options.name);
  DYCL_ASSIGN(const package::PackageProgram package, package::read_package_program(package_path));
  std::vector<ResultField> fields = result_fields(package);
  DYCL_ASSIGN(CppBody body, write_cpp_body(package, options, fields));
  const Project project(package, options, std::move(fields), std::move(body));
  if (auto made = make_folder(folder); !made) {
    Error error = std::move(made).error();
    error.help = "give a folder that can be written with -o";
    return error;
  }
  const auto file = [&](const std::string& suffix) { return folder / (options.name + suffix); };
  DYCL_TRY(write_file(file(".h"), project.header()));
  DYCL_TRY(write_file(file(".cpp"), project.source()));
  if (project.has_c()) {
    DYCL_TRY(write_file(file("_c.h"), project.c_header()));
    DYCL_TRY(write_file(file("_c.cpp"), project.c_source()));
  }
  DYCL_TRY(write_file(folder / "main.cpp", project.example()));
  DYCL_TRY(write_file(folder / "CMakeLists.txt", project.cmake()));
  const auto copy = file(".dycl");
  std::error_code none_there;
  if (std::filesystem::equivalent(package_path, copy, none_there)) return {};
  return package::copy_package(package_path, copy);
}

}  // namespace dycl::emit
