// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <type_traits>

#include "ir/builtin_ops.h"
#include "ir/host_ops.h"
#include "support/elements.h"

namespace dycl::ir::builtin {

namespace {

using Results = Result<std::vector<Tensor>>;

// Integers wrap, as ONNX's kernels do, without undefined behaviour.
template <typename T, typename F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_floating_point_v<T>) {
    return f(a, b);
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  }
}

// ---- two operands ------------------------------------------------------------------

// f(a, b) for numbers of one dtype, into a tensor of `Out` elements.
template <typename Out, typename A, typename F>
Tensor zip(const Tensor& a, const Tensor& b, Shape shape, DType dtype, F f) {
  const auto pa = broadcast_places(a.shape, shape), pb = broadcast_places(b.shape, shape);
  Tensor out = Tensor::zeros(dtype, std::move(shape));
  for (std::size_t i = 0; i < pa.size(); ++i)
    out.data<Out>()[i] = static_cast<Out>(f(a.data<A>()[pa[i]], b.data<A>()[pb[i]]));
  return out;
}

template <typename F>
Results arithmetic(const Call& call, F f) {
  DYCL_TRY(expect(call, 2, 2, {}));
  const Tensor &a = call.operand(0), &b = call.operand(1);
  if (a.dtype != b.dtype) return bad_operand(call, "operands of two dtypes");
  DYCL_ASSIGN(Shape shape, broadcast_shape(call, a.shape, b.shape));
  Tensor out;
  const bool known = with_number(a.dtype, [&](auto type) {
    using T = decltype(type);
    out = zip<T, T>(a, b, shape, a.dtype, f);
  });
  return known ? only(std::move(out)) : Results(unsupported(call, "of " + std::string(name_of(a.dtype))));
}

Results add(const Call& call) {
  return arithmetic(call, [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
}
Results sub(const Call& call) {
  return arithmetic(call, [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x - y; }); });
}
Results mul(const Call& call) {
  return arithmetic(call, [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x * y; }); });
}

bool has_zero(const Tensor& t) {
  bool found = false;
  with_number(t.dtype, [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T>)
      for (std::int64_t i = 0; i < t.count(); ++i) found = found || t.data<T>()[i] == 0;
  });
  return found;
}

Results div(const Call& call) {
  if (call.has(1) && has_zero(call.operand(1))) return bad_operand(call, "integer division by zero");
  return arithmetic(call, [](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_integral_v<T>) {
      if (b == -1) return wrapping(T{0}, a, [](auto x, auto y) { return x - y; });  // also the least integer
    }
    return static_cast<T>(a / b);
  });
}

Results mod(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {"fmod"}));
  if (has_zero(call.operand(1))) return bad_operand(call, "integer modulo by zero");
  const bool c_like = int_attr(call, "fmod", 0) != 0;
  if (!c_like && is_floating(call.operand(0).dtype)) return bad_operand(call, "floats need fmod=1");
  Op plain = call.op;
  plain.attrs.clear();
  return arithmetic(Call{plain, call.in, call.types}, [&](auto a, auto b) {
    using T = decltype(a);
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(std::fmod(a, b));
    } else {
      if (b == -1) return T{0};
      const T rest = a % b;
      return static_cast<T>(!c_like && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
  });
}

Results power(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {}));
  if (call.operand(0).dtype != call.operand(1).dtype || !is_floating(call.operand(0).dtype))
    return unsupported(call, "but of floats of one dtype");
  return arithmetic(call, [](auto a, auto b) {
    return static_cast<decltype(a)>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  });
}

// Max and Min of any number of operands; a NaN wins.
Results extremum(const Call& call, bool want_max) {
  DYCL_TRY(expect(call, 1, 1000, {}));
  Tensor so_far = call.operand(0);
  for (std::size_t i = 1; i < call.in.size(); ++i) {
    if (!call.in[i]) return bad_operand(call, "an operand is left out");
    const Tensor* pair[] = {&so_far, call.in[i]};
    auto next = arithmetic(Call{call.op, pair, call.types}, [want_max](auto a, auto b) {
      if (a != a) return a;
      if (b != b) return b;
      return (want_max ? a > b : a < b) ? a : b;
    });
    if (!next) return next;
    so_far = std::move(next->front());
  }
  return only(std::move(so_far));
}
Results max(const Call& call) { return extremum(call, true); }
Results min(const Call& call) { return extremum(call, false); }

