/* SPDX-License-Identifier: Apache-2.0 */
/* The run-time half of a back end: a shared library that wraps one engine.
 *
 * The library is called libdycl_plugin_<backend>.so and exports one function,
 *
 *     const dycl_plugin* dycl_plugin_entry(uint32_t host_abi);
 *
 * which returns a table that lives as long as the library, or NULL if it cannot
 * work with a host of that ABI version. The runtime looks for the library at the
 * path given by the caller, in the folders of DYCL_PLUGIN_PATH (separated by ':'),
 * beside the runtime library and the executable, and in ../lib/dycl of both.
 *
 * engine   one per loaded program and back end: options, thread pool.
 * session  one artifact, ready to run; shared by threads; immutable once loaded.
 * context  what one thread needs to call one session: reused from run to run.
 *
 * Calls and threads. create_engine, load and the destroy functions are called by one
 * thread at a time. create_context and run are called by several threads at the same
 * time on one session, but never with the same context or the same tensor.
 * The runtime destroys contexts before sessions before engines.
 *
 * Errors. A function that can fail returns DYCL_PLUGIN_OK (0) or a DYCL_PLUGIN_*
 * code; last_error() then gives the message of the last failure on the
 * calling thread (UTF-8, never NULL, valid until the next call on that thread). What
 * stands behind DYCL_PLUGIN_HELP in it is the remedy. No exception may leave a plug-in.
 *
 * Versions. Fields are only ever appended to the structs, which carry their size where the
 * other side must know it; anything else raises DYCL_PLUGIN_ABI.
 */
#ifndef DYCL_PLUGIN_H
#define DYCL_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DYCL_PLUGIN_HELP "\n  help: "
#define DYCL_PLUGIN_ABI 1u

#if defined(_WIN32)
#define DYCL_PLUGIN_EXPORT __declspec(dllexport)
#else
#define DYCL_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

typedef int32_t dycl_plugin_status;
enum {
  DYCL_PLUGIN_OK = 0,
  DYCL_PLUGIN_FAILED = 1,       /* the engine failed */
  DYCL_PLUGIN_BAD_ARTIFACT = 2, /* the artifact is damaged or from an engine version that cannot be read */
  DYCL_PLUGIN_MISSING = 3,      /* the vendor's library is not there */
  DYCL_PLUGIN_UNSUPPORTED = 4   /* valid, but this engine cannot do it */
};

/* ---- tensors of a run ------------------------------------------------------ */

/* A tensor in host memory, dense, row-major unless its layout tag says otherwise.
 * `dtype` is ONNX's TensorProto.DataType number (1 = float, 7 = int64, 9 = bool ...).
 *
 * The engine may keep its own wrapper of the tensor (an OrtValue, say) in `slot`, so
 * that it is made once per buffer and not once per call: it sets slot, slot_owner (its
 * engine) and drop_slot together. As long as slot is not NULL, `data`, `shape`, `rank`
 * and `dtype` are what they were when it was set; the runtime calls drop_slot(slot)
 * and clears the three before it changes any of them, and when the tensor goes. A
 * slot whose slot_owner is another engine is to be left alone, or dropped and replaced.
 *
 * Only the engine that runs a call touches the tensors of that call, on one thread.
 */
typedef struct dycl_plugin_tensor {
  void* data;           /* 64-byte aligned if the runtime owns it; arguments of the program are as the
                           caller gave them (aligned to the element). NULL for no elements, or for an output
                           whose shape is not known (see run) */
  const int64_t* shape; /* rank extents; stable address for the life of this struct */
  uint64_t bytes;       /* size of the elements in bytes */
  int32_t rank;         /* -1 for an output whose shape is not known */
  int32_t dtype;
  int32_t device; /* DLPack's device type: 1 (CPU), today always */
  int32_t device_id;
  void* slot;
  void* slot_owner;
  void (*drop_slot)(void* slot);
} dycl_plugin_tensor;

/* What the runtime offers to engines; valid until destroy_engine returns.
 * `allocate` and `adopt` are for outputs of unknown shape, inside `run`, on the
 * thread that runs. They return 0, or nonzero if there is no memory, the shape is not
 * a shape (negative extent, rank above 16, size beyond 2^62) or its extents contradict
 * the type of the output; the engine then gives up with DYCL_PLUGIN_FAILED. */
typedef struct dycl_plugin_host {
  uint32_t struct_size;
  uint32_t abi;

  /* Gives `output` this shape and memory for it (64-byte aligned, not initialised):
   * sets data, shape, rank and bytes. Memory is recycled, so this costs no malloc in
   * the long run. */
  int32_t (*allocate)(dycl_plugin_tensor* output, int32_t rank, const int64_t* shape);

  /* Hands over memory that the engine made: no copy. The runtime calls release(owner)
   * once, on the thread of the run, when it no longer needs `data`. If adopt fails,
   * `owner` still belongs to the engine. */
  int32_t (*adopt)(dycl_plugin_tensor* output, int32_t rank, const int64_t* shape, void* data, void* owner,
                   void (*release)(void* owner));

  /* Says something to the user once, e.g. that a slower path is taken. */
  void (*notice)(const char* message);
} dycl_plugin_host;

