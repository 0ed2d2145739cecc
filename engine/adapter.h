/* LoRA adapters: small changes of a model's matrices, which each sequence may choose for itself.
 *
 *     y += scale B (A x)      A [r][n_in], B [n_out][r], the file's own alpha / r is part of B
 *
 * An adapter changes projections of attention and of dense MLPs. Its products are f32 sums of the
 * model's own kernels, so a row's bits depend on the row and its blend alone, and rows without one
 * have the bits of a model without adapters.
 *
 * Ownership: the caller closes what it loads, after the last forward of a sequence that uses it.
 * Threading: an adapter is immutable once loaded; any thread may load one.
 * Errors:    NOT_FOUND, IO, LIMIT, CORRUPT, NO_MEMORY; INVALID for what an adapter asks of the
 *            model and the engine does not compute. The reason names file, field or tensor.
 */
#ifndef BATON_ENGINE_ADAPTER_H
#define BATON_ENGINE_ADAPTER_H

#include <stddef.h>

#include "common/base/digest.h"

struct baton_adapter;
struct baton_model;

/* A directory with adapter_config.json and adapter_model.safetensors, as PEFT writes it, or a GGUF
 * adapter. The model outlives it. */
enum baton_err baton_adapter_load(const struct baton_model *model, const char *path,
                                  struct baton_adapter **adapter,
                                  struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_adapter_close(struct baton_adapter *adapter);

struct baton_adapter_info {
    char digest[BATON_SHA256_HEX]; /* of the files' bytes */
    int rank;                      /* the highest of its matrices */
    size_t n_bytes;                /* of memory */
};
/* Borrowed from the adapter. */
const struct baton_adapter_info *baton_adapter_info(const struct baton_adapter *adapter);

/* The highest rank of one matrix; for adapters of a larger one load is LIMIT. */
enum { BATON_ADAPTER_MAX_RANK = 512 };

/* The adapters of a sequence, each with a scale; their changes add up in this order. Two blends
 * with equal members are the same. */
enum { BATON_BLEND_MAX = 4 };

struct baton_blend {
    int n;
    struct {
        const struct baton_adapter *adapter;
        float scale;
    } list[BATON_BLEND_MAX];
};

#endif
