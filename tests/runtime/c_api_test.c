/* SPDX-License-Identifier: Apache-2.0 */
/* The C ABI used from C. The package (make_c_api_package.cpp) returns relu(x + x), a
 * count kept from run to run, and a list. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dycl/dycl.h"

static int failures = 0;

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      ++failures;                                             \
    }                                                         \
  } while (0)

static void no_error(dycl_error* e, int line) {
  if (!e) return;
  fprintf(stderr, "line %d: %s\n", line, dycl_error_text(e));
  dycl_error_free(e);
  ++failures;
}

static dycl_value tensor_of(float* data, int64_t* shape, int ndim) {
  dycl_value v;
  memset(&v, 0, sizeof v);
  v.kind = DYCL_TENSOR;
  v.as.tensor.data = data;
  v.as.tensor.device.device_type = 1;
  v.as.tensor.ndim = ndim;
  v.as.tensor.dtype.code = 2;
  v.as.tensor.dtype.bits = 32;
  v.as.tensor.dtype.lanes = 1;
  v.as.tensor.shape = shape;
  return v;
}

/* A call that must be refused: NULL for a pointer that is needed, or a number that cannot be. */
static void refused(dycl_error* e, const char* words, int line) {
  if (!e || dycl_error_kind_of(e) != DYCL_INVALID_INPUT || !strstr(dycl_error_text(e), words)) {
    fprintf(stderr, "line %d: no error that says '%s', but: %s\n", line, words, dycl_error_text(e));
    ++failures;
  }
  dycl_error_free(e);
}
#define REFUSED(words, call) refused(call, words, __LINE__)

static void null_errors_and_programs(void) {
  CHECK(dycl_error_kind_of(NULL) == DYCL_NO_ERROR);
  CHECK(strcmp(dycl_error_message(NULL), "") == 0);
  CHECK(strcmp(dycl_error_help(NULL), "") == 0);
  CHECK(strcmp(dycl_error_type(NULL), "") == 0);
  CHECK(strcmp(dycl_error_text(NULL), "") == 0);
  CHECK(strcmp(dycl_error_file(NULL), "") == 0);
  CHECK(dycl_error_line(NULL) == 0);
  dycl_error_free(NULL);
  dycl_program_free(NULL);
  dycl_run_free(NULL);
  CHECK(dycl_program_input_count(NULL) == 0);
  CHECK(dycl_program_output_count(NULL) == 0);
  CHECK(dycl_program_input_name(NULL, 0) == NULL);
  CHECK(dycl_program_input_type(NULL, 0) == NULL);
  CHECK(dycl_program_output_name(NULL, 0) == NULL);
  CHECK(dycl_program_output_type(NULL, 0) == NULL);
  CHECK(dycl_program_metadata(NULL) == NULL);
}

