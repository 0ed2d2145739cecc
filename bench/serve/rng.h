/* Numbers that look random and are a function of (seed, stream, index): request i is the same
 * whoever asks, in whatever order (SplitMix64, Steele et al. 2014).
 *
 * Ownership: plain values.
 * Threading: one owner at a time.
 * Errors:    none.
 */
#ifndef BATON_BENCH_SERVE_RNG_H
#define BATON_BENCH_SERVE_RNG_H

#include <stdint.h>

/* What a number is for; each has a stream of its own. */
enum sv_stream {
    SV_STREAM_ARRIVAL,
    SV_STREAM_REQUEST,
    SV_STREAM_PROMPT,
    SV_STREAM_PREFIX,
    SV_STREAM_BLOCK,
    SV_STREAM_PASS, /* the simulator's, as the rest: how long things take */
    SV_STREAM_STEP,
    SV_STREAM_WAY
};

struct sv_rng {
    uint64_t state;
};

struct sv_rng sv_rng(uint64_t seed, enum sv_stream stream, uint64_t index);
uint64_t sv_rng_next(struct sv_rng *rng);
double sv_rng_unit(struct sv_rng *rng); /* [0, 1) */
/* first..last, both included; last >= first. */
int64_t sv_rng_between(struct sv_rng *rng, int64_t first, int64_t last);
double sv_rng_normal(struct sv_rng *rng);      /* mean 0, deviation 1 */
double sv_rng_exponential(struct sv_rng *rng); /* mean 1 */

#endif
