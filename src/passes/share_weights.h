// SPDX-License-Identifier: Apache-2.0
// Reads weights of equal type and bytes by one name: they are stored once, and what computes with them is alike.
//
//   weight @a: f32[2] = [1.0,2.0]             %x = weight @a
//   weight @b: f32[2] = [1.0,2.0]   becomes   %y = weight @a
//   %x = weight @a
//   %y = weight @b
//
// Initial values of states keep their names. drop_dead removes what nobody reads any more.
#pragma once

#include "ir/program.h"

namespace dycl::passes {

// Returns the number of reads that have another name now.
int share_weights(ir::Program& program);

}  // namespace dycl::passes
