#include "decode_worker/lineup.h"

#include <stdlib.h>

static int most_prompt_tokens(int chunk)
{
    return chunk > DC_ALONE_TOKENS ? chunk : DC_ALONE_TOKENS;
}

int dc_lineup_max_rows(int max_batch, int chunk)
{
    return max_batch + most_prompt_tokens(chunk);
}

enum baton_err dc_lineup_init(struct dc_lineup *lineup, int max_batch, int chunk)
{
    size_t n = (size_t)max_batch + DC_MAX_PROMPTS;
    *lineup = (struct dc_lineup){.max_batch = max_batch, .chunk = chunk};
    dc_lineup_list_init(&lineup->sequences);
    dc_lineup_list_init(&lineup->prompts);
    lineup->step.contexts = calloc(n, sizeof(struct dc_context *));
    lineup->step.parts = calloc(n, sizeof(struct baton_part));
    if (lineup->step.contexts && lineup->step.parts)
        return BATON_OK;
    dc_lineup_fini(lineup);
    return BATON_NO_MEMORY;
}

void dc_lineup_fini(struct dc_lineup *lineup)
{
    free(lineup->step.contexts);
    free(lineup->step.parts);
    lineup->step = (struct dc_step){0};
}

static struct dc_lineup_list *list_of(struct dc_lineup *lineup, const struct dc_context *context)
{
    return context->state == DC_PROMPTING ? &lineup->prompts : &lineup->sequences;
}

void dc_lineup_add(struct dc_lineup *lineup, struct dc_context *context)
{
    dc_lineup_list_push_back(list_of(lineup, context), context);
}

void dc_lineup_remove(struct dc_lineup *lineup, struct dc_context *context)
{
    dc_lineup_list_remove(list_of(lineup, context), context);
}

static struct dc_context *take_canceled(struct dc_lineup_list *list)
{
    struct dc_context *context = dc_lineup_list_first(list);
    while (context && !atomic_load_explicit(&context->canceled, memory_order_relaxed))
        context = dc_lineup_list_next(list, context);
    if (context)
        dc_lineup_list_remove(list, context);
    return context;
}

struct dc_context *dc_lineup_take_canceled(struct dc_lineup *lineup)
{
    struct dc_context *context = take_canceled(&lineup->sequences);
    return context ? context : take_canceled(&lineup->prompts);
}

/* True when context may not be tried yet; *until_ns becomes the earliest such time. */
static bool is_held(const struct dc_context *context, int64_t now_ns, int64_t *until_ns)
{
    if (now_ns >= context->held_until_ns)
        return false;
    if (!*until_ns || context->held_until_ns < *until_ns)
        *until_ns = context->held_until_ns;
    return true;
}

static void add_part(struct dc_step *step, struct dc_context *context, const uint32_t *tokens,
                     int n_tokens, bool wants_logits)
{
    step->contexts[step->n_parts] = context;
    step->parts[step->n_parts++] = (struct baton_part){
        .seq = &context->seq, .tokens = tokens, .n_tokens = n_tokens, .wants_logits = wants_logits};
    step->n_rows += wants_logits;
}

static void add_sequences(struct dc_lineup *lineup, int64_t now_ns, int64_t *until_ns)
{
    struct dc_context *context = dc_lineup_list_first(&lineup->sequences);
    lineup->n_paused = 0;
    for (; context && lineup->step.n_parts < lineup->max_batch;
         context = dc_lineup_list_next(&lineup->sequences, context)) {
        if (!dc_lineup_has_credit(context))
            lineup->n_paused++;
        else if (!is_held(context, now_ns, until_ns))
            add_part(&lineup->step, context, &context->next_token, 1, true);
    }
    lineup->step.n_sequences = lineup->step.n_parts;
}

/* The prompt's next tokens follow those that its sequence holds. */
static void add_prompts(struct dc_lineup *lineup, int64_t now_ns, int64_t *until_ns)
{
    struct dc_step *step = &lineup->step;
    int room = step->n_sequences ? lineup->chunk : most_prompt_tokens(lineup->chunk);
    int end = step->n_parts + DC_MAX_PROMPTS;
    struct dc_context *context = dc_lineup_list_first(&lineup->prompts);
    for (; context && room && step->n_parts < end;
         context = dc_lineup_list_next(&lineup->prompts, context)) {
        if (is_held(context, now_ns, until_ns))
            continue;
        int n_done = context->seq.n_tokens, n_left = context->n_prompt - n_done;
        int n = n_left < room ? n_left : room;
        add_part(step, context, context->prompt.tokens + n_done, n, n == n_left);
        room -= n;
    }
}

int64_t dc_lineup_fill(struct dc_lineup *lineup, int64_t now_ns)
{
    int64_t until_ns = 0;
    lineup->step.n_parts = lineup->step.n_rows = 0;
    add_sequences(lineup, now_ns, &until_ns);
    add_prompts(lineup, now_ns, &until_ns);
    return lineup->step.n_parts ? 0 : until_ns;
}
