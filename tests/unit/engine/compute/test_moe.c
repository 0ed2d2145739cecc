/* A mixture's router and the order of its rows. */
#include "common/base/array.h"
#include "tests/unit/engine/unit.h"

#include "engine/compute/moe/plan.h"
#include "engine/compute/moe/route.h"

enum { MOST_EXPERTS = 64, MOST_ROWS = 48 };

static bool is_before(const float *logits, int a, int b)
{
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

/* The naive rule: an expert's rank is the number of experts before it. */
static int rank_of(const float *logits, int n_experts, int expert)
{
    int rank = 0;
    for (int e = 0; e < n_experts; e++)
        rank += is_before(logits, e, expert);
    return rank;
}

static double weight_of(const struct baton_moe_spec *moe, const float *logits, int expert)
{
    double sum = 0;
    for (int e = 0; e < moe->n_experts; e++)
        if (!moe->renormalises || rank_of(logits, moe->n_experts, e) < moe->n_chosen)
            sum += exp((double)logits[e]);
    return exp((double)logits[expert]) / sum;
}

static void check_route(const struct baton_moe_spec *moe, const float *logits)
{
    int experts[MOST_EXPERTS];
    float weights[MOST_EXPERTS];
    baton_moe_route(moe, logits, NULL, experts, weights);
    for (int i = 0; i < moe->n_chosen; i++) {
        assert_int_equal(rank_of(logits, moe->n_experts, experts[i]), i);
        double wanted = weight_of(moe, logits, experts[i]);
        assert_true(fabs((double)weights[i] - wanted) < 1e-6);
    }
}

TEST(the_greatest_logits_are_chosen_and_weigh_as_their_softmax)
{
    for (int n = 1; n <= MOST_EXPERTS; n = n < 8 ? n + 1 : n * 2) {
        for (int k = 1; k <= n; k = k < 8 ? k + 1 : k * 2) {
            float *logits = random_floats((size_t)n, (uint64_t)(100 * n + k));
            for (int renormalises = 0; renormalises < 2; renormalises++)
                check_route(&(struct baton_moe_spec){.n_experts = n,
                                                     .n_chosen = k,
                                                     .renormalises = renormalises},
                            logits);
            free(logits);
        }
    }
}

/* Sigmoids of these are .5, .7311, .8808, .9526, and those of their negatives 1 minus them. */
TEST(scores_choose_with_their_bias_and_weigh_without_it)
{
    const float logits[] = {0, 1, 2, 3, -1, -2}, bias[] = {.5F, 0, 0, -.2F, .7F, 0};
    const struct route {
        struct baton_moe_spec moe;
        int experts[3];
        double weights[3];
    } routes[] = {
        {{.n_chosen = 3, .has_sigmoid = true}, {3, 2, 1}, {.952574, .880797, .731059}},
        {{.n_chosen = 3, .has_sigmoid = true, .has_score_bias = true},
         {0, 4, 2},
         {.5, .268941, .880797}},
        {{.n_chosen = 2, .has_sigmoid = true, .renormalises = true, .scale = 2},
         {3, 2},
         {1.039150, .960850}},
        {{.n_chosen = 2, .scale = 2}, {3, 2}, {1.267383, .466244}}, /* a softmax */
        /* The best group is the one of the best expert, or of the best two together. */
        {{.n_chosen = 2, .has_sigmoid = true, .n_groups = 2, .n_kept = 1},
         {3, 4},
         {.952574, .268941}},
        {{.n_chosen = 2, .has_sigmoid = true, .n_groups = 2, .n_kept = 1, .sums_pairs = true},
         {2, 1},
         {.880797, .731059}},
        {{.n_chosen = 2, .has_sigmoid = true, .n_groups = 3, .n_kept = 2, .sums_pairs = true},
         {3, 2},
         {.952574, .880797}},
    };
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        struct baton_moe_spec moe = routes[i].moe;
        int experts[3];
        float weights[3];
        moe.n_experts = 6;
        baton_moe_route(&moe, logits, moe.has_score_bias ? bias : NULL, experts, weights);
        for (int k = 0; k < moe.n_chosen; k++) {
            assert_int_equal(experts[k], routes[i].experts[k]);
            assert_true(fabs((double)weights[k] - routes[i].weights[k]) < 2e-6);
        }
    }
}

TEST(equal_logits_go_to_the_lowest_ids)
{
    const struct baton_moe_spec moe = {.n_experts = 6, .n_chosen = 3, .renormalises = true};
    int experts[3];
    float weights[3];
    baton_moe_route(&moe, (const float[]){1, 2, 2, 1, 2, 2}, NULL, experts, weights);
    assert_memory_equal(experts, ((int[]){1, 2, 4}), sizeof experts);
    baton_moe_route(&moe, (const float[]){1, 1, 1, 1, 1, 3}, NULL, experts, weights);
    assert_memory_equal(experts, ((int[]){5, 0, 1}), sizeof experts);
}

TEST(great_logits_do_not_overflow)
{
    const struct baton_moe_spec moe = {.n_experts = 3, .n_chosen = 2};
    int experts[2];
    float weights[2];
    baton_moe_route(&moe, (const float[]){-3e38F, 3e38F, 3e38F}, NULL, experts, weights);
    assert_true(weights[0] == 0.5F && weights[1] == 0.5F);
}

