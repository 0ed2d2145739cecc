/* The tokens that a sequence has seen and their counts in its output: the input of penalties.
 *
 * Ownership: an embedded struct that owns its table; init takes memory for the whole sequence, so
 *            that a decode step allocates nothing.
 * Threading: one owner at a time.
 * Errors:    init: NO_MEMORY. Adding has none: n_max different tokens always fit.
 */
#ifndef BATON_ENGINE_SAMPLING_HISTORY_H
#define BATON_ENGINE_SAMPLING_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct baton_seen {
    uint32_t id;
    uint32_t n_output; /* times generated; 0: in the prompt only */
};

struct baton_history {
    struct baton_seen *seen; /* [n_seen], in order of first appearance */
    size_t n_seen;
    uint32_t *slots; /* hash of an id -> its index in seen, plus one; 0: empty */
    size_t n_slots;  /* a power of two, at least twice n_max */
    size_t n_prompt; /* the first of seen: the prompt's */
};

/* A history of at most n_max different tokens: prompt and output together. */
enum baton_err baton_history_init(struct baton_history *history, size_t n_max) BATON_MUST_CHECK;
void baton_history_fini(struct baton_history *history);

/* Repeated ids count as one: only whether the prompt has a token matters. */
void baton_history_add_prompt(struct baton_history *history, const uint32_t *ids, size_t n);
/* Counts one more output token of that id. The prompt may hold the id as well. */
void baton_history_add_output(struct baton_history *history, uint32_t id);
/* Takes back the last output token that was added and not taken back: id. */
void baton_history_drop_output(struct baton_history *history, uint32_t id);

#endif
