/* Chooses the number of tokens that a sequence drafts for its next step.
 *
 * A step that checks d drafts beside its n rows takes base_s + row_s (n + d), and the i-th draft of
 * a sequence brings a token if it and all before it are right: with a probability of about p^i
 * (Leviathan et al., "Fast Inference from Transformers via Speculative Decoding", 2023). It is
 * worth its row while that is more than the row's share of the time in which the step makes one
 * token. So drafts lengthen no step by more than they are expected to bring, and a full batch makes
 * none.
 *
 * Pure.
 */
#ifndef BATON_COMMON_POLICY_DRAFT_LENGTH_H
#define BATON_COMMON_POLICY_DRAFT_LENGTH_H

/* The estimate of p for a sequence's drafts. A zeroed struct belongs to no sequence. */
struct baton_draft_odds {
    double p;
};

/* Returns odds with p as the assumption before any draft was checked. */
struct baton_draft_odds baton_draft_odds_of(double p);

/* Updates the odds after a step: n_accepted of n_drafted drafts were right, all or those before the
 * first wrong one. Drafts after it were not checked. */
void baton_draft_odds_note(struct baton_draft_odds *odds, int n_drafted, int n_accepted);

/* Updates the odds after a step in which no available draft was worth its row, so that one is tried
 * again in time. */
void baton_draft_odds_forget(struct baton_draft_odds *odds);

/* Returns the least probability of being right that makes a draft worth its row, in a step of n
 * rows. Costs of 0 are unknown. */
double baton_draft_least(double base_s, double row_s, int n_rows);

/* Returns a number of drafts, 0..n_most. */
int baton_draft_length(const struct baton_draft_odds *odds, double least, int n_most);

/* Returns the cost of a draft by a draft model, relative to a row's share of a step of n_rows: its
 * row in the check, and its row in a round in which n_drafting sequences make a draft each. The
 * costs of a round are draft_base_s and draft_row_s. Costs of 0 are unknown. */
double baton_draft_cost(double base_s, double row_s, int n_rows, double draft_base_s,
                        double draft_row_s, int n_drafting);

/* Returns the number of drafts, 0..n_most, with the most expected tokens per time: (1 - p^(n+1)) /
 * (1 - p) over 1 + n cost (Leviathan et al., theorem 3.8). Unlike drafts that are looked up, such
 * drafts take longer than their rows, so the best number matters. */
int baton_draft_length_paid(const struct baton_draft_odds *odds, double cost, int n_most);

#endif
