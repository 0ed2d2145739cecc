#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/arch/draft_head.h"
#include "engine/arch/spec_cost.h"
#include "engine/compute/decoder.h"
#include "engine/compute/finished.h"
#include "engine/system/floats.h"

enum { MAX_ROWS = 1 << 20 }; /* far above any useful step; bounds the scratch memory */

struct baton_engine {
    struct baton_engine_options options;
    struct baton_forward forward; /* a view of all scratch; each call works on a copy */
    float *scratch;
    void *quantized;
    float *moe;
    float *adapted;                         /* NULL: no sequence may have a blend */
    float *trial;                           /* NULL: no row may be on trial */
    atomic_uint n_layers;                   /* one writer: the engine thread */
    float *stages[BATON_MAX_POOLED_STAGES]; /* [BATON_POOL_ROWS][n_out] of pooled states */
    atomic_int n_rows;
};

static enum baton_err set_pool(struct baton_engine *engine, struct baton_why *why)
{
    if (!engine->options.beside)
        return baton_pool_create(engine->options.n_threads, &engine->forward.pool, why);
    engine->forward.pool = engine->options.beside->forward.pool;
    return BATON_OK;
}

static enum baton_err allocate_adapted(struct baton_engine *engine, struct baton_why *why)
{
    struct baton_forward *forward = &engine->forward;
    int n_rows = engine->options.max_rows;
    size_t n = baton_adapted_place(&forward->adapted, forward->model, NULL, n_rows);
    engine->adapted = baton_floats_create(n / sizeof(float) + 1);
    if (!engine->adapted)
        return baton_fail(why, BATON_NO_MEMORY, "engine: no memory for adapters of %d rows",
                          n_rows);
    (void)baton_adapted_place(&forward->adapted, forward->model, (char *)engine->adapted, n_rows);
    return BATON_OK;
}

static enum baton_err allocate_trial(struct baton_engine *engine, struct baton_why *why)
{
    struct baton_forward *forward = &engine->forward;
    if (!forward->model->spec.state.n_taps || !engine->options.max_trial_rows)
        return BATON_OK;
    forward->trial.max_rows = engine->options.max_trial_rows;
    engine->trial = baton_floats_create(baton_trial_place(forward, NULL) / sizeof(float));
    if (!engine->trial)
        return baton_fail(why, BATON_NO_MEMORY, "engine: no memory for %d rows on trial",
                          forward->trial.max_rows);
    (void)baton_trial_place(forward, (char *)engine->trial);
    return BATON_OK;
}

static bool allocate_stages(struct baton_engine *engine)
{
    const struct baton_spec *spec = &engine->forward.model->spec;
    for (int i = 0; i < spec->n_pooled_stages; i++) {
        engine->stages[i] =
            baton_floats_create((size_t)BATON_POOL_ROWS * (size_t)spec->pooled_stages[i].n_out);
        if (!engine->stages[i])
            return false;
    }
    return true;
}

