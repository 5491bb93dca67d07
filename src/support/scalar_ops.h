// SPDX-License-Identifier: Apache-2.0
// What host ops on bool, int and float mean: exactly what CPython computes, or
// a Fault where CPython raises (or where an int would leave 64 bits). One
// function per op of docs/ir.md; `apply` runs an op by its number. Interpreter,
// constant folding and runtime all compute through this header.
//
// Pure, thread-safe, no allocation, no exceptions. Relies on IEEE doubles, the
// default rounding mode and the C library that CPython itself uses for `math`.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/result.h"

namespace dycl::scalar {

// Why an op has no result. Packages store none of these numbers.
enum class Fault : std::uint8_t {
  None,
  IntOverflow,  // a result that needs more than 64 bits
  IntDivisionByZero,
  IntModuloByZero,
  TrueDivisionByZero,
  FloatDivisionByZero,
  FloatFloorDivisionByZero,
  FloatModuloByZero,
  NegativeIntPower,
  NegativeShift,
  ZeroToNegativePower,
  ComplexPower,  // Python's answer would be a complex number
  PowerRange,
  MathDomain,
  MathRange,
  NanToInt,
  InfinityToInt,
  IntOutOfDtype,  // to_tensor of an int its dtype cannot hold
};

// The class of the exception that Python raises there.
constexpr const char* exception_type(Fault fault) {
  switch (fault) {
    case Fault::None: return "";
    case Fault::IntOverflow:
    case Fault::PowerRange:
    case Fault::MathRange:
    case Fault::InfinityToInt: return "OverflowError";
    case Fault::IntDivisionByZero:
    case Fault::IntModuloByZero:
    case Fault::TrueDivisionByZero:
    case Fault::FloatDivisionByZero:
    case Fault::FloatFloorDivisionByZero:
    case Fault::FloatModuloByZero:
    case Fault::ZeroToNegativePower: return "ZeroDivisionError";
    case Fault::IntOutOfDtype: return "RuntimeError";
    default: return "ValueError";
  }
}

// Its message: CPython 3.11's where CPython has one.
constexpr const char* message(Fault fault) {
  switch (fault) {
    case Fault::None: return "";
    case Fault::IntOverflow: return "integer result does not fit in 64 bits";
    case Fault::IntDivisionByZero: return "integer division or modulo by zero";
    case Fault::IntModuloByZero: return "integer modulo by zero";
    case Fault::TrueDivisionByZero: return "division by zero";
    case Fault::FloatDivisionByZero: return "float division by zero";
    case Fault::FloatFloorDivisionByZero: return "float floor division by zero";
    case Fault::FloatModuloByZero: return "float modulo";
    case Fault::NegativeIntPower: return "int.pow needs an exponent >= 0";
    case Fault::NegativeShift: return "negative shift count";
    case Fault::ZeroToNegativePower: return "0.0 cannot be raised to a negative power";
    case Fault::ComplexPower: return "a negative number to a fractional power is complex, which is not supported";
    case Fault::PowerRange: return "(34, 'Numerical result out of range')";
    case Fault::MathDomain: return "math domain error";
    case Fault::MathRange: return "math range error";
    case Fault::NanToInt: return "cannot convert float NaN to integer";
    case Fault::InfinityToInt: return "cannot convert float infinity to integer";
    case Fault::IntOutOfDtype: return "value cannot be converted to the tensor's dtype without overflow";
  }
  return "";
}

inline Error to_error(Fault fault, SourceSpan span = {}) {
  return Error{ErrorKind::RuntimeFailure, message(fault), {}, span, exception_type(fault)};
}

// ---- int -----------------------------------------------------------------------

using I64 = std::int64_t;
inline constexpr I64 kIntMin = std::numeric_limits<I64>::min();
inline constexpr I64 kIntMax = std::numeric_limits<I64>::max();

inline Fault int_add(I64 a, I64 b, I64* out) {
  return __builtin_add_overflow(a, b, out) ? Fault::IntOverflow : Fault::None;
}
inline Fault int_sub(I64 a, I64 b, I64* out) {
  return __builtin_sub_overflow(a, b, out) ? Fault::IntOverflow : Fault::None;
}
inline Fault int_mul(I64 a, I64 b, I64* out) {
  return __builtin_mul_overflow(a, b, out) ? Fault::IntOverflow : Fault::None;
}
inline Fault int_neg(I64 a, I64* out) { return int_sub(0, a, out); }
inline Fault int_abs(I64 a, I64* out) {
  if (a < 0) return int_neg(a, out);
  *out = a;
  return Fault::None;
}

// Floor division and its remainder, which takes the divisor's sign.
inline Fault int_floordiv(I64 a, I64 b, I64* out) {
  if (b == 0) return Fault::IntDivisionByZero;
  if (a == kIntMin && b == -1) return Fault::IntOverflow;
  const I64 quotient = a / b;
  *out = quotient - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
  return Fault::None;
}
inline Fault int_mod(I64 a, I64 b, I64* out) {
  if (b == 0) return Fault::IntModuloByZero;
  if (b == -1) return *out = 0, Fault::None;  // also INT64_MIN % -1
  const I64 remainder = a % b;
  *out = (remainder != 0 && ((remainder < 0) != (b < 0))) ? remainder + b : remainder;
  return Fault::None;
}

// The quotient, correctly rounded (not the quotient of rounded operands).
inline Fault int_truediv(I64 a, I64 b, double* out) {
  if (b == 0) return Fault::TrueDivisionByZero;
  const auto magnitude = [](I64 v) {
    return v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
  };
  const std::uint64_t ua = magnitude(a), ub = magnitude(b);
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  if (ua <= kExact && ub <= kExact) return *out = static_cast<double>(a) / static_cast<double>(b), Fault::None;
  if (ua == 0) return *out = 0.0, Fault::None;
  // A quotient of 55 bits or more, its last bit sticky: the conversion to double then rounds once.
  const int shift = std::max(0, 55 - (static_cast<int>(std::bit_width(ua)) - static_cast<int>(std::bit_width(ub))));
  __extension__ typedef unsigned __int128 Wide;
  const Wide numerator = static_cast<Wide>(ua) << shift;
  std::uint64_t quotient = static_cast<std::uint64_t>(numerator / ub);
  if (numerator % ub != 0) quotient |= 1;
  const double value = std::ldexp(static_cast<double>(quotient), -shift);
  *out = (a < 0) != (b < 0) ? -value : value;
  return Fault::None;
}

inline Fault int_pow(I64 base, I64 exponent, I64* out) {
  if (exponent < 0) return Fault::NegativeIntPower;
  I64 result = 1;
  for (I64 square = base; exponent != 0;) {
    if ((exponent & 1) && int_mul(result, square, &result) != Fault::None) return Fault::IntOverflow;
    exponent >>= 1;
    if (exponent != 0 && int_mul(square, square, &square) != Fault::None) return Fault::IntOverflow;
  }
  *out = result;
  return Fault::None;
}

inline I64 int_and(I64 a, I64 b) { return a & b; }
inline I64 int_or(I64 a, I64 b) { return a | b; }
inline I64 int_xor(I64 a, I64 b) { return a ^ b; }
inline I64 int_not(I64 a) { return ~a; }
inline Fault int_shl(I64 a, I64 count, I64* out) {
  if (count < 0) return Fault::NegativeShift;
  if (a == 0) return *out = 0, Fault::None;
  if (count > 62) return (a == -1 && count == 63) ? (*out = kIntMin, Fault::None) : Fault::IntOverflow;
  return int_mul(a, I64{1} << count, out);
}
inline Fault int_shr(I64 a, I64 count, I64* out) {
  if (count < 0) return Fault::NegativeShift;
  *out = a >> std::min<I64>(count, 63);
  return Fault::None;
}
inline I64 int_min(I64 a, I64 b) { return b < a ? b : a; }
inline I64 int_max(I64 a, I64 b) { return b > a ? b : a; }
inline double int_to_float(I64 a) { return static_cast<double>(a); }

// ---- float ---------------------------------------------------------------------

inline Fault float_truediv(double a, double b, double* out) {
  if (b == 0.0) return Fault::FloatDivisionByZero;
  *out = a / b;
  return Fault::None;
}

// CPython's pair: the remainder has the divisor's sign (zeros included), and the
// quotient is computed from it, so that a == (a // b) * b + a % b nearly holds.
inline void float_divmod(double a, double b, double* quotient, double* remainder) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0.0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
      div -= 1.0;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  *remainder = mod;
  if (div != 0.0) {
    *quotient = std::floor(div);
    if (div - *quotient > 0.5) *quotient += 1.0;
  } else {
    *quotient = std::copysign(0.0, a / b);
  }
}
inline Fault float_floordiv(double a, double b, double* out) {
  if (b == 0.0) return Fault::FloatFloorDivisionByZero;
  double remainder;
  float_divmod(a, b, out, &remainder);
  return Fault::None;
}
inline Fault float_mod(double a, double b, double* out) {
  if (b == 0.0) return Fault::FloatModuloByZero;
  double quotient;
  float_divmod(a, b, &quotient, out);
  return Fault::None;
}

