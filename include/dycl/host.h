// SPDX-License-Identifier: Apache-2.0
// What host programs written by `dycl emit` stand on: handles to tensors and lists, Python's
// arithmetic, and calls of a package's sub-DNNs. The same engines, buffers and checks as the runtime's own
// walker (dycl/runtime.h), so that both give the same bits; after warm-up nothing here allocates.
//
// Machine: one caller's run of one package; emitted classes derive from it. One thread at a time.
// Tensor, List<T>: counted references to what the machine holds; they must not outlive it. An
// optional is a list of at most one.
//
// What goes wrong is thrown as Failure: the error that runtime::Run::run would return, but for the
// place in the model's source.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dycl/dycl.h"
#include "dycl/runtime.h"
#include "support/scalar_ops.h"

#if defined(__FAST_MATH__)
#error "emitted programs compute as Python does: build them without -ffast-math"
#endif

namespace dycl {
struct DrawParameters;
}
namespace dycl::runtime {
struct TensorObject;
struct ListObject;
}  // namespace dycl::runtime

namespace dycl::host {

// Emitted sources name the version they were written for; a header that no longer fits refuses them.
inline constexpr int kInterface = 2;

using runtime::Value;
using View = runtime::Tensor;  // of memory that somebody else owns

class DYCL_API Failure : public std::runtime_error {
 public:
  explicit Failure(Error error);
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// ---- handles --------------------------------------------------------------------

namespace detail {
DYCL_API void retain(runtime::TensorObject* t) noexcept;
DYCL_API void retain(runtime::ListObject* l) noexcept;
DYCL_API void release(runtime::TensorObject* t) noexcept;
DYCL_API void release(runtime::ListObject* l) noexcept;

template <typename Object>
class Handle {
 public:
  Handle() = default;
  explicit Handle(Object* owned) : held_(owned) {}
  Handle(const Handle& other) : held_(other.held_) {
    if (held_) retain(held_);
  }
  Handle(Handle&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }
  ~Handle() {
    if (held_) release(held_);
  }
  Object* get() const { return held_; }
  Object* give() && { return std::exchange(held_, nullptr); }  // the reference goes to the caller

