/* Reproducible arbitrary numbers.
 *
 * Ownership: the caller frees what it gets.
 * Threading: any thread.
 * Errors:    assertions.
 */
#ifndef BATON_TESTS_SUPPORT_RANDOM_FLOATS_H
#define BATON_TESTS_SUPPORT_RANDOM_FLOATS_H

#include "tests/support/test.h"

#include <stdlib.h>

#include "engine/sampling/philox.h"

/* n floats in [-1, 1), the same for the same seed. */
static inline float *random_floats(size_t n, uint64_t seed)
{
    float *floats = calloc(n ? n : 1, sizeof *floats);
    assert_non_null(floats);
    for (size_t i = 0; i < n; i++)
        floats[i] = (float)(2 * baton_philox_uniform(seed, i) - 1);
    return floats;
}

#endif
