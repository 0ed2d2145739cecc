#include "decode_worker/draft_model.h"

#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "decode_worker/speculation.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/tokenizer_tables.h"

enum { TOKEN_SHOWN_BYTES = 40 };

/* ---- the vocabulary ---- */

static bool is_same(const struct baton_token_row *a, const struct baton_token_row *b)
{
    if (!a->text || !b->text)
        return a->text == b->text;
    return a->n_bytes == b->n_bytes && !memcmp(a->text, b->text, a->n_bytes);
}

static int shown_bytes(const struct baton_token_row *row)
{
    if (!row->text)
        return 0;
    return row->n_bytes < TOKEN_SHOWN_BYTES ? (int)row->n_bytes : (int)TOKEN_SHOWN_BYTES;
}

enum baton_err dc_draft_vocabulary_check(const struct baton_tokenizer_tables *model,
                                         const struct baton_tokenizer_tables *draft,
                                         struct baton_why *why)
{
    size_t n = model->n_tokens < draft->n_tokens ? model->n_tokens : draft->n_tokens;
    for (size_t id = 0; id < n; id++) {
        const struct baton_token_row *a = &model->tokens[id], *b = &draft->tokens[id];
        if (!is_same(a, b))
            return baton_fail(why, BATON_INVALID,
                              "its vocabulary differs: token %zu is \"%.*s\" there and "
                              "\"%.*s\" in the model",
                              id, shown_bytes(b), b->text ? b->text : "", shown_bytes(a),
                              a->text ? a->text : "");
    }
    return BATON_OK;
}

static enum baton_err read_tables(const struct baton_checkpoint *checkpoint,
                                  const struct baton_cache_dirs *cache,
                                  const char digest[BATON_SHA256_HEX],
                                  struct baton_tokenizer_tables **tables, struct baton_why *why)
{
    return baton_checkpoint_tokenizer(checkpoint, cache, digest, tables, why);
}

/* Compares the vocabularies. Tokenizers with equal digests are equal and need not be read. */
static enum baton_err check_vocabulary(const struct baton_host *host,
                                       const struct baton_checkpoint *checkpoint,
                                       const struct baton_cache_dirs *cache,
                                       const struct baton_fingerprint *fingerprint,
                                       struct baton_why *why)
{
    struct baton_checkpoint *served = NULL;
    struct baton_tokenizer_tables *ours = NULL, *theirs = NULL;
    if (!strcmp(host->fingerprint.tokenizer, fingerprint->tokenizer))
        return BATON_OK;
    enum baton_err err = baton_checkpoint_open(host->options->checkpoint.model, &served, why);
    if (!err)
        err = read_tables(served, cache, host->fingerprint.tokenizer, &ours, why);
    if (!err)
        err = read_tables(checkpoint, cache, fingerprint->tokenizer, &theirs, why);
    if (!err)
        err = dc_draft_vocabulary_check(ours, theirs, why);
    baton_tokenizer_tables_free(ours);
    baton_tokenizer_tables_free(theirs);
    baton_checkpoint_close(served);
    return err;
}

/* ---- the model ---- */

/* Checks that the draft model's weights and at least one KV block fit into memory. */
static enum baton_err admit(void *arg, const struct baton_model *model, struct baton_why *why)
{
    const struct baton_host *host = arg;
    const struct baton_kv_options least = {.tokens = BATON_KV_BLOCK_TOKENS};
    return baton_kv_budget_check(&least, model, host->options->kv_dtype, true, host->claim, why);
}

static enum baton_err load(struct dc_draft_model *draft, struct baton_checkpoint *checkpoint,
                           const char *dtype, const struct baton_host *host, struct baton_why *why)
{
    struct baton_cache_dirs cache;
    struct baton_fingerprint fingerprint;
    const char *pack_dir = host->options->checkpoint.pack_dir;
    struct baton_model_options options = {
        .dtype = *dtype ? dtype : NULL,
        .kernels = host->options->kernels,
        .cache = *pack_dir ? &cache : NULL,
        .fingerprint = &fingerprint,
        .n_threads = host->cores.n_threads,
        .show_progress = true,
        .admit = admit,
        .admit_arg = (void *)(uintptr_t)host, /* only read */
    };
    baton_cache_dirs_find(pack_dir, checkpoint->path, &cache);
    enum baton_err err =
        baton_checkpoint_fingerprint(checkpoint, options.cache, true, &fingerprint, why);
    if (!err)
        err = check_vocabulary(host, checkpoint, options.cache, &fingerprint, why);
    return err ? err : baton_model_load(checkpoint, &options, &draft->model, why);
}

