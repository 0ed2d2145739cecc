/* The order in which the rows of a forward meet the experts they chose: all pairs of a row and one
 * of its experts, sorted by expert, so that one product per expert serves all of its rows.
 *
 *     chosen     row 0: 2 0    row 1: 2 3    row 2: 0 2        (k = 2 each, by rank)
 *     pairs      expert 0: rows 0 2    expert 2: rows 0 1 2    expert 3: row 1
 *     places     row 0: 2 0    row 1: 3 5    row 2: 1 4
 *
 * Ownership: the arrays are the caller's.
 * Threading: one owner.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_COMPUTE_MOE_PLAN_H
#define BATON_ENGINE_COMPUTE_MOE_PLAN_H

/* The pairs first..first + n - 1 are one expert's, in the order of their rows. */
struct baton_moe_group {
    int expert, first, n;
};

struct baton_moe_plan {
    int n_pairs, n_groups;          /* rows times k; experts that any row chose */
    struct baton_moe_group *groups; /* [E] of which n_groups are set, by expert */
    int *rows;                      /* [n_pairs] the row of each pair */
    int *places;                    /* [n_rows][k] the pair of each row's chosen experts */
};

/* Fills the plan's arrays from experts [n_rows][k], each below n_experts. */
void baton_moe_plan_fill(struct baton_moe_plan *plan, const int *experts, int n_rows, int n_chosen,
                         int n_experts);

#endif