inline Fault float_pow(double base, double exponent, double* out) {
  const bool ordinary = std::isfinite(base) && std::isfinite(exponent);
  if (base == 0.0 && exponent < 0 && ordinary) return Fault::ZeroToNegativePower;
  if (base < 0.0 && ordinary && exponent != std::floor(exponent)) return Fault::ComplexPower;
  *out = std::pow(base, exponent);
  return ordinary && std::isinf(*out) ? Fault::PowerRange : Fault::None;
}

// Python's min(a, b) and max(a, b): the first unless the second is strictly less/greater.
inline double float_min(double a, double b) { return b < a ? b : a; }
inline double float_max(double a, double b) { return b > a ? b : a; }

// An integral double to int.
inline Fault integral_to_int(double value, I64* out) {
  if (std::isnan(value)) return Fault::NanToInt;
  if (std::isinf(value)) return Fault::InfinityToInt;
  if (value < -0x1p63 || value >= 0x1p63) return Fault::IntOverflow;
  *out = static_cast<I64>(value);
  return Fault::None;
}
inline Fault float_to_int(double a, I64* out) { return integral_to_int(std::trunc(a), out); }
inline Fault float_round(double a, I64* out) { return integral_to_int(std::nearbyint(a), out); }
inline Fault float_floor(double a, I64* out) { return integral_to_int(std::floor(a), out); }
inline Fault float_ceil(double a, I64* out) { return integral_to_int(std::ceil(a), out); }
inline double float_to_f32(double a) { return static_cast<double>(static_cast<float>(a)); }

