#include "decode_worker/speculation.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "decode_worker/draft_model.h"

/* Steps without a draft, of a sequence and of the worker, after which one of the draft model's
 * drafts is tried although it does not seem worth its time. */
enum { LEAST_PATIENCE = 32, MOST_PATIENCE = 512 };

/* The weight of one sequence's step in the worker's estimate of the draft model's accuracy. */
static const double others_weight = 0.1;

/* The initial share of correct drafts by the length of the match, until drafts of the sequence were
 * verified. */
static const struct {
    int n_agreed;
    double p;
} agreements[DC_N_AGREEMENTS] = {{8, 0.8}, {4, 0.6}, {0, 0.4}};

/* The same for drafts that a grammar forces. They may be wrong too, because the model may tokenize
 * the forced text differently. */
static const double forced_p = 0.8;

static void add_all(struct dc_prompt_lookup *text, const uint32_t *tokens, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dc_prompt_lookup_add(text, tokens[i]);
}

/* Memory for the inputs of the model's own head. */
static bool take_pairs(struct dc_speculation *speculation, const struct dc_draft_model *draft)
{
    speculation->n_embd = draft->n_embd;
    speculation->hidden = malloc((size_t)DC_MOST_LAG * (size_t)draft->n_embd * sizeof(float));
    return speculation->hidden;
}

/* The positions of its sequence: the text but the last token, which is never an input, or of the
 * model's own head the output. */
static int most_positions(const struct dc_speculation *speculation,
                          const struct dc_draft_model *draft, int n_new)
{
    int n = draft->is_head ? n_new + DC_MOST_LAG : (int)speculation->text.n_max - 1;
    return n < draft->n_context ? n : draft->n_context;
}

/* Acquires blocks for the draft model's sequence. False: its pool is full, and the request runs
 * without drafts. */
static bool take_blocks(struct dc_speculation *speculation, const struct dc_draft_model *draft,
                        int n_new)
{
    int n = most_positions(speculation, draft, n_new);
    if (draft->is_head && !take_pairs(speculation, draft))
        return false;
    if (baton_seq_init(&speculation->draft, draft->kv, n))
        return false;
    speculation->usual_lag = dc_draft_model_lag(draft);
    speculation->has_model = true;
    speculation->n_model_vocab = draft->n_vocab;
    speculation->n_model_positions = n;
    speculation->patience = LEAST_PATIENCE;
    speculation->odds[0] = (struct baton_draft_odds){0};
    return true;
}

static enum baton_err take_text(struct dc_speculation *speculation,
                                const Baton__V1__DecodeStart *start)
{
    size_t n_made = start->n_output; /* by earlier attempts */
    enum baton_err err =
        dc_prompt_lookup_init(&speculation->text, start->n_prompt + n_made + start->max_new_tokens);
    if (err)
        return err;
    add_all(&speculation->text, start->prompt, start->n_prompt);
    add_all(&speculation->text, start->output, n_made);
    dc_prompt_lookup_add(&speculation->text, start->first_token);
    return BATON_OK;
}

enum baton_err dc_speculation_init(struct dc_speculation *speculation,
                                   const Baton__V1__DecodeStart *start,
                                   const struct dc_draft_model *draft)
{
    struct dc_speculation made = {0};
    const Baton__V1__Speculation *wanted = start->speculation;
    if (!wanted || !wanted->max_tokens)
        return BATON_OK;
    bool wants_model = wanted->mode == BATON__V1__SPECULATION__MODE__DRAFT_MODEL;
    if (wants_model && !draft)
        return BATON_OK;
    made.max_tokens = (int)wanted->max_tokens;
    made.min_tokens = (int)wanted->min_tokens;
    for (int i = 0; i < DC_N_AGREEMENTS; i++)
        made.odds[i] = baton_draft_odds_of(agreements[i].p);
    made.odds[DC_FORCED] = baton_draft_odds_of(forced_p);
    enum baton_err err = take_text(&made, start);
    if (err)
        return err;
    if (wants_model && !take_blocks(&made, draft, (int)start->max_new_tokens)) {
        baton_log(BATON_LOG_WARN, "no_blocks_for_drafts", BATON_I("tokens", made.text.n_max),
                  BATON_I("blocks_free", baton_kv_n_free(draft->kv)));
        dc_speculation_fini(&made);
    }
    *speculation = made;
    return BATON_OK;
}

