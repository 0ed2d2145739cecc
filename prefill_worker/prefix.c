#include "prefill_worker/prefix.h"

#include <stdlib.h>

enum { BLOCK = BATON_KV_BLOCK_TOKENS };

enum baton_err pf_prefix_init(struct pf_prefix *prefix, struct baton_kv *kv,
                              const struct baton_model *model,
                              const struct baton_fingerprint *fingerprint, bool on,
                              struct baton_why *why)
{
    const struct baton_block_salt salt = {.config = fingerprint->config,
                                          .weights = fingerprint->weights,
                                          .dtype = baton_model_dtype(model),
                                          .kv_dtype = baton_kv_dtype(kv),
                                          .block_tokens = BLOCK};
    *prefix =
        (struct pf_prefix){.kv = kv, .on = on, .n_layers = baton_model_shape(model)->n_layers};
    if (!on)
        baton_kv_bound_cache(kv, 0);
    enum baton_err err = baton_block_hash_root(&salt, &prefix->root);
    return err ? baton_fail(why, err, "prefix cache: no hash for the model") : BATON_OK;
}

/* Naive mode writes its blocks again and again, so nobody can share them. */
static void make_hashes(const struct pf_prefix *prefix, struct pf_job *job)
{
    size_t n = baton_block_hash_count((size_t)job->n_prompt, BLOCK);
    if (!prefix->on || job->naive || job->skip_prefix_cache || job->hashes || !n)
        return;
    struct baton_block_hash *hashes = calloc(n, sizeof *hashes);
    if (!hashes || baton_block_hash_tokens(&prefix->root, job->tokens, BLOCK, hashes, n)) {
        free(hashes);
        return;
    }
    job->hashes = hashes;
    job->n_hashes = (int)n;
}

static void count(struct pf_prefix *prefix, const struct pf_job *job)
{
    prefix->n_looked_up_tokens += (uint64_t)job->n_prompt;
    prefix->n_found_tokens += (uint64_t)job->n_cached_tokens;
}

enum baton_err pf_prefix_take_blocks(struct pf_prefix *prefix, struct pf_job *job, int n_positions)
{
    make_hashes(prefix, job);
    bool looks_up = job->hashes && !job->prompt_logprobs; /* those want every position computed */
    enum baton_err err = looks_up ? baton_seq_init_shared(&job->seq, prefix->kv, n_positions,
                                                          job->hashes, job->n_hashes)
                                  : baton_seq_init(&job->seq, prefix->kv, n_positions);
    if (err)
        return err;
    job->n_cached_tokens = job->seq.n_tokens;
    job->n_registered = job->seq.n_shared;
    baton_kv_progress_publish(
        &job->progress,
        (struct baton_kv_progress){.n_done = job->seq.n_shared, .n_end = job->seq.n_shared});
    if (looks_up)
        count(prefix, job);
    return BATON_OK;
}

void pf_prefix_offer(const struct pf_prefix *prefix, struct pf_job *job)
{
    int n = baton_kv_progress_complete(baton_kv_progress_read(&job->progress), prefix->n_layers);
    if (n > job->n_hashes)
        n = job->n_hashes;
    if (n <= job->n_registered)
        return;
    baton_seq_register(&job->seq, job->n_registered, job->hashes + job->n_registered,
                       n - job->n_registered);
    job->n_registered = n;
}