// How CPython judges a function of `math`: a NaN out of something else is a
// domain error; an infinity out of a finite is a range error where the function
// can overflow, else (a pole, sin(inf)) a domain error.
inline Fault judge(double a, double result, bool can_overflow, double* out) {
  if (std::isnan(result) && !std::isnan(a)) return Fault::MathDomain;
  if (std::isinf(result) && std::isfinite(a)) return can_overflow ? Fault::MathRange : Fault::MathDomain;
  *out = result;
  return Fault::None;
}
inline Fault float_sqrt(double a, double* out) { return judge(a, std::sqrt(a), false, out); }
inline Fault float_exp(double a, double* out) { return judge(a, std::exp(a), true, out); }
inline Fault float_expm1(double a, double* out) { return judge(a, std::expm1(a), true, out); }
inline Fault float_log(double a, double* out) { return judge(a, std::log(a), false, out); }
inline Fault float_log2(double a, double* out) { return judge(a, std::log2(a), false, out); }
inline Fault float_log10(double a, double* out) { return judge(a, std::log10(a), false, out); }
inline Fault float_log1p(double a, double* out) { return judge(a, a == 0.0 ? a : std::log1p(a), false, out); }
inline Fault float_sin(double a, double* out) { return judge(a, std::sin(a), false, out); }
inline Fault float_cos(double a, double* out) { return judge(a, std::cos(a), false, out); }
inline Fault float_tan(double a, double* out) { return judge(a, std::tan(a), false, out); }
inline Fault float_asin(double a, double* out) { return judge(a, std::asin(a), false, out); }
inline Fault float_acos(double a, double* out) { return judge(a, std::acos(a), false, out); }
inline Fault float_sinh(double a, double* out) { return judge(a, std::sinh(a), true, out); }
inline Fault float_cosh(double a, double* out) { return judge(a, std::cosh(a), true, out); }

inline Fault float_fmod(double a, double b, double* out) {
  if (std::isinf(b) && std::isfinite(a)) return *out = a, Fault::None;
  const double result = std::fmod(a, b);
  if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) return Fault::MathDomain;
  *out = result;
  return Fault::None;
}