 private:
  Object* held_ = nullptr;
};
}  // namespace detail

class Tensor : public detail::Handle<runtime::TensorObject> {
 public:
  using Handle::Handle;
};

template <typename T>
class List : public detail::Handle<runtime::ListObject> {
 public:
  using Handle::Handle;
};
template <typename T>
using Optional = List<T>;

namespace detail {

// How the machine sees elements: 0 scalars, 1 tensors, 2 lists.
template <typename T>
inline constexpr std::uint8_t kKind = std::is_arithmetic_v<T>     ? 0
                                      : std::is_same_v<T, Tensor> ? 1
                                                                  : 2;

template <typename T>
std::uint64_t to_bits(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? 1 : 0;
  else if constexpr (std::is_arithmetic_v<T>)
    return std::bit_cast<std::uint64_t>(value);
  else
    return reinterpret_cast<std::uint64_t>(std::move(value).give());
}

// Without giving up the reference.
template <typename T>
std::uint64_t peek_bits(const T& value) {
  if constexpr (std::is_arithmetic_v<T>)
    return to_bits(value);
  else
    return reinterpret_cast<std::uint64_t>(value.get());
}

template <typename T>
T from_bits(std::uint64_t bits) {
  if constexpr (std::is_same_v<T, bool>)
    return (bits & 0xff) != 0;
  else if constexpr (std::is_arithmetic_v<T>)
    return std::bit_cast<T>(bits);
  else if constexpr (std::is_same_v<T, Tensor>)
    return T(reinterpret_cast<runtime::TensorObject*>(bits));
  else
    return T(reinterpret_cast<runtime::ListObject*>(bits));
}

template <typename T>
scalar::Scalar to_scalar(T value) {
  return scalar::Scalar::of(value);
}
template <typename T>
T from_scalar(const scalar::Scalar& s) {
  if constexpr (std::is_same_v<T, bool>)
    return s.b;
  else if constexpr (std::is_same_v<T, double>)
    return s.f;
  else
    return s.i;
}

[[noreturn]] DYCL_API void fault(scalar::Fault f);

template <scalar::OpCode kOp, typename R, typename A>
R compute(A a, A b) {
  scalar::Scalar result;
  const scalar::Fault f = scalar::apply(kOp, to_scalar(a), to_scalar(b), &result);
  if (f != scalar::Fault::None) [[unlikely]]
    fault(f);
  return from_scalar<R>(result);
}

}  // namespace detail

// ---- Python's arithmetic ----------------------------------------------------------

#define DYCL_HOST_BINARY(name, op, result, operand) \
  inline result name(operand a, operand b) { return detail::compute<scalar::OpCode::op, result>(a, b); }
#define DYCL_HOST_UNARY(name, op, result, operand) \
  inline result name(operand a) { return detail::compute<scalar::OpCode::op, result>(a, a); }
// clang-format off
DYCL_HOST_BINARY(int_add, IntAdd, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_sub, IntSub, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_mul, IntMul, std::int64_t, std::int64_t)
DYCL_HOST_UNARY(int_neg, IntNeg, std::int64_t, std::int64_t)
DYCL_HOST_UNARY(int_abs, IntAbs, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_floordiv, IntFloordiv, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_mod, IntMod, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_truediv, IntTruediv, double, std::int64_t)
DYCL_HOST_BINARY(int_pow, IntPow, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_shl, IntShl, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_shr, IntShr, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_min, IntMin, std::int64_t, std::int64_t)
DYCL_HOST_BINARY(int_max, IntMax, std::int64_t, std::int64_t)
DYCL_HOST_UNARY(int_to_float, IntToFloat, double, std::int64_t)
DYCL_HOST_UNARY(int_to_bool, IntToBool, bool, std::int64_t)
DYCL_HOST_BINARY(float_truediv, FloatTruediv, double, double)
DYCL_HOST_BINARY(float_floordiv, FloatFloordiv, double, double)
DYCL_HOST_BINARY(float_mod, FloatMod, double, double)
DYCL_HOST_BINARY(float_pow, FloatPow, double, double)
DYCL_HOST_UNARY(float_abs, FloatAbs, double, double)
DYCL_HOST_BINARY(float_min, FloatMin, double, double)
DYCL_HOST_BINARY(float_max, FloatMax, double, double)
DYCL_HOST_UNARY(float_to_int, FloatToInt, std::int64_t, double)
DYCL_HOST_UNARY(float_round, FloatRound, std::int64_t, double)
DYCL_HOST_UNARY(float_floor, FloatFloor, std::int64_t, double)
DYCL_HOST_UNARY(float_ceil, FloatCeil, std::int64_t, double)
DYCL_HOST_UNARY(float_to_bool, FloatToBool, bool, double)
DYCL_HOST_UNARY(float_to_f32, FloatToF32, double, double)
DYCL_HOST_UNARY(float_sqrt, FloatSqrt, double, double)
DYCL_HOST_UNARY(float_exp, FloatExp, double, double)
DYCL_HOST_UNARY(float_log, FloatLog, double, double)
DYCL_HOST_UNARY(float_log2, FloatLog2, double, double)
DYCL_HOST_UNARY(float_log10, FloatLog10, double, double)
DYCL_HOST_UNARY(float_sin, FloatSin, double, double)
DYCL_HOST_UNARY(float_cos, FloatCos, double, double)
DYCL_HOST_UNARY(float_tan, FloatTan, double, double)
DYCL_HOST_UNARY(float_tanh, FloatTanh, double, double)
DYCL_HOST_UNARY(float_asin, FloatAsin, double, double)
DYCL_HOST_UNARY(float_acos, FloatAcos, double, double)
DYCL_HOST_UNARY(float_atan, FloatAtan, double, double)
DYCL_HOST_UNARY(float_sinh, FloatSinh, double, double)
DYCL_HOST_UNARY(float_cosh, FloatCosh, double, double)
DYCL_HOST_UNARY(float_expm1, FloatExpm1, double, double)
DYCL_HOST_UNARY(float_log1p, FloatLog1p, double, double)
DYCL_HOST_UNARY(float_erf, FloatErf, double, double)
DYCL_HOST_UNARY(float_isnan, FloatIsnan, bool, double)
DYCL_HOST_UNARY(float_isinf, FloatIsinf, bool, double)
DYCL_HOST_UNARY(float_isfinite, FloatIsfinite, bool, double)
DYCL_HOST_BINARY(float_atan2, FloatAtan2, double, double)
DYCL_HOST_BINARY(float_fmod, FloatFmod, double, double)
DYCL_HOST_BINARY(float_copysign, FloatCopysign, double, double)
DYCL_HOST_BINARY(float_hypot, FloatHypot, double, double)
DYCL_HOST_UNARY(bool_to_int, BoolToInt, std::int64_t, bool)
DYCL_HOST_UNARY(bool_to_float, BoolToFloat, double, bool)
// clang-format on
#undef DYCL_HOST_BINARY
#undef DYCL_HOST_UNARY

// ---- one caller's run ----------------------------------------------------------------

class DYCL_API Machine {
 public:
  // `fingerprint` is that of the program the source was emitted from; a package of another program is refused.
  Machine(const std::filesystem::path& package, std::uint64_t fingerprint, runtime::LoadOptions options = {});
  ~Machine();
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;