static enum baton_err allocate(struct baton_engine *engine, struct baton_why *why)
{
    const struct baton_engine_options *options = &engine->options;
    int n_rows = options->max_rows;
    enum baton_err err = set_pool(engine, why);
    if (err)
        return err;
    engine->scratch =
        baton_floats_create(baton_forward_place(&engine->forward, NULL, n_rows) / sizeof(float));
    engine->forward.rows = calloc((size_t)n_rows, sizeof engine->forward.rows[0]);
    engine->forward.groups = calloc((size_t)n_rows, sizeof engine->forward.groups[0]);
    /* Scratch is allocated here, for the most rows, and zeroed: a forward allocates nothing and
     * takes no page fault. */
    int n_most = n_rows > BATON_POOL_ROWS ? n_rows : BATON_POOL_ROWS;
    size_t n_quantized = baton_forward_quantized_bytes(engine->forward.model, n_most);
    if (options->adapts)
        n_quantized += baton_adapted_quantized_bytes(engine->forward.model, n_rows);
    engine->quantized = baton_floats_create(n_quantized / sizeof(float) + 1);
    engine->forward.quantized = engine->quantized;
    engine->moe = baton_floats_create(
        baton_moe_place(&engine->forward.moe, engine->forward.model, NULL, n_rows) / sizeof(float) +
        1);
    if (!engine->scratch || !engine->forward.rows || !engine->forward.groups ||
        !engine->quantized || !engine->moe || !allocate_stages(engine))
        return baton_fail(why, BATON_NO_MEMORY, "engine: no memory for %d rows", n_rows);
    (void)baton_forward_place(&engine->forward, (char *)engine->scratch, n_rows);
    (void)baton_moe_place(&engine->forward.moe, engine->forward.model, (char *)engine->moe, n_rows);
    err = allocate_trial(engine, why);
    return !err && options->adapts ? allocate_adapted(engine, why) : err;
}

enum baton_err baton_engine_create(const struct baton_model *model,
                                   const struct baton_engine_options *options,
                                   struct baton_engine **engine, struct baton_why *why)
{
    if (options->max_rows < 1 || options->max_rows > MAX_ROWS)
        return baton_fail(why, BATON_INVALID, "engine: rows of a forward must be 1..%d, not %d",
                          MAX_ROWS, options->max_rows);
    struct baton_engine *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "engine: out of memory");
    made->options = *options;
    made->forward.model = model;
    made->forward.kernels = model->kernels;
    enum baton_err err = allocate(made, why);
    if (err)
        baton_engine_destroy(made);
    else
        *engine = made;
    return err;
}

void baton_engine_destroy(struct baton_engine *engine)
{
    if (!engine)
        return;
    if (!engine->options.beside) /* else the pool belongs to the other engine */
        baton_pool_destroy(engine->forward.pool);
    free(engine->forward.rows);
    free(engine->forward.groups);
    free(engine->scratch);
    free(engine->quantized);
    free(engine->moe);
    free(engine->adapted);
    free(engine->trial);
    for (int i = 0; i < BATON_MAX_POOLED_STAGES; i++)
        free(engine->stages[i]);
    free(engine);
}

void baton_engine_share(struct baton_engine *engine, int n_items, baton_item_fn fn, void *arg)
{
    baton_pool_run(engine->forward.pool, n_items, fn, arg);
}

void baton_engine_set_share(struct baton_engine *engine, baton_share_fn fn, void *arg)
{
    baton_pool_set_share(engine->forward.pool, fn, arg);
}

struct baton_engine_pulse baton_engine_pulse(const struct baton_engine *engine)
{
    return (struct baton_engine_pulse){.n_layers = atomic_load(&engine->n_layers),
                                       .n_rows = atomic_load(&engine->n_rows)};
}

/* The engine that counts: a caller polls the pulse of the first of two engines only. */
static struct baton_engine *pulse_of(struct baton_engine *engine)
{
    return engine->options.beside ? engine->options.beside : engine;
}

static void beat(struct baton_engine *engine)
{
    (void)atomic_fetch_add_explicit(&pulse_of(engine)->n_layers, 1, memory_order_relaxed);
}

/* A sequence may not write into its shared blocks: other sequences read them. */
static bool fits(const struct baton_model *model, const struct baton_seq *seq,
                 const uint32_t *tokens, int n_tokens)
{
    const struct baton_spec *spec = &model->spec;
    int64_t end = (int64_t)seq->n_tokens + n_tokens;
    if (spec->is_encoder && seq->n_tokens) /* its earlier rows have not seen the others */
        return false;
    if (seq->n_tokens < seq->n_shared * BATON_KV_BLOCK_TOKENS || end > spec->n_context ||
        end > (int64_t)seq->n_blocks * BATON_KV_BLOCK_TOKENS)
        return false;
    for (int i = 0; i < n_tokens; i++)
        if (tokens[i] >= (uint32_t)model->token_embedding.n_out)
            return false;
    return true;
}

