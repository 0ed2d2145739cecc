/* A loaded model: its spec (arch/spec.h) and its immutable weights, mapped from a Hugging Face
 * directory.
 *
 * Ownership: the model owns its mappings and packed copies; engines and pools borrow it.
 * Threading: immutable after open; shared by any number of threads.
 * Errors:    open: NOT_FOUND, IO, INVALID or CORRUPT with file, tensor or field and the reason.
 */
#ifndef BATON_ENGINE_MODEL_MODEL_H
#define BATON_ENGINE_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/fingerprint.h"
#include "engine/arch/spec.h"
#include "engine/checkpoint/cache_dir.h"
#include "engine/kv/kv.h"

struct baton_checkpoint;
struct baton_model;

/* What --dtype may say, wherever a model is opened. */
#define BATON_DTYPE_HELP                                                                           \
    "of the weights: f32, bf16, q8, auto (the fastest of these on this CPU), q4 (about five bits " \
    "a weight) or native (the formats of a GGUF file); default: native for a GGUF file, else f32"

/* Asked when the dtypes and sizes of a model are known, before memory is taken for it. An error
 * ends the load. */
typedef enum baton_err (*baton_model_admit_fn)(void *arg, const struct baton_model *model,
                                               struct baton_why *why);

/* How a model is kept. Zeroed, it is in f32, by the best kernels, on one thread, private to the
 * process. */
struct baton_model_options {
    const char *dtype;   /* of the weights: "f32", "bf16", "q8", "auto": the fastest of them that
                            holds the bounds on accuracy (tests/golden), "q4": q4_dtypes.h, or
                            "native": each matrix as a GGUF file has it;
                            NULL: baton_model_default_dtype */
    const char *kernels; /* "auto", "amx", "avx512vnni", "avx512", "avx2", "i8mm", "dotprod",
                            "neon", "portable", "openblas"; NULL: auto */
    const struct baton_cache_dirs *cache; /* where packed weights are shared with other processes,
                                             as a file; NULL: nowhere, and nothing
                                             is said about it */
    const struct baton_fingerprint *fingerprint; /* of the directory; names that file */
    int n_threads;                               /* to pack with; 0: one */
    int n_context;      /* positions to serve; 0: all that the model knows */
    bool show_progress; /* of packing, on stderr: a line on a terminal, else each 10 s one in the
                           log */
    baton_model_admit_fn admit; /* NULL: whatever its size */
    void *admit_arg;
};

/* The model that checkpoint holds: single file or sharded; F32, F16 or BF16. INVALID also for a
 * dtype or kernels that this CPU or this combination cannot do, with the reason. */
enum baton_err baton_model_load(const struct baton_checkpoint *checkpoint,
                                const struct baton_model_options *options,
                                struct baton_model **model, struct baton_why *why) BATON_MUST_CHECK;

/* What options that name no dtype stand for: "native" for GGUF, else "f32". */
const char *baton_model_default_dtype(const struct baton_checkpoint *checkpoint);

/* baton_model_load for a caller that wants nothing else of the checkpoint at path. */
enum baton_err baton_model_open(const char *path, const struct baton_model_options *options,
                                struct baton_model **model, struct baton_why *why) BATON_MUST_CHECK;

/* What the model of a checkpoint computes; INVALID, with the field, when the engine cannot compute
 * it. */
enum baton_err baton_model_spec_of(const struct baton_checkpoint *checkpoint,
                                   struct baton_spec *spec, struct baton_why *why) BATON_MUST_CHECK;

void baton_model_close(struct baton_model *model);

/* A model of this spec with pseudo-random weights from seed, for benchmarks and tests of speed and
 * consistency. Errors: INVALID (a spec config.json could not have), NO_MEMORY. */
enum baton_err baton_model_random(const struct baton_spec *spec, uint64_t seed,
                                  const struct baton_model_options *options,
                                  struct baton_model **model,
                                  struct baton_why *why) BATON_MUST_CHECK;
const struct baton_spec *baton_model_spec(const struct baton_model *model);

/* For pools of its K and V: "auto" is f32 where all matrices are, else f16, whose error is small
 * beside that of the weights. */
struct baton_kv_layout baton_model_kv_layout(const struct baton_model *model);

/* Bytes of the matrices that forwards read, as they are packed. */
struct baton_model_bytes {
    double head;
    double layers;  /* of all layers, what every step reads */
    double experts; /* of all layers and all experts, of which a step reads those its rows chose */
};
struct baton_model_bytes baton_model_bytes(const struct baton_model *model);

/* The dtype of most of these bytes but the head's: "q4_k" of a native model that is mostly so. */
const char *baton_model_main_dtype(const struct baton_model *model);

/* Bytes of all weights, as they are packed. */
size_t baton_model_all_bytes(const struct baton_model *model);

/* Bytes of the weights that are mapped from a file, and thus page cache; 0: they are private. */
size_t baton_model_mapped_bytes(const struct baton_model *model);

/* The dtype of the weights: "f32", "bf16", "q8", "q4", "native"; and whose kernels compute:
 * "avx512", .... */
const char *baton_model_dtype(const struct baton_model *model);
const char *baton_model_kernels(const struct baton_model *model);

#endif
