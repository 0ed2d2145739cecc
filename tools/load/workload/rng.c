#include "tools/load/workload/rng.h"

#include <math.h>

/* The finalizer of SplitMix64. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

struct ld_rng ld_rng(uint64_t seed, enum ld_stream stream, uint64_t index)
{
    /* Mixed three times, so that neighbouring seeds, streams and indices share no pattern. */
    return (struct ld_rng){mix(mix(mix(seed) + (uint64_t)stream) + index)};
}

uint64_t ld_rng_next(struct ld_rng *rng)
{
    rng->state += 0x9e3779b97f4a7c15;
    return mix(rng->state);
}

double ld_rng_unit(struct ld_rng *rng)
{
    /* A double holds 53 bits exactly. */
    return (double)(ld_rng_next(rng) >> 11) * 0x1p-53;
}

int64_t ld_rng_between(struct ld_rng *rng, int64_t first, int64_t last)
{
    /* The bias is below range / 2^64. */
    return first + (int64_t)(ld_rng_next(rng) % ((uint64_t)(last - first) + 1));
}

double ld_rng_normal(struct ld_rng *rng)
{
    double radius = sqrt(2 * ld_rng_exponential(rng)); /* Box and Muller */
    return radius * cos(2 * M_PI * ld_rng_unit(rng));
}

double ld_rng_exponential(struct ld_rng *rng)
{
    /* The unit may be 0 but never 1, so the logarithm is finite. */
    return -log1p(-ld_rng_unit(rng));
}
