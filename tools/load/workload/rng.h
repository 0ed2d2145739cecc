/* Pseudo-random numbers as a function of (seed, stream, index): request i is the same in any order
 * of requests (SplitMix64, Steele et al. 2014).
 *
 * Ownership: plain values.
 * Threading: one owner at a time.
 * Errors:    none.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_RNG_H
#define BATON_TOOLS_LOAD_WORKLOAD_RNG_H

#include <stdint.h>

/* The purpose of a number; each has its own stream. */
enum ld_stream {
    LD_STREAM_ARRIVAL,
    LD_STREAM_REQUEST,
    LD_STREAM_PROMPT,
    LD_STREAM_PREFIX,
    LD_STREAM_BLOCK,
    LD_STREAM_PASS, /* of the simulator, like the following: durations */
    LD_STREAM_STEP,
    LD_STREAM_WAY
};

struct ld_rng {
    uint64_t state;
};

struct ld_rng ld_rng(uint64_t seed, enum ld_stream stream, uint64_t index);
uint64_t ld_rng_next(struct ld_rng *rng);
double ld_rng_unit(struct ld_rng *rng); /* [0, 1) */
/* Returns first..last, both included; last >= first. */
int64_t ld_rng_between(struct ld_rng *rng, int64_t first, int64_t last);
double ld_rng_normal(struct ld_rng *rng);      /* mean 0, deviation 1 */
double ld_rng_exponential(struct ld_rng *rng); /* mean 1 */

#endif
