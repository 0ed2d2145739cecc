/* Writes random weights of a shape as a safetensors file, with the names and the orders of rows of
 * a family's checkpoints. It writes row by row: memory holds one row.
 *
 * Ownership: nothing outlives the call.
 * Threading: any thread.
 * Errors:    IO with the path and the reason; NO_MEMORY. A failed file stays on the disk.
 */
#ifndef BATON_BENCH_MODEL_WEIGHTS_FILE_H
#define BATON_BENCH_MODEL_WEIGHTS_FILE_H

#include "engine/arch/arch.h"
#include "engine/checkpoint/weights/convert.h"
#include "engine/model/model.h"

/* Writes the weights of baton_model_random(spec, seed), and with drafts those of the head that
 * drafts after them; dtype F32, or BF16 rounded to nearest even. INVALID: the family has no such
 * head. */
enum baton_err bench_weights_write(const char *path, const struct baton_arch *arch,
                                   const struct baton_spec *spec, bool drafts, uint64_t seed,
                                   enum baton_element dtype,
                                   struct baton_why *why) BATON_MUST_CHECK;

#endif
