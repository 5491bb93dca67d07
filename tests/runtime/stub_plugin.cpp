// SPDX-License-Identifier: Apache-2.0
// An engine for tests: its artifacts are little programs in text, one op per word group:
//
//   add 2 0 1   relu 3 2   out 3
//
// Registers 0.. are the inputs; `weight r i` puts weight i into r. Ops on f32 tensors: add, sub,
// mul (elementwise, one side may have a single element), relu, neg, rev (elements in reverse order),
// sum (to a scalar tensor), gt (r a b: bool), positive (the elements above zero: unknown shape),
// `fail`, and `wait m` (m milliseconds, unless it is interrupted). `out` names the outputs in order. It computes in
// scratch memory of the context, so that it allocates nothing once warm. `adopt` in front makes it hand over results of
// unknown shape.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "dycl/plugin.h"

struct dycl_engine {
  const dycl_plugin_host* host;
  std::string accepts;
};

struct Step {
  enum Kind { Add, Sub, Mul, Gt, Relu, Neg, Rev, Sum, Positive, Weight, Wait, Fail } kind;
  int to = 0, a = 0, b = 0;
  int milliseconds = 0;
};

struct dycl_session {
  dycl_engine* engine;
  std::vector<Step> steps;
  std::vector<int> outputs;
  std::vector<dycl_plugin_weight> weights;
  std::vector<int> output_dtypes;
  std::size_t input_count = 0;
  int registers = 0;
  bool adopts = false;
};

struct StubTensor {
  std::vector<float> values;
  std::vector<std::int64_t> shape;
};

struct dycl_context {
  std::vector<StubTensor> registers;
  std::atomic<bool> interrupted{false};
};