template <typename F>
Results compare(const Call& call, F f) {
  DYCL_TRY(expect(call, 2, 2, {}));
  const Tensor &a = call.operand(0), &b = call.operand(1);
  if (a.dtype != b.dtype) return bad_operand(call, "operands of two dtypes");
  DYCL_ASSIGN(Shape shape, broadcast_shape(call, a.shape, b.shape));
  if (a.dtype == DType::Bool) return only(zip<std::uint8_t, std::uint8_t>(a, b, shape, DType::Bool, f));
  Tensor out;
  const bool known =
      with_number(a.dtype, [&](auto type) { out = zip<std::uint8_t, decltype(type)>(a, b, shape, DType::Bool, f); });
  return known ? only(std::move(out)) : Results(unsupported(call, "of " + std::string(name_of(a.dtype))));
}
Results equal(const Call& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}
Results greater(const Call& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}
Results less(const Call& call) {
  return compare(call, [](auto a, auto b) { return a < b; });
}
Results greater_or_equal(const Call& call) {
  return compare(call, [](auto a, auto b) { return a >= b; });
}
Results less_or_equal(const Call& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}

template <typename F>
Results logical(const Call& call, F f) {
  DYCL_TRY(expect(call, 2, 2, {}));
  if (call.operand(0).dtype != DType::Bool || call.operand(1).dtype != DType::Bool)
    return bad_operand(call, "the operands must be bool");
  return compare(call, f);
}
Results logical_and(const Call& call) {
  return logical(call, [](auto a, auto b) { return a && b; });
}
Results logical_or(const Call& call) {
  return logical(call, [](auto a, auto b) { return a || b; });
}
Results logical_xor(const Call& call) {
  return logical(call, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

Results where(const Call& call) {
  DYCL_TRY(expect(call, 3, 3, {}));
  const Tensor &c = call.operand(0), &a = call.operand(1), &b = call.operand(2);
  if (c.dtype != DType::Bool || a.dtype != b.dtype)
    return bad_operand(call, "takes a bool tensor and two of one dtype");
  DYCL_ASSIGN(Shape pair, broadcast_shape(call, a.shape, b.shape));
  DYCL_ASSIGN(Shape shape, broadcast_shape(call, c.shape, pair));
  const auto pc = broadcast_places(c.shape, shape), pa = broadcast_places(a.shape, shape),
             pb = broadcast_places(b.shape, shape);
  Tensor out = Tensor::zeros(a.dtype, std::move(shape));
  const std::size_t width = size_of(a.dtype);
  for (std::size_t i = 0; i < pc.size(); ++i) {
    const bool first = c.bytes[static_cast<std::size_t>(pc[i])] != 0;
    const std::uint8_t* from = first ? a.bytes.data() + static_cast<std::size_t>(pa[i]) * width
                                     : b.bytes.data() + static_cast<std::size_t>(pb[i]) * width;
    std::memcpy(out.bytes.data() + i * width, from, width);
  }
  return only(std::move(out));
}

// ---- one operand -------------------------------------------------------------------

template <typename F>
Results map(const Call& call, F f, bool floats_only) {
  const Tensor& a = call.operand(0);
  Tensor out = Tensor::zeros(a.dtype, a.shape);
  const bool known = (!floats_only || is_floating(a.dtype)) && with_number(a.dtype, [&](auto type) {
                       using T = decltype(type);
                       for (std::int64_t i = 0; i < a.count(); ++i)
                         out.data<T>()[i] = static_cast<T>(f(a.data<T>()[i]));
                     });
  return known ? only(std::move(out)) : Results(unsupported(call, "of " + std::string(name_of(a.dtype))));
}

// A function of reals, computed in double and rounded once.
template <typename F>
Results real(const Call& call, F f) {
  DYCL_TRY(expect(call, 1, 1, {}));
  return map(
      call, [f](auto a) { return f(static_cast<double>(a)); }, true);
}

Results negate(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {}));
  return map(
      call,
      [](auto a) {
        using T = decltype(a);
        if constexpr (std::is_floating_point_v<T>)
          return -a;
        else
          return wrapping(T{0}, a, [](auto x, auto y) { return x - y; });
      },
      false);
}
Results absolute(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {}));
  return map(
      call,
      [](auto a) {
        using T = decltype(a);
        if constexpr (std::is_floating_point_v<T>)
          return std::fabs(a);
        else
          return a < 0 ? wrapping(T{0}, a, [](auto x, auto y) { return x - y; }) : a;
      },
      false);
}
Results sign(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {}));
  return map(
      call, [](auto a) { return a > 0   ? decltype(a)(1)
                                : a < 0 ? decltype(a)(-1)
                                        : a; }, false);
}
Results relu(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {}));
  return map(
      call, [](auto a) { return a < 0 ? decltype(a)(0) : a; }, false);
}
Results leaky_relu(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {"alpha"}));
  const double alpha = float_attr(call, "alpha", 0.01);
  return map(
      call, [alpha](auto a) { return a < 0 ? static_cast<decltype(a)>(static_cast<decltype(a)>(alpha) * a) : a; },
      true);
}
Results sigmoid(const Call& call) {
  return real(call, [](double a) { return 1.0 / (1.0 + std::exp(-a)); });
}
Results hyperbolic_tangent(const Call& call) {
  return real(call, [](double a) { return std::tanh(a); });
}
Results exponential(const Call& call) {
  return real(call, [](double a) { return std::exp(a); });
}
Results logarithm(const Call& call) {
  return real(call, [](double a) { return std::log(a); });
}
Results square_root(const Call& call) {
  return real(call, [](double a) { return std::sqrt(a); });
}
Results error_function(const Call& call) {
  return real(call, [](double a) { return std::erf(a); });
}
Results sine(const Call& call) {
  return real(call, [](double a) { return std::sin(a); });
}
Results cosine(const Call& call) {
  return real(call, [](double a) { return std::cos(a); });
}
Results floor(const Call& call) {
  return real(call, [](double a) { return std::floor(a); });
}
Results ceil(const Call& call) {
  return real(call, [](double a) { return std::ceil(a); });
}
Results round(const Call& call) {
  return real(call, [](double a) { return std::nearbyint(a); });
}
Results reciprocal(const Call& call) {
  return real(call, [](double a) { return 1.0 / a; });
}
Results softplus(const Call& call) {
  return real(call, [](double a) { return a > 0 ? a + std::log1p(std::exp(-a)) : std::log1p(std::exp(a)); });
}

