// SPDX-License-Identifier: Apache-2.0
// Functions that a model defines itself, put in the place of their calls.
#pragma once

#include "onnx/import/upgrade.h"
#include "support/result.h"

namespace dycl::onnx {

// Replaces every call in the model's graph, in bodies and in functions, by the function's nodes under names of their
// own, upgraded, and leaves `model.functions` empty. The model's own nodes are upgraded, too. An Error for functions that call themselves, for calls that do
// not fit, and for models that grow beyond all measure by this.
Result<void> inline_functions(Model& model, Upgrader& upgrader);

}  // namespace dycl::onnx
