/* Decides whether a prompt's KV leaves for the decode worker while the prompt is still computed.
 *
 * Sending takes processor time from computing: a long prompt hides it, a short one does not.
 *
 * Pure.
 */
#ifndef BATON_COMMON_POLICY_OVERLAP_H
#define BATON_COMMON_POLICY_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

enum baton_overlap {
    BATON_OVERLAP_ON,
    BATON_OVERLAP_OFF,
    BATON_OVERLAP_AUTO /* depends on the number of tokens to compute */
};

/* True when the KV leaves early. n_tokens are the prompt's tokens that are not cached. */
bool baton_overlap_applies(enum baton_overlap overlap, int64_t n_tokens);

#endif
