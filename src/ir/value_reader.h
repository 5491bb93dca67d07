// SPDX-License-Identifier: Apache-2.0
// The part of the parser that reads types, attributes and the elements of tensors.
#pragma once

#include "ir/literal_reader.h"
#include "ir/op.h"
#include "ir/token_stream.h"

namespace dycl::ir {

class ValueReader : protected TokenStream {
 public:
  // A text that is one type and nothing else.
  static Result<Type> read_type(std::string_view text);

 protected:
  explicit ValueReader(std::string_view text) : TokenStream(text) {}

  // Each reads what stands at the present token and moves behind it.
  bool parse_type(Type& type, int depth = 0);
  bool attribute_value(Attr& attr);
  bool elements(DType dtype, std::vector<std::uint8_t>& bytes);  // [1.0,2.0]

 private:
  bool tensor_type(DType dtype, Type& type);
  bool number(Number& n);
  bool literal(Attr& attr);
  bool scalar_value(Attr& attr);
  bool empty_list(Attr& attr, Attr empty);
  bool list_value(Attr& attr);
};

}  // namespace dycl::ir