// CPython rounds hypot nearly always correctly, better than C libraries must: a
// scaled sum of squares in double-double, and one Newton correction of its root.
inline double float_hypot(double a, double b) {
  a = std::fabs(a);
  b = std::fabs(b);
  if (std::isinf(a) || std::isinf(b)) return std::numeric_limits<double>::infinity();
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<double>::quiet_NaN();
  if (a < b) std::swap(a, b);
  if (b == 0.0) return a;
  int exponent;
  std::frexp(a, &exponent);
  const double x = std::ldexp(a, -exponent), y = std::ldexp(b, -exponent);
  const double xx = x * x, yy = y * y;
  const double high = xx + yy;
  const double low = (yy - (high - xx)) + std::fma(x, x, -xx) + std::fma(y, y, -yy);
  const double root = std::sqrt(high + low);
  const double square = root * root;
  const double residue = ((high - square) - std::fma(root, root, -square)) + low;
  return std::ldexp(root + residue / (2.0 * root), exponent);
}

// ---- by number -----------------------------------------------------------------

enum class Kind : std::uint8_t { Bool, Int, Float };

struct Scalar {
  Kind kind = Kind::Int;
  union {
    bool b;
    I64 i = 0;
    double f;
  };

  static Scalar of(bool v) {
    Scalar s;
    s.kind = Kind::Bool;
    s.b = v;
    return s;
  }
  static Scalar of(I64 v) {
    Scalar s;
    s.kind = Kind::Int;
    s.i = v;
    return s;
  }
  static Scalar of(double v) {
    Scalar s;
    s.kind = Kind::Float;
    s.f = v;
    return s;
  }
};

