/* How many tokens a prompt or an output has.
 *
 *     64                  always
 *     uniform:16-512      every length from 16 to 512 alike
 *     normal:256,64       mean, deviation; rounded, at least 1
 *     zipf:1.2,16-512     a share of about n^-1.2 for length n, from 16 to 512
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    INVALID names the option and the forms.
 */
#ifndef BATON_BENCH_SERVE_LENGTHS_H
#define BATON_BENCH_SERVE_LENGTHS_H

#include "bench/serve/rng.h"
#include "common/base/error.h"

enum { SV_MAX_TOKENS = 1 << 24 };

enum sv_lengths_kind { SV_LENGTHS_FIXED, SV_LENGTHS_UNIFORM, SV_LENGTHS_NORMAL, SV_LENGTHS_ZIPF };

struct sv_lengths {
    enum sv_lengths_kind kind;
    int64_t min, max;
    double mean, deviation; /* NORMAL */
    double exponent;        /* ZIPF */
};

enum baton_err sv_lengths_parse(const char *option, const char *text, struct sv_lengths *lengths,
                                struct baton_why *why) BATON_MUST_CHECK;
int64_t sv_lengths_draw(const struct sv_lengths *lengths, struct sv_rng *rng);

/* "first-last", as in "16-512"; both from least to most. INVALID names the option. */
enum baton_err sv_range_parse(const char *option, const char *text, int64_t least, int64_t most,
                              int64_t *first, int64_t *last,
                              struct baton_why *why) BATON_MUST_CHECK;

#endif