  // States, seed, limits, where prints go. Its run() walks the package: the same answers.
  runtime::Run& run();
  const runtime::Program& program() const;
  // Results of the last call as values; as long as its views are valid.
  std::span<const Value> last_results() const;

 protected:
  // Counts the rounds of a loop and ends one that runs too long, or with the run it is in (RunOptions).
  class Loop {
   public:
    Loop(Machine& machine, std::uint32_t number) : machine_(machine), number_(number) {}
    void next() { machine_.next_round(number_, ++rounds_); }

   private:
    Machine& machine_;
    std::uint32_t number_;
    std::int64_t rounds_ = 0;
  };
  Loop limited(std::uint32_t number) { return Loop(*this, number); }

  // Checks and takes the arguments; ends the run on every way out.
  class Frame {
   public:
    Frame(Machine& machine, std::initializer_list<Value> arguments) : machine_(machine) {
      machine.begin({arguments.begin(), arguments.size()});
    }
    ~Frame() { machine_.leave(); }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    Machine& machine_;
  };

  template <typename T>
  T input(std::uint32_t index) {
    return detail::from_bits<T>(take_input(index));
  }
  template <typename T>
  T constant(std::uint32_t index) {
    return detail::from_bits<T>(take_constant(index));
  }
  template <typename T>
  void result(std::uint32_t index, T value) {
    put_result(index, detail::to_bits(std::move(value)));
  }
  // Results that follow one another.
  template <typename T, std::size_t kCount>
  void result(std::uint32_t first, std::array<T, kCount> values) {
    for (std::size_t i = 0; i < kCount; ++i) result(first + static_cast<std::uint32_t>(i), std::move(values[i]));
  }
  // Ends a run that succeeded; views of its results, valid until the next run.
  std::span<const Value> finish();

  // -- sub-DNNs. A tensor that is moved in is given back to the heap when the call is over. --
  template <typename... In>
  Tensor call(std::uint32_t sub_dnn, In&&... in) {
    runtime::TensorObject* made = nullptr;
    invoke_with(sub_dnn, &made, 1, Argument<In>(std::forward<In>(in))...);
    return Tensor(made);
  }
  template <std::size_t kResults, typename... In>
  std::array<Tensor, kResults> call_many(std::uint32_t sub_dnn, In&&... in) {
    std::array<runtime::TensorObject*, kResults> made{};
    invoke_with(sub_dnn, made.data(), kResults, Argument<In>(std::forward<In>(in))...);
    return [&made]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      return std::array<Tensor, kResults>{Tensor(made[kIndex])...};
    }
    (std::make_index_sequence<kResults>());
  }

  // Where results of a call go: `into(x, found) = call_many<2>(kLayer, x)`. A number takes the only element
  // of its result, std::ignore nothing.
  template <typename... To>
  class Into {
   public:
    Into(Machine& machine, To&... to) : machine_(machine), to_(to...) {}
    Into& operator=(std::array<Tensor, sizeof...(To)> results) {
      store(results, std::index_sequence_for<To...>());
      return *this;
    }

