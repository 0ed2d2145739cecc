/* How many tokens a sequence guesses for its next step.
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

/* p of a sequence's drafts, as far as they were checked. Zeroed it is nobody's. */
struct baton_draft_odds {
    double p;
};

/* p: what is assumed before any was checked. */
struct baton_draft_odds baton_draft_odds_of(double p);

/* Of a step's drafts, so many were right: all, or those before the first that was not. Drafts after
 * it were not checked. */
void baton_draft_odds_note(struct baton_draft_odds *odds, int n_drafted, int n_accepted);

/* Drafts were there, and none was worth its row: in time one is tried again. */
void baton_draft_odds_forget(struct baton_draft_odds *odds);

/* The least probability of being right that makes a draft worth its row, in a step of n rows.
 * Costs of 0: not known yet. */
double baton_draft_least(double base_s, double row_s, int n_rows);

/* 0..n_most */
int baton_draft_length(const struct baton_draft_odds *odds, double least, int n_most);

/* What a draft takes that a model of its own makes, as a part of what a step of n_rows takes a row:
 * its row in the check, and a row of a round of n_drafting sequences that make a draft each. The
 * costs of a round are draft_base_s and draft_row_s. Costs of 0: not known yet. */
double baton_draft_cost(double base_s, double row_s, int n_rows, double draft_base_s,
                        double draft_row_s, int n_drafting);

/* The number of drafts for which the expected tokens over the time that they take are the most,
 * 0..n_most: (1 - p^(n+1)) / (1 - p) over 1 + n cost (Leviathan et al., theorem 3.8). Unlike those
 * that are looked up, such drafts take longer than their rows, so the best number counts. */
int baton_draft_length_paid(const struct baton_draft_odds *odds, double cost, int n_most);

#endif
