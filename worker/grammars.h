/* The grammars of a worker: over the vocabulary of its model, which is read with the first of them.
 *
 * Ownership: the set is the host's.
 * Threading: main thread; the set makes grammars on a thread of its own, which wakes the host.
 * Errors:    the log tells why a grammar could not be made.
 */
#ifndef BATON_WORKER_GRAMMARS_H
#define BATON_WORKER_GRAMMARS_H

#include "engine/grammar/set.h"

struct baton_host;

/* For the model of the host, which must outlive the set. */
void baton_grammars_init(struct baton_grammar_set *grammars, struct baton_host *host);

#endif
