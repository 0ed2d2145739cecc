#include "decode_worker/context.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"

struct dc_context *dc_context_create(void)
{
    return calloc(1, sizeof(struct dc_context));
}

void dc_context_destroy(struct dc_context *context)
{
    if (!context)
        return;
    baton_seq_fini(&context->seq);
    baton_kv_receive_fini(&context->receive);
    baton_sampling_state_fini(&context->sampling);
    baton_sampling_state_fini(&context->prompt.sampling);
    baton_origin_fini(&context->origin);
    free(context->prompt.tokens);
    free(context->hashes);
    free(context);
}

/* The hashes of the prompt's blocks, copied. */
static enum baton_err take_hashes(struct dc_context *context, const Baton__V1__Reserve *wanted)
{
    size_t n = wanted->block_hashes.len / BATON_BLOCK_HASH_BYTES;
    if (!n)
        return BATON_OK;
    context->hashes = malloc(n * sizeof *context->hashes);
    if (!context->hashes)
        return BATON_NO_MEMORY;
    memcpy(context->hashes, wanted->block_hashes.data, n * sizeof *context->hashes);
    context->n_hashes = (int)n;
    return BATON_OK;
}

static void drop_keys(struct dc_context *context)
{
    free(context->hashes);
    context->hashes = NULL;
    context->n_hashes = 0;
}

enum baton_err dc_context_reserve(struct dc_context *context, struct baton_kv *kv,
                                  const Baton__V1__Reserve *wanted, bool share)
{
    if (wanted->block_hashes.len / BATON_BLOCK_HASH_BYTES >
        baton_block_hash_count(wanted->n_prompt_tokens, BATON_KV_BLOCK_TOKENS))
        return BATON_INVALID;
    enum baton_err err = share ? take_hashes(context, wanted) : BATON_OK;
    if (!err)
        err = baton_seq_init_shared(&context->seq, kv, dc_positions_for(wanted), context->hashes,
                                    context->n_hashes);
    if (err) {
        drop_keys(context);
        return err;
    }
    context->n_prompt = (int)wanted->n_prompt_tokens;
    context->max_new_tokens = (int)wanted->max_new_tokens;
    baton_kv_receive_expect(&context->receive, &context->origin, &context->seq, context->n_prompt);
    return BATON_OK;
}

static bool fits(const struct dc_context *context, const Baton__V1__PrefillRequest *request,
                 int64_t n_vocab)
{
    if (context->state != DC_RESERVED || request->naive || request->deliver_to ||
        request->prompt_logprobs || request->n_tokens != (size_t)context->n_prompt)
        return false;
    for (size_t i = 0; i < request->n_tokens; i++)
        if (request->tokens[i] >= n_vocab)
            return false;
    return true;
}

enum baton_err dc_context_take_prompt(struct dc_context *context,
                                      const Baton__V1__PrefillRequest *request, int64_t n_vocab)
{
    struct dc_prompt prompt = {.received_ns = baton_now_ns(),
                               .is_all = context->max_new_tokens == 1};
    if (!fits(context, request, n_vocab))
        return BATON_INVALID;
    prompt.tokens = malloc(request->n_tokens * sizeof *prompt.tokens);
    if (!prompt.tokens || baton_sampling_state_init(&prompt.sampling, request->sampling,
                                                    request->tokens, request->n_tokens, 1)) {
        free(prompt.tokens);
        return BATON_NO_MEMORY;
    }
    memcpy(prompt.tokens, request->tokens, request->n_tokens * sizeof *prompt.tokens);
    if (request->deadline_ms)
        context->deadline_ns = prompt.received_ns + request->deadline_ms * BATON_MS;
    context->prompt = prompt;
    if (request->skip_prefix_cache)
        drop_keys(context);
    context->state = DC_PREFILLING;
    return BATON_OK;
}

void dc_context_finish_prompt(struct dc_context *context)
{
    int first = context->seq.n_shared;
    context->state = DC_PREFILLED;
    if (context->n_hashes > first)
        baton_seq_register(&context->seq, first, context->hashes + first,
                           context->n_hashes - first);
    drop_keys(context);
}

enum baton_err dc_context_take_start(struct dc_context *context,
                                     const Baton__V1__DecodeStart *start, int64_t n_vocab)
{
    if (context->started || start->n_prompt_tokens != (uint32_t)context->n_prompt ||
        start->max_new_tokens > (uint32_t)context->max_new_tokens || start->first_token >= n_vocab)
        return BATON_INVALID;
    enum baton_err err = baton_sampling_state_init(
        &context->sampling, start->sampling, start->prompt, start->n_prompt, start->max_new_tokens);
    if (err)
        return err;
    baton_sampling_state_note(&context->sampling, start->first_token);
    context->started = true;
    context->started_ns = baton_now_ns();
    context->next_token = start->first_token;
    context->n_output = 1;
    context->max_new_tokens = (int)start->max_new_tokens;
    context->deadline_ns =
        start->deadline_ms ? context->started_ns + start->deadline_ms * BATON_MS : 0;
    atomic_store(&context->credit_end, start->credit_tokens);
    return BATON_OK;
}