Results gelu(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {"approximate"}));
  const auto* kind = attr_as<std::string>(call.op, "approximate");
  if (kind && *kind != "none") return unsupported(call, "with approximate=\"" + *kind + "\"");
  return map(
      call,
      [](auto a) {
        return 0.5 * static_cast<double>(a) * (1.0 + std::erf(static_cast<double>(a) * 0.70710678118654752440));
      },
      true);
}

Results clip(const Call& call) {
  DYCL_TRY(expect(call, 1, 3, {}));
  for (std::size_t i = 1; i < 3; ++i)
    if (call.has(i) && (call.operand(i).dtype != call.operand(0).dtype || call.operand(i).count() != 1))
      return bad_operand(call, "a bound must be one element of the same dtype");
  return map(
      call,
      [&](auto a) {
        using T = decltype(a);
        if (call.has(1) && a < *call.operand(1).data<T>()) a = *call.operand(1).data<T>();
        if (call.has(2) && a > *call.operand(2).data<T>()) a = *call.operand(2).data<T>();
        return a;
      },
      false);
}

Results logical_not(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {}));
  if (call.operand(0).dtype != DType::Bool) return bad_operand(call, "the operand must be bool");
  Tensor out = call.operand(0);
  for (std::uint8_t& b : out.bytes) b = !b;
  return only(std::move(out));
}