/* Runs everything up to the last K and V that a layer computes; finish_rows does the rest. A
 * layer's attention comes at the start of the next iteration: on_layer is called as soon as the
 * layer's K and V are in their blocks, so that they can leave while the attention runs. And the
 * rows that want no logits end before that layer's attention: later layers read K and V of these,
 * and have none of their own. */
static enum baton_err run_layers(struct baton_engine *engine, struct baton_forward *forward,
                                 baton_layer_fn on_layer, void *arg)
{
    atomic_store_explicit(&pulse_of(engine)->n_rows, forward->n_rows, memory_order_relaxed);
    baton_decoder_embed(forward);
    for (int layer = 0; layer <= forward->last_common; layer++) {
        if (layer) {
            baton_forward_attend(forward, layer - 1);
            baton_decoder_attn_out_and_mlp(forward, layer - 1);
        }
        baton_decoder_qkv(forward, layer);
        beat(engine);
        if (on_layer && baton_spec_stores_kv(&forward->model->spec, layer) && !on_layer(arg, layer))
            return BATON_CANCELED;
    }
    return BATON_OK;
}

static void finish_layers(struct baton_engine *engine, struct baton_forward *forward)
{
    int last = forward->model->spec.n_layers - 1;
    for (int layer = forward->last_common; layer <= last; layer++) {
        if (layer > forward->last_common) {
            baton_decoder_qkv(forward, layer);
            beat(engine);
        }
        baton_forward_attend(forward, layer);
        baton_decoder_attn_out_and_mlp(forward, layer);
    }
}

/* The rest of the layers, and the logits [n_rows][V]. */
static void finish_rows(struct baton_engine *engine, struct baton_forward *forward, float *logits)
{
    finish_layers(engine, forward);
    baton_decoder_logits(forward, baton_decoder_hidden(forward), logits);
    beat(engine);
}

/* Adds a row per token; false when they do not fit. */
static bool add_tokens(const struct baton_engine *engine, struct baton_forward *forward,
                       struct baton_seq *seq, const uint32_t *tokens, int n_tokens)
{
    if (n_tokens < 1 || n_tokens > engine->options.max_rows - forward->n_rows ||
        (seq->blend && !engine->adapted) || !fits(forward->model, seq, tokens, n_tokens))
        return false;
    for (int i = 0; i < n_tokens; i++)
        forward->rows[forward->n_rows++] =
            (struct baton_row){.seq = seq,
                               .position = seq->n_tokens + i,
                               .n_text = forward->model->spec.is_encoder ? n_tokens : 0,
                               .token = tokens[i]};
    return true;
}

static bool add_rows(const struct baton_engine *engine, struct baton_forward *forward,
                     struct baton_seq *seq, const uint32_t *tokens, int n_tokens)
{
    return add_tokens(engine, forward, seq, tokens, n_tokens) && baton_seq_slide(seq, n_tokens);
}

/* The state of a sequence on trial stays where it is. */
static bool prepare_state(struct baton_forward *forward, const struct baton_chunk *chunk)
{
    if (chunk->is_trial && baton_kv_has_states(chunk->seq->kv))
        return baton_trial_add(forward, chunk);
    return baton_seq_slide(chunk->seq, chunk->n_tokens);
}

/* Rows of a head that drafts have states. */
static bool set_states(const struct baton_forward *forward, const struct baton_chunk *chunk)
{
    struct baton_row *rows = forward->rows + forward->n_rows - chunk->n_tokens;
    if (baton_spec_is_draft_head(&forward->model->spec) != (chunk->states != NULL))
        return false;
    for (int i = 0; chunk->states && i < chunk->n_tokens; i++)
        rows[i].state = chunk->states + (size_t)i * (size_t)forward->model->spec.n_embd;
    return true;
}

