#include "common/policy/draft_length.h"

/* The weight of each checked draft in p: about the last ten count. */
static const double weight = 0.1;

/* The weight of a step without a draft, towards even odds: one is tried about every fifty steps. */
static const double forgetting = 0.02;

struct baton_draft_odds baton_draft_odds_of(double p)
{
    return (struct baton_draft_odds){.p = p};
}

void baton_draft_odds_note(struct baton_draft_odds *odds, int n_drafted, int n_accepted)
{
    for (int i = 0; i < n_accepted; i++)
        odds->p += weight * (1 - odds->p);
    if (n_accepted < n_drafted)
        odds->p -= weight * odds->p;
}

void baton_draft_odds_forget(struct baton_draft_odds *odds)
{
    if (odds->p < 0.5)
        odds->p += forgetting * (0.5 - odds->p);
}

double baton_draft_least(double base_s, double row_s, int n_rows)
{
    double step_s = base_s + row_s * n_rows;
    return step_s > 0 ? row_s * n_rows / step_s : 0;
}

int baton_draft_length(const struct baton_draft_odds *odds, double least, int n_most)
{
    double right = odds->p;
    int n = 0;
    for (; n < n_most && right > least; n++)
        right *= odds->p;
    return n;
}

double baton_draft_cost(double base_s, double row_s, int n_rows, double draft_base_s,
                        double draft_row_s, int n_drafting)
{
    double row_share_s = base_s / n_rows + row_s;
    if (!(row_share_s > 0) || !(draft_base_s + draft_row_s > 0))
        return 0;
    return (row_s + draft_row_s + draft_base_s / n_drafting) / row_share_s;
}

/* Stops at the first draft that lowers the ratio: each further one adds less than the one before
 * and takes as long, so the best number is reached. */
int baton_draft_length_paid(const struct baton_draft_odds *odds, double cost, int n_most)
{
    double right = odds->p, tokens = 1, time = 1;
    int n = 0;
    for (; n < n_most && right * time > cost * tokens; n++) {
        tokens += right;
        time += cost;
        right *= odds->p;
    }
    return n;
}
