// SPDX-License-Identifier: Apache-2.0
#include "inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <random>
#include <set>

#include "support/elements.h"
#include "support/memory.h"

namespace dycl::tools {
namespace {

using runtime::Value;

Error wrong(std::string message, std::string help = {}) {
  return {ErrorKind::InvalidInput, std::move(message), std::move(help), {}, {}};
}

std::string title(const runtime::Program& program, std::size_t index) {
  const runtime::Port& port = program.inputs()[index];
  return "'" + (port.name.empty() ? std::to_string(index) : port.name) + "' (" + port.type.text() + ")";
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_float(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Which arguments are given so far.
class Arguments {
 public:
  explicit Arguments(const runtime::Program& program) : program_(program), given_(program.inputs().size()) {}

  Result<void> add_word(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    const std::string text = equals == std::string::npos ? word : word.substr(equals + 1);
    const auto extension = std::filesystem::path(text).extension();
    if (extension == ".npz" && name.empty()) return add_archive(text);
    if (extension == ".npy") {
      DYCL_ASSIGN(NamedArray array, read_npy(text));
      DYCL_ASSIGN(const std::size_t index, place(name));
      return add_tensor(index, std::move(array));
    }
    DYCL_ASSIGN(const std::size_t index, place(name));
    return add_scalar(index, text);
  }

  // A name that no argument has would be passed over in silence.
  Result<void> check_dims(const std::map<std::string, std::int64_t>& dims) const {
    std::set<std::string> known;
    for (const auto& input : program_.inputs())
      for (const runtime::Dim& dim : input.type.dims)
        if (dim.value < 0) known.insert(dim.expr);
    std::string names;
    for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
    for (const auto& [name, extent] : dims)
      if (known.count(name) == 0)
        return wrong("no argument has an extent '" + name + "'",
                     names.empty() ? "all extents are fixed; leave --dim out" : "there are: " + names);
    return {};
  }

  Result<void> add_random(std::uint64_t seed, const std::map<std::string, std::int64_t>& dims) {
    std::mt19937_64 generator(seed);
    for (std::size_t i = 0; i < given_.size(); ++i)
      if (!given_[i]) DYCL_TRY(draw(i, generator, dims));
    return {};
  }

  Result<Inputs> finish() {
    for (std::size_t i = 0; i < given_.size(); ++i)
      if (!given_[i] && program_.inputs()[i].type.kind == runtime::Type::Kind::Optional)
        given_[i] = Value::none();
      else if (!given_[i])
        return wrong("the argument " + title(program_, i) + " is missing",
                     "give a .npy file or a number, or --random SEED to draw it");
    for (auto& value : given_) inputs_.values.push_back(std::move(*value));
    return std::move(inputs_);
  }

 private:
  // The argument of that name, or the first that is not given yet.
  Result<std::size_t> place(const std::string& name) const {
    const auto& ports = program_.inputs();
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (name.empty() ? !given_[i] : ports[i].name == name) {
        if (given_[i]) return wrong("the argument " + title(program_, i) + " is given twice");
        return i;
      }
    if (name.empty()) return wrong("more arguments than the program's " + std::to_string(ports.size()));
    return wrong("the program has no argument '" + name + "'");
  }

  Result<void> add_tensor(std::size_t index, NamedArray array) {
    const NamedArray& kept = inputs_.tensors.emplace_back(std::move(array));
    // A scalar argument may come as an array with one element.
    const runtime::Type& type = program_.inputs()[index].type;
    const bool scalar = type.kind == runtime::Type::Kind::Bool || type.kind == runtime::Type::Kind::Int ||
                        type.kind == runtime::Type::Kind::Float;
    if (scalar && kept.bytes.size() == size_of(kept.dtype)) {
      scalar::Scalar element;
      if (has_scalars(kept.dtype) &&
          load_element(kept.dtype, kept.bytes.data(), &element) == scalar::Fault::None) {
        given_[index] = element.kind == scalar::Kind::Bool  ? Value::of(element.b)
                        : element.kind == scalar::Kind::Int ? Value::of(std::int64_t{element.i})
                                                            : Value::of(element.f);
        return {};
      }
    }
    given_[index] = Value::of(runtime::Tensor{kept.bytes.data(), kept.dtype, kept.shape});
    return {};
  }

  Result<void> add_archive(const std::string& path) {
    DYCL_ASSIGN(auto arrays, read_npz(path));
    for (NamedArray& array : arrays) {
      const bool by_place = array.name.starts_with("arr_") && parse_int(array.name.substr(4));
      const auto& ports = program_.inputs();
      const bool named = std::any_of(ports.begin(), ports.end(), [&](const auto& p) { return p.name == array.name; });
      DYCL_ASSIGN(const std::size_t index, place(by_place && !named ? "" : array.name));
      DYCL_TRY(add_tensor(index, std::move(array)));
    }
    return {};
  }

  Result<void> add_scalar(std::size_t index, const std::string& text) {
    using Kind = runtime::Type::Kind;
    const runtime::Type* type = &program_.inputs()[index].type;
    if (type->kind == Kind::Optional) {
      if (text == "none") {
        given_[index] = Value::none();
        return {};
      }
      type = &type->element.front();
    }
    if (type->kind == Kind::Bool && (text == "true" || text == "false")) given_[index] = Value::of(text == "true");
    if (const auto i = parse_int(text); type->kind == Kind::Int && i) given_[index] = Value::of(*i);
    if (const auto f = parse_float(text); type->kind == Kind::Float && f) given_[index] = Value::of(*f);
    if (given_[index]) return {};
    return wrong("'" + text + "' is no value for the argument " + title(program_, index),
                 type->kind == Kind::Tensor ? "a tensor comes from a .npy or .npz file" : "");
  }

  Result<std::int64_t> extent(std::size_t index, const runtime::Dim& dim,
                              const std::map<std::string, std::int64_t>& dims) const {
    if (dim.value >= 0) return dim.value;
    if (const auto given = dims.find(dim.expr); given != dims.end()) return given->second;
    for (const runtime::Symbol& symbol : program_.symbols())
      if (symbol.name == dim.expr) return std::max<std::int64_t>(symbol.min, std::min<std::int64_t>(1, symbol.max));
    return wrong("cannot draw the argument " + title(program_, index) + ": an extent is not known",
                 "give this argument as a .npy file");
  }

  Result<void> draw(std::size_t index, std::mt19937_64& generator, const std::map<std::string, std::int64_t>& dims) {
    using Kind = runtime::Type::Kind;
    const runtime::Type& type = program_.inputs()[index].type;
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<std::int64_t> small(0, 9);
    switch (type.kind) {
      case Kind::Bool: given_[index] = Value::of(small(generator) < 5); return {};
      case Kind::Int: given_[index] = Value::of(small(generator)); return {};
      case Kind::Float: given_[index] = Value::of(normal(generator)); return {};
      case Kind::Optional: given_[index] = Value::none(); return {};
      case Kind::List: return wrong("cannot draw the argument " + title(program_, index) + ": a list");
      case Kind::Tensor: break;
    }
    if (!type.rank_known)
      return wrong("cannot draw the argument " + title(program_, index) + ": its rank is not known");
    NamedArray array;
    array.dtype = type.dtype;
    std::uint64_t count = 1;
    for (const runtime::Dim& dim : type.dims) {
      DYCL_ASSIGN(const std::int64_t n, extent(index, dim, dims));
      if (n < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(n), &count) ||
          count > (std::uint64_t{1} << 32))
        return wrong("cannot draw the argument " + title(program_, index) + ": too large");
      array.shape.push_back(n);
    }
    if (!has_scalars(type.dtype))
      return wrong("cannot draw the argument " + title(program_, index) + ": " + std::string(name_of(type.dtype)));
    DYCL_TRY(check_fits_into_memory(count * size_of(type.dtype), "the argument " + title(program_, index)));
    array.bytes.resize(count * size_of(type.dtype));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto value = is_floating(type.dtype)     ? scalar::Scalar::of(normal(generator))
                         : type.dtype == DType::Bool ? scalar::Scalar::of(small(generator) < 5)
                                                     : scalar::Scalar::of(scalar::I64{small(generator)});
      store_element(type.dtype, value, array.bytes.data() + i * size_of(type.dtype));
    }
    return add_tensor(index, std::move(array));
  }

  const runtime::Program& program_;
  std::vector<std::optional<Value>> given_;
  Inputs inputs_;
};

}  // namespace

Result<Inputs> read_inputs(const runtime::Program& program, const InputOptions& options) {
  Arguments arguments(program);
  for (const std::string& word : options.words) DYCL_TRY(arguments.add_word(word));
  DYCL_TRY(arguments.check_dims(options.dims));
  if (options.random_seed) DYCL_TRY(arguments.add_random(*options.random_seed, options.dims));
  return arguments.finish();
}

Result<std::map<std::string, std::int64_t>> parse_dims(const std::vector<std::string>& words) {
  std::map<std::string, std::int64_t> dims;
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const auto value =
        equals == std::string::npos ? std::nullopt : parse_int(std::string_view(word).substr(equals + 1));
    if (!value || *value < 0) return wrong("'" + word + "' is not of the form N=8");
    dims[word.substr(0, equals)] = *value;
  }
  return dims;
}

}  // namespace dycl::tools
