#include "decode_worker/choices.h"

#include <stdlib.h>

/* Fewer logits are looked through before a helper has begun. */
enum { MIN_SHARED_LOGITS = 1 << 15 };

struct dc_choices {
    int n_threads, n_vocab;
    struct baton_sampler **samplers; /* [n_threads] */
    struct baton_choice *slots;      /* [n_rows] */
    /* the call at hand */
    const struct dc_step *step;
    const float *logits;
};

struct dc_choices *dc_choices_create(int n_rows, int n_threads, int n_vocab)
{
    struct dc_choices *choices = calloc(1, sizeof *choices);
    if (!choices)
        return NULL;
    choices->n_vocab = n_vocab;
    choices->n_threads = n_threads;
    choices->slots = calloc((size_t)n_rows, sizeof *choices->slots);
    choices->samplers = calloc((size_t)n_threads, sizeof(struct baton_sampler *));
    bool complete = choices->slots && choices->samplers;
    for (int i = 0; i < n_threads && complete; i++)
        complete = (choices->samplers[i] = baton_sampler_create(n_vocab)) != NULL;
    if (complete)
        return choices;
    dc_choices_destroy(choices);
    return NULL;
}

void dc_choices_destroy(struct dc_choices *choices)
{
    if (!choices)
        return;
    for (int i = 0; i < choices->n_threads && choices->samplers; i++)
        baton_sampler_destroy(choices->samplers[i]);
    free(choices->samplers);
    free(choices->slots);
    free(choices);
}

static const struct baton_plan *plan_of(const struct dc_context *context)
{
    return context->state == DC_PROMPTING ? &context->prompt.plan : &context->plan;
}

/* A baton_item_fn. */
static void choose_row(void *arg, int row, int worker)
{
    struct dc_choices *choices = arg;
    const struct dc_context *context = choices->step->contexts[row];
    baton_choice_make(&choices->slots[row], choices->samplers[worker], plan_of(context),
                      choices->logits + (size_t)row * (size_t)choices->n_vocab,
                      (uint64_t)context->seq.n_tokens);
}

struct baton_choice *dc_choices_make(struct dc_choices *choices, struct baton_engine *engine,
                                     const struct dc_step *step, const float *logits)
{
    choices->step = step;
    choices->logits = logits;
    if (step->n_rows > 1 && (int64_t)step->n_rows * choices->n_vocab >= MIN_SHARED_LOGITS)
        baton_engine_share(engine, step->n_rows, choose_row, choices);
    else
        for (int row = 0; row < step->n_rows; row++)
            choose_row(choices, row, 0);
    return choices->slots;
}