// Every op: enumerator, name in the IR, kinds of the operands, kind of the
// result, and how to compute it from a, b into r. Packages store the numbers:
// append only.
// clang-format off
#define DYCL_SCALAR_OPS(X)                                                   \
  X(IntAdd, "int.add", "ii", 'i', return int_add(a.i, b.i, &r.i))            \
  X(IntSub, "int.sub", "ii", 'i', return int_sub(a.i, b.i, &r.i))            \
  X(IntMul, "int.mul", "ii", 'i', return int_mul(a.i, b.i, &r.i))            \
  X(IntNeg, "int.neg", "i", 'i', return int_neg(a.i, &r.i))                  \
  X(IntAbs, "int.abs", "i", 'i', return int_abs(a.i, &r.i))                  \
  X(IntFloordiv, "int.floordiv", "ii", 'i', return int_floordiv(a.i, b.i, &r.i)) \
  X(IntMod, "int.mod", "ii", 'i', return int_mod(a.i, b.i, &r.i))            \
  X(IntTruediv, "int.truediv", "ii", 'f', return int_truediv(a.i, b.i, &r.f)) \
  X(IntPow, "int.pow", "ii", 'i', return int_pow(a.i, b.i, &r.i))            \
  X(IntAnd, "int.and", "ii", 'i', r.i = int_and(a.i, b.i))                   \
  X(IntOr, "int.or", "ii", 'i', r.i = int_or(a.i, b.i))                      \
  X(IntXor, "int.xor", "ii", 'i', r.i = int_xor(a.i, b.i))                   \
  X(IntShl, "int.shl", "ii", 'i', return int_shl(a.i, b.i, &r.i))            \
  X(IntShr, "int.shr", "ii", 'i', return int_shr(a.i, b.i, &r.i))            \
  X(IntNot, "int.not", "i", 'i', r.i = int_not(a.i))                         \
  X(IntMin, "int.min", "ii", 'i', r.i = int_min(a.i, b.i))                   \
  X(IntMax, "int.max", "ii", 'i', r.i = int_max(a.i, b.i))                   \
  X(IntEq, "int.eq", "ii", 'b', r.b = a.i == b.i)                            \
  X(IntNe, "int.ne", "ii", 'b', r.b = a.i != b.i)                            \
  X(IntLt, "int.lt", "ii", 'b', r.b = a.i < b.i)                             \
  X(IntLe, "int.le", "ii", 'b', r.b = a.i <= b.i)                            \
  X(IntGt, "int.gt", "ii", 'b', r.b = a.i > b.i)                             \
  X(IntGe, "int.ge", "ii", 'b', r.b = a.i >= b.i)                            \
  X(IntToFloat, "int.to_float", "i", 'f', r.f = int_to_float(a.i))           \
  X(IntToBool, "int.to_bool", "i", 'b', r.b = a.i != 0)                      \
  X(FloatAdd, "float.add", "ff", 'f', r.f = a.f + b.f)                       \
  X(FloatSub, "float.sub", "ff", 'f', r.f = a.f - b.f)                       \
  X(FloatMul, "float.mul", "ff", 'f', r.f = a.f * b.f)                       \
  X(FloatTruediv, "float.truediv", "ff", 'f', return float_truediv(a.f, b.f, &r.f)) \
  X(FloatFloordiv, "float.floordiv", "ff", 'f', return float_floordiv(a.f, b.f, &r.f)) \
  X(FloatMod, "float.mod", "ff", 'f', return float_mod(a.f, b.f, &r.f))      \
  X(FloatPow, "float.pow", "ff", 'f', return float_pow(a.f, b.f, &r.f))      \
  X(FloatNeg, "float.neg", "f", 'f', r.f = -a.f)                             \
  X(FloatAbs, "float.abs", "f", 'f', r.f = std::fabs(a.f))                   \
  X(FloatMin, "float.min", "ff", 'f', r.f = float_min(a.f, b.f))             \
  X(FloatMax, "float.max", "ff", 'f', r.f = float_max(a.f, b.f))             \
  X(FloatEq, "float.eq", "ff", 'b', r.b = a.f == b.f)                        \
  X(FloatNe, "float.ne", "ff", 'b', r.b = a.f != b.f)                        \
  X(FloatLt, "float.lt", "ff", 'b', r.b = a.f < b.f)                         \
  X(FloatLe, "float.le", "ff", 'b', r.b = a.f <= b.f)                        \
  X(FloatGt, "float.gt", "ff", 'b', r.b = a.f > b.f)                         \
  X(FloatGe, "float.ge", "ff", 'b', r.b = a.f >= b.f)                        \
  X(FloatToInt, "float.to_int", "f", 'i', return float_to_int(a.f, &r.i))    \
  X(FloatRound, "float.round", "f", 'i', return float_round(a.f, &r.i))      \
  X(FloatFloor, "float.floor", "f", 'i', return float_floor(a.f, &r.i))      \
  X(FloatCeil, "float.ceil", "f", 'i', return float_ceil(a.f, &r.i))         \
  X(FloatToBool, "float.to_bool", "f", 'b', r.b = a.f != 0.0)                \
  X(FloatToF32, "float.to_f32", "f", 'f', r.f = float_to_f32(a.f))           \
  X(FloatSqrt, "float.sqrt", "f", 'f', return float_sqrt(a.f, &r.f))         \
  X(FloatExp, "float.exp", "f", 'f', return float_exp(a.f, &r.f))            \
  X(FloatLog, "float.log", "f", 'f', return float_log(a.f, &r.f))            \
  X(FloatLog2, "float.log2", "f", 'f', return float_log2(a.f, &r.f))         \
  X(FloatLog10, "float.log10", "f", 'f', return float_log10(a.f, &r.f))      \
  X(FloatSin, "float.sin", "f", 'f', return float_sin(a.f, &r.f))            \
  X(FloatCos, "float.cos", "f", 'f', return float_cos(a.f, &r.f))            \
  X(FloatTan, "float.tan", "f", 'f', return float_tan(a.f, &r.f))            \
  X(FloatTanh, "float.tanh", "f", 'f', r.f = std::tanh(a.f))                 \
  X(FloatAsin, "float.asin", "f", 'f', return float_asin(a.f, &r.f))         \
  X(FloatAcos, "float.acos", "f", 'f', return float_acos(a.f, &r.f))         \
  X(FloatAtan, "float.atan", "f", 'f', r.f = std::atan(a.f))                 \
  X(FloatSinh, "float.sinh", "f", 'f', return float_sinh(a.f, &r.f))         \
  X(FloatCosh, "float.cosh", "f", 'f', return float_cosh(a.f, &r.f))         \
  X(FloatExpm1, "float.expm1", "f", 'f', return float_expm1(a.f, &r.f))      \
  X(FloatLog1p, "float.log1p", "f", 'f', return float_log1p(a.f, &r.f))      \
  X(FloatErf, "float.erf", "f", 'f', r.f = std::erf(a.f))                    \
  X(FloatIsnan, "float.isnan", "f", 'b', r.b = std::isnan(a.f))              \
  X(FloatIsinf, "float.isinf", "f", 'b', r.b = std::isinf(a.f))              \
  X(FloatIsfinite, "float.isfinite", "f", 'b', r.b = std::isfinite(a.f))     \
  X(FloatAtan2, "float.atan2", "ff", 'f', r.f = std::atan2(a.f, b.f))        \
  X(FloatFmod, "float.fmod", "ff", 'f', return float_fmod(a.f, b.f, &r.f))   \
  X(FloatCopysign, "float.copysign", "ff", 'f', r.f = std::copysign(a.f, b.f)) \
  X(FloatHypot, "float.hypot", "ff", 'f', r.f = float_hypot(a.f, b.f))       \
  X(BoolAnd, "bool.and", "bb", 'b', r.b = a.b && b.b)                        \
  X(BoolOr, "bool.or", "bb", 'b', r.b = a.b || b.b)                          \
  X(BoolXor, "bool.xor", "bb", 'b', r.b = a.b != b.b)                        \
  X(BoolNot, "bool.not", "b", 'b', r.b = !a.b)                               \
  X(BoolEq, "bool.eq", "bb", 'b', r.b = a.b == b.b)                          \
  X(BoolToInt, "bool.to_int", "b", 'i', r.i = a.b ? 1 : 0)                   \
  X(BoolToFloat, "bool.to_float", "b", 'f', r.f = a.b ? 1.0 : 0.0)
