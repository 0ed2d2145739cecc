/* A model for the rest of the engine, tools, benchmarks and tests, beyond engine/engine.h: its spec
 * and its bytes, and models of random weights.
 *
 * Ownership: as in engine/engine.h.
 * Threading: immutable after load; shared by any number of threads.
 * Errors:    INVALID, IO, CORRUPT, NO_MEMORY with the file, tensor or field and the reason.
 */
#ifndef BATON_ENGINE_MODEL_MODEL_H
#define BATON_ENGINE_MODEL_MODEL_H

#include "engine/arch/spec.h"
#include "engine/checkpoint/cache_dir.h"
#include "engine/engine.h"

/* The dtype of options that name none: "native" for GGUF, else "f32". */
const char *baton_model_default_dtype(const struct baton_checkpoint *checkpoint);

/* baton_model_load for a caller that wants nothing else of the checkpoint at path. */
enum baton_err baton_model_open(const char *path, const struct baton_model_options *options,
                                struct baton_model **model, struct baton_why *why) BATON_MUST_CHECK;

/* The spec of a checkpoint's model; INVALID, with the field, when the engine cannot compute it. */
enum baton_err baton_model_spec_of(const struct baton_checkpoint *checkpoint,
                                   struct baton_spec *spec, struct baton_why *why) BATON_MUST_CHECK;

/* A model of this spec with pseudo-random weights from seed, for benchmarks and tests of speed and
 * consistency. Errors: INVALID (a spec config.json could not have), NO_MEMORY. */
enum baton_err baton_model_random(const struct baton_spec *spec, uint64_t seed,
                                  const struct baton_model_options *options,
                                  struct baton_model **model,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Gives a head that drafts the embedding and the head of its model, which outlives it. It drafts
 * only the first 65,536 tokens, which is its vocabulary from now on; it reads all. */
void baton_model_borrow_vocabulary(struct baton_model *head, const struct baton_model *model);

const struct baton_spec *baton_model_spec(const struct baton_model *model);

/* Whether all matrices are in f32. The errors of every other dtype exceed those of K and V in
 * f16. */
bool baton_model_is_f32(const struct baton_model *model);

/* Bytes of the matrices that forwards read, as they are packed. */
struct baton_model_bytes {
    double head;
    double layers;  /* of all layers, what every step reads */
    double experts; /* of all layers and all experts, of which a step reads those its rows chose */
};
struct baton_model_bytes baton_model_bytes(const struct baton_model *model);

#endif
