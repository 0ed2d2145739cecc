/* The engine: runs a model over sequences. Servers never see a tensor, only tokens and logits rows.
 *
 * Ownership: an engine owns its scratch memory, sized at creation; model and pools are borrowed.
 * Threading: one thread calls an engine (the engine thread); it drives a compute pool of its own.
 * Errors:    create: NO_MEMORY, INVALID. The runs: INVALID (token id or position out of range),
 *            CANCELED (the layer callback said stop). A step allocates nothing.
 */
#ifndef BATON_ENGINE_COMPUTE_ENGINE_H
#define BATON_ENGINE_COMPUTE_ENGINE_H

#include <stdbool.h>

#include "engine/kv/kv.h"
#include "engine/model/model.h"
#include "engine/system/pool.h"

struct baton_engine;

struct baton_engine_options {
    int max_rows;  /* T of one forward, of all its sequences */
    int n_threads; /* of the compute pool, the caller included */
    /* Another engine of the same thread, which outlives this one: its pool computes, n_threads is
     * its, and its pulse counts the layers of both. NULL: a pool of its own. */
    struct baton_engine *beside;
};

enum baton_err baton_engine_create(const struct baton_model *model,
                                   const struct baton_engine_options *options,
                                   struct baton_engine **engine,
                                   struct baton_why *why) BATON_MUST_CHECK;
void baton_engine_destroy(struct baton_engine *engine);

/* Runs fn for items 0..n_items-1 on the compute pool (pool.h), between forwards. */
void baton_engine_share(struct baton_engine *engine, int n_items, baton_item_fn fn, void *arg);

/* Sets the rule for how many threads compute, and where (pool.h). Call it on the thread that calls
 * the engine. */
void baton_engine_set_share(struct baton_engine *engine, baton_share_fn fn, void *arg);

/* What was computed so far, in layers, and how many rows the forward has that runs or ran last.
 * From any thread: one that sees the count stand still during a forward knows that the engine
 * does. */
struct baton_engine_pulse {
    unsigned n_layers;
    int n_rows;
};
struct baton_engine_pulse baton_engine_pulse(const struct baton_engine *engine);

/* Called when layer's K and V of the positions just run are in the sequences' blocks, for layers
 * that have any of their own (kv_from in arch/spec.h); returning false ends the forward with
 * CANCELED. */
typedef bool (*baton_layer_fn)(void *arg, int layer);

/* One sequence's tokens in a forward, at positions seq->n_tokens and up; it must have blocks for
 * them. A prompt runs in one chunk or several, a decode step is a chunk of one token. */
struct baton_chunk {
    struct baton_seq *seq;
    const uint32_t *tokens; /* [n_tokens] */
    int n_tokens;
    int n_logits;   /* how many of the last of them want logits */
    int n_pooled;   /* how many of the last of them are added, in their order, to pooled */
    double *pooled; /* [C] sum of final hidden states; NULL when n_pooled is 0 */
};

/* One forward over the chunks of different sequences, prompts and decode steps alike: each weight
 * is read once for all rows, T in all. Advances the sequences. on_layer may be NULL. logits [sum of
 * n_logits][V], in the order of the rows; NULL when none wants any. A chunk's results do not depend
 * on its neighbours, and a pooled sum not on how its sequence was cut into chunks. After an error
 * no sequence has advanced. */
enum baton_err baton_engine_forward(struct baton_engine *engine, const struct baton_chunk *chunks,
                                    int n_chunks, baton_layer_fn on_layer, void *arg,
                                    float *logits) BATON_MUST_CHECK;

/* A forward of one prompt, or a chunk of it: tokens [T]. logits [V] of the last position only, or
 * NULL when they are not wanted. */
enum baton_err baton_engine_prefill(struct baton_engine *engine, struct baton_seq *seq,
                                    const uint32_t *tokens, int n_tokens, baton_layer_fn on_layer,
                                    void *arg, float *logits) BATON_MUST_CHECK;

/* Called with the logits [V] that follow the row-th of the tokens just run, in order of rows. */
typedef void (*baton_row_fn)(void *arg, int row, const float *logits);

/* Rows whose logits are computed together while scoring. */
enum { BATON_SCORE_ROWS = 8 };

/* As prefill, but with the logits of every position: on_row is called T times. scratch
 * [BATON_SCORE_ROWS][V]. The last row's logits have the same bits that prefill gives. */
enum baton_err baton_engine_score(struct baton_engine *engine, struct baton_seq *seq,
                                  const uint32_t *tokens, int n_tokens, baton_layer_fn on_layer,
                                  void *layer_arg, baton_row_fn on_row, void *row_arg,
                                  float *scratch) BATON_MUST_CHECK;

/* One step of B sequences: tokens[b] at position seqs[b]->n_tokens. logits [B][V] float. */
enum baton_err baton_engine_decode(struct baton_engine *engine, struct baton_seq *const *seqs,
                                   const uint32_t *tokens, int n_seqs,
                                   float *logits) BATON_MUST_CHECK;

/* The naive step: runs the whole prefix tokens [T] from position 0 and keeps nothing. scratch is a
 * sequence with blocks for T positions, left empty (n_tokens 0). logits [V] of the last position.
 */
enum baton_err baton_engine_naive(struct baton_engine *engine, struct baton_seq *scratch,
                                  const uint32_t *tokens, int n_tokens,
                                  float *logits) BATON_MUST_CHECK;

#endif
