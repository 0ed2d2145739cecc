#include "decode_worker/scheduler.h"

#include <stdlib.h>

static int most_prompt_tokens(int chunk)
{
    return chunk > DC_ALONE_TOKENS ? chunk : DC_ALONE_TOKENS;
}

int dc_scheduler_max_sequence_rows(int chunk)
{
    return most_prompt_tokens(chunk) > 1 + BATON_MAX_DRAFTS ? most_prompt_tokens(chunk)
                                                            : 1 + BATON_MAX_DRAFTS;
}

int dc_scheduler_max_rows(int max_batch, int chunk)
{
    return max_batch + DC_STEP_DRAFTS + most_prompt_tokens(chunk);
}

int dc_scheduler_max_trial_rows(int max_batch)
{
    return DC_STEP_DRAFTS + (max_batch < DC_STEP_DRAFTS ? max_batch : (int)DC_STEP_DRAFTS);
}

int dc_scheduler_max_logits(int max_batch)
{
    return max_batch + DC_STEP_DRAFTS + DC_MAX_PROMPTS;
}

enum baton_err dc_scheduler_init(struct dc_scheduler *scheduler, int max_batch, int chunk)
{
    size_t n = (size_t)max_batch + DC_MAX_PROMPTS;
    *scheduler = (struct dc_scheduler){.max_batch = max_batch, .chunk = chunk};
    for (int i = 0; i < BATON_N_PRIORITIES; i++) {
        dc_scheduler_list_init(&scheduler->sequences[i]);
        dc_scheduler_list_init(&scheduler->prompts[i]);
    }
    scheduler->step.contexts = calloc(n, sizeof(struct dc_context *));
    scheduler->step.chunks = calloc(n, sizeof(struct baton_chunk));
    scheduler->step.first_logits = calloc(n, sizeof(int));
    if (scheduler->step.contexts && scheduler->step.chunks && scheduler->step.first_logits)
        return BATON_OK;
    dc_scheduler_fini(scheduler);
    return BATON_NO_MEMORY;
}

void dc_scheduler_fini(struct dc_scheduler *scheduler)
{
    free(scheduler->step.contexts);
    free(scheduler->step.chunks);
    free(scheduler->step.first_logits);
    scheduler->step = (struct dc_step){0};
}

static struct dc_scheduler_list *list_of(struct dc_scheduler *scheduler,
                                         const struct dc_context *context)
{
    return context->state == DC_PREFILLING ? &scheduler->prompts[context->priority]
                                           : &scheduler->sequences[context->priority];
}

void dc_scheduler_add(struct dc_scheduler *scheduler, struct dc_context *context)
{
    dc_scheduler_list_push_back(list_of(scheduler, context), context);
}

void dc_scheduler_remove(struct dc_scheduler *scheduler, struct dc_context *context)
{
    dc_scheduler_list_remove(list_of(scheduler, context), context);
}

/* Whether the context leaves the engine. Relaxed: the flags publish no other data, and a flag that
 * is seen late costs one step. */
static bool leaves(const struct dc_context *context)
{
    return atomic_load_explicit(&context->canceled, memory_order_relaxed) ||
           atomic_load_explicit(&context->hand_over.stops, memory_order_relaxed);
}

static struct dc_context *take_leaver(struct dc_scheduler_list *list)
{
    struct dc_context *context = dc_scheduler_list_first(list);
    while (context && !leaves(context))
        context = dc_scheduler_list_next(list, context);
    if (context)
        dc_scheduler_list_remove(list, context);
    return context;
}

struct dc_context *dc_scheduler_take_leaver(struct dc_scheduler *scheduler)
{
    struct dc_context *context = NULL;
    for (int i = 0; i < BATON_N_PRIORITIES && !context; i++) {
        context = take_leaver(&scheduler->sequences[i]);
        if (!context)
            context = take_leaver(&scheduler->prompts[i]);
    }
    return context;
}