template <typename F>
Results classify(const Call& call, F f) {
  DYCL_TRY(expect(call, 1, 1, {}));
  const Tensor& a = call.operand(0);
  Tensor out = Tensor::zeros(DType::Bool, a.shape);
  const bool known = is_floating(a.dtype) && with_number(a.dtype, [&](auto type) {
                       for (std::int64_t i = 0; i < a.count(); ++i)
                         out.bytes[static_cast<std::size_t>(i)] = f(static_cast<double>(a.data<decltype(type)>()[i]));
                     });
  return known ? only(std::move(out)) : Results(unsupported(call, "of " + std::string(name_of(a.dtype))));
}
Results is_nan(const Call& call) {
  return classify(call, [](double a) { return std::isnan(a); });
}
Results is_inf(const Call& call) {
  return classify(call, [](double a) { return std::isinf(a); });
}

// ---- Cast --------------------------------------------------------------------------

template <typename From, typename To>
To convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Out of range is undefined in C++; x86's answer (the least integer) is what engines give.
    const double truncated = std::trunc(static_cast<double>(value));
    const double limit = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (!(truncated >= -limit && truncated < limit)) return std::numeric_limits<To>::min();
    return static_cast<To>(truncated);
  } else {
    return static_cast<To>(value);
  }
}

Results cast_to(const Call& call, DType to) {
  const Tensor& a = call.operand(0);
  Tensor out = Tensor::zeros(to, a.shape);
  const auto count = static_cast<std::size_t>(a.count());
  bool known = true;
  const auto from_numbers = [&](auto* from) {
    using From = std::remove_cv_t<std::remove_pointer_t<decltype(from)>>;
    if (to == DType::Bool) {
      for (std::size_t i = 0; i < count; ++i) out.bytes[i] = from[i] != From{0};
      return;
    }
    known = with_number(to, [&](auto type) {
      using To = decltype(type);
      for (std::size_t i = 0; i < count; ++i) out.data<To>()[i] = convert<From, To>(from[i]);
    });
  };
  if (a.dtype == DType::Bool)
    from_numbers(a.bytes.data());
  else
    known = with_number(a.dtype, [&](auto type) { from_numbers(a.data<decltype(type)>()); }) && known;
  return known
             ? only(std::move(out))
             : Results(unsupported(call, "from " + std::string(name_of(a.dtype)) + " to " + std::string(name_of(to))));
}

Results cast(const Call& call) {
  DYCL_TRY(expect(call, 1, 1, {"to", "saturate"}));
  const auto to = dtype_of_code(static_cast<int>(int_attr(call, "to", 0)));
  if (!to) return bad_operand(call, "there is no dtype with number " + std::to_string(int_attr(call, "to", 0)));
  return cast_to(call, *to);
}
Results cast_like(const Call& call) {
  DYCL_TRY(expect(call, 2, 2, {}));
  return cast_to(call, call.operand(1).dtype);
}

constexpr OpEntry kOps[] = {
    {"Add", add},
    {"Sub", sub},
    {"Mul", mul},
    {"Div", div},
    {"Mod", mod},
    {"Pow", power},
    {"Max", max},
    {"Min", min},
    {"Equal", equal},
    {"Greater", greater},
    {"Less", less},
    {"GreaterOrEqual", greater_or_equal},
    {"LessOrEqual", less_or_equal},
    {"And", logical_and},
    {"Or", logical_or},
    {"Xor", logical_xor},
    {"Not", logical_not},
    {"Where", where},
    {"Neg", negate},
    {"Abs", absolute},
    {"Sign", sign},
    {"Relu", relu},
    {"LeakyRelu", leaky_relu},
    {"Sigmoid", sigmoid},
    {"Tanh", hyperbolic_tangent},
    {"Exp", exponential},
    {"Log", logarithm},
    {"Sqrt", square_root},
    {"Erf", error_function},
    {"Sin", sine},
    {"Cos", cosine},
    {"Floor", floor},
    {"Ceil", ceil},
    {"Round", round},
    {"Reciprocal", reciprocal},
    {"Softplus", softplus},
    {"Gelu", gelu},
    {"Clip", clip},
    {"IsNaN", is_nan},
    {"IsInf", is_inf},
    {"Cast", cast},
    {"CastLike", cast_like},
};

}  // namespace

std::span<const OpEntry> elementwise_ops() { return kOps; }

}  // namespace dycl::ir::builtin
