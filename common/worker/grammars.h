/* The grammars of a worker: over the vocabulary of its model, which is read with the first of them.
 *
 * Ownership: the set is the host's.
 * Threading: main thread.
 * Errors:    hold: those of baton_sampling_state_hold; the log says what.
 */
#ifndef BATON_WORKER_GRAMMARS_H
#define BATON_WORKER_GRAMMARS_H

#include "common/sampling/state.h"

struct baton_host;

/* For the model of the host, which must outlive the set. */
void baton_grammars_init(struct baton_grammar_set *grammars, struct baton_host *host);

enum baton_err baton_worker_hold(struct baton_sampling_state *state,
                                 struct baton_grammar_set *grammars) BATON_MUST_CHECK;

#endif
