/* The grammars of a worker, over its model's vocabulary, which is loaded with the first grammar.
 *
 * Ownership: the set is the host's.
 * Threading: main thread; the set makes grammars on a thread of its own, which wakes the host.
 * Errors:    the log has the reason why a grammar could not be compiled.
 */
#ifndef BATON_WORKER_GRAMMARS_H
#define BATON_WORKER_GRAMMARS_H

#include "engine/grammar/set.h"

struct baton_host;

/* Makes an empty set for the model of the host, which must outlive the set. */
void baton_grammars_init(struct baton_grammar_set *grammars, struct baton_host *host);

#endif