/* Gives the second part of a pair its token type, where the model tells parts apart. */
static void set_types(const struct baton_forward *forward, const struct baton_chunk *chunk)
{
    struct baton_row *rows = forward->rows + forward->n_rows - chunk->n_tokens;
    for (int i = chunk->n_first_part; i > 0 && i < chunk->n_tokens; i++)
        rows[i].type = forward->model->spec.n_token_types > 1;
}

static bool add_chunk(const struct baton_engine *engine, struct baton_forward *forward,
                      const struct baton_chunk *chunk)
{
    if (!add_tokens(engine, forward, chunk->seq, chunk->tokens, chunk->n_tokens) ||
        !prepare_state(forward, chunk) || !set_states(forward, chunk))
        return false;
    set_types(forward, chunk);
    return true;
}

/* A forward state without rows yet. */
static struct baton_forward begin_forward(struct baton_engine *engine)
{
    struct baton_forward forward;
    engine->forward.trial.n_rows = engine->forward.trial.n_chunks = 0;
    forward = engine->forward;
    forward.n_rows = 0;
    forward.last_common = baton_spec_last_kv_layer(&forward.model->spec);
    return forward;
}

static void finish(struct baton_engine *engine, struct baton_forward *forward,
                   const struct baton_chunk *chunks, int n_chunks, float *logits)
{
    finish_layers(engine, forward);
    if (baton_any_pooled(chunks, n_chunks))
        baton_pool_rows(forward, chunks, n_chunks);
    if (forward->n_rows) {
        const float *hidden = baton_decoder_hidden(forward);
        baton_give_hidden(forward, chunks, n_chunks, hidden);
        baton_decoder_logits(forward, hidden, logits);
    }
    beat(engine);
}

enum baton_err baton_engine_forward(struct baton_engine *engine, const struct baton_chunk *chunks,
                                    int n_chunks, baton_layer_fn on_layer, void *arg, float *logits)
{
    struct baton_forward forward = begin_forward(engine);
    for (int i = 0; i < n_chunks; i++)
        if (!add_chunk(engine, &forward, &chunks[i]) ||
            baton_n_finished(&chunks[i]) > chunks[i].n_tokens ||
            (forward.model->spec.is_encoder && chunks[i].n_logits))
            return BATON_INVALID;
    if (!forward.n_rows)
        return BATON_INVALID;
    enum baton_err err = run_layers(engine, &forward, on_layer, arg);
    if (err)
        return err;
    baton_keep_finished_rows(&forward, chunks, n_chunks);
    if (forward.n_rows)
        finish(engine, &forward, chunks, n_chunks, logits);
    /* The sequences advance last: an error or a cancellation leaves them unchanged. */
    for (int i = 0; i < n_chunks; i++)
        chunks[i].seq->n_tokens += chunks[i].n_tokens;
    engine->forward.trial = forward.trial;
    return BATON_OK;
}

void baton_engine_settle(struct baton_engine *engine)
{
    const struct baton_trial trial = engine->forward.trial;
    struct baton_forward forward = begin_forward(engine);
    baton_trial_settle(&forward, &trial);
}

enum baton_err baton_engine_prefill(struct baton_engine *engine, struct baton_seq *seq,
                                    const uint32_t *tokens, int n_tokens, baton_layer_fn on_layer,
                                    void *arg, float *logits)
{
    const struct baton_chunk chunk = {
        .seq = seq, .tokens = tokens, .n_tokens = n_tokens, .n_logits = logits != NULL};
    return baton_engine_forward(engine, &chunk, 1, on_layer, arg, logits);
}