/* True if the context may not step yet; *until_ns becomes the earliest time for any of them. */
static bool is_held(const struct dc_context *context, int64_t now_ns, int64_t *until_ns)
{
    if (now_ns >= context->held_until_ns)
        return false;
    if (!*until_ns || context->held_until_ns < *until_ns)
        *until_ns = context->held_until_ns;
    return true;
}

static void add_chunk(struct dc_step *step, struct dc_context *context, const uint32_t *tokens,
                      int n_tokens, int n_logits)
{
    step->contexts[step->n_chunks] = context;
    step->first_logits[step->n_chunks] = step->n_logits;
    step->chunks[step->n_chunks++] = (struct baton_chunk){
        .seq = &context->seq, .tokens = tokens, .n_tokens = n_tokens, .n_logits = n_logits};
    step->n_logits += n_logits;
}

/* A walk through the sequences of one class. */
struct walk {
    struct dc_scheduler_list *list;
    struct dc_context *next;
    int64_t now_ns, *until_ns;
};

/* Adds sequences until the step has n_end. Arrival alone decides: a sequence that has credit again
 * takes its slot back from a later one. */
static void add_until(struct dc_scheduler *scheduler, struct walk *walk, int n_end)
{
    for (; walk->next && scheduler->step.n_chunks < n_end;
         walk->next = dc_scheduler_list_next(walk->list, walk->next)) {
        if (!dc_context_has_credit(walk->next))
            scheduler->n_paused++;
        else if (!is_held(walk->next, walk->now_ns, walk->until_ns))
            add_chunk(&scheduler->step, walk->next, &walk->next->next_token, 1, 1);
    }
}

/* Adds sequences by class: batch ones first fill their guaranteed slots, then interactive ones, and
 * batch ones again fill the rest. */
static void add_sequences(struct dc_scheduler *scheduler, int64_t now_ns, int64_t *until_ns)
{
    struct walk walks[BATON_N_PRIORITIES];
    int max_batch = scheduler->max_batch;
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        walks[i] = (struct walk){.list = &scheduler->sequences[i],
                                 .next = dc_scheduler_list_first(&scheduler->sequences[i]),
                                 .now_ns = now_ns,
                                 .until_ns = until_ns};
    scheduler->n_paused = 0;
    add_until(scheduler, &walks[BATON_PRIORITY_BATCH],
              baton_batch_slots(max_batch, scheduler->n_steps));
    add_until(scheduler, &walks[BATON_PRIORITY_INTERACTIVE], max_batch);
    add_until(scheduler, &walks[BATON_PRIORITY_BATCH], max_batch);
    scheduler->step.n_sequences = scheduler->step.n_chunks;
}

/* The most drafts of a sequence: each may become one more token, which needs credit and must not
 * exceed the output's length. A step that was undone is repeated without drafts where layers keep a
 * state. */
static int most_drafts(const struct dc_context *context)
{
    if (!baton_seq_may_try(&context->seq))
        return 0;
    uint64_t credit_end = atomic_load_explicit(&context->credit_end, memory_order_relaxed);
    uint64_t end = credit_end < context->n_output_max ? credit_end : context->n_output_max;
    uint64_t n = end > context->n_output ? end - context->n_output - 1 : 0;
    return n < BATON_MAX_DRAFTS ? (int)n : BATON_MAX_DRAFTS;
}

/* The measured cost of drafting is raised by this factor, because rounds also take cores from other
 * processes, such as the gateway. */
static const double cost_margin = 1.25;

/* The cost of one of the draft model's drafts in this step, whose rounds all drafting sequences
 * share. 0: none drafts. */
static double model_cost(const struct dc_scheduler *scheduler)
{
    const struct dc_step *step = &scheduler->step;
    int n_drafting = 0;
    for (int i = 0; i < step->n_sequences; i++)
        n_drafting += step->contexts[i]->speculation.has_model;
    if (!n_drafting)
        return 0;
    return cost_margin * baton_draft_cost(scheduler->base_s, scheduler->row_s, step->n_sequences,
                                          scheduler->draft.base_s, scheduler->draft.row_s,
                                          n_drafting);
}

