#include "gateway/api/completion/explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { REASON_MAX_BYTES = 1024 };

static void put_text(struct baton_json_out *out, const struct gw_api *api, uint32_t token)
{
    size_t n = 0;
    const char *bytes = baton_tokenizer_bytes(api->tokenizer, token, &n);
    baton_json_put_text(out, "text", bytes ? bytes : "", n);
}

static void put_interval(struct baton_json_out *out, const Baton__V1__Candidate *candidate,
                         bool greedy)
{
    /* A greedy step draws nothing, and a removed candidate has no interval. */
    if (greedy || !(candidate->interval_end > candidate->interval_begin)) {
        baton_json_put_null(out, "interval");
        return;
    }
    baton_json_open(out, "interval", '[');
    baton_json_put_exact(out, NULL, candidate->interval_begin);
    baton_json_put_exact(out, NULL, candidate->interval_end);
    baton_json_close(out, ']');
}

static const char *removal_name(const Baton__V1__Candidate *candidate,
                                const struct gw_params *params)
{
    if (candidate->removed_by == BATON_REMOVED_BY_GRAMMAR &&
        params->sampling.grammar.kind == BATON_GRAMMAR_JSON_SCHEMA)
        return "schema";
    return baton_removal_name(candidate->removed_by);
}

static void put_candidate(struct baton_json_out *out, const struct gw_api *api,
                          const struct gw_params *params, const Baton__V1__Candidate *candidate,
                          bool greedy)
{
    const char *removed_by = removal_name(candidate, params);
    baton_json_open(out, NULL, '{');
    baton_json_put_uint(out, "token_id", candidate->token);
    put_text(out, api, candidate->token);
    baton_json_put_real(out, "logit", (double)candidate->logit);
    baton_json_put_real(out, "logit_penalized", (double)candidate->logit_penalized);
    baton_json_put_exact(out, "prob_raw", candidate->prob_raw);
    baton_json_put_exact(out, "prob_shaped", candidate->prob_shaped);
    baton_json_put_exact(out, "prob", candidate->prob);
    baton_json_put_bool(out, "kept", !removed_by);
    baton_json_put_string_or_null(out, "removed_by", removed_by);
    baton_json_put_string_or_null(out, "removed_at",
                                  *candidate->removed_at ? candidate->removed_at : NULL);
    put_interval(out, candidate, greedy);
    baton_json_close(out, '}');
}

static void put_kept(struct baton_json_out *out, const Baton__V1__Decision *decision)
{
    static const char *const keys[BATON_N_FILTERS] = {
#define X(NAME, name) "after_" #name,
        BATON_FILTERS(X)
#undef X
    };
    baton_json_open(out, "kept", '{');
    for (int i = 0; i < BATON_N_FILTERS; i++)
        baton_json_put_uint(out, keys[i], decision->n_after[i]);
    baton_json_close(out, '}');
}

/* "the most likely", "number 7 by likelihood" */
static void say_rank(struct baton_buf *reason, uint32_t rank)
{
    if (rank == 1)
        baton_buf_printf(reason, "the most likely");
    else
        baton_buf_printf(reason, "number %" PRIu32 " by likelihood", rank);
}

/* Names the next candidate only if it is listed: all candidates above it may have been removed. */
static void say_greedy(struct baton_buf *reason, const struct gw_params *params,
                       const Baton__V1__Decision *decision)
{
    double logit = (double)decision->chosen->logit_penalized;
    const char *removed_by = NULL;
    size_t i = 0;
    for (; i < decision->n_candidates; i++) {
        const Baton__V1__Candidate *other = decision->candidates[i];
        if (!other->removed_by && other->token != decision->chosen->token)
            break;
        if (i + 1 < decision->rank && !removed_by)
            removed_by = removal_name(other, params);
    }
    baton_buf_printf(reason, "Temperature 0 takes the highest logit%s%s: %.4g",
                     removed_by ? " that is not removed by " : "", removed_by ? removed_by : "",
                     logit);
    if (i < decision->n_candidates)
        baton_buf_printf(reason, ", which is %.4g above the next",
                         logit - (double)decision->candidates[i]->logit_penalized);
    baton_buf_printf(reason, ".");
}

/* "top-k 40", "min-p 0.05" */
static void say_filter(struct baton_buf *reason, const struct gw_params *params, int filter)
{
    const struct baton_sampling_field *field = baton_filter_field(filter);
    double value = baton_sampling_field_get(field, &params->sampling);
    for (const char *c = field->name; *c; c++)
        baton_buf_append(reason, *c == '_' ? "-" : c, 1);
    if (field->type == BATON_PARAM_COUNT)
        baton_buf_printf(reason, " %.0f", value); /* all of its digits */
    else
        baton_buf_printf(reason, " %g", value);
}

static uint32_t n_left(const Baton__V1__Decision *decision)
{
    return decision->n_after[BATON_N_FILTERS - 1];
}

