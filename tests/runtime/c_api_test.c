/* SPDX-License-Identifier: Apache-2.0 */
/* The C ABI used from C. The package (make_c_api_package.cpp) returns relu(x + x), a
 * count kept from run to run, and a list. */
#include <stdio.h>
#include <string.h>

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

int main(int argc, char** argv) {
  dycl_program* program = NULL;
  dycl_run* run = NULL;
  const dycl_value* results = NULL;
  size_t count = 0;
  float data[3] = {1, -2, 3};
  int64_t shape[1] = {3}, strides[1] = {2};
  dycl_error* e;
  dycl_value x, state;

  if (argc != 2) return 2;
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
  dycl_run_reset_states(run);

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
  if (failures == 0) printf("ok\n");
  return failures == 0 ? 0 : 1;
}