namespace {

thread_local char message[512];
std::atomic<long> wrappers_made{0}, wrappers_alive{0}, adopted_alive{0}, runs{0};

dycl_plugin_status fail(dycl_plugin_status status, const char* why) {
  std::snprintf(message, sizeof message, "%s", why);
  return status;
}

dycl_plugin_status create_engine(const dycl_plugin_host* host, const dycl_engine_options* options,
                                 dycl_engine** engine) {
  auto made = std::make_unique<dycl_engine>();
  made->host = host;
  for (std::uint32_t i = 0; i < options->extra_count; ++i) {
    if (std::string(options->extra_keys[i]) != "accepts") return fail(DYCL_PLUGIN_UNSUPPORTED, "unknown option");
    made->accepts = options->extra_values[i];
  }
  *engine = made.release();
  return DYCL_PLUGIN_OK;
}
void destroy_engine(dycl_engine* engine) { delete engine; }

std::int32_t accepts_target(dycl_engine* engine, const char* target) {
  if (engine->accepts == target) return 1;
  fail(DYCL_PLUGIN_FAILED, "this machine is another one");
  return 0;
}

bool parse(const std::string& text, dycl_session& session) {
  static const std::pair<const char*, Step::Kind> kTwo[] = {
      {"add", Step::Add}, {"sub", Step::Sub}, {"mul", Step::Mul}, {"gt", Step::Gt}};
  static const std::pair<const char*, Step::Kind> kOne[] = {{"relu", Step::Relu},         {"neg", Step::Neg},
                                                            {"rev", Step::Rev},           {"sum", Step::Sum},
                                                            {"positive", Step::Positive}, {"weight", Step::Weight}};
  std::istringstream in(text);
  std::string word;
  while (in >> word) {
    Step step{Step::Fail};
    bool known = false;
    if (word == "adopt") {
      session.adopts = true;
      continue;
    }
    if (word == "out") {
      int r = 0;
      if (!(in >> r) || r < 0 || r > 63) return false;
      session.outputs.push_back(r);
      continue;
    }
    for (const auto& [name, kind] : kTwo)
      if (word == name) {
        step.kind = kind;
        known = static_cast<bool>(in >> step.to >> step.a >> step.b);
      }
    for (const auto& [name, kind] : kOne)
      if (word == name) {
        step.kind = kind;
        known = static_cast<bool>(in >> step.to >> step.a);
      }
    if (word == "fail") known = true;
    if (word == "wait") {
      step.kind = Step::Wait;
      if (!(in >> step.milliseconds)) return false;
      session.steps.push_back(step);
      continue;
    }
    if (!known) return false;
    for (int r : {step.to, step.a, step.b})
      if (r < 0 || r > 63) return false;
    session.registers = std::max(session.registers, step.to + 1);
    if (step.kind == Step::Weight && static_cast<std::size_t>(step.a) >= session.weights.size()) return false;
    session.steps.push_back(step);
  }
  return true;
}

dycl_plugin_status load(dycl_engine* engine, const dycl_plugin_artifact* a, dycl_session** session) {
  auto made = std::make_unique<dycl_session>();
  made->engine = engine;
  made->weights.assign(a->weights, a->weights + a->weight_count);
  made->input_count = a->input_count;
  made->registers = static_cast<int>(a->input_count);
  for (std::uint32_t i = 0; i < a->output_count; ++i) made->output_dtypes.push_back(a->outputs[i].dtype);
  const std::string text(static_cast<const char*>(a->bytes), a->size);
  if (!parse(text, *made) || made->outputs.size() != a->output_count)
    return fail(DYCL_PLUGIN_BAD_ARTIFACT, "cannot read the artifact");
  for (int r : made->outputs)
    if (r >= made->registers) return fail(DYCL_PLUGIN_BAD_ARTIFACT, "an output nobody writes");
  *session = made.release();
  return DYCL_PLUGIN_OK;
}
void destroy_session(dycl_session* session) { delete session; }

dycl_plugin_status create_context(dycl_session* session, dycl_context** context) {
  auto made = std::make_unique<dycl_context>();
  made->registers.resize(static_cast<std::size_t>(std::max(session->registers, 64)));
  *context = made.release();
  return DYCL_PLUGIN_OK;
}
void destroy_context(dycl_context* context) { delete context; }

// The stand-in for an engine's own tensor object.
struct Wrapper {
  void* data;
  std::int64_t rank;
};
// Recycled, so that a changed argument costs no allocation either.
thread_local std::vector<std::unique_ptr<Wrapper>> spare_wrappers;

void drop_wrapper(void* slot) {
  --wrappers_alive;
  spare_wrappers.emplace_back(static_cast<Wrapper*>(slot));
}

Wrapper* new_wrapper(void* data, std::int64_t rank) {
  if (spare_wrappers.empty()) return new Wrapper{data, rank};
  Wrapper* w = spare_wrappers.back().release();
  spare_wrappers.pop_back();
  *w = {data, rank};
  return w;
}

bool wrap(dycl_engine* engine, dycl_plugin_tensor* t) {
  if (t->slot && t->slot_owner == engine) {
    const auto* w = static_cast<Wrapper*>(t->slot);
    return w->data == t->data && w->rank == t->rank;  // the runtime's promise
  }
  if (t->slot) t->drop_slot(t->slot);
  t->slot = new_wrapper(t->data, t->rank);
  t->slot_owner = engine;
  t->drop_slot = drop_wrapper;
  ++wrappers_made;
  ++wrappers_alive;
  return true;
}

void read_input(const dycl_plugin_tensor& t, StubTensor& out) {
  out.shape.assign(t.shape, t.shape + t.rank);
  std::size_t count = 1;
  for (auto n : out.shape) count *= static_cast<std::size_t>(n);
  out.values.resize(count);
  if (t.dtype == 1)
    std::copy_n(static_cast<const float*>(t.data), count, out.values.begin());
  else if (t.dtype == 9)
    std::copy_n(static_cast<const std::uint8_t*>(t.data), count, out.values.begin());
  else if (t.dtype == 7)
    std::transform(static_cast<const std::int64_t*>(t.data), static_cast<const std::int64_t*>(t.data) + count,
                   out.values.begin(), [](auto v) { return static_cast<float>(v); });
}

bool elementwise(Step::Kind kind, const StubTensor& a, const StubTensor& b, StubTensor& out) {
  const bool broad_a = a.values.size() == 1, broad_b = b.values.size() == 1;
  if (!broad_a && !broad_b && a.shape != b.shape) return false;
  const StubTensor& shaped = broad_a ? b : a;
  out.shape = shaped.shape;
  out.values.resize(shaped.values.size());
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    const float x = a.values[broad_a ? 0 : i], y = b.values[broad_b ? 0 : i];
    out.values[i] = kind == Step::Add ? x + y : kind == Step::Sub ? x - y : kind == Step::Mul ? x * y : x > y;
  }
  return true;
}

void unary(Step::Kind kind, const StubTensor& a, StubTensor& out) {
  if (kind == Step::Sum) {
    float total = 0;
    for (float v : a.values) total += v;
    out.shape.clear();
    out.values.assign(1, total);
    return;
  }
  if (kind == Step::Positive) {
    out.values.clear();
    for (float v : a.values)
      if (v > 0) out.values.push_back(v);
    out.shape.assign(1, static_cast<std::int64_t>(out.values.size()));
    return;
  }
  out.shape = a.shape;
  out.values = a.values;
  if (kind == Step::Rev)
    std::reverse(out.values.begin(), out.values.end());
  else
    for (float& v : out.values) v = kind == Step::Relu ? std::max(v, 0.0F) : -v;
}

