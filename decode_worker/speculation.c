#include "decode_worker/speculation.h"

/* Until drafts of a sequence were checked: what share of them is right, after so many agreed. */
static const struct {
    int n_agreed;
    double p;
} agreements[DC_N_AGREEMENTS] = {{8, 0.8}, {4, 0.6}, {0, 0.4}};

static void add_all(struct dc_prompt_lookup *text, const uint32_t *tokens, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dc_prompt_lookup_add(text, tokens[i]);
}

enum baton_err dc_speculation_init(struct dc_speculation *speculation,
                                   const Baton__V1__DecodeStart *start)
{
    struct dc_speculation made = {0};
    size_t n_made = start->n_output; /* by earlier attempts */
    if (!start->speculation || !start->speculation->max_tokens)
        return BATON_OK;
    made.max_tokens = (int)start->speculation->max_tokens;
    made.min_tokens = (int)start->speculation->min_tokens;
    for (int i = 0; i < DC_N_AGREEMENTS; i++)
        made.odds[i] = baton_draft_odds_of(agreements[i].p);
    enum baton_err err =
        dc_prompt_lookup_init(&made.text, start->n_prompt + n_made + start->max_new_tokens);
    if (err)
        return err;
    add_all(&made.text, start->prompt, start->n_prompt);
    add_all(&made.text, start->output, n_made);
    dc_prompt_lookup_add(&made.text, start->first_token);
    *speculation = made;
    return BATON_OK;
}

void dc_speculation_fini(struct dc_speculation *speculation)
{
    dc_prompt_lookup_fini(&speculation->text);
    speculation->max_tokens = 0;
}

static int agreement_of(int n_agreed)
{
    int i = 0;
    while (n_agreed < agreements[i].n_agreed)
        i++;
    return i;
}

void dc_speculation_draft(struct dc_speculation *speculation, double least, int n_most)
{
    const struct dc_prompt_lookup *text = &speculation->text;
    speculation->tokens[0] = text->tokens[text->n - 1];
    speculation->n_drafts = 0;
    if (n_most > speculation->max_tokens)
        n_most = speculation->max_tokens;
    if (n_most < 1)
        return;
    struct dc_lookup_match match = dc_prompt_lookup_find(text);
    if (!match.n_agreed)
        return;
    speculation->agreement = agreement_of(match.n_agreed);
    struct baton_draft_odds *odds = &speculation->odds[speculation->agreement];
    int n_least = speculation->min_tokens < n_most ? speculation->min_tokens : n_most;
    int n_worth = baton_draft_length(odds, least, n_most);
    speculation->n_drafts = n_worth > n_least ? n_worth : n_least;
    if (!speculation->n_drafts)
        baton_draft_odds_forget(odds);
    dc_prompt_lookup_read(text, match, speculation->tokens + 1, speculation->n_drafts);
}

void dc_speculation_note(struct dc_speculation *speculation, const uint32_t *tokens, int n)
{
    baton_draft_odds_note(&speculation->odds[speculation->agreement], speculation->n_drafts, n - 1);
    add_all(&speculation->text, tokens, (size_t)n);
}