static void null_arguments(const char* package) {
  dycl_program* program = NULL;
  dycl_run* run = NULL;
  const dycl_value* results = NULL;
  size_t count = 0;
  dycl_value value;
  dycl_value list;

  REFUSED("program is NULL", dycl_program_load(package, NULL, NULL));
  program = (dycl_program*)&count;
  REFUSED("path is NULL", dycl_program_load(NULL, NULL, &program));
  CHECK(program == NULL);
  no_error(dycl_program_load(package, NULL, &program), __LINE__);
  REFUSED("run is NULL", dycl_run_create(program, NULL));
  REFUSED("run is NULL", dycl_run_create(NULL, NULL));
  REFUSED("program is NULL", dycl_run_create(NULL, &run));
  no_error(dycl_run_create(program, &run), __LINE__);
  if (!run) return;

  memset(&value, 0, sizeof value);
  REFUSED("run is NULL", dycl_run_execute(NULL, &value, 1, &results, &count));
  REFUSED("arguments is NULL", dycl_run_execute(run, NULL, 1, &results, &count));
  REFUSED("results is NULL", dycl_run_execute(run, &value, 1, NULL, &count));
  REFUSED("result_count is NULL", dycl_run_execute(run, &value, 1, &results, NULL));
  value.kind = DYCL_TENSOR; /* no data, no shape */
  REFUSED("CPU memory", dycl_run_execute(run, &value, 1, &results, &count));
  value.as.tensor.device.device_type = 1;
  value.as.tensor.ndim = 1;
  REFUSED("impossible rank", dycl_run_execute(run, &value, 1, &results, &count));
  memset(&list, 0, sizeof list);
  list.kind = DYCL_LIST;
  list.as.list.count = 1;
  REFUSED("items are NULL", dycl_run_execute(run, &list, 1, &results, &count));

  dycl_run_set_seed(NULL, 1);
  dycl_run_set_loop_limit(NULL, 1);
  REFUSED("run is NULL", dycl_run_reset_states(NULL));
  REFUSED("run is NULL", dycl_run_get_state(NULL, "count", &value));
  REFUSED("name is NULL", dycl_run_get_state(run, NULL, &value));
  REFUSED("value is NULL", dycl_run_get_state(run, "count", NULL));
  REFUSED("run is NULL", dycl_run_get_kept(NULL, "y", &value));
  REFUSED("name is NULL", dycl_run_get_kept(run, NULL, &value));
  REFUSED("value is NULL", dycl_run_get_kept(run, "y", NULL));
  REFUSED("run is NULL", dycl_run_set_state(NULL, "count", &value));
  REFUSED("name is NULL", dycl_run_set_state(run, NULL, &value));
  REFUSED("value is NULL", dycl_run_set_state(run, "count", NULL));
  REFUSED("run is NULL", dycl_run_set_print(NULL, NULL, NULL));
  no_error(dycl_run_set_print(run, NULL, NULL), __LINE__);
  dycl_run_free(run);
  dycl_program_free(program);
}

static void threads(const char* package) {
  const int32_t impossible[] = {-1, 1025, 100000};
  dycl_load_options options;
  dycl_program* program = NULL;
  size_t i;

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.spinning = -1;
  for (i = 0; i < 3; ++i) {
    options.threads = impossible[i];
    REFUSED("1 to 1024, or 0", dycl_program_load(package, &options, &program));
    CHECK(program == NULL);
  }
}

/* The keys of signed packages; tests/cli/test_signatures.py has signed ones. */
static void signatures(const char* package) {
  const char* keys[] = {"dycl-public-key:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"};
  dycl_load_options options;
  dycl_program* program = NULL;
  dycl_error* e;

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.spinning = -1;
  options.trusted_key_count = 1;
  REFUSED("trusted_keys is NULL", dycl_program_load(package, &options, &program));
  options.trusted_keys = keys;
  options.trusted_key_count = 0;
  REFUSED("trusted_key_count is 0", dycl_program_load(package, &options, &program));
  options.trusted_key_count = 1;
  for (options.struct_size = 0; options.struct_size < sizeof options; options.struct_size += 4) {
    if (options.struct_size == offsetof(dycl_load_options, allow_native_code)) continue; /* the first release's */
    if (options.struct_size == offsetof(dycl_load_options, decryption_key)) continue;    /* before encryption */
    REFUSED("struct_size is", dycl_program_load(package, &options, &program));
  }
  options.struct_size = sizeof options;
  REFUSED("package is NULL", dycl_program_load_memory(NULL, 10, &options, &program));
  e = dycl_program_load(package, &options, &program);
  CHECK(e && dycl_error_kind_of(e) == DYCL_INVALID_PACKAGE && strstr(dycl_error_message(e), "is not signed"));
  CHECK(program == NULL);
  dycl_error_free(e);
}

static int32_t find_key(void* context, const char* name, char* key, size_t size) {
  (void)name;
  (void)key;
  (void)size;
  ++*(int*)context;
  return 1;
}

static void not_encrypted(dycl_error* e, int line) {
  if (!e || dycl_error_kind_of(e) != DYCL_INVALID_PACKAGE || !strstr(dycl_error_text(e), "is not encrypted")) {
    fprintf(stderr, "line %d: %s\n", line, dycl_error_text(e));
    ++failures;
  }
  dycl_error_free(e);
}

