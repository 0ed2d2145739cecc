#include "common/base/array.h"
#include "tests/unit/engine/sampling/reference.h"

#include "engine/sampling/pipeline.h"

static const uint32_t vocabularies[] = {1,   2,   3,   5,   16,   17,   64,
                                        255, 256, 257, 300, 1000, 4096, 7001};

enum { N_VOCABULARIES = BATON_N_OF(vocabularies), N_CASES = 3000 };

static void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%.17g is not within %g of %.17g", got, tolerance, wanted);
}

static void assert_same_candidates(const struct reference *r, const struct baton_decision *decision)
{
    for (int i = 0; i < decision->n_candidates; i++) {
        const struct baton_candidate *got = &decision->candidates[i];
        const struct reference_token *wanted = &r->sorted[i];
        assert_int_equal(got->token, wanted->id);
        assert_true(got->logit_penalized == wanted->penalized);
        assert_int_equal(got->removed_by, wanted->removed_by);
        assert_near(got->prob, r->prob[wanted->id], 1e-6 * r->prob[wanted->id] + 1e-9);
    }
}

static void assert_same_chosen(const struct reference *r, const struct baton_decision *decision)
{
    double begin = 0, entropy = 0;
    const struct baton_candidate *chosen = &decision->chosen;
    for (uint32_t id = 0; id < chosen->token; id++)
        begin += r->prob[id];
    for (uint32_t id = 0; id < r->n_vocab; id++)
        entropy -= r->prob[id] > 0 ? r->prob[id] * log2(r->prob[id]) : 0;
    assert_near(chosen->interval_begin, begin, 1e-5);
    assert_near(chosen->interval_end, begin + r->prob[chosen->token], 1e-5);
    assert_near(decision->entropy_bits, entropy, 1e-4);
    assert_int_equal(r->sorted[decision->rank - 1].id, chosen->token);
    assert_int_equal(r->sorted[decision->rank - 1].removed_by, BATON_KEPT);
}

/* False when the case is too close to compare, or has no finite logit to draw from. */
static bool compare_one(struct baton_sampler *sampler, const struct sample_case *c)
{
    struct reference reference;
    struct baton_decision decision;
    reference_init(&reference, c);
    uint32_t picked =
        baton_sampler_pick(sampler, c->logits, &c->sampling, &c->history, c->position);
    assert_int_equal(baton_sampler_explain(sampler, c->logits, &c->sampling, &c->history,
                                           c->position, BATON_MAX_LISTED, &decision),
                     picked);
    bool comparable = !reference.close && !decision.greedy;
    if (comparable) {
        for (int i = 0; i < BATON_N_FILTERS; i++)
            assert_int_equal(decision.n_after[i], reference.n_after[i]);
        assert_same_candidates(&reference, &decision);
        assert_same_chosen(&reference, &decision);
    }
    reference_fini(&reference);
    return comparable;
}

static void compare_many(const struct baton_kernels *kernels)
{
    struct baton_sampler *samplers[N_VOCABULARIES];
    struct dice dice = {.seed = 20};
    int n_compared = 0;
    for (int v = 0; v < N_VOCABULARIES; v++) {
        assert_non_null(samplers[v] = baton_sampler_create((int)vocabularies[v]));
        samplers[v]->kernels = kernels;
    }
    for (int i = 0; i < N_CASES; i++) {
        struct sample_case c;
        sample_case_init(&c, &dice, vocabularies[i % N_VOCABULARIES]);
        n_compared += compare_one(samplers[i % N_VOCABULARIES], &c);
        sample_case_fini(&c);
    }
    assert_true(n_compared > N_CASES * 9 / 10);
    for (int v = 0; v < N_VOCABULARIES; v++)
        baton_sampler_destroy(samplers[v]);
}

TEST(every_stage_agrees_with_a_full_sort_in_double)
{
    const struct baton_kernels *kernels;
    for (int k = 0; (kernels = baton_kernels_at(k)); k++)
        compare_many(kernels);
}
