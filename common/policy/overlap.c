#include "common/policy/overlap.h"

/* Measured: below 128 tokens overlap gains nothing (docs/design/handoff.md). */
enum { MIN_TOKENS = 128 };

bool baton_overlap_applies(enum baton_overlap overlap, int64_t n_tokens)
{
    return overlap == BATON_OVERLAP_ON || (overlap == BATON_OVERLAP_AUTO && n_tokens >= MIN_TOKENS);
}
