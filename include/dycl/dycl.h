/* SPDX-License-Identifier: Apache-2.0 */
/* Runs packages from C, or from anything that can call C. The same runtime as
 * dycl/runtime.h, behind plain functions.
 *
 *     dycl_program* program;
 *     dycl_run* run;
 *     dycl_error* e = dycl_program_load("model.dycl", NULL, &program);
 *     if (!e) e = dycl_run_create(program, &run);
 *     if (!e) e = dycl_run_execute(run, &x, 1, &results, &count);
 *     if (e) { fprintf(stderr, "%s\n", dycl_error_text(e)); dycl_error_free(e); }
 *
 * Errors. A function that can fail returns NULL, or an error that the caller frees. No exception
 * leaves this interface; running out of memory is an error like any other. So is NULL for a pointer that
 * is needed (DYCL_INVALID_INPUT); a function that returns no error then does nothing, and returns 0, NULL,
 * or "" where it reads an error.
 *
 * Callbacks (what is printed) are called in the middle of an execution. There dycl_run_execute, the states and what was
 * kept are errors; options and a callback that are set hold from the next execution on; and dycl_run_free takes place
 * when the execution is over, which then is an error.
 *
 * Threads. A program is immutable and may be shared by threads. A run belongs to one
 * thread at a time. A run keeps its program alive: free them in any order.
 *
 * Versions. DYCL_ABI counts incompatible changes; dycl_abi() is the library's. Structs
 * that callers fill carry their size, and only ever grow at the end.
 */
