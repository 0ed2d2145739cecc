/* The checks of a network before its first walk.
 *
 * Both take time linear in its states and edges.
 * Errors: NO_MEMORY, and INVALID with its reason in why.
 */
#ifndef BATON_ENGINE_GRAMMAR_AUTOMATON_NETWORK_CHECKS_H
#define BATON_ENGINE_GRAMMAR_AUTOMATON_NETWORK_CHECKS_H

#include "engine/grammar/automaton/network.h"

/* Cuts off the edges that lead to no end. INVALID: the first rule matches no text. */
enum baton_err baton_network_prune(struct baton_network *network,
                                   struct baton_why *why) BATON_MUST_CHECK;
/* Checks a pruned network. INVALID: a rule, which why names, calls itself before it reads a
 * byte. */
enum baton_err baton_network_refuse_left_recursion(const struct baton_network *network,
                                                   struct baton_why *why) BATON_MUST_CHECK;

#endif
