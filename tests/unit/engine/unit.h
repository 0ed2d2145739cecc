/* What the engine's tests share: cmocka and reproducible arbitrary numbers. */
#ifndef BATON_TEST_ENGINE_UNIT_H
#define BATON_TEST_ENGINE_UNIT_H

#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/engine/sample.h"

/* n floats in [-1, 1), the same for the same seed; freed by the caller. */
static inline float *random_floats(size_t n, uint64_t seed)
{
    float *floats = calloc(n ? n : 1, sizeof *floats);
    assert_non_null(floats);
    for (size_t i = 0; i < n; i++)
        floats[i] = (float)(2 * baton_philox_uniform(seed, i) - 1);
    return floats;
}

#endif