#ifndef DYCL_DYCL_H
#define DYCL_DYCL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define DYCL_NOEXCEPT noexcept
extern "C" {
#else
#define DYCL_NOEXCEPT
#endif

#define DYCL_C_API __attribute__((visibility("default")))

#define DYCL_ABI 1u
DYCL_C_API uint32_t dycl_abi(void) DYCL_NOEXCEPT;

/* ---- errors ---------------------------------------------------------------- */

typedef struct dycl_error dycl_error;

typedef enum dycl_error_kind {
  DYCL_NO_ERROR = 0, /* of NULL */
  DYCL_INVALID_MODEL = 2,
  DYCL_INVALID_INPUT = 3,
  DYCL_INVALID_PACKAGE = 4,
  DYCL_MISSING = 5,
  DYCL_RUNTIME_FAILURE = 6,
  DYCL_UNSUPPORTED = 7,
  DYCL_WRITE_FAILED = 8, /* of the tools: nothing here writes files */
  DYCL_STOPPED = 9,      /* the run's options ended it; dycl_error_type says which: "DeadlineExceeded", "Cancelled",
                            "StepLimitExceeded", "MemoryLimitExceeded" */
  DYCL_INTERNAL = 70
} dycl_error_kind;

DYCL_C_API dycl_error_kind dycl_error_kind_of(const dycl_error* error) DYCL_NOEXCEPT;
/* One sentence; the remedy ("" if none); the user's exception class ("ValueError", "" if none);
 * and all of it with the source line, for people. Valid until dycl_error_free. */
DYCL_C_API const char* dycl_error_message(const dycl_error* error) DYCL_NOEXCEPT;
DYCL_C_API const char* dycl_error_help(const dycl_error* error) DYCL_NOEXCEPT;
DYCL_C_API const char* dycl_error_type(const dycl_error* error) DYCL_NOEXCEPT;
DYCL_C_API const char* dycl_error_text(const dycl_error* error) DYCL_NOEXCEPT;
/* Where in the model's source; line 0 and "" if not known. */
DYCL_C_API const char* dycl_error_file(const dycl_error* error) DYCL_NOEXCEPT;
DYCL_C_API uint32_t dycl_error_line(const dycl_error* error) DYCL_NOEXCEPT;
DYCL_C_API void dycl_error_free(dycl_error* error) DYCL_NOEXCEPT; /* NULL is fine */

/* ---- values ---------------------------------------------------------------- */

/* The layout of DLPack's DLTensor, field by field (DLPack 0.6 and later), so that a
 * DLTensor* may be passed as a dycl_tensor*. Today: device 1 (CPU), lanes 1, compact
 * row-major (strides NULL or exactly those). */
typedef struct dycl_tensor {
  void* data;
  struct {
    int32_t device_type;
    int32_t device_id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, as DLPack has it; 8-bit floats: 10 to 13 */
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} dycl_tensor;

typedef enum dycl_kind {
  DYCL_NONE = 0,
  DYCL_TENSOR = 1,
  DYCL_BOOL = 2,
  DYCL_INT = 3,
  DYCL_FLOAT = 4,
  DYCL_LIST = 5
} dycl_kind;

typedef struct dycl_value {
  int32_t kind; /* a dycl_kind */
  int32_t reserved;
  union {
    int32_t boolean;
    int64_t integer;
    double floating;
    dycl_tensor tensor;
    struct {
      const struct dycl_value* items;
      size_t count;
    } list;
  } as;
} dycl_value;

/* ---- programs -------------------------------------------------------------- */

typedef struct dycl_program dycl_program;

typedef struct dycl_load_options {
  size_t struct_size;        /* sizeof(dycl_load_options) */
  int32_t threads;           /* of an engine within one call, at most 1024; 0: as many as cores */
  int32_t spinning;          /* idle workers spin: 1 yes, 0 no, -1 the engine's choice */
  int32_t verify_weights;    /* check every checksum */
  int32_t portable_only;     /* ignore artifacts made for this CPU */
  const char* plugin_folder; /* looked through first; may be NULL */
  int32_t allow_native_code; /* 1: load artifacts that hold machine code; only from files whose maker is trusted */
  /* If there are any: the file must be signed by one of these public keys, each its text or the file that holds it. */
  const char* const* trusted_keys;
  size_t trusted_key_count;
  /* If one of the two is given, the file must be encrypted. The key's text, or the file that holds it; or a function
   * that writes it, with its final zero, into `key` (of `size` bytes), for the name of the key that the file needs (64
   * hexadecimal digits), and returns 0; anything else is an error. It is called once, within dycl_program_load. */
  const char* decryption_key;
  int32_t (*find_decryption_key)(void* context, const char* name, char* key, size_t size);
  void* find_context;
} dycl_load_options;

/* `options` may be NULL: threads 0, spinning -1, the rest 0. Keys without a number of keys, and a struct_size that none
 * of the header's versions had, are errors: a signature that was meant to be required is not left out. */
DYCL_C_API dycl_error* dycl_program_load(const char* path, const dycl_load_options* options,
                                         dycl_program** program) DYCL_NOEXCEPT;
/* A package in memory; it is copied. */
DYCL_C_API dycl_error* dycl_program_load_memory(const void* package, size_t size, const dycl_load_options* options,
                                                dycl_program** program) DYCL_NOEXCEPT;
DYCL_C_API void dycl_program_free(dycl_program* program) DYCL_NOEXCEPT;

DYCL_C_API size_t dycl_program_input_count(const dycl_program* program) DYCL_NOEXCEPT;
DYCL_C_API size_t dycl_program_output_count(const dycl_program* program) DYCL_NOEXCEPT;
/* Name and type ("f32[N,8]") of an input or output; NULL beyond the last. Valid as long as the program. */
DYCL_C_API const char* dycl_program_input_name(const dycl_program* program, size_t index) DYCL_NOEXCEPT;
DYCL_C_API const char* dycl_program_input_type(const dycl_program* program, size_t index) DYCL_NOEXCEPT;
DYCL_C_API const char* dycl_program_output_name(const dycl_program* program, size_t index) DYCL_NOEXCEPT;
DYCL_C_API const char* dycl_program_output_type(const dycl_program* program, size_t index) DYCL_NOEXCEPT;
DYCL_C_API const char* dycl_program_metadata(const dycl_program* program) DYCL_NOEXCEPT; /* JSON */

/* ---- runs ------------------------------------------------------------------ */

typedef struct dycl_run dycl_run;

DYCL_C_API dycl_error* dycl_run_create(const dycl_program* program, dycl_run** run) DYCL_NOEXCEPT;
DYCL_C_API void dycl_run_free(dycl_run* run) DYCL_NOEXCEPT;

/* Runs the program. Arguments are borrowed. `*results` and everything it points to are valid until the next call on
 * this run that changes it; a result that is an argument passed through points to the caller's own memory. */
DYCL_C_API dycl_error* dycl_run_execute(dycl_run* run, const dycl_value* arguments, size_t argument_count,
                                        const dycl_value** results, size_t* result_count) DYCL_NOEXCEPT;

/* Ends runs from outside: any thread may cancel, at any time, and every run whose options name the cancellation ends,
 * later ones too. Runs keep what they need of it: free it in any order. */
typedef struct dycl_cancellation dycl_cancellation;
DYCL_C_API dycl_error* dycl_cancellation_create(dycl_cancellation** cancellation) DYCL_NOEXCEPT;
DYCL_C_API void dycl_cancellation_cancel(dycl_cancellation* cancellation) DYCL_NOEXCEPT;
DYCL_C_API void dycl_cancellation_free(dycl_cancellation* cancellation) DYCL_NOEXCEPT;

/* What ends a run (DYCL_STOPPED), each run anew; the run is as good as before. dycl/runtime.h says more of each. */
typedef struct dycl_run_options {
  size_t struct_size;              /* sizeof(dycl_run_options) */
  int64_t deadline_ns;             /* nanoseconds from the start of a run; 0: none; below 0: at once */
  int64_t step_limit;              /* of all loops and calls together; 0: none */
  uint64_t memory_limit;           /* bytes that the run's tensors and lists may hold; 0: none */
  dycl_cancellation* cancellation; /* or NULL */
} dycl_run_options;
/* Of the next executions; NULL: nothing ends them. */
DYCL_C_API dycl_error* dycl_run_set_options(dycl_run* run, const dycl_run_options* options) DYCL_NOEXCEPT;

/* Of the numbers that the program draws: those of torch on the CPU after torch.manual_seed(seed). At first 0. */
DYCL_C_API void dycl_run_set_seed(dycl_run* run, uint64_t seed) DYCL_NOEXCEPT;
DYCL_C_API void dycl_run_set_loop_limit(dycl_run* run, int64_t limit) DYCL_NOEXCEPT; /* 0: the default */
/* To the initial values: all, or none if it fails. (Returned nothing in version 0.1.) */
DYCL_C_API dycl_error* dycl_run_reset_states(dycl_run* run) DYCL_NOEXCEPT;
DYCL_C_API dycl_error* dycl_run_get_state(dycl_run* run, const char* name,
                                          dycl_value* value) DYCL_NOEXCEPT; /* a view */
/* What the program had written under this name when it raised, if the last dycl_run_execute ended so: the value after
 * the run of an argument that is written in place ("x_after", as the result is called), or a state ("@count"). A view.
 */
DYCL_C_API dycl_error* dycl_run_get_kept(dycl_run* run, const char* name, dycl_value* value) DYCL_NOEXCEPT;
DYCL_C_API dycl_error* dycl_run_set_state(dycl_run* run, const char* name,
                                          const dycl_value* value) DYCL_NOEXCEPT; /* copies */
/* Gets what the program prints, not terminated; NULL: stdout. */
typedef void (*dycl_print_fn)(void* context, const char* text, size_t length);
DYCL_C_API dycl_error* dycl_run_set_print(dycl_run* run, dycl_print_fn print, void* context) DYCL_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* DYCL_DYCL_H */