/* The head is in the same format as the model, unless dtype says otherwise. */
static enum baton_err load_head(struct dc_draft_model *draft,
                                const struct baton_checkpoint *checkpoint, const char *dtype,
                                const struct baton_host *host, struct baton_why *why)
{
    const char *of_model = host->options->dtype;
    const struct baton_model_options options = {
        .dtype = *dtype      ? dtype
                 : *of_model ? of_model
                             : NULL,
        .kernels = host->options->kernels,
        .n_threads = host->cores.n_threads,
        .n_context = baton_model_info(host->model)->n_context,
        .admit = admit,
        .admit_arg = (void *)(uintptr_t)host, /* only read */
    };
    return baton_model_load_draft_head(checkpoint, &options, host->model, &draft->model, why);
}

enum baton_err dc_draft_model_open(struct dc_draft_model *draft, const char *path,
                                   const char *dtype, const struct baton_host *host,
                                   struct baton_why *why)
{
    struct dc_draft_model made = {0};
    struct baton_checkpoint *checkpoint = NULL;
    struct baton_why reason = {""};
    int64_t begin_ns = baton_now_ns();
    made.is_head = !strcmp(path, DC_OWN_HEAD);
    enum baton_err err = baton_checkpoint_open(
        made.is_head ? host->options->checkpoint.model : path, &checkpoint, &reason);
    if (!err)
        err = made.is_head ? load_head(&made, checkpoint, dtype, host, &reason)
                           : load(&made, checkpoint, dtype, host, &reason);
    if (err) {
        baton_checkpoint_close(checkpoint);
        return baton_fail(why, err, "draft-model: %s: %s", path, reason.text);
    }
    (void)snprintf(made.name, sizeof made.name, "%s",
                   made.is_head ? DC_OWN_HEAD : checkpoint->facts.name);
    baton_checkpoint_close(checkpoint);
    made.n_vocab = baton_model_info(made.model)->n_vocab;
    made.n_context = baton_model_info(made.model)->n_context;
    made.n_embd = baton_model_info(made.model)->n_embd;
    *draft = made;
    baton_log(BATON_LOG_INFO, "draft_model_loaded", BATON_S("model", made.name),
              BATON_S("dtype", baton_model_info(made.model)->dtype),
              BATON_F("load_s", baton_seconds(baton_now_ns() - begin_ns)));
    return BATON_OK;
}

enum baton_err dc_draft_model_reserve(struct dc_draft_model *draft, const char *kv_dtype,
                                      int n_blocks, const struct baton_kv_options *options,
                                      struct baton_why *why)
{
    /* A request that starts must not lose its drafts because their blocks come a moment later. */
    struct baton_kv_growth_options growth = baton_kv_budget_growth(options);
    growth.waits = true;
    struct baton_kv_pool_options pool = {
        .dtype = kv_dtype, .n_blocks = n_blocks, .growth = &growth};
    struct baton_kv_sizes sizes;
    enum baton_err err = baton_kv_measure(draft->model, &pool, &sizes, why);
    if (!err && sizes.keeps_states)
        pool.n_window_blocks = baton_kv_budget_draft_states(options, &sizes, n_blocks);
    return err ? err : baton_kv_create(draft->model, &pool, &draft->kv, why);
}

int dc_draft_model_lag(const struct dc_draft_model *draft)
{
    return draft->is_head || baton_kv_has_states(draft->kv) ? DC_MOST_LAG : DC_USUAL_LAG;
}

void dc_draft_model_close(struct dc_draft_model *draft)
{
    baton_kv_destroy(draft->kv);
    if (draft->model)
        baton_model_close(draft->model);
    *draft = (struct dc_draft_model){0};
}
