/* Checks the ranges of sampling parameters, and of the details of sampled tokens. */
#include <math.h>
#include <stdio.h>

#include "common/wire/envelope/check_fields.h"
#include "common/wire/envelope/sampling_codec.h"

static void check_field(struct checker *c, const struct baton_sampling_field *field, double value)
{
    char label[64];
    if (baton_sampling_field_in_range(field, value) || (value == 0 && field->zero_is_default))
        return;
    (void)snprintf(label, sizeof label, "sampling.%s", field->name);
    FAIL(c, label, "%g is outside %c%g, %g%c", value, field->above_min ? '(' : '[', field->min,
         field->max, isfinite(field->max) ? ']' : ')');
}

static void check_bias(struct checker *c, const Baton__V1__Sampling *m)
{
    range(c, "sampling.logit_bias", m->n_logit_bias, 0, BATON_MAX_LOGIT_BIAS);
    for (size_t i = 0; !c->err && i < m->n_logit_bias; i++) {
        double bias = (double)m->logit_bias[i]->bias;
        range(c, "sampling.logit_bias.token", m->logit_bias[i]->token, 0, MAX_TOKEN_ID);
        if (!(fabs(bias) <= BATON_MAX_BIAS)) /* NaN is not */
            FAIL(c, "sampling.logit_bias.bias", "%g is outside %d..%d", bias, -BATON_MAX_BIAS,
                 BATON_MAX_BIAS);
    }
}

static void check_grammar(struct checker *c, const Baton__V1__Grammar *m)
{
    known(c, "sampling.grammar.kind", (int)m->kind, &baton__v1__grammar__kind__descriptor);
    range(c, "sampling.grammar.text", m->text.len, 1, BATON_GRAMMAR_MAX_BYTES);
}

static void check_thinking(struct checker *c, const Baton__V1__Thinking *m)
{
    text(c, "sampling.thinking.begin", m->begin, BATON_MAX_THINKING_MARKER);
    text(c, "sampling.thinking.end", m->end, BATON_MAX_THINKING_MARKER);
    if (!*m->end || (!*m->begin && !m->is_open))
        FAIL(c, "sampling.thinking", "a marker is missing");
    range(c, "sampling.thinking.max_tokens", m->max_tokens, 0, INT32_MAX);
    token_ids(c, "sampling.thinking.close_ids", m->close_ids, m->n_close_ids, 1,
              BATON_MAX_THINKING_CLOSE);
    range(c, "sampling.thinking.n_first", m->n_first, 1, m->n_close_ids);
}

void baton_check_sampling(struct checker *c, const Baton__V1__Sampling *m)
{
    const struct baton_sampling_field *field;
    present(c, "sampling", m);
    if (!m)
        return;
    for (int i = 0; (field = baton_sampling_field_at(i)); i++)
        check_field(c, field, baton_sampling_message_get(field, m));
    check_bias(c, m);
    if (m->grammar)
        check_grammar(c, m->grammar);
    if (m->thinking)
        check_thinking(c, m->thinking);
    token_ids(c, "sampling.stop_token_ids", m->stop_token_ids, m->n_stop_token_ids, 0,
              BATON_MAX_STOP_IDS);
    token_ids(c, "sampling.allowed_token_ids", m->allowed_token_ids, m->n_allowed_token_ids, 0,
              BATON_MAX_ALLOWED_IDS);
}

/* Sums of rounded numbers may end a little past 1. */
static void probability(struct checker *c, const char *field, double value)
{
    real(c, field, value, 1 + 1e-6);
}

static void check_candidate(struct checker *c, const Baton__V1__Candidate *m)
{
    range(c, "decision.token", m->token, 0, MAX_TOKEN_ID);
    probability(c, "decision.prob_raw", m->prob_raw);
    probability(c, "decision.prob_shaped", m->prob_shaped);
    probability(c, "decision.prob", m->prob);
    range(c, "decision.removed_by", m->removed_by, BATON_KEPT, BATON_N_REMOVALS - 1);
    probability(c, "decision.interval_begin", m->interval_begin);
    probability(c, "decision.interval_end", m->interval_end);
    text(c, "decision.removed_at", m->removed_at, MAX_PATH_BYTES);
}

void baton_check_decision(struct checker *c, const Baton__V1__Decision *m)
{
    present(c, "decision.chosen", m->chosen);
    if (m->chosen)
        check_candidate(c, m->chosen);
    range(c, "decision.rank", m->rank, 1, (uint64_t)MAX_TOKEN_ID + 1);
    range(c, "decision.n_after", m->n_n_after, BATON_N_FILTERS, BATON_N_FILTERS);
    probability(c, "decision.draw", m->draw);
    real(c, "decision.entropy_bits", m->entropy_bits, 64);
    range(c, "decision.candidates", m->n_candidates, 0, BATON_MAX_LISTED);
    for (size_t i = 0; !c->err && i < m->n_candidates; i++)
        check_candidate(c, m->candidates[i]);
}

/* Minus infinity is a logprob: of a token that cannot come. */
static void check_logprob(struct checker *c, double value)
{
    if (!(value <= 0))
        FAIL(c, "logprobs", "%g is above 0", value);
}

void baton_check_logprobs(struct checker *c, const Baton__V1__Logprobs *m)
{
    check_logprob(c, m->logprob);
    token_ids(c, "logprobs.top_tokens", m->top_tokens, m->n_top_tokens, 0, BATON_MAX_LISTED);
    range(c, "logprobs.top_logprobs", m->n_top_logprobs, m->n_top_tokens, m->n_top_tokens);
    for (size_t i = 0; !c->err && i < m->n_top_logprobs; i++)
        check_logprob(c, m->top_logprobs[i]);
}
