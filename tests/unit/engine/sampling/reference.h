/* The sampling pipeline written the plain way - a full sort, everything in double - and random rows
 * and settings to compare the sampler with it.
 *
 * Ownership: init allocates what fini frees.
 * Threading: one thread.
 * Errors:    assertions.
 */
#ifndef BATON_TESTS_UNIT_ENGINE_SAMPLING_REFERENCE_H
#define BATON_TESTS_UNIT_ENGINE_SAMPLING_REFERENCE_H

#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/sampling/philox.h"
#include "engine/sampling/sampler.h"
#include "tests/support/random_floats.h"

/* ---- random numbers and cases ---- */

struct dice {
    uint64_t seed, n_thrown;
};

/* 0..n-1 */
uint32_t throw_dice(struct dice *dice, uint32_t n);
double throw_real(struct dice *dice, double low, double high);

enum { CASE_MAX_SEEN = 40, CASE_MAX_BIAS = 6 };

struct sample_case {
    uint32_t n_vocab;
    float *logits;
    struct baton_sampling_params sampling;
    struct baton_history history;
    struct baton_logit_bias bias[CASE_MAX_BIAS];
    uint64_t position;
};

/* Normal, nearly flat, in coarse steps (ties everywhere), all equal, with NaN and infinities; each
 * stage on or off; ids of history and bias also outside the vocabulary. */
void sample_case_init(struct sample_case *c, struct dice *dice, uint32_t n_vocab);
void sample_case_fini(struct sample_case *c);

/* ---- the plain pipeline ---- */

struct reference_token {
    float penalized; /* NaN is -infinity here */
    uint32_t id;
    double weight; /* 1 for the highest */
    enum baton_removal removed_by;
};

struct reference {
    uint32_t n_vocab;
    struct reference_token *sorted; /* [V] highest logit first, lowest id of equals first */
    double *prob;                   /* [V] by id */
    uint32_t n_after[BATON_N_FILTERS];
    bool close; /* a filter's border is within rounding: another answer is as good */
};

/* Needs a temperature > 0. */
void reference_init(struct reference *reference, const struct sample_case *c);
void reference_fini(struct reference *reference);

#endif
