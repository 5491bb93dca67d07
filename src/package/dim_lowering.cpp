// SPDX-License-Identifier: Apache-2.0
#include "package/dim_lowering.h"

#include <cctype>
#include <charconv>

#include "runtime/dim_code.h"

namespace dycl::package {
namespace {

using runtime::DimOp;

class DimParser {
 public:
  DimParser(std::string_view text, const SymbolIndices& symbols) : text_(text), symbols_(symbols) {}

  Result<std::vector<std::int64_t>> run() {
    if (sum() && position_ == text_.size() && runtime::is_valid_dim_code(code_, symbols_.size()))
      return std::move(code_);
    return Error{ErrorKind::InvalidModel, "cannot read the extent `" + std::string(text_) + "`", {}, {}, {}};
  }

 private:
  static constexpr int kMaxDepth = 64;

  bool accept(std::string_view token) {
    if (text_.substr(position_, token.size()) != token) return false;
    position_ += token.size();
    return true;
  }
  void push(DimOp op) { code_.push_back(static_cast<std::int64_t>(op)); }

  bool sum() {
    if (++depth_ > kMaxDepth) return false;
    if (accept("-")) {
      if (!product()) return false;
      push(DimOp::Neg);
    } else if (!product()) {
      return false;
    }
    for (;;) {
      const bool plus = accept("+");
      if (!plus && !accept("-")) break;
      if (!product()) return false;
      push(plus ? DimOp::Add : DimOp::Sub);
    }
    --depth_;
    return true;
  }

  bool product() {
    if (!atom()) return false;
    for (;;) {
      DimOp op;
      if (accept("*"))
        op = DimOp::Mul;
      else if (accept("//"))
        op = DimOp::FloorDiv;
      else if (accept("%"))
        op = DimOp::Mod;
      else
        return true;
      if (!atom()) return false;
      push(op);
    }
  }

  bool atom() {
    if (accept("(")) return sum() && accept(")");
    if (accept("max(")) return pair(DimOp::Max);
    if (accept("min(")) return pair(DimOp::Min);
    const char c = position_ < text_.size() ? text_[position_] : '\0';
    return std::isdigit(static_cast<unsigned char>(c)) || c == '-' ? number() : symbol();
  }

  bool pair(DimOp op) {
    if (!sum() || !accept(",") || !sum() || !accept(")")) return false;
    push(op);
    return true;
  }

  bool number() {
    std::int64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) return false;
    position_ += static_cast<std::size_t>(end - begin);
    push(DimOp::Const);
    code_.push_back(value);
    return true;
  }

  bool symbol() {
    std::size_t end = position_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_' || text_[end] == '.'))
      ++end;
    const auto found = symbols_.find(text_.substr(position_, end - position_));
    if (found == symbols_.end()) return false;
    position_ = end;
    push(DimOp::Symbol);
    code_.push_back(found->second);
    return true;
  }

  std::string_view text_;
  const SymbolIndices& symbols_;
  std::vector<std::int64_t> code_;
  std::size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::vector<std::int64_t>> lower_dim(std::string_view text, const SymbolIndices& symbols) {
  return DimParser(text, symbols).run();
}

}  // namespace dycl::package