   private:
    template <std::size_t... kIndex>
    void store(std::array<Tensor, sizeof...(To)>& results, std::index_sequence<kIndex...>) {
      (store_one(std::get<kIndex>(to_), results[kIndex]), ...);
    }
    template <typename T>
    void store_one(T& to, Tensor& result) {
      if constexpr (std::is_arithmetic_v<T>)
        to = machine_.item<T>(result);
      else
        to = std::move(result);
    }
    Machine& machine_;
    std::tuple<To&...> to_;
  };
  template <typename... To>
  Into<To...> into(To&... to) {
    return Into<To...>(*this, to...);
  }

  // -- functions of the host, as LoadOptions::host_functions has them --
  struct HostFunction {
    std::uint32_t number;
    std::vector<std::uint32_t> inputs, results;  // types
  };
  HostFunction host_function(const char* name, std::initializer_list<const char*> inputs,
                             std::initializer_list<const char*> results) const;
  // One result, or a tuple of several.
  template <typename... Out, typename... In>
  auto call_host(const HostFunction& function, In... in) {
    std::array<std::uint64_t, sizeof...(In)> inputs = {detail::peek_bits(in)...};
    std::array<std::uint64_t, sizeof...(Out)> results{};
    invoke_host(function, inputs.data(), results.data());
    std::tuple<Out...> made = tuple_of<Out...>(results, std::index_sequence_for<Out...>());
    if constexpr (sizeof...(Out) == 1)
      return std::get<0>(std::move(made));
    else
      return made;
  }

  // -- tensors --
  template <typename T>
  T item(const Tensor& t) {
    return detail::from_scalar<T>(read_item(t.get()));
  }
  template <typename T>
  Tensor to_tensor(T value, std::uint32_t type) {
    return Tensor(make_scalar_tensor(detail::to_scalar(value), type));
  }
  std::int64_t dim(const Tensor& t, std::uint32_t axis);
  std::int64_t size(const Tensor& t);
  // Of the distribution that docs/ir.md calls "rand.<name>".
  Tensor draw(std::string_view name, std::uint32_t type, std::initializer_list<double> parameters,
              std::initializer_list<std::int64_t> extents);
  Tensor integers(std::uint32_t type, std::int64_t low, std::int64_t high, std::initializer_list<std::int64_t> extents);
  // As draw: of those whose parameters are ints, or tensors.
  Tensor draw_integers(std::string_view name, std::uint32_t type, std::initializer_list<std::int64_t> parameters,
                       std::initializer_list<std::int64_t> extents);
  Tensor draw_samples(std::string_view name, std::uint32_t type, std::initializer_list<Tensor> parameters,
                      std::initializer_list<std::int64_t> extents);
  Tensor random_state(std::uint32_t type);
  void set_random_state(const Tensor& state);
  void lend_random(const Tensor& state);  // draws go on from there until it is given back
  Tensor give_back_random(std::uint32_t type);
  void seed(std::int64_t seed);

