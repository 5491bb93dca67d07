// SPDX-License-Identifier: Apache-2.0
// An execution plan as the walker uses it: what the `plan`, `weights.index` and
// `debug` sections say, decoded into plain structs. `read_*` decode bytes that may be
// hostile (structure only, bounded by their size); `check_plan` then proves every
// rule the walker relies on, so that it needs no checks of its own. A Plan is
// immutable once checked and shared by threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/opcodes.h"
#include "support/dtype.h"
#include "support/result.h"
#include "support/source_span.h"

namespace dycl::runtime {

inline constexpr int kMaxRank = 16;
inline constexpr std::size_t kAlignment = 64;  // of weights and of the runtime's own buffers
inline constexpr std::uint64_t kMaxTensorBytes = std::uint64_t{1} << 62;

enum class ValueKind : std::uint8_t { Tensor = 0, Bool = 1, Int = 2, Float = 3, List = 4, Optional = 5 };

constexpr bool is_scalar(ValueKind k) { return k == ValueKind::Bool || k == ValueKind::Int || k == ValueKind::Float; }

struct PlanDim {
  std::int64_t value = -1;
  std::vector<std::int64_t> code;  // see dim_code.h; empty: known or opaque
  std::string text;
};

struct PlanType {
  ValueKind kind = ValueKind::Tensor;
  DType dtype = DType::F32;
  bool rank_known = true;
  std::vector<PlanDim> dims;
  std::uint32_t element = 0;

  // Derived by check_plan.
  bool static_shape = false;      // every extent known: `bytes` holds
  bool computable_shape = false;  // every extent known or an expression over symbols that arguments bind
  std::uint64_t bytes = 0;
};

struct PlanSymbol {
  std::string name;
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};

struct PlanConstant {
  std::uint32_t reg = 0;
  std::uint64_t bits = 0;
  std::int32_t weight = -1;
  std::vector<std::uint8_t> literal;
};

struct PlanInput {
  std::string name;
  std::uint32_t reg = 0;
  std::int32_t state = -1;
};

struct PlanOutput {
  std::string name;
  std::uint32_t type = 0;
  std::int32_t state = -1;
};

// The initial value is one item, or the items of a list or optional: bits of a scalar or the index
// of a weight.
struct PlanState {
  std::string name;
  std::uint32_t type = 0;
  std::vector<std::uint64_t> initial;
};

struct PlanArtifact {
  std::string backend, target;
  std::uint64_t offset = 0, size = 0, checksum = 0;
  std::vector<std::uint32_t> weights;
  std::vector<std::string> input_layouts, output_layouts;  // empty: all plain
};

struct PlanSubDnn {
  std::string name;
  std::vector<std::uint32_t> inputs, outputs;
  std::vector<PlanArtifact> artifacts;
};

struct Plan {
  std::string producer;
  std::vector<PlanType> types;
  std::vector<PlanSymbol> symbols;
  std::vector<std::uint32_t> registers;
  std::vector<PlanConstant> constants;
  std::vector<PlanInput> inputs;
  std::vector<PlanOutput> outputs;
  std::vector<PlanState> states;
  std::vector<PlanSubDnn> sub_dnns;
  std::vector<std::string> host_functions;
  std::vector<std::string> strings;
  std::vector<std::int64_t> loops;
  std::vector<std::uint32_t> decisions;
  std::vector<std::uint32_t> code;

  const PlanType& type_of(std::uint32_t reg) const { return types[registers[reg]]; }
};

struct PlanWeight {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0, size = 0, checksum = 0;
};

struct PlanSpan {
  std::uint32_t pc = 0;
  SourceSpan span;
};

struct PlanSourceLine {
  std::uint32_t file = 0, line = 0;
  std::string text;
};

struct DebugInfo {
  std::string ir_text;    // before the passes
  std::string hcfg_text;  // after them; "" in older packages
  std::vector<std::string> sources;
  std::vector<PlanSpan> spans;
  std::vector<PlanSourceLine> lines;
  std::vector<std::string> decision_blocks;
  std::vector<SourceSpan> decision_spans;
  std::vector<SourceSpan> loop_spans;
  std::vector<std::string> register_names;
  std::vector<std::string> sub_dnn_names;     // for people; empty in older packages, as are the two below
  std::vector<std::string> decision_origins;  // what each condition is computed from
  std::vector<std::string> call_blocks;       // of each `call`, in the order of the code

  SourceSpan span_of(std::uint32_t pc) const;
};

using ByteSpan = std::span<const std::uint8_t>;

Result<Plan> read_plan(ByteSpan section);
Result<std::vector<PlanWeight>> read_weight_index(ByteSpan section);
Result<DebugInfo> read_debug_info(ByteSpan section);

// Checks weights against the size of their section; then everything in the plan
// against everything else, and derives the derived fields.
Result<void> check_weight_index(const std::vector<PlanWeight>& weights, std::uint64_t section_size);
Result<void> check_plan(Plan& plan, const std::vector<PlanWeight>& weights, std::uint64_t artifacts_size);

// How symbols get their values from the shapes of inputs, in this order: `symbol` is the
// only one still unbound in the extent `axis` of input `input`.
struct SymbolBinding {
  std::uint32_t input, axis, symbol;
};
std::vector<SymbolBinding> symbol_bindings(const Plan& plan);

// The artifact that `function` uses when the program's target is `target`; null if it has none.
const PlanArtifact* artifact_for(const PlanSubDnn& function, std::string_view target);

// Checks that for this target every value has one layout from its producer to all its
// consumers, and that host ops and results see plain ones.
Result<void> check_layouts(const Plan& plan, std::string_view target);

// The targets artifacts name, best first, "portable" not among them.
std::vector<std::string> targets_of(const Plan& plan);

std::string type_text(const Plan& plan, std::uint32_t type);

// Bytes of a tensor; nothing if an extent is negative or the product exceeds kMaxTensorBytes.
std::optional<std::uint64_t> tensor_bytes(DType dtype, std::span<const std::int64_t> shape);

}  // namespace dycl::runtime
