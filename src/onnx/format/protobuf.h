// SPDX-License-Identifier: Apache-2.0
// protozero's reader, which in every build throws protozero::unknown_pbf_wire_type_exception where a field has another
// wire type than it is read as. Left to its assertions, a release build would take what follows such a field for its
// content, where Google's parser, an engine's, skips the field: what one of them checked the other never saw.
// Whoever reads protobuf includes this and not protozero's header, so that all of a program has the same reader.
#pragma once

#include <cassert>
#include <cstdint>
#include <protozero/exception.hpp>
#include <string_view>

#undef protozero_assert
#define protozero_assert(x) ((x) ? void() : throw protozero::unknown_pbf_wire_type_exception())
#include <protozero/pbf_reader.hpp>
#undef protozero_assert
#define protozero_assert(x) assert(x)

namespace dycl::onnx {

inline std::string_view text_of(protozero::pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

// One number: protozero itself would take the length of a packed field for it.
inline void require_varint(const protozero::pbf_reader& reader) {
  if (reader.wire_type() != protozero::pbf_wire_type::varint) throw protozero::unknown_pbf_wire_type_exception();
}
inline std::int32_t int32_of(protozero::pbf_reader& reader) {
  require_varint(reader);
  return reader.get_int32();
}
inline std::int64_t int64_of(protozero::pbf_reader& reader) {
  require_varint(reader);
  return reader.get_int64();
}

}  // namespace dycl::onnx