static void say_filters(struct baton_buf *reason, const struct gw_params *params,
                        const Baton__V1__Decision *decision, int64_t n_vocab)
{
    int64_t n_before = n_vocab;
    const char *and = "";
    if (n_left(decision) == n_vocab) /* no filter removed a token */
        return;
    baton_buf_printf(reason, " of the %" PRIu32 " that ", n_left(decision));
    for (int i = 0; i < BATON_N_FILTERS; n_before = decision->n_after[i++]) {
        if (decision->n_after[i] == n_before)
            continue;
        baton_buf_printf(reason, "%s", and);
        say_filter(reason, params, i);
        and = " and ";
    }
    baton_buf_printf(reason, " left of %" PRId64, n_vocab);
}

static void say_drawn(struct baton_buf *reason, const struct gw_params *params,
                      const Baton__V1__Decision *decision, int64_t n_vocab)
{
    const Baton__V1__Candidate *chosen = decision->chosen;
    if (n_left(decision) == 1) {
        baton_buf_printf(reason, "Only this token was left, whatever the draw: it is ");
    } else {
        baton_buf_printf(
            reason, "The draw %.4f fell into [%.4f, %.4f), the %.2f%% of this token: it is ",
            decision->draw, chosen->interval_begin, chosen->interval_end, 100 * chosen->prob);
    }
    say_rank(reason, decision->rank);
    say_filters(reason, params, decision, n_vocab);
    baton_buf_printf(reason, ".");
}

static void put_reason(struct baton_json_out *out, const struct gw_api *api,
                       const struct gw_params *params, const Baton__V1__Decision *decision)
{
    struct baton_buf reason;
    baton_buf_init(&reason, REASON_MAX_BYTES);
    if (decision->greedy)
        say_greedy(&reason, params, decision);
    else
        say_drawn(&reason, params, decision, api->facts->n_vocab);
    baton_json_put_text(out, "reason", baton_buf_text(&reason), reason.len);
    baton_buf_fini(&reason);
}

/* Writes the draft's rank and probability; null if it is not among the listed candidates. */
static void put_draft_place(struct baton_json_out *out, const struct gw_token *token)
{
    const Baton__V1__Decision *decision = token->decision;
    size_t i = 0;
    while (i < decision->n_candidates && decision->candidates[i]->token != *token->draft)
        i++;
    if (*token->draft == token->id) {
        baton_json_put_uint(out, "rank", decision->rank);
        baton_json_put_exact(out, "prob", decision->chosen->prob);
    } else if (i < decision->n_candidates) {
        baton_json_put_uint(out, "rank", i + 1);
        baton_json_put_exact(out, "prob", decision->candidates[i]->prob);
    } else {
        baton_json_put_null(out, "rank");
        baton_json_put_null(out, "prob");
    }
}

/* Writes the draft that was guessed for the token; null without one. */
static void put_draft(struct baton_json_out *out, const struct gw_api *api,
                      const struct gw_token *token)
{
    if (!token->draft) {
        baton_json_put_null(out, "draft");
        return;
    }
    baton_json_open(out, "draft", '{');
    baton_json_put_uint(out, "token_id", *token->draft);
    put_text(out, api, *token->draft);
    baton_json_put_bool(out, "accepted", *token->draft == token->id);
    put_draft_place(out, token);
    baton_json_close(out, '}');
}

void gw_explain_step(struct baton_buf *buf, const struct gw_api *api,
                     const struct gw_params *params, const struct gw_token *token)
{
    const Baton__V1__Decision *decision = token->decision;
    const Baton__V1__Candidate *chosen = decision->chosen;
    struct baton_json_out out = baton_json_out(buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_uint(&out, "index", token->index);
    baton_json_put_uint(&out, "token_id", token->id);
    put_text(&out, api, token->id);
    baton_json_put_string(&out, "strategy", decision->greedy ? "greedy" : "sample");
    baton_json_put_real(&out, "logit", (double)chosen->logit);
    baton_json_put_real(&out, "logit_penalized", (double)chosen->logit_penalized);
    baton_json_put_exact(&out, "logprob", log(chosen->prob));
    baton_json_put_exact(&out, "prob", chosen->prob);
    baton_json_put_exact(&out, "prob_raw", chosen->prob_raw);
    baton_json_put_uint(&out, "rank", decision->rank);
    put_kept(&out, decision);
    baton_json_put_exact(&out, "draw", decision->greedy ? NAN : decision->draw);
    put_interval(&out, chosen, decision->greedy);
    baton_json_put_exact(&out, "entropy_bits", decision->entropy_bits);
    baton_json_put_string(&out, "phase", token->index ? "decode" : "prefill");
    put_reason(&out, api, params, decision);
    put_draft(&out, api, token);
    baton_json_open(&out, "candidates", '[');
    for (size_t i = 0; i < decision->n_candidates; i++)
        put_candidate(&out, api, params, decision->candidates[i], decision->greedy);
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
}

void gw_explain_put_steps(struct baton_json_out *out, const struct baton_buf *steps)
{
    baton_json_open(out, "steps", '[');
    baton_buf_append(out->buf, baton_buf_text(steps), steps->len);
    if (baton_buf_err(steps))
        out->buf->err = baton_buf_err(steps);
    baton_json_close(out, ']');
}
