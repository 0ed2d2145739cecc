/* The number of tokens of a prompt or an output.
 *
 *     64                  always
 *     uniform:16-512      every length from 16 to 512 equally often
 *     normal:256,64       mean, deviation; rounded, at least 1
 *     zipf:1.2,16-512     length n with a probability of about n^-1.2, from 16 to 512
 *
 * Ownership: plain values.
 * Threading: pure functions.
 * Errors:    INVALID names the option and the forms.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_LENGTHS_H
#define BATON_TOOLS_LOAD_WORKLOAD_LENGTHS_H

#include "common/base/error.h"
#include "tools/load/workload/rng.h"

enum { LD_MAX_TOKENS = 1 << 24 };

enum ld_lengths_kind { LD_LENGTHS_FIXED, LD_LENGTHS_UNIFORM, LD_LENGTHS_NORMAL, LD_LENGTHS_ZIPF };

struct ld_lengths {
    enum ld_lengths_kind kind;
    int64_t min, max;
    double mean, deviation; /* NORMAL */
    double exponent;        /* ZIPF */
};

enum baton_err ld_lengths_parse(const char *option, const char *text, struct ld_lengths *lengths,
                                struct baton_why *why) BATON_MUST_CHECK;
int64_t ld_lengths_draw(const struct ld_lengths *lengths, struct ld_rng *rng);

/* Parses "first-last", as in "16-512"; both from least to most. INVALID names the option. */
enum baton_err ld_range_parse(const char *option, const char *text, int64_t least, int64_t most,
                              int64_t *first, int64_t *last,
                              struct baton_why *why) BATON_MUST_CHECK;

#endif