/* The keys of encrypted packages; tests/cli/test_encryption.py has encrypted ones. */
static void encryption(const char* package) {
  struct {
    dycl_load_options known;
    void* of_a_newer_header;
  } newer;
  dycl_program* program = NULL;
  int calls = 0;

  memset(&newer, 0, sizeof newer);
  newer.known.struct_size = sizeof newer.known;
  newer.known.spinning = -1;
  newer.known.find_decryption_key = find_key;
  newer.known.find_context = &calls;
  not_encrypted(dycl_program_load(package, &newer.known, &program), __LINE__);
  CHECK(calls == 0); /* nothing to decrypt */
  newer.known.decryption_key = "dycl-encryption-key:00";
  REFUSED("both decryption_key and find_decryption_key", dycl_program_load(package, &newer.known, &program));
  newer.known.find_decryption_key = NULL;
  not_encrypted(dycl_program_load(package, &newer.known, &program), __LINE__);
  newer.known.decryption_key = NULL;
  newer.known.struct_size = sizeof newer;
  no_error(dycl_program_load(package, &newer.known, &program), __LINE__);
  dycl_program_free(program);
  newer.of_a_newer_header = &calls;
  REFUSED("fields that this runtime does not know", dycl_program_load(package, &newer.known, &program));
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void* cancel_later(void* cancellation) {
  const struct timespec pause = {0, 50000000};
  nanosleep(&pause, NULL);
  dycl_cancellation_cancel((dycl_cancellation*)cancellation);
  return NULL;
}

/* Runs the endless program, which must end with this error soon, and then its short way. */
static void ends_with(dycl_run* run, const dycl_run_options* options, int64_t what, const char* type, int line) {
  float data[3] = {1, -2, 3};
  int64_t shape[1] = {3};
  const dycl_value* results = NULL;
  size_t count = 0;
  dycl_value arguments[2];
  dycl_error* e;
  double begin;

  memset(arguments, 0, sizeof arguments);
  arguments[0] = tensor_of(data, shape, 1);
  arguments[1].kind = DYCL_INT;
  arguments[1].as.integer = what;
  no_error(dycl_run_set_options(run, options), line);
  begin = now_ms();
  e = dycl_run_execute(run, arguments, 2, &results, &count);
  if (!e || dycl_error_kind_of(e) != DYCL_STOPPED || strcmp(dycl_error_type(e), type) != 0 || dycl_error_line(e) == 0 ||
      now_ms() - begin > 1000) {
    fprintf(stderr, "line %d: not %s within a second, but %s\n", line, type, dycl_error_text(e));
    ++failures;
  }
  dycl_error_free(e);
  arguments[1].as.integer = 0;
  no_error(dycl_run_set_options(run, NULL), line);
  no_error(dycl_run_execute(run, arguments, 2, &results, &count), line);
}
#define ENDS_WITH(type, what, options) ends_with(run, options, what, type, __LINE__)

static void run_options(const char* package) {
  dycl_program* program = NULL;
  dycl_run* run = NULL;
  dycl_cancellation* cancellation = NULL;
  dycl_run_options options;
  pthread_t other;
  int i;

  no_error(dycl_program_load(package, NULL, &program), __LINE__);
  no_error(dycl_run_create(program, &run), __LINE__);
  dycl_program_free(program);
  if (!run) return;
  REFUSED("run is NULL", dycl_run_set_options(NULL, NULL));
  memset(&options, 0, sizeof options); /* struct_size, too: a limit would be none */
  options.deadline_ns = 1;
  REFUSED("struct_size is 0", dycl_run_set_options(run, &options));
  REFUSED("cancellation is NULL", dycl_cancellation_create(NULL));
  dycl_cancellation_cancel(NULL);
  dycl_cancellation_free(NULL);

  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.deadline_ns = 100000000;
  for (i = 1; i <= 3; ++i) ENDS_WITH("DeadlineExceeded", i, &options);
  options.deadline_ns = 0;
  options.step_limit = 100000;
  ENDS_WITH("StepLimitExceeded", 1, &options);
  options.step_limit = 0;
  options.memory_limit = 1 << 20;
  ENDS_WITH("MemoryLimitExceeded", 2, &options);
  options.memory_limit = 0;
  for (i = 1; i <= 3; i += 2) {
    no_error(dycl_cancellation_create(&cancellation), __LINE__);
    options.cancellation = cancellation;
    CHECK(pthread_create(&other, NULL, cancel_later, cancellation) == 0);
    ENDS_WITH("Cancelled", i, &options);
    CHECK(pthread_join(other, NULL) == 0);
    dycl_cancellation_free(cancellation);
  }
  dycl_run_free(run);
}

/* What a callback does to the run that calls it. */
struct meddler {
  dycl_run* run;
  dycl_cancellation* cancellation;
  int calls, frees;
};

static void meddle(void* context, const char* text, size_t length) {
  struct meddler* m = context;
  const dycl_value* results = NULL;
  size_t count = 0;
  dycl_value value;
  const char* const running = "in the middle of an execution";

  CHECK(length == 7 && memcmp(text + 1, " seen\n", 6) == 0);
  ++m->calls;
  memset(&value, 0, sizeof value);
  value.kind = DYCL_LIST;
  REFUSED(running, dycl_run_execute(m->run, &value, 1, &results, &count));
  REFUSED(running, dycl_run_reset_states(m->run));
  REFUSED(running, dycl_run_get_state(m->run, "seen", &value));
  REFUSED(running, dycl_run_set_state(m->run, "seen", &value));
  REFUSED(running, dycl_run_get_kept(m->run, "seen", &value));
  dycl_run_set_seed(m->run, 1);
  dycl_run_set_loop_limit(m->run, 1);
  /* What the execution uses is replaced behind it. */
  no_error(dycl_run_set_options(m->run, NULL), __LINE__);
  dycl_cancellation_free(m->cancellation);
  m->cancellation = NULL;
  no_error(dycl_run_set_print(m->run, NULL, NULL), __LINE__);
  no_error(dycl_run_set_print(m->run, meddle, m), __LINE__);
  if (m->frees) dycl_run_free(m->run);
}

static void callbacks(const char* package) {
  struct meddler m;
  dycl_program* program = NULL;
  dycl_run_options options;
  const dycl_value* results = NULL;
  size_t count = 0;
  float data[3] = {1, -2, 3};
  int64_t shape[1] = {3}, i;
  dycl_value x = tensor_of(data, shape, 1), state;

  memset(&m, 0, sizeof m);
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.deadline_ns = 10000000000;
  no_error(dycl_program_load(package, NULL, &program), __LINE__);
  no_error(dycl_run_create(program, &m.run), __LINE__);
  if (!m.run) return;
  for (i = 0; i < 3; ++i) {
    no_error(dycl_run_set_print(m.run, meddle, &m), __LINE__);
    no_error(dycl_cancellation_create(&m.cancellation), __LINE__);
    options.cancellation = m.cancellation;
    no_error(dycl_run_set_options(m.run, &options), __LINE__);
    no_error(dycl_run_execute(m.run, &x, 1, &results, &count), __LINE__);
    CHECK(m.calls == i + 1 && m.cancellation == NULL);
    CHECK(count == 2 && results[1].as.integer == i && ((float*)results[0].as.tensor.data)[1] == -2);
    no_error(dycl_run_get_state(m.run, "seen", &state), __LINE__);
    CHECK(state.kind == DYCL_LIST && state.as.list.count == (size_t)i + 1);
    CHECK(state.as.list.items[i].as.integer == i);
  }
  dycl_program_free(program); /* the run keeps it */
  m.frees = 1;
  REFUSED("freed by its own callback", dycl_run_execute(m.run, &x, 1, &results, &count));
  CHECK(m.calls == 4 && results == NULL && count == 0);
}

int main(int argc, char** argv) {
  dycl_program* program = NULL;
  dycl_run* run = NULL;
  const dycl_value* results = NULL;
  size_t count = 0;
  float data[3] = {1, -2, 3};
  int64_t shape[1] = {3}, strides[1] = {2};
  dycl_error* e;
  dycl_value x, state;

  if (argc != 4) return 2;
  CHECK(dycl_abi() == DYCL_ABI);

  e = dycl_program_load("no such file", NULL, &program);
  CHECK(e && dycl_error_kind_of(e) == DYCL_MISSING && program == NULL);
  dycl_error_free(e);

  e = dycl_program_load("/dev/zero", NULL, &program);
  CHECK(e && dycl_error_kind_of(e) == DYCL_INVALID_PACKAGE && strstr(dycl_error_message(e), "is a device, not a file"));
  dycl_error_free(e);

  no_error(dycl_program_load(argv[1], NULL, &program), __LINE__);
  if (!program) return 1;
  CHECK(dycl_program_input_count(program) == 1);
  CHECK(dycl_program_output_count(program) == 2);
  CHECK(strcmp(dycl_program_input_name(program, 0), "x") == 0);
  CHECK(strcmp(dycl_program_input_type(program, 0), "f32[3]") == 0);
  CHECK(dycl_program_input_name(program, 1) == NULL);
  CHECK(strstr(dycl_program_metadata(program), "\"producer\"") != NULL);

  no_error(dycl_run_create(program, &run), __LINE__);
  dycl_program_free(program); /* the run keeps it */
  if (!run) return 1;

  x = tensor_of(data, shape, 1);
  no_error(dycl_run_execute(run, &x, 1, &results, &count), __LINE__);
  CHECK(count == 2);
  CHECK(results[0].kind == DYCL_TENSOR && results[0].as.tensor.ndim == 1 && results[0].as.tensor.shape[0] == 3);
  CHECK(((float*)results[0].as.tensor.data)[0] == 2 && ((float*)results[0].as.tensor.data)[1] == 0);
  CHECK(results[1].kind == DYCL_LIST && results[1].as.list.count == 2);
  CHECK(results[1].as.list.items[1].kind == DYCL_INT && results[1].as.list.items[1].as.integer == 1);

  no_error(dycl_run_get_state(run, "count", &state), __LINE__);
  CHECK(state.kind == DYCL_INT && state.as.integer == 1);
  state.as.integer = 41;
  no_error(dycl_run_set_state(run, "count", &state), __LINE__);
  no_error(dycl_run_execute(run, &x, 1, &results, &count), __LINE__);
  CHECK(results[1].as.list.items[1].as.integer == 42);

  CHECK((e = dycl_run_get_kept(run, "@count", &state)) != NULL); /* it returned */
  dycl_error_free(e);
  state.as.integer = 1000000000;
  no_error(dycl_run_set_state(run, "count", &state), __LINE__);
  e = dycl_run_execute(run, &x, 1, &results, &count);
  CHECK(e && strcmp(dycl_error_type(e), "ValueError") == 0 && strstr(dycl_error_message(e), "counted to 1000000001"));
  dycl_error_free(e);
  no_error(dycl_run_get_kept(run, "@count", &state), __LINE__);
  CHECK(state.kind == DYCL_INT && state.as.integer == 1000000001);
  no_error(dycl_run_get_kept(run, "y", &state), __LINE__);
  CHECK(state.kind == DYCL_TENSOR && ((float*)state.as.tensor.data)[0] == 2);
  no_error(dycl_run_get_state(run, "count", &state), __LINE__);
  CHECK(state.kind == DYCL_INT && state.as.integer == 1000000001);
  no_error(dycl_run_reset_states(run), __LINE__);
  no_error(dycl_run_get_state(run, "count", &state), __LINE__);
  CHECK(state.as.integer == 0);

  shape[0] = 2;
  e = dycl_run_execute(run, &x, 1, &results, &count);
  CHECK(e && dycl_error_kind_of(e) == DYCL_INVALID_INPUT && strstr(dycl_error_message(e), "dim 0 is 2"));
  dycl_error_free(e);
  shape[0] = 3;
  x.as.tensor.strides = strides;
  e = dycl_run_execute(run, &x, 1, &results, &count);
  CHECK(e && strstr(dycl_error_message(e), "contiguous"));
  dycl_error_free(e);
  e = dycl_run_execute(run, NULL, 0, &results, &count);
  CHECK(e && strstr(dycl_error_message(e), "takes 1 arguments, got 0"));
  dycl_error_free(e);

  dycl_run_free(run);

  null_errors_and_programs();
  null_arguments(argv[1]);
  threads(argv[1]);
  signatures(argv[1]);
  encryption(argv[1]);
  run_options(argv[2]);
  callbacks(argv[3]);
  if (failures == 0) printf("ok\n");
  return failures == 0 ? 0 : 1;
}