void dc_speculation_fini(struct dc_speculation *speculation)
{
    dc_prompt_lookup_fini(&speculation->text);
    baton_seq_fini(&speculation->draft);
    free(speculation->hidden);
    speculation->hidden = NULL;
    speculation->max_tokens = 0;
}

static int agreement_of(int n_agreed)
{
    int i = 0;
    while (n_agreed < agreements[i].n_agreed)
        i++;
    return i;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int at_least(const struct dc_speculation *speculation, int n, int n_most)
{
    int n_least = smaller(speculation->min_tokens, n_most);
    return n > n_least ? n : n_least;
}

/* Fills in drafts that a grammar forces, else those of a lookup. Returns their number. */
static int guess(struct dc_speculation *speculation, struct baton_matcher *matcher, int n_most)
{
    const struct dc_prompt_lookup *text = &speculation->text;
    int n = matcher ? baton_matcher_forced(matcher, speculation->tokens + 1, n_most) : 0;
    speculation->agreement = DC_FORCED;
    if (n)
        return n;
    struct dc_lookup_match match = dc_prompt_lookup_find(text);
    if (!match.n_agreed)
        return 0;
    speculation->agreement = agreement_of(match.n_agreed);
    dc_prompt_lookup_read(text, match, speculation->tokens + 1, n_most);
    return n_most;
}

void dc_speculation_draft(struct dc_speculation *speculation, struct baton_matcher *matcher,
                          double least, int n_most)
{
    const struct dc_prompt_lookup *text = &speculation->text;
    speculation->tokens[0] = text->tokens[text->n - 1];
    speculation->n_drafts = 0;
    n_most = smaller(n_most, speculation->max_tokens);
    int n_found = n_most < 1 ? 0 : guess(speculation, matcher, n_most);
    if (!n_found)
        return;
    struct baton_draft_odds *odds = &speculation->odds[speculation->agreement];
    speculation->n_drafts =
        at_least(speculation, baton_draft_length(odds, least, n_found), n_found);
    if (!speculation->n_drafts)
        baton_draft_odds_forget(odds);
}

/* ---- a draft model ---- */

/* Whether the sequence tries a draft that does not seem worth its time. Only one sequence of the
 * worker tries at a time, because its row may delay all others. A try lasts several steps if the
 * draft model has to catch up with the text first. */
static bool may_try(struct dc_speculation *speculation, struct dc_draft_state *state, double cost)
{
    if (cost >= 1) /* even a draft that is certainly correct would not pay */
        return false;
    speculation->n_waited++;
    if (!speculation->tries && speculation->n_waited >= speculation->patience &&
        state->n_since_try >= LEAST_PATIENCE) {
        speculation->tries = true;
        state->n_since_try = 0;
    }
    return speculation->tries;
}

/* The number of drafts to make. If none is worth its time, one is tried now and then, because the
 * text may have become easier to predict. */
static int wanted_drafts(struct dc_speculation *speculation, struct dc_draft_state *state,
                         double cost, int n_most)
{
    struct baton_draft_odds *odds = &speculation->odds[0];
    if (!(odds->p > 0)) /* the first time: the estimate of other sequences */
        *odds = baton_draft_odds_of(state->p > 0 ? state->p : agreements[0].p);
    int n = at_least(speculation, baton_draft_length_paid(odds, cost, n_most), n_most);
    if (n)
        speculation->tries = false;
    if (n || n_most < 1)
        return n;
    return may_try(speculation, state, cost);
}

static bool knows_all(const struct dc_speculation *speculation, int first, int n)
{
    for (int i = first; i < first + n; i++)
        if (speculation->text.tokens[i] >= (uint32_t)speculation->n_model_vocab)
            return false;
    return true;
}

/* Takes the positions after the n-th back; out of a state, those of all drafts. */
static void take_back(struct baton_seq *draft, int n)
{
    baton_seq_return_to_state(draft);
    draft->n_tokens = smaller(draft->n_tokens, n);
}

/* The number of the text's tokens that the draft model has not computed. A step that was undone has
 * given its positions back. The last token always counts, because each step begins with it. */
static int n_lacking(struct dc_speculation *speculation)
{
    int n_text = (int)speculation->text.n;
    if (speculation->hidden) {
        take_back(&speculation->draft, speculation->n_given);
        return speculation->n_pairs;
    }
    take_back(&speculation->draft, n_text - 1);
    return n_text - speculation->draft.n_tokens;
}

/* The drafts for which its sequence has positions. The model's own head makes none without a hidden
 * state. */
static int n_drafts_left(const struct dc_speculation *speculation)
{
    int n_positions = speculation->n_model_positions;
    if (speculation->hidden)
        return speculation->n_pairs ? n_positions - speculation->n_given - speculation->n_pairs + 1
                                    : 0;
    return n_positions - (int)speculation->text.n + 1;
}

const uint32_t *dc_speculation_fed(const struct dc_speculation *speculation)
{
    const struct dc_prompt_lookup *text = &speculation->text;
    return text->tokens +
           (speculation->hidden ? (int)text->n - speculation->n_fed : speculation->draft.n_tokens);
}

void dc_speculation_plan(struct dc_speculation *speculation, struct dc_draft_state *state,
                         double cost, int n_most, int *n_catch_up)
{
    const struct dc_prompt_lookup *text = &speculation->text;
    speculation->tokens[0] = text->tokens[text->n - 1];
    speculation->n_drafts = speculation->n_fed = 0;
    n_most = smaller(n_most, speculation->max_tokens);
    n_most = smaller(n_most, n_drafts_left(speculation));
    int n_drafts = wanted_drafts(speculation, state, cost, n_most);
    if (!n_drafts)
        return;
    int n_lacks = n_lacking(speculation);
    bool catches_up = n_lacks > speculation->usual_lag;
    int n_fed = catches_up ? smaller(n_lacks, *n_catch_up) : n_lacks;
    if (!speculation->hidden && !knows_all(speculation, speculation->draft.n_tokens, n_fed)) {
        speculation->max_tokens = 0;
        return;
    }
    *n_catch_up -= catches_up ? n_fed : 0;
    speculation->n_fed = n_fed;
    speculation->n_drafts = n_fed == n_lacks ? n_drafts : 0;
}

void dc_speculation_give_up(struct dc_speculation *speculation, int i_draft)
{
    for (int i = i_draft; i <= speculation->n_drafts; i++)
        speculation->tokens[i] = speculation->tokens[0];
    speculation->max_tokens = 0;
}

void dc_speculation_share_odds(const struct dc_speculation *speculation,
                               struct dc_draft_state *state)
{
    double p = speculation->odds[0].p;
    if (speculation->has_model && speculation->n_drafts)
        state->p += state->p > 0 ? others_weight * (p - state->p) : p;
}

/* Sets the time of the next try: at once after a correct draft, after twice the pause after a wrong
 * one. */
static void note_try(struct dc_speculation *speculation, bool is_right)
{
    if (speculation->tries && !is_right)
        speculation->patience = smaller(2 * speculation->patience, MOST_PATIENCE);
    else if (is_right)
        speculation->patience = LEAST_PATIENCE;
    speculation->tries &= is_right;
    speculation->n_waited = 0;
}

/* Replaces the pairs: those that the head was not given are a gap in its sequence. */
static void note_pairs(struct dc_speculation *speculation, const float *hidden, int n)
{
    size_t n_floats = (size_t)n * (size_t)speculation->n_embd;
    speculation->n_given += speculation->n_fed;
    take_back(&speculation->draft, speculation->n_given);
    memcpy(speculation->hidden, hidden, n_floats * sizeof *hidden);
    speculation->n_pairs = n;
}

/* Gives the positions of rejected drafts back. */
static void note_model(struct dc_speculation *speculation, int n_accepted, const float *hidden)
{
    if (speculation->hidden)
        note_pairs(speculation, hidden, n_accepted + 1);
    else
        take_back(&speculation->draft, (int)speculation->text.n + n_accepted);
    if (speculation->n_drafts)
        note_try(speculation, n_accepted > 0);
}

void dc_speculation_note(struct dc_speculation *speculation, const uint32_t *tokens, int n,
                         const float *hidden)
{
    baton_draft_odds_note(&speculation->odds[speculation->agreement], speculation->n_drafts, n - 1);
    if (speculation->has_model)
        note_model(speculation, n - 1, hidden);
    add_all(&speculation->text, tokens, (size_t)n);
}