void store(const StubTensor& from, int dtype, void* data) {
  for (std::size_t i = 0; i < from.values.size(); ++i) {
    if (dtype == 9)
      static_cast<std::uint8_t*>(data)[i] = from.values[i] != 0;
    else if (dtype == 7)
      static_cast<std::int64_t*>(data)[i] = static_cast<std::int64_t>(from.values[i]);
    else
      static_cast<float*>(data)[i] = from.values[i];
  }
}

void free_adopted(void* owner) {
  --adopted_alive;
  std::free(owner);
}

dycl_plugin_status write_output(dycl_session* session, const StubTensor& from, int dtype, dycl_plugin_tensor* to) {
  const auto rank = static_cast<std::int32_t>(from.shape.size());
  if (to->rank >= 0) {
    if (to->rank != rank || !std::equal(from.shape.begin(), from.shape.end(), to->shape))
      return fail(DYCL_PLUGIN_FAILED, "the result has another shape than the program says");
    if (!wrap(session->engine, to)) return fail(DYCL_PLUGIN_FAILED, "a stale wrapper");
  } else if (session->adopts) {
    void* memory = std::calloc(from.values.size() + 1, 8);
    if (session->engine->host->adopt(to, rank, from.shape.data(), memory, memory, free_adopted) != 0) {
      std::free(memory);
      return fail(DYCL_PLUGIN_FAILED, "the host takes no such result");
    }
    ++adopted_alive;
  } else if (session->engine->host->allocate(to, rank, from.shape.data()) != 0) {
    return fail(DYCL_PLUGIN_FAILED, "the host gives no memory for such a result");
  }
  store(from, dtype, to->data);
  return DYCL_PLUGIN_OK;
}

dycl_plugin_status run(dycl_session* session, dycl_context* context, dycl_plugin_tensor* const* inputs,
                       dycl_plugin_tensor* const* outputs) {
  ++runs;
  auto& r = context->registers;
  for (std::size_t i = 0; i < session->input_count; ++i) {
    if (!wrap(session->engine, inputs[i])) return fail(DYCL_PLUGIN_FAILED, "a stale wrapper");
    read_input(*inputs[i], r[i]);
  }
  for (const Step& s : session->steps) {
    auto& to = r[static_cast<std::size_t>(s.to)];
    const auto &a = r[static_cast<std::size_t>(s.a)], &b = r[static_cast<std::size_t>(s.b)];
    if (s.kind == Step::Wait) {
      for (int i = 0; i < s.milliseconds && !context->interrupted; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (context->interrupted) return fail(DYCL_PLUGIN_FAILED, "interrupted");
      continue;
    }
    if (s.kind == Step::Fail) return fail(DYCL_PLUGIN_FAILED, "asked to fail");
    if (s.kind == Step::Weight) {
      const auto& w = session->weights[static_cast<std::size_t>(s.a)];
      to.shape.assign(w.shape, w.shape + w.rank);
      to.values.assign(static_cast<const float*>(w.data), static_cast<const float*>(w.data) + w.bytes / 4);
    } else if (s.kind <= Step::Gt) {
      if (!elementwise(s.kind, a, b, to)) return fail(DYCL_PLUGIN_FAILED, "shapes do not go together");
    } else {
      unary(s.kind, a, to);
    }
  }
  for (std::size_t i = 0; i < session->outputs.size(); ++i) {
    const auto status =
        write_output(session, r[static_cast<std::size_t>(session->outputs[i])], session->output_dtypes[i], outputs[i]);
    if (status != DYCL_PLUGIN_OK) return status;
  }
  return DYCL_PLUGIN_OK;
}

const char* last_error() { return message; }
void interrupt(dycl_context* context, std::int32_t on) { context->interrupted = on != 0; }

constexpr dycl_plugin kPlugin = {sizeof(dycl_plugin),
                                 DYCL_PLUGIN_ABI,
                                 "stub",
                                 "stub 1",
                                 create_engine,
                                 destroy_engine,
                                 accepts_target,
                                 load,
                                 destroy_session,
                                 create_context,
                                 destroy_context,
                                 run,
                                 last_error,
                                 interrupt,
                                 0};

}  // namespace

extern "C" {

DYCL_PLUGIN_EXPORT const dycl_plugin* dycl_plugin_entry(uint32_t host_abi) {
  return host_abi == DYCL_PLUGIN_ABI ? &kPlugin : nullptr;
}

// For tests: wrappers made so far, wrappers alive, adopted results alive, runs.
DYCL_PLUGIN_EXPORT void stub_counters(long out[4]) {
  out[0] = wrappers_made;
  out[1] = wrappers_alive;
  out[2] = adopted_alive;
  out[3] = runs;
}
}
