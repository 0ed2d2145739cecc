/* From one row of logits to one token: temperature, top-k, top-p, softmax, draw.
 *
 * The draw is a Philox 4x32-10 number (Salmon et al., "Parallel random numbers: as easy as 1, 2,
 * 3", SC 2011) keyed by the seed, with the token's absolute position as counter: it does not depend
 * on worker, batch, attempt or history.
 *
 * Ownership: a sampler owns scratch memory for V candidates, sized at creation.
 * Threading: one thread per sampler; baton_philox_uniform is pure.
 * Errors:    create: NO_MEMORY.
 */
#ifndef BATON_ENGINE_SAMPLE_H
#define BATON_ENGINE_SAMPLE_H

#include <stdint.h>

#include "common/base/error.h"

struct baton_sampling {
    double temperature; /* 0: greedy, the lowest id wins ties */
    uint32_t top_k;     /* 0: off; ties at the k-th are kept */
    double top_p;       /* (0, 1]; 1: off; smallest set whose cumulative probability reaches p */
    uint64_t seed;
};

struct baton_sampler;

struct baton_sampler *baton_sampler_create(int n_vocab);
void baton_sampler_destroy(struct baton_sampler *sampler);

/* logits [V], untouched. position is the absolute position the token will have (prompt tokens
 * included). Returns the token id. NaN logits are treated as -infinity. */
uint32_t baton_sampler_pick(struct baton_sampler *sampler, const float *logits,
                            const struct baton_sampling *sampling, uint64_t position);

/* Uniform in [0, 1), 53 bits, from (seed, position). */
double baton_philox_uniform(uint64_t seed, uint64_t position);

#endif