enum baton_err baton_engine_score(struct baton_engine *engine, struct baton_seq *seq,
                                  const uint32_t *tokens, int n_tokens, baton_layer_fn on_layer,
                                  void *layer_arg, baton_row_fn on_row, void *row_arg,
                                  float *scratch)
{
    struct baton_forward forward = begin_forward(engine);
    size_t n_vocab = (size_t)forward.model->spec.n_vocab;
    forward.last_common = forward.model->spec.n_layers - 1; /* all rows want logits */
    if (forward.model->spec.is_encoder || !add_rows(engine, &forward, seq, tokens, n_tokens))
        return BATON_INVALID;
    enum baton_err err = run_layers(engine, &forward, on_layer, layer_arg);
    /* A few rows at a time: logits of a whole chunk would take V floats per token. Rows do not
     * depend on their neighbours, so these have the bits that they have in any other forward. */
    for (int first = 0; first < n_tokens && !err; first += BATON_SCORE_ROWS) {
        int n = n_tokens - first < BATON_SCORE_ROWS ? n_tokens - first : BATON_SCORE_ROWS;
        struct baton_forward some = forward;
        baton_forward_narrow(&some, first, n);
        finish_rows(engine, &some, scratch);
        for (int i = 0; i < n; i++)
            on_row(row_arg, first + i, scratch + (size_t)i * n_vocab);
    }
    if (!err)
        seq->n_tokens += n_tokens;
    return err;
}

enum baton_err baton_engine_decode(struct baton_engine *engine, struct baton_seq *const *seqs,
                                   const uint32_t *tokens, int n_seqs, float *logits)
{
    struct baton_forward forward = begin_forward(engine);
    for (int b = 0; b < n_seqs; b++)
        if (forward.model->spec.is_encoder || !add_rows(engine, &forward, seqs[b], &tokens[b], 1))
            return BATON_INVALID;
    if (!forward.n_rows)
        return BATON_INVALID;
    enum baton_err err = run_layers(engine, &forward, NULL, NULL);
    if (err)
        return err;
    finish_rows(engine, &forward, logits);
    for (int b = 0; b < n_seqs; b++)
        seqs[b]->n_tokens++;
    return BATON_OK;
}

enum baton_err baton_engine_naive(struct baton_engine *engine, struct baton_seq *scratch,
                                  const uint32_t *tokens, int n_tokens, float *logits)
{
    enum baton_err err = BATON_OK;
    if (n_tokens < 1 || scratch->n_tokens)
        return BATON_INVALID;
    for (int done = 0, n = 0; done < n_tokens && !err; done += n) {
        /* Chunks of max_rows. All are in this call, so earlier chunks' KV blocks are kept. */
        n = n_tokens - done;
        if (n > engine->options.max_rows)
            n = engine->options.max_rows;
        err = baton_engine_prefill(engine, scratch, tokens + done, n, NULL, NULL,
                                   done + n == n_tokens ? logits : NULL);
    }
    scratch->n_tokens = 0; /* the next call computes everything again */
    return err;
}

/* ---- pooled states ---- */

static void finish_stage(const struct baton_pooled_stage *stage, float *y, int n_rows)
{
    for (int i = 0; stage->is_tanh && i < n_rows * stage->n_out; i++)
        y[i] = tanhf(y[i]);
}

void baton_engine_pool(struct baton_engine *engine, const float *x, int n_rows, float *results)
{
    const struct baton_model *model = engine->forward.model;
    const struct baton_epilogue store = {.kind = BATON_STORE, .scale = 1};
    struct baton_forward forward = begin_forward(engine);
    forward.n_rows = n_rows;
    for (int i = 0; i < model->spec.n_pooled_stages; i++) {
        struct baton_input input = baton_input_of(x, model->pooled_stages[i].n_in);
        baton_forward_linear(&forward, &model->pooled_stages[i], &input, engine->stages[i], store);
        finish_stage(&model->spec.pooled_stages[i], engine->stages[i], n_rows);
        x = engine->stages[i];
    }
    memcpy(results, x, (size_t)n_rows * (size_t)baton_spec_n_pooled(&model->spec) * sizeof *x);
}
