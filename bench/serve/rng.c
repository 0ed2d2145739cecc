#include "bench/serve/rng.h"

#include <math.h>

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

struct sv_rng sv_rng(uint64_t seed, enum sv_stream stream, uint64_t index)
{
    return (struct sv_rng){mix(mix(mix(seed) + (uint64_t)stream) + index)};
}

uint64_t sv_rng_next(struct sv_rng *rng)
{
    rng->state += 0x9e3779b97f4a7c15;
    return mix(rng->state);
}

double sv_rng_unit(struct sv_rng *rng)
{
    return (double)(sv_rng_next(rng) >> 11) * 0x1p-53;
}

int64_t sv_rng_between(struct sv_rng *rng, int64_t first, int64_t last)
{
    /* The bias is below range / 2^64. */
    return first + (int64_t)(sv_rng_next(rng) % ((uint64_t)(last - first) + 1));
}

double sv_rng_normal(struct sv_rng *rng)
{
    double radius = sqrt(2 * sv_rng_exponential(rng)); /* Box and Muller */
    return radius * cos(2 * M_PI * sv_rng_unit(rng));
}

double sv_rng_exponential(struct sv_rng *rng)
{
    return -log1p(-sv_rng_unit(rng));
}