TEST(sigmoids_are_chosen_by_their_bias_within_the_best_groups_and_weigh_without_it)
{
    /* sigmoids .5 .73 .88 .95 .98 .99 */
    const float logits[] = {0, 1, 2, 3, 4, 5}, bias[] = {1, 0, 0, 0, 0, 0};
    const struct {
        struct baton_moe_spec moe;
        const float *bias;
        int experts[2];
    } cases[] = {
        {{.n_chosen = 2}, NULL, {5, 4}},
        {{.n_chosen = 2}, bias, {0, 5}},
        {{.n_chosen = 2, .renormalises = true, .scale = 2.5F}, bias, {0, 5}},
        {{.n_chosen = 2, .n_groups = 3, .n_kept = 1}, NULL, {5, 4}},
        {{.n_chosen = 2, .n_groups = 3, .n_kept = 1}, bias, {0, 1}},
        {{.n_chosen = 2, .n_groups = 3, .n_kept = 2}, bias, {0, 5}},
        {{.n_chosen = 2, .n_groups = 2, .n_kept = 1}, bias, {0, 2}},
    };
    for (size_t c = 0; c < BATON_N_OF(cases); c++) {
        struct baton_moe_spec moe = cases[c].moe;
        int experts[2];
        float weights[2];
        double sum = 1, scale = moe.scale > 0 ? (double)moe.scale : 1;
        moe.n_experts = 6;
        moe.has_sigmoid = moe.sums_pairs = true;
        baton_moe_route(&moe, logits, cases[c].bias, experts, weights);
        assert_memory_equal(experts, cases[c].experts, sizeof experts);
        if (moe.renormalises)
            sum = 1 / (1 + exp(-(double)logits[experts[0]])) +
                  1 / (1 + exp(-(double)logits[experts[1]]));
        for (int i = 0; i < 2; i++) {
            double wanted = scale / sum / (1 + exp(-(double)logits[experts[i]]));
            assert_true(fabs((double)weights[i] - wanted) < 1e-6);
        }
    }
}

TEST(ids_are_distinct_whatever_the_logits_are)
{
    const struct baton_moe_spec moe = {.n_experts = 4, .n_chosen = 3};
    const float rows[][4] = {{NAN, NAN, NAN, NAN},
                             {NAN, 1, NAN, 2},
                             {INFINITY, INFINITY, -INFINITY, NAN},
                             {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    for (size_t r = 0; r < BATON_N_OF(rows); r++) {
        int experts[3];
        float weights[3];
        unsigned seen = 0;
        baton_moe_route(&moe, rows[r], NULL, experts, weights);
        for (int i = 0; i < 3; i++) {
            assert_in_range(experts[i], 0, 3);
            seen |= 1U << experts[i];
        }
        assert_int_equal(__builtin_popcount(seen), 3);
    }
}

struct plan_memory {
    struct baton_moe_group groups[MOST_EXPERTS];
    int rows[MOST_ROWS * 8], places[MOST_ROWS * 8];
};

static struct baton_moe_plan plan_in(struct plan_memory *memory)
{
    return (struct baton_moe_plan){
        .groups = memory->groups, .rows = memory->rows, .places = memory->places};
}

/* Every pair is in its expert's group, the groups tile the pairs, and a group's rows ascend. */
static void check_plan(const struct baton_moe_plan *plan, const int *experts, int n_rows, int k)
{
    int next = 0, last_expert = -1;
    assert_int_equal(plan->n_pairs, n_rows * k);
    for (int g = 0; g < plan->n_groups; g++) {
        const struct baton_moe_group *group = &plan->groups[g];
        assert_true(group->expert > last_expert && group->n > 0);
        assert_int_equal(group->first, next);
        for (int i = 1; i < group->n; i++)
            assert_true(plan->rows[next + i] > plan->rows[next + i - 1]);
        last_expert = group->expert;
        next += group->n;
    }
    assert_int_equal(next, plan->n_pairs);
    for (int i = 0; i < n_rows * k; i++) {
        int g = 0;
        assert_int_equal(plan->rows[plan->places[i]], i / k);
        while (plan->groups[g].first + plan->groups[g].n <= plan->places[i])
            g++;
        assert_int_equal(plan->groups[g].expert, experts[i]);
    }
}

TEST(pairs_are_sorted_by_expert_and_row)
{
    const int experts[] = {2, 0, 2, 3, 0, 2};
    struct plan_memory memory;
    struct baton_moe_plan plan = plan_in(&memory);
    baton_moe_plan_fill(&plan, experts, 3, 2, 4);
    assert_int_equal(plan.n_groups, 3);
    assert_memory_equal(plan.rows, ((int[]){0, 2, 0, 1, 2, 1}), 6 * sizeof(int));
    assert_memory_equal(plan.places, ((int[]){2, 0, 3, 5, 1, 4}), 6 * sizeof(int));
    check_plan(&plan, experts, 3, 2);
}

TEST(every_pair_has_a_place_of_its_own)
{
    struct plan_memory memory;
    struct baton_moe_plan plan = plan_in(&memory);
    for (int n_experts = 1; n_experts <= MOST_EXPERTS; n_experts *= 2) {
        for (int k = 1; k <= 8 && k <= n_experts; k++) {
            const struct baton_moe_spec moe = {.n_experts = n_experts, .n_chosen = k};
            int experts[MOST_ROWS * 8];
            for (int r = 0; r < MOST_ROWS; r++) {
                float weights[8];
                float *logits = random_floats((size_t)n_experts, (uint64_t)(1000 * k + r));
                baton_moe_route(&moe, logits, NULL, experts + (ptrdiff_t)r * k, weights);
                free(logits);
            }
            baton_moe_plan_fill(&plan, experts, MOST_ROWS, k, n_experts);
            check_plan(&plan, experts, MOST_ROWS, k);
        }
    }
}
