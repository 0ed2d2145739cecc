/* A model's configuration as metadata keys of a GGUF file, with the names of llama.cpp's
 * converters, and the tensors that replace keys: a rotary embedding's divisors.
 *
 * Ownership: the extra tensors are the caller's struct.
 * Threading: pure.
 * Errors:    none here; errors of the writer stay in it.
 */
#ifndef BATON_BENCH_MODEL_GGUF_KEYS_H
#define BATON_BENCH_MODEL_GGUF_KEYS_H

#include "bench/model/gguf_writer.h"
#include "engine/arch/spec.h"

/* Divides each frequency of a rotary embedding, in F32. */
struct bench_gguf_divisors {
    char name[40];
    float values[BATON_MAX_ROTATED / 2];
    int n;
};

enum { BENCH_GGUF_MAX_DIVISORS = 2 };

/* Returns general.architecture of the model's file; NULL: there are no such files. */
const char *bench_gguf_architecture(const struct baton_model_config *config,
                                    const struct baton_spec *spec);

/* Writes sizes, norms, rotary embedding, windows, mixture and scales, and whether the head that
 * drafts is the last block. Fills divisors with the tensors that the rotary embedding needs, and
 * returns their number. */
int bench_gguf_put_model(struct bench_gguf *gguf, const struct baton_model_config *config,
                         const struct baton_spec *spec, bool drafts,
                         struct bench_gguf_divisors divisors[BENCH_GGUF_MAX_DIVISORS]);

#endif
