/* The engine as its workers see it: models, and forwards that turn tokens into logits. Workers pass
 * tokens, get rows of logits and move blocks of bytes; they see no tensor and no kernel.
 *
 *     model      immutable weights, and what they compute
 *     pool       blocks of keys and values, reserved once              kv.h
 *     sequence   one timeline: the blocks of the positions it has      kv.h
 *     engine     what forwards run on: scratch memory and compute threads
 *
 * This header and kv.h are the boundary between workers and the rooms model, kv, compute and
 * system. Beside it workers know the model on disk (engine/checkpoint/checkpoint.h and facts.h),
 * its tokens (tokenizer_tables.h there, engine/tokenizer/tokenizer.h), grammars
 * (engine/grammar/set.h) and the choice of a token from logits (engine/sampling/sampled_token.h).
 *
 * Letters: B sequences, T tokens of a call, C model width, V vocabulary.
 *
 * Ownership: the caller closes what it loads and destroys what it creates. Engines borrow their
 *            model, which outlives them.
 * Threading: any thread may read a model. One thread, the engine thread, calls an engine.
 * Errors:    load and create: INVALID, NO_MEMORY, with the reason. Forwards: INVALID (a token or a
 *            position out of range), CANCELED (on_layer returned false). A forward allocates
 *            nothing.
 */
#ifndef BATON_ENGINE_ENGINE_H
#define BATON_ENGINE_ENGINE_H

#include "common/base/fingerprint.h"
#include "engine/kv.h"

/* ---- models ---- */

struct baton_cache_dirs;
struct baton_checkpoint;
struct baton_model;

/* The help text of --dtype, for every program that loads a model. */
#define BATON_DTYPE_HELP                                                                           \
    "weight format: f32, bf16, q8, auto (the fastest of these on this CPU), q4 (about five bits "  \
    "per weight) or native (the formats of a GGUF file); default: native for a GGUF file, else "   \
    "f32"

/* How a model is kept. Zeroed: in its default dtype, by the best kernels, packed by one thread,
 * private to the process. */
struct baton_model_options {
    const char *dtype;   /* a name of BATON_DTYPE_HELP; NULL: the default */
    const char *kernels; /* "auto", "amx", "avx512vnni", "avx512", "avx2", "i8mm", "dotprod",
                            "neon", "portable", "openblas"; NULL: auto */
    const struct baton_cache_dirs *cache; /* where packed weights are shared with other processes,
                                             as a file; NULL: nowhere, and nothing is logged */
    const struct baton_fingerprint *fingerprint; /* of the checkpoint; names that file */
    int n_threads;                               /* to pack with; 0: one */
    int n_context;      /* positions to serve; 0: all that the model knows */
    bool show_progress; /* of packing, on stderr: a line on a terminal, else one in the log each
                           10 s */
    /* Called when dtypes and sizes are known, before memory is taken. An error ends the load. NULL:
     * any size will do. */
    enum baton_err (*admit)(void *arg, const struct baton_model *model, struct baton_why *why);
    void *admit_arg;
};

/* The model of a checkpoint, which is not needed afterwards. INVALID also for a dtype or kernels
 * that this CPU or this combination cannot do; IO, CORRUPT. The reason names the file, and the
 * tensor or the field. */
enum baton_err baton_model_load(const struct baton_checkpoint *checkpoint,
                                const struct baton_model_options *options,
                                struct baton_model **model, struct baton_why *why) BATON_MUST_CHECK;
/* The head with which the model of this checkpoint drafts its own tokens (multi-token prediction).
 * It is a model of one layer, whose chunks have hidden states as well, and borrows the embedding
 * and the head of the model, which outlives it. Its logits are those of the first 65,536 tokens.
 * options: as the model's, but its dtype may be another; the cache is not used. INVALID also when
 * the checkpoint has no such head. */