// clang-format on

enum class OpCode : std::uint8_t {
#define DYCL_SCALAR_ENUM(id, name, operands, result, compute) id,
  DYCL_SCALAR_OPS(DYCL_SCALAR_ENUM)
#undef DYCL_SCALAR_ENUM
};

struct Signature {
  std::string_view name;
  std::string_view operands;  // one of 'b', 'i', 'f' per operand
  char result;
  bool can_fault;
};

inline constexpr Signature kSignatures[] = {
#define DYCL_SCALAR_ROW(id, name, operands, result, compute) \
  {name, operands, result, std::string_view(#compute).starts_with("return")},
    DYCL_SCALAR_OPS(DYCL_SCALAR_ROW)
#undef DYCL_SCALAR_ROW
};
inline constexpr std::size_t kOpCount = std::size(kSignatures);

constexpr const Signature& signature(OpCode op) { return kSignatures[static_cast<std::size_t>(op)]; }

constexpr bool can_fault(OpCode op) { return signature(op).can_fault; }

constexpr Kind kind_of(char letter) { return letter == 'b' ? Kind::Bool : letter == 'i' ? Kind::Int : Kind::Float; }

namespace detail {

// Op numbers ordered by name, so that a name is found by bisection.
constexpr auto sorted_ops() {
  std::array<std::uint8_t, kOpCount> order{};
  for (std::size_t i = 0; i < kOpCount; ++i) {
    std::size_t j = i;
    for (; j > 0 && kSignatures[i].name < kSignatures[order[j - 1]].name; --j) order[j] = order[j - 1];
    order[j] = static_cast<std::uint8_t>(i);
  }
  return order;
}
inline constexpr auto kSortedOps = sorted_ops();

}  // namespace detail

// The op called `name` ("int.add"), if it is a scalar op.
inline std::optional<OpCode> op_named(std::string_view name) {
  std::size_t low = 0, high = kOpCount;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    const std::string_view candidate = kSignatures[detail::kSortedOps[middle]].name;
    if (candidate == name) return static_cast<OpCode>(detail::kSortedOps[middle]);
    if (candidate < name)
      low = middle + 1;
    else
      high = middle;
  }
  return std::nullopt;
}

// Runs `op` on operands of the kinds that its signature names (`b` is ignored by
// unary ops). On a fault `*result` is unspecified.
inline Fault apply(OpCode op, const Scalar& a, const Scalar& b, Scalar* result) {
  Scalar& r = *result;
  r.kind = kind_of(signature(op).result);
  switch (op) {
#define DYCL_SCALAR_CASE(id, name, operands, result_kind, compute) \
  case OpCode::id: {                                               \
    compute;                                                       \
  } break;
    DYCL_SCALAR_OPS(DYCL_SCALAR_CASE)
#undef DYCL_SCALAR_CASE
  }
  return Fault::None;
}

}  // namespace dycl::scalar