  // -- lists and optionals --
  template <typename T, typename... Items>
  List<T> list(Items... items) {
    List<T> made(new_list(detail::kKind<T>));
    (push(made.get(), detail::to_bits<T>(std::move(items))), ...);
    return made;
  }
  template <typename T>
  List<T> append(List<T> l, std::type_identity_t<T> item) {
    List<T> own(own_list(std::move(l).give()));
    push(own.get(), detail::to_bits<T>(std::move(item)));
    return own;
  }
  template <typename T>
  T get(const List<T>& l, std::int64_t index) {
    return detail::from_bits<T>(element(l.get(), index));
  }
  template <typename T>
  List<T> set(List<T> l, std::int64_t index, std::type_identity_t<T> item) {
    const std::size_t place = place_to_set(l.get(), index);
    List<T> own(own_list(std::move(l).give()));
    replace(own.get(), place, detail::to_bits<T>(std::move(item)));
    return own;
  }
  template <typename T>
  std::int64_t len(const List<T>& l) {
    return length(l.get());
  }
  template <typename T>
  List<T> concat(List<T> l, List<T> more) {
    List<T> own(own_list(std::move(l).give()));
    push_all(own.get(), more.get());
    return own;
  }
  template <typename T>
  List<T> slice(const List<T>& l, std::int64_t from, std::int64_t until) {
    return List<T>(part(l.get(), from, until));
  }
  template <typename T>
  std::pair<List<T>, T> pop(List<T> l, std::int64_t index) {
    const std::size_t place = place_to_pop(l.get(), index);
    List<T> own(own_list(std::move(l).give()));
    T item = detail::from_bits<T>(remove(own.get(), place));
    return {std::move(own), std::move(item)};
  }
  template <typename T>
  List<T> insert(List<T> l, std::int64_t index, std::type_identity_t<T> item) {
    List<T> own(own_list(std::move(l).give()));
    insert_at(own.get(), index, detail::to_bits<T>(std::move(item)));
    return own;
  }
  template <typename T>
  List<T> to_list(const Tensor& t) {
    return List<T>(list_of(t.get()));
  }
  template <typename T>
  Tensor list_to_tensor(const List<T>& l, std::uint32_t type) {
    constexpr char kElement = std::is_same_v<T, bool> ? 'b' : std::is_same_v<T, double> ? 'f' : 'i';
    return Tensor(tensor_of(l.get(), kElement, type));
  }
  Tensor stack(const List<Tensor>& l, std::int32_t axis, std::uint32_t type) {
    return Tensor(join(l.get(), axis, true, type));
  }
  Tensor cat(const List<Tensor>& l, std::int32_t axis, std::uint32_t type) {
    return Tensor(join(l.get(), axis, false, type));
  }
  template <typename T>
  bool is_some(const Optional<T>& o) {
    return length(o.get()) != 0;
  }
  template <typename T>
  T value_of(const Optional<T>& o) {
    return detail::from_bits<T>(inside(o.get()));
  }

  // -- effects --
  template <typename... Args>
  void print(std::string_view format, Args... args) {
    write(format, {detail::to_scalar(args)...});
  }
  // What a caller finds written if the program raises (docs/ir.md): name (a literal), type and value of each.
  template <typename T, typename... More>
  void keep(std::string_view name, std::uint32_t type, T value, More... more) {
    keep_bits(name, type, detail::to_bits<T>(std::move(value)));
    if constexpr (sizeof...(More) > 0) keep(std::move(more)...);
  }
  template <typename... Args>
  [[noreturn]] void raise(std::string_view type, std::string_view format, Args... args) {
    raise_error(type, format, {detail::to_scalar(args)...});
  }
  void check(bool held, const char* type, const char* message) {
    if (!held) [[unlikely]]
      check_failed(type, message);
  }

  // -- decisions of sources emitted with --watch: as traced and forced ones of runtime::Run --
  bool taken(std::uint32_t decision, bool condition) { return decide(decision, condition ? 1 : 0) == 1; }
  std::uint32_t arm(std::uint32_t decision, std::int64_t selector, std::initializer_list<std::int64_t> cases);

  // Indices of types in the package, by their text.
  std::uint32_t type(const char* text) const;

