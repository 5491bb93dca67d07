// SPDX-License-Identifier: Apache-2.0
// The structure of ops as bytes: two ops with the same key compute the same from
// the same operands. Names for people and source spans are no part of it. Floats
// count bit by bit, so 0.0 and -0.0 differ and a NaN equals itself.
#pragma once

#include <cstdint>
#include <string>

#include "ir/program.h"

namespace dycl::passes {

void append_number(std::string& key, std::uint64_t number);
void append_text(std::string& key, const std::string& text);
void append_attr(std::string& key, const ir::Attr& attr);

// Name and attributes of an op and the types of its results; not its operands.
void append_op(std::string& key, const ir::Function& function, const ir::Op& op);

// A whole sub-DNN: its values are numbered in order of definition.
std::string structure_of(const ir::Function& sub_dnn);

}  // namespace dycl::passes