static void add_drafts(struct dc_scheduler *scheduler)
{
    struct dc_step *step = &scheduler->step;
    double least = baton_draft_least(scheduler->base_s, scheduler->row_s, step->n_sequences);
    double cost = model_cost(scheduler);
    scheduler->draft.n_since_try++;
    int n_drafts = 0, n_catch_up = step->n_sequences > 1 ? DC_CATCH_UP : DC_CATCH_UP_ALONE;
    for (int i = 0; i < step->n_sequences; i++) {
        struct dc_context *context = step->contexts[i];
        struct dc_speculation *speculation = &context->speculation;
        step->first_logits[i] = i + n_drafts;
        if (!speculation->max_tokens)
            continue;
        int n_most = most_drafts(context), n_left = DC_STEP_DRAFTS - n_drafts;
        if (n_most > n_left)
            n_most = n_left;
        if (speculation->has_model)
            dc_speculation_plan(speculation, &scheduler->draft, cost, n_most, &n_catch_up);
        else
            dc_speculation_draft(speculation, context->sampling.matcher, least, n_most);
        step->chunks[i].tokens = speculation->tokens;
        step->chunks[i].n_tokens = step->chunks[i].n_logits = 1 + speculation->n_drafts;
        step->chunks[i].is_trial = speculation->n_drafts > 0;
        n_drafts += speculation->n_drafts;
    }
    step->n_logits += n_drafts;
}

/* Adds the prompts of one class in order of arrival, until *n_most tokens or the chunk `end`. A
 * prompt's next tokens follow those that its sequence holds. */
static void add_prompts_of(struct dc_step *step, struct walk *walk, int *n_most, int end)
{
    for (struct dc_context *context = walk->next; context && *n_most && step->n_chunks < end;
         context = dc_scheduler_list_next(walk->list, context)) {
        if (is_held(context, walk->now_ns, walk->until_ns))
            continue;
        int n_done = context->seq.n_tokens, n_left = context->n_prompt - n_done;
        int n = n_left < *n_most ? n_left : *n_most;
        n = baton_seq_cut(&context->seq, n);
        add_chunk(step, context, context->prompt.tokens + n_done, n, n == n_left);
        *n_most -= n;
    }
}

/* Adds prompts to the step: few tokens beside sequences, whose tokens they delay, more without
 * any. */
static void add_prompts(struct dc_scheduler *scheduler, int64_t now_ns, int64_t *until_ns)
{
    struct dc_step *step = &scheduler->step;
    int n_most = step->n_sequences ? scheduler->chunk : most_prompt_tokens(scheduler->chunk);
    int end = step->n_chunks + DC_MAX_PROMPTS;
    bool batch_waits = scheduler->prompts[BATON_PRIORITY_BATCH].n > 0;
    enum baton_priority first =
        baton_priority_next(scheduler->n_prompt_turns,
                            scheduler->prompts[BATON_PRIORITY_INTERACTIVE].n > 0, batch_waits);
    for (int i = 0; i < BATON_N_PRIORITIES; i++) {
        struct dc_scheduler_list *list = &scheduler->prompts[i ? !first : first];
        struct walk walk = {.list = list,
                            .next = dc_scheduler_list_first(list),
                            .now_ns = now_ns,
                            .until_ns = until_ns};
        add_prompts_of(step, &walk, &n_most, end);
    }
    baton_priority_take(&scheduler->n_prompt_turns, first, batch_waits);
}

int64_t dc_scheduler_fill(struct dc_scheduler *scheduler, int64_t now_ns)
{
    int64_t until_ns = 0;
    scheduler->step.n_chunks = scheduler->step.n_logits = 0;
    add_sequences(scheduler, now_ns, &until_ns);
    add_drafts(scheduler);
    add_prompts(scheduler, now_ns, &until_ns);
    scheduler->n_steps += scheduler->step.n_chunks > 0;
    return scheduler->step.n_chunks ? 0 : until_ns;
}