 private:
  friend class Frame;
  void begin(std::span<const Value> arguments);
  void leave() noexcept;
  std::uint64_t take_input(std::uint32_t index);
  std::uint64_t take_constant(std::uint32_t index);
  void put_result(std::uint32_t index, std::uint64_t bits);
  // A variable is read where it is, anything else is taken.
  template <typename T>
  using Argument = std::conditional_t<std::is_lvalue_reference_v<T>, const Tensor&, Tensor>;
  template <typename... In>
  void invoke_with(std::uint32_t sub_dnn, runtime::TensorObject** out, std::size_t out_count, const In&... in) {
    const std::array<runtime::TensorObject*, sizeof...(In)> inputs = {in.get()...};
    invoke(sub_dnn, inputs.data(), inputs.size(), out, out_count);
  }
  void invoke(std::uint32_t sub_dnn, runtime::TensorObject* const* in, std::size_t in_count,
              runtime::TensorObject** out, std::size_t out_count);
  template <typename... Out, std::size_t... kIndex>
  static std::tuple<Out...> tuple_of(const std::array<std::uint64_t, sizeof...(Out)>& bits,
                                     std::index_sequence<kIndex...> /*indices*/) {
    return {detail::from_bits<Out>(bits[kIndex])...};
  }
  void invoke_host(const HostFunction& function, const std::uint64_t* in, std::uint64_t* out);
  Tensor state_tensor(std::uint32_t type, std::span<const std::uint8_t> state);
  Tensor drawn(std::uint32_t type, std::string_view name, const DrawParameters& parameters,
               std::span<const std::int64_t> extents);
  scalar::Scalar read_item(const runtime::TensorObject* t);
  runtime::TensorObject* make_scalar_tensor(const scalar::Scalar& value, std::uint32_t type);
  runtime::ListObject* new_list(std::uint8_t kind);
  runtime::ListObject* own_list(runtime::ListObject* owned);
  void push(runtime::ListObject* l, std::uint64_t bits);
  std::uint64_t element(const runtime::ListObject* l, std::int64_t index);
  std::size_t place_to_set(const runtime::ListObject* l, std::int64_t index);
  std::size_t place_to_pop(const runtime::ListObject* l, std::int64_t index);
  void replace(runtime::ListObject* l, std::size_t place, std::uint64_t bits);
  std::uint64_t remove(runtime::ListObject* l, std::size_t place);
  void insert_at(runtime::ListObject* l, std::int64_t index, std::uint64_t bits);
  void push_all(runtime::ListObject* l, const runtime::ListObject* more);
  static std::int64_t length(const runtime::ListObject* l);
  runtime::ListObject* part(const runtime::ListObject* l, std::int64_t from, std::int64_t until);
  runtime::ListObject* list_of(const runtime::TensorObject* t);
  runtime::TensorObject* tensor_of(const runtime::ListObject* l, char element, std::uint32_t type);
  runtime::TensorObject* join(const runtime::ListObject* l, std::int32_t axis, bool stack, std::uint32_t type);
  std::uint64_t inside(const runtime::ListObject* l);
  void write(std::string_view format, std::initializer_list<scalar::Scalar> args);
  void keep_bits(std::string_view name, std::uint32_t type, std::uint64_t bits);
  [[noreturn]] void raise_error(std::string_view type, std::string_view format,
                                std::initializer_list<scalar::Scalar> args);
  [[noreturn]] void check_failed(const char* type, const char* message);
  void next_round(std::uint32_t loop, std::int64_t rounds);
  std::uint32_t decide(std::uint32_t decision, std::uint32_t arm);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// ---- for the edges of emitted classes ---------------------------------------------------

// A result as its plain type: a view, a number, a vector or an optional of such.
template <typename T>
struct From {
  static T value(const Value& v) {
    if constexpr (std::is_same_v<T, View>)
      return v.tensor;
    else if constexpr (std::is_same_v<T, bool>)
      return v.boolean;
    else if constexpr (std::is_same_v<T, double>)
      return v.floating;
    else
      return v.integer;
  }
};
template <typename T>
struct From<std::vector<T>> {
  static std::vector<T> value(const Value& v) {
    std::vector<T> out;
    for (const Value& item : v.elements) out.push_back(From<T>::value(item));
    return out;
  }
};
template <typename T, std::size_t kCount>
struct From<std::array<T, kCount>> {
  static std::array<T, kCount> values(std::span<const Value> all) {
    std::array<T, kCount> out{};
    for (std::size_t i = 0; i < kCount; ++i) out[i] = From<T>::value(all[i]);
    return out;
  }
};
template <typename T>
struct From<std::optional<T>> {
  static std::optional<T> value(const Value& v) {
    if (v.kind == Value::Kind::None) return std::nullopt;
    return From<T>::value(v);
  }
};

// To and from the C ABI's tensors; a dtype or layout that is not taken throws Failure.
DYCL_API View view_of(const dycl_tensor& tensor);
DYCL_API dycl_tensor c_tensor_of(const View& view);
// What dycl_program_load makes of them (NULL: of none). Throws Failure where it refuses them.
DYCL_API runtime::LoadOptions load_options_of(const dycl_load_options* options);

// ---- for main() -----------------------------------------------------------------------

// A .npy file in memory. Throws Failure.
struct Array {
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
  View view() const { return {bytes.data(), dtype, shape}; }
};
DYCL_API Array load_npy(const std::filesystem::path& path);

}  // namespace dycl::host
