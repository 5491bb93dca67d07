/* SPDX-License-Identifier: Apache-2.0 */
/* The emitted program from C: one image of 3*32*32 floats, read from a file as they are in memory.
 * Built together with examples/02_stream_cpp. */
#include <stdio.h>

#include "early_exit_c.h"

int main(int argc, char** argv) {
  static float image[3 * 32 * 32];
  int64_t shape[] = {1, 3, 32, 32};
  early_exit* program = NULL;
  early_exit_inputs in = {{image, {1, 0}, 4, {2, 32, 1}, shape, NULL, 0}};
  early_exit_outputs out;
  if (argc != 3) return fprintf(stderr, "usage: %s early_exit.dycl image.bin\n", argv[0]), 64;
  FILE* file = fopen(argv[2], "rb");
  const size_t got = file ? fread(image, sizeof image[0], 3 * 32 * 32, file) : 0;
  if (file) fclose(file);
  if (got != 3 * 32 * 32) return fprintf(stderr, "%s: not an image\n", argv[2]), 3;

  int32_t status = early_exit_create(argv[1], &program);
  if (!status) status = early_exit_run(program, &in, &out);
  if (status) {
    fprintf(stderr, "error: %s\n", early_exit_error());
  } else {
    for (int64_t i = 0; i < out.out0.shape[1]; ++i) printf("%.9g ", ((const float*)out.out0.data)[i]);
    printf("\nexit %lld\n", (long long)out.out1);
  }
  early_exit_destroy(program);
  return status;
}