/* ---- engines --------------------------------------------------------------- */

typedef struct dycl_engine dycl_engine;
typedef struct dycl_session dycl_session;
typedef struct dycl_context dycl_context;

typedef struct dycl_engine_options {
  uint32_t struct_size;
  int32_t threads;  /* threads within one call; 0: the engine's choice */
  int32_t spinning; /* whether idle workers may spin: 1 yes, 0 no, -1 the engine's choice */
  uint32_t extra_count;
  const char* const* extra_keys; /* options of this engine by name; an unknown one is an error */
  const char* const* extra_values;
} dycl_engine_options;

/* A weight of the package. `data` points into the mapped file: 64-byte aligned, read
 * only, unchanged until destroy_engine returns, and the same pointer for every session
 * that names the same weight: use it in place. */
typedef struct dycl_plugin_weight {
  const char* name;
  const void* data;
  const int64_t* shape;
  uint64_t bytes;
  int32_t rank;
  int32_t dtype;
} dycl_plugin_weight;

/* One operand or result of a sub-DNN. */
typedef struct dycl_plugin_port {
  const char* layout;   /* "" is plain; else the tag the back end gave the artifact */
  const int64_t* shape; /* -1 where an extent is known only at run time; NULL if rank is -1 */
  int32_t rank;         /* -1: not known */
  int32_t dtype;
} dycl_plugin_port;

/* Everything here stays valid until destroy_engine returns, `bytes` included. */
typedef struct dycl_plugin_artifact {
  uint32_t struct_size;
  uint32_t weight_count;
  const char* function; /* the sub-DNN's name, for messages */
  const char* target;   /* "portable", or a key that accepts_target said yes to */
  const void* bytes;    /* 64-byte aligned */
  uint64_t size;
  const dycl_plugin_weight* weights; /* in the artifact's own order */
  const dycl_plugin_port* inputs;
  const dycl_plugin_port* outputs;
  uint32_t input_count;
  uint32_t output_count;
} dycl_plugin_artifact;

typedef struct dycl_plugin {
  uint32_t struct_size;
  uint32_t abi;        /* DYCL_PLUGIN_ABI the plug-in was built with */
  const char* name;    /* "ort" */
  const char* version; /* of the engine: "onnxruntime 1.31.1" */

  dycl_plugin_status (*create_engine)(const dycl_plugin_host* host, const dycl_engine_options* options,
                                      dycl_engine** engine);
  void (*destroy_engine)(dycl_engine* engine);

  /* 1 if artifacts for `target` (never "portable") run right on this machine with this engine, else 0;
   * last_error() then says why. */
  int32_t (*accepts_target)(dycl_engine* engine, const char* target);

  /* Prepares an artifact. The bytes passed their checksum, but may come from a hostile
   * file: damage is an error, not a crash. */
  dycl_plugin_status (*load)(dycl_engine* engine, const dycl_plugin_artifact* artifact, dycl_session** session);
  void (*destroy_session)(dycl_session* session);

  dycl_plugin_status (*create_context)(dycl_session* session, dycl_context** context);
  void (*destroy_context)(dycl_context* context);

  /* Runs the session. Counts are those of the artifact. Inputs are not written to (but
   * for their slots) and never share memory with outputs.
   *
   * An output with rank >= 0 is preallocated: the shape is what the program says it must be and
   * data has room for exactly that; a result of another shape is a failure, never
   * a partial or overlong write. An output with rank -1 is given memory by
   * the engine, through host->allocate or host->adopt, before run returns OK. */
  dycl_plugin_status (*run)(dycl_session* session, dycl_context* context, dycl_plugin_tensor* const* inputs,
                            dycl_plugin_tensor* const* outputs);

  const char* (*last_error)(void);

  /* From here on a table may end earlier (struct_size), and an entry be NULL.
   *
   * From any thread while `run` goes on with this context: on != 0 asks it to give up soon, and fail with
   * DYCL_PLUGIN_FAILED; every later run with the context does so too, until on == 0 takes the wish back. */
  void (*interrupt)(dycl_context* context, int32_t on);
  uint32_t flags; /* DYCL_PLUGIN_NATIVE_CODE, DYCL_PLUGIN_COMPILED_FORMS */
} dycl_plugin;

/* Artifacts hold machine code: loading one gives what made the file all rights of the process. The runtime calls `load`
 * only if its caller allows that. */
#define DYCL_PLUGIN_NATIVE_CODE 1u
/* Artifacts for a machine (all but "portable" ones) are the engine's own compiled form, which nobody but the engine can
 * check. The runtime calls `load` with one only if its caller allows native code; `load` refuses one that states the
 * target "portable". */
#define DYCL_PLUGIN_COMPILED_FORMS 2u

/* The least struct_size of a table. */
#define DYCL_PLUGIN_MIN_SIZE offsetof(dycl_plugin, interrupt)

typedef const dycl_plugin* (*dycl_plugin_entry_fn)(uint32_t host_abi);
DYCL_PLUGIN_EXPORT const dycl_plugin* dycl_plugin_entry(uint32_t host_abi);

#ifdef __cplusplus
}
#endif

#endif /* DYCL_PLUGIN_H */
