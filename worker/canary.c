#include "worker/canary.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"

/* Few enough rows to take the path of a small batch, and to fit any engine and one block. */
enum { N_TOKENS = 8 };
_Static_assert((int)N_TOKENS <= (int)BATON_KV_BLOCK_TOKENS, "a canary has one block");

struct baton_canary {
    struct baton_engine *engine;
    struct baton_kv *kv; /* one block of its own, so a canary never competes with requests */
    struct baton_seq seq;
    uint32_t tokens[N_TOKENS];
    int n_tokens;   /* fewer than N_TOKENS in a shorter context */
    float *logits;  /* [V]; NULL: the model is an encoder, whose state is pooled instead */
    double *pooled; /* [C] */
    size_t logits_bytes, pooled_bytes;
    uint32_t first_crc;
    bool has_run;
};

/* Spreads the tokens over the vocabulary, so that each reads another page of the embedding. */
static void choose_tokens(struct baton_canary *canary, const struct baton_model_info *info)
{
    canary->n_tokens = info->n_context < N_TOKENS ? info->n_context : N_TOKENS;
    for (int i = 0; i < canary->n_tokens; i++)
        canary->tokens[i] = (uint32_t)((uint64_t)info->n_vocab * (unsigned)(2 * i + 1) /
                                       (2 * (unsigned)canary->n_tokens));
}

static enum baton_err allocate(struct baton_canary *canary, const struct baton_model *model,
                               const char *kv_dtype, struct baton_why *why)
{
    const struct baton_kv_pool_options pool = {.dtype = kv_dtype, .n_blocks = 1};
    enum baton_err err = baton_kv_create(model, &pool, &canary->kv, why);
    const struct baton_model_info *info = baton_model_info(model);
    canary->pooled_bytes = (size_t)info->n_embd * sizeof *canary->pooled;
    canary->logits_bytes = (size_t)info->n_vocab * sizeof *canary->logits;
    canary->pooled = malloc(canary->pooled_bytes);
    canary->logits = info->is_encoder ? NULL : malloc(canary->logits_bytes);
    if (!err && (!canary->pooled || (!canary->logits && !info->is_encoder)))
        err = BATON_NO_MEMORY;
    return err ? err : baton_seq_init(&canary->seq, canary->kv, canary->n_tokens);
}

enum baton_err baton_canary_create(const struct baton_model *model, struct baton_engine *engine,
                                   const char *kv_dtype, struct baton_canary **out,
                                   struct baton_why *why)
{
    struct baton_canary *canary = calloc(1, sizeof *canary);
    if (!canary)
        return BATON_NO_MEMORY;
    canary->engine = engine;
    choose_tokens(canary, baton_model_info(model));
    enum baton_err err = allocate(canary, model, kv_dtype, why);
    if (err)
        baton_canary_destroy(canary);
    else
        *out = canary;
    return err;
}

void baton_canary_destroy(struct baton_canary *canary)
{
    if (!canary)
        return;
    baton_seq_fini(&canary->seq);
    if (canary->kv)
        baton_kv_destroy(canary->kv);
    free(canary->logits);
    free(canary->pooled);
    free(canary);
}

/* The digest of what the model makes of the tokens. */
static enum baton_err run(struct baton_canary *canary, baton_layer_fn goes_on, void *goes_on_arg,
                          uint32_t *crc)
{
    const struct baton_chunk chunk = {.seq = &canary->seq,
                                      .tokens = canary->tokens,
                                      .n_tokens = canary->n_tokens,
                                      .n_logits = canary->logits != NULL,
                                      .n_pooled = canary->logits ? 0 : canary->n_tokens,
                                      .pooled = canary->logits ? NULL : canary->pooled};
    memset(canary->pooled, 0, canary->pooled_bytes);
    enum baton_err err =
        baton_engine_forward(canary->engine, &chunk, 1, goes_on, goes_on_arg, canary->logits);
    *crc = canary->logits ? baton_crc32c(0, canary->logits, canary->logits_bytes)
                          : baton_crc32c(0, canary->pooled, canary->pooled_bytes);
    return err;
}

enum baton_err baton_canary_run(void *arg, baton_layer_fn goes_on, void *goes_on_arg)
{
    struct baton_canary *canary = arg;
    canary->seq.n_tokens = 0; /* every run computes all tokens again, from position 0 */
    uint32_t crc;
    enum baton_err err = run(canary, goes_on, goes_on_arg, &crc);
    if (err)
        return err;
    if (!canary->has_run)
        canary->first_crc = crc;
    canary->has_run = true;
    return crc == canary->first_crc ? BATON_OK : BATON_CORRUPT;
}
