#include "engine/compute/moe/plan.h"

/* Sets groups[e] of every expert to the place of its first pair and to no pairs: a counting sort,
 * which keeps the order of rows within each expert. */
static void start_groups(struct baton_moe_plan *plan, const int *experts, int n_experts)
{
    for (int e = 0; e < n_experts; e++)
        plan->groups[e] = (struct baton_moe_group){.expert = e};
    for (int i = 0; i < plan->n_pairs; i++)
        plan->groups[experts[i]].n++;
    for (int e = 0, first = 0; e < n_experts; e++) {
        plan->groups[e].first = first;
        first += plan->groups[e].n;
        plan->groups[e].n = 0;
    }
}

static void drop_empty_groups(struct baton_moe_plan *plan, int n_experts)
{
    plan->n_groups = 0;
    for (int e = 0; e < n_experts; e++)
        if (plan->groups[e].n)
            plan->groups[plan->n_groups++] = plan->groups[e];
}

void baton_moe_plan_fill(struct baton_moe_plan *plan, const int *experts, int n_rows, int n_chosen,
                         int n_experts)
{
    plan->n_pairs = n_rows * n_chosen;
    start_groups(plan, experts, n_experts);
    for (int i = 0; i < plan->n_pairs; i++) {
        struct baton_moe_group *group = &plan->groups[experts[i]];
        int place = group->first + group->n++;
        plan->rows[place] = i / n_chosen;
        plan->places[i] = place;
    }
    drop_empty_groups(plan, n_experts);
}