enum baton_err baton_model_load_draft_head(const struct baton_checkpoint *checkpoint,
                                           const struct baton_model_options *options,
                                           const struct baton_model *model,
                                           struct baton_model **head,
                                           struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_model_close(struct baton_model *model);

struct baton_model_info {
    int n_vocab;       /* V */
    int n_embd;        /* C */
    int n_context;     /* positions that are served, prompt and output together */
    int n_pooled;      /* values of an embedding: C, or those of the model's own head for them */
    bool is_encoder;   /* texts run whole, and have no logits */
    int n_chunk;       /* rows of a prompt to compute at once (arch/spec_cost.h) */
    const char *dtype; /* of the weights: "f32", "bf16", "q8", "q4", "native" */
    const char *main_dtype; /* of most of the layers' bytes: "q4_k" of a native model */
    const char *kernels;    /* that compute: "avx512" */
    size_t weight_bytes;    /* as packed */
    size_t mapped_bytes;    /* of them, page cache of a shared file; 0 until the model is loaded */
};
/* Borrowed from the model. */
const struct baton_model_info *baton_model_info(const struct baton_model *model);

/* The class of a model's forwards whose K and V are in kv: processes of one class compute the same
 * bits from the same tokens. Takes milliseconds: each operation runs once on fixed inputs; the
 * blocks of kv are not touched. NO_MEMORY. */
enum baton_err baton_numeric_class(const struct baton_model *model, const struct baton_kv *kv,
                                   struct baton_numeric_class *numeric_class) BATON_MUST_CHECK;

/* ---- engines ---- */

struct baton_engine;

struct baton_engine_options {
    int max_rows;       /* T of one forward, of all its sequences */
    int n_threads;      /* that compute, the caller included */
    int max_trial_rows; /* on trial in one forward, of models whose layers keep a state */
    bool adapts; /* sequences may have blends (engine/adapter.h), which takes more scratch memory */
    /* Another engine of the same thread, which outlives this one: its threads compute, and its
     * pulse counts the layers of both. NULL: threads of its own. */
    struct baton_engine *beside;
};

enum baton_err baton_engine_create(const struct baton_model *model,
                                   const struct baton_engine_options *options,
                                   struct baton_engine **engine,
                                   struct baton_why *why) BATON_MUST_CHECK;
/* NULL is harmless. */
void baton_engine_destroy(struct baton_engine *engine);

/* Called when a layer's K and V of the positions just run are in their blocks, for layers that hold
 * any; they may be sent from then on. False ends the forward with CANCELED. */
typedef bool (*baton_layer_fn)(void *arg, int layer);

/* One sequence's tokens in a forward, at positions seq->n_tokens and up; it must have blocks for
 * them. A prompt runs in one chunk or several; a decode step is a chunk of one token, or of one and
 * its drafts. */
struct baton_chunk {
    struct baton_seq *seq;
    const uint32_t *tokens; /* [n_tokens] */
    int n_tokens;
    int n_logits;        /* how many of the last of them want logits */
    int n_pooled;        /* how many of the last of them are added, in their order, to pooled */
    double *pooled;      /* [C] sum of final hidden states; NULL when n_pooled is 0 */
    float *hidden;       /* [n_logits][C] final hidden states of these rows; NULL: not wanted */
    const float *states; /* [n_tokens][C] of a head that drafts: the final hidden state of the
                            position before each token; else NULL */
    bool is_trial;       /* some of its last tokens may be taken back: see baton_engine_settle */
    bool pools_first; /* n_pooled is 1, and the first row is meant; of an encoder, without logits */
    int n_first_part; /* an encoder's rows from this one on are the second text of a pair; 0: there
                         is one text */
};

/* One forward over the chunks of different sequences, prompts and decode steps alike: each weight
 * is read once for all rows. A chunk of an encoder is a whole text, of an empty sequence, and wants
 * no logits. Advances the sequences; after an error none has advanced. on_layer may
 * be NULL. logits [sum of n_logits][V], in the order of the rows; NULL when none wants any. The
 * bits of a chunk's results do not depend on its neighbours, nor on how its sequence was cut. */
enum baton_err baton_engine_forward(struct baton_engine *engine, const struct baton_chunk *chunks,
                                    int n_chunks, baton_layer_fn on_layer, void *arg,
                                    float *logits) BATON_MUST_CHECK;

/* After a forward with chunks on trial, when the positions to be taken back are out of n_tokens of
 * their sequences: carries the layers' states through those that stay. Until then a state does not
 * change, so it is the one that steps without the others leave. It comes before the next forward,
 * and before a sequence leaves; without such layers it does nothing. */
void baton_engine_settle(struct baton_engine *engine);

/* Runs pooled states through the model's own head for them, if it has one: x [n_rows][C] becomes
 * results [n_rows][n_pooled]. At most BATON_POOL_ROWS rows. The bits of a row do not depend on the
 * others. */
enum { BATON_POOL_ROWS = 32 };
void baton_engine_pool(struct baton_engine *engine, const float *x, int n_rows, float *results);

/* A forward of one chunk: tokens [T]. logits [V] of the last position, or NULL. */
enum baton_err baton_engine_prefill(struct baton_engine *engine, struct baton_seq *seq,
                                    const uint32_t *tokens, int n_tokens, baton_layer_fn on_layer,
                                    void *arg, float *logits) BATON_MUST_CHECK;

/* A forward of one token of each sequence: tokens [B]. logits [B][V]. */
enum baton_err baton_engine_decode(struct baton_engine *engine, struct baton_seq *const *seqs,
                                   const uint32_t *tokens, int n_seqs,
                                   float *logits) BATON_MUST_CHECK;

/* Computes like prefill, but with the logits of every position: it calls on_row T times with logits
 * [V], in order. scratch [BATON_SCORE_ROWS][V]. */
enum { BATON_SCORE_ROWS = 8 };
typedef void (*baton_row_fn)(void *arg, int row, const float *logits);
enum baton_err baton_engine_score(struct baton_engine *engine, struct baton_seq *seq,
                                  const uint32_t *tokens, int n_tokens, baton_layer_fn on_layer,
                                  void *layer_arg, baton_row_fn on_row, void *row_arg,
                                  float *scratch) BATON_MUST_CHECK;

/* The naive step: runs the whole prefix tokens [T] from position 0 and keeps nothing. scratch is a
 * sequence with blocks for T positions, empty before and after. logits [V] of the last position. */
enum baton_err baton_engine_naive(struct baton_engine *engine, struct baton_seq *scratch,
                                  const uint32_t *tokens, int n_tokens,
                                  float *logits) BATON_MUST_CHECK;

/* The number of layers computed so far, and the rows of the current or last forward. Any thread may
 * call it: a count that stands still during a forward means that the engine is stalled. */
struct baton_engine_pulse {
    unsigned n_layers;
    int n_rows;
};
struct baton_engine_pulse baton_engine_pulse(const struct baton_engine *engine);

/* ---- compute threads ---- */

/* Runs fn for items 0..n_items-1 on the compute threads, between forwards, and returns when all are
 * done. worker is 0..n_threads-1, the caller's own being 0: it picks scratch memory. */
typedef void (*baton_item_fn)(void *arg, int item, int worker);
void baton_engine_share(struct baton_engine *engine, int n_items, baton_item_fn fn, void *arg);

/* Threads 0..n-1 take part, thread 0 being the caller. Thread i is pinned to processors[i]; with
 * NULL the system places each. One function sets processors to NULL always or never. */
struct baton_share {
    int n;
    const int *processors; /* [n], borrowed until the next call of the function that set it */
};

/* Called before every loop and between the caller's items, so it must cost next to nothing while
 * nothing changes. False: nothing has changed since the last call. */
typedef bool (*baton_share_fn)(void *arg, struct baton_share *share);

/* Sets the rule for how many threads compute, and on which processors; without one all threads
 * compute, unpinned. Called on the thread that calls the engine. */
void baton_engine_set_share(struct baton_engine *engine, baton_share_fn fn, void *arg);

#endif
