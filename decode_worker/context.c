#include "decode_worker/context.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "worker/prompt.h"

#define TO(state) (1u << DC_##state)

/* The edges of the drawing in context.h. */
static const unsigned edges[DC_N_STATES] = {
    [DC_RESERVED] = TO(RECEIVING) | TO(PREFILLING),
    [DC_RECEIVING] = TO(PREFILLED),
    [DC_PREFILLING] = TO(PREFILLED),
    [DC_PREFILLED] = TO(RUNNING),
    [DC_RUNNING] = TO(STOPPED),
    [DC_STOPPED] = TO(RUNNING),
};

void dc_context_set_state(struct dc_context *context, enum dc_state state)
{
    static const char *const names[] = {"reserved",  "receiving", "prefilling",
                                        "prefilled", "running",   "stopped"};
    int64_t now_ns = baton_now_ns();
    bool is_edge = edges[context->state] & 1u << state;
    baton_log(is_edge ? BATON_LOG_DEBUG : BATON_LOG_ERROR,
              is_edge ? "context_state" : "impossible_edge", BATON_ORIGIN(&context->origin),
              BATON_S("from", names[context->state]), BATON_S("to", names[state]),
              BATON_F("after_s", baton_seconds(now_ns - context->state_ns)));
    if (!is_edge)
        abort();
    context->state = state;
    context->state_ns = now_ns;
}

struct dc_context *dc_context_create(void)
{
    struct dc_context *context = calloc(1, sizeof *context);
    if (context)
        context->state_ns = context->reserved_ns = baton_now_ns();
    return context;
}

void dc_context_destroy(struct dc_context *context)
{
    if (!context)
        return;
    dc_hand_over_drop(&context->hand_over);
    baton_seq_fini(&context->seq);
    baton_adapter_hold_release(&context->adapters);
    baton_kv_receive_fini(&context->receive);
    baton_sampling_state_fini(&context->sampling);
    dc_speculation_fini(&context->speculation);
    baton_sampling_state_fini(&context->prompt.sampling);
    baton_origin_fini(&context->origin);
    free(context->prompt.tokens);
    baton_prefix_fini(&context->prefix);
    dc_output_blocks_fini(&context->output_blocks);
    dc_context_end_wait(context);
    free(context);
}

void dc_context_end_wait(struct dc_context *context)
{
    if (context->waiting)
        baton__v1__reserve__free_unpacked(context->waiting, NULL);
    context->waiting = NULL;
}

enum baton_err dc_context_reserve(struct dc_context *context, struct baton_prefix_cache *cache,
                                  const Baton__V1__Reserve *wanted)
{
    enum baton_err err =
        baton_prefix_init(&context->prefix, cache, &wanted->block_hashes, wanted->n_prompt_tokens);
    if (!err)
        err = baton_prefix_cache_take_blocks(
            cache, &context->prefix, &context->seq, dc_positions_for(wanted),
            wanted->delivered || wanted->hand_over ? BATON_PREFIX_ARRIVES : BATON_PREFIX_COMPUTED);
    if (err)
        return err;
    dc_output_blocks_reserve(&context->output_blocks, &context->prefix);
    context->seq.blend = baton_adapter_hold_blend(&context->adapters);
    context->arrives = wanted->delivered || wanted->hand_over;
    context->n_prompt = (int)wanted->n_prompt_tokens;
    context->max_new_tokens = (int)wanted->max_new_tokens;
    context->priority = baton_prompt_priority(wanted->priority);
    baton_kv_receive_expect(&context->receive, &context->origin, &context->seq, context->n_prompt,
                            wanted->hand_over ? dc_positions_for(wanted) : 0);
    return BATON_OK;
}

/* Whether the request fits the reservation. Only prefill workers support naive mode, delivery to
 * another worker, prompt logprobs and embeddings. A context that arrives may share blocks without a
 * state to continue from. */
static bool fits(const struct dc_context *context, const Baton__V1__PrefillRequest *request,
                 int64_t n_vocab)
{
    return context->state == DC_RESERVED && !context->prompt.tokens && !context->arrives &&
           !request->naive && !request->deliver_to && !request->prompt_logprobs &&
           !request->pooling && request->n_tokens == (size_t)context->n_prompt &&
           baton_prompt_is_valid(request->tokens, request->n_tokens, n_vocab);
}

static void end_prefix(struct dc_context *context)
{
    baton_seq_save_states(&context->seq, (struct baton_state_saves){0});
    baton_prefix_fini(&context->prefix);
}

void dc_context_drop_prefix(struct dc_context *context)
{
    end_prefix(context);
    dc_output_blocks_fini(&context->output_blocks);
}

enum baton_err dc_context_take_prompt(struct dc_context *context,
                                      const Baton__V1__PrefillRequest *request, int64_t n_vocab,
                                      struct baton_grammar_set *grammars)
{
    struct dc_prompt prompt = {.received_ns = baton_now_ns(),
                               .is_all = context->max_new_tokens == 1};
    if (!fits(context, request, n_vocab))
        return BATON_INVALID;
    prompt.tokens = malloc(request->n_tokens * sizeof *prompt.tokens);
    if (!prompt.tokens || baton_prompt_sampling(request, 1, grammars, &prompt.sampling)) {
        free(prompt.tokens);
        return BATON_NO_MEMORY;
    }
    memcpy(prompt.tokens, request->tokens, request->n_tokens * sizeof *prompt.tokens);
    if (request->deadline_ms)
        context->deadline_ns = prompt.received_ns + request->deadline_ms * BATON_MS;
    context->prompt = prompt;
    baton_prefix_set_borders(&context->prefix, request, &context->seq);
    if (request->skip_prefix_cache) /* without hashes finish_prompt registers no blocks */
        dc_context_drop_prefix(context);
    return BATON_OK;
}

Baton__V1__KvReason dc_context_kv_reason(const struct dc_context *context)
{
    switch (context->state) {
    case DC_RESERVED:
        return BATON__V1__KV_REASON__KV_RESERVED;
    case DC_RECEIVING:
        return BATON__V1__KV_REASON__KV_RECEIVING;
    case DC_STOPPED:
        return BATON__V1__KV_REASON__KV_SENDING;
    default:
        return BATON__V1__KV_REASON__KV_RUNNING;
    }
}

void dc_context_finish_receive(struct dc_context *context)
{
    context->max_new_tokens -= context->receive.n_tokens - context->n_prompt;
    context->n_prompt = context->receive.n_tokens;
    dc_context_finish_prompt(context);
}

void dc_context_finish_prompt(struct dc_context *context)
{
    dc_context_set_state(context, DC_PREFILLED);
    baton_prefix_register(&context->prefix, &context->seq, context->prefix.n_hashes);
    end_prefix(context);
}

enum baton_err dc_context_take_start(struct dc_context *context,
                                     const Baton__V1__DecodeStart *start, int64_t n_vocab,
                                     struct baton_grammar_set *grammars,
                                     const struct dc_draft_model *draft)
{
    if (context->started || start->n_prompt_tokens != (uint32_t)context->n_prompt ||
        start->max_new_tokens > (uint32_t)context->max_new_tokens || start->first_token >= n_vocab)
        return BATON_INVALID;
    uint32_t n_resumed = start->n_output_tokens;
    enum baton_err err = dc_output_blocks_start(&context->output_blocks, start, context->n_prompt);
    if (!err)
        err = dc_speculation_init(&context->speculation, start, draft);
    if (err)
        return err;
    err = baton_sampling_state_open(&context->sampling, start->sampling, start->prompt,
                                    start->n_prompt, (size_t)n_resumed + start->max_new_tokens,
                                    grammars);
    if (err) {
        dc_speculation_fini(&context->speculation);
        return err;
    }
    baton_sampling_state_accept_all(&context->sampling, start->output, start->n_output);
    /* Prefill sampled the first token, and penalties must count it here too. */
    baton_sampling_state_accept(&context->sampling, start->first_token);
    context->started = true;
    context->started_ns = baton_now_ns();
    context->next_token = start->first_token;
    context->n_output = (uint64_t)n_resumed + 1;
    context->n_output_max = (uint64_t)n_resumed + start->max_new_tokens;
    context->deadline_ns =
        start->deadline_ms ? context->started_ns + start->deadline_ms * BATON_MS : 0;
    atomic_store(&context->credit_end, (uint64_t)n_resumed + start->credit_tokens);
    return BATON_OK;
}

/* ---- all contexts of a worker ---- */

struct dc_context *dc_context_find(const struct baton_request_table *table,
                                   const baton_envelope *envelope)
{
    return dc_context_of_node(baton_request_table_find(table, envelope));
}

struct dc_context *dc_context_find_request(const struct baton_request_table *table,
                                           const baton_envelope *envelope)
{
    struct baton_request_node *node = NULL;
    while ((node = baton_request_table_next(table, envelope, node)) &&
           atomic_load(&dc_context_of_node(node)->canceled))
        ;
    return dc_context_of_node(node);
}

struct dc_context *dc_context_find_hand_over(const struct baton_request_table *table,
                                             const baton_envelope *envelope)
{
    struct dc_context *context = dc_context_first(table);
    while (context &&
           !(context->hand_over.wanted && baton_origin_is(&context->hand_over.origin, envelope)))
        context = dc_context_next(table, context);
    return context;
}
