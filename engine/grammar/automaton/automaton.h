/* The position of a text in a grammar, byte by byte: a pushdown automaton that is made
 * deterministic as it is walked.
 *
 *     position   the open ways of the grammar: each is a state of the network and the
 *                states that its rules return to, innermost first
 *     step       from a position over a byte; computed once, then looked up
 *
 * Equal ways are one, and so are equal positions, so that a walk through thousands of tokens mostly
 * reads a table. Positions are numbers. collect drops all that no sequence is at.
 *
 * A grammar may be so ambiguous, or nest so deeply, that more than BATON_MAX_WAYS ways or more than
 * BATON_MAX_NESTING rules are open: the excess is cut off. Then fewer texts match, never others.
 *
 * Ownership: owns its tables; borrows the network.
 * Threading: one owner at a time.
 * Errors:    create: NO_MEMORY. A step that finds no memory leads to BATON_NOWHERE.
 */
#ifndef BATON_ENGINE_GRAMMAR_AUTOMATON_AUTOMATON_H
#define BATON_ENGINE_GRAMMAR_AUTOMATON_AUTOMATON_H

#include "engine/grammar/automaton/network.h"

enum { BATON_MAX_WAYS = 1024, BATON_MAX_NESTING = 256, BATON_MAX_POSITIONS = 1 << 16 };

/* The position after which no text matches. */
#define BATON_NOWHERE 0u

struct baton_automaton;

struct baton_way {
    uint32_t state;
    uint32_t returns; /* the number of a list of states to return to */
};

struct baton_automaton *baton_automaton_create(const struct baton_network *network);
void baton_automaton_destroy(struct baton_automaton *automaton);

/* Returns the position before the first byte. */
uint32_t baton_automaton_start(struct baton_automaton *automaton);

/* Returns the position after one more byte. */
uint32_t baton_automaton_step(struct baton_automaton *automaton, uint32_t position, uint8_t byte);

/* True when the text may end at the position. */
bool baton_automaton_accepts(const struct baton_automaton *automaton, uint32_t position);

/* Returns the path in the schema of the innermost part that all ways of the position share or lead
 * on from: a label of the network. NULL: the grammar is not a schema. */
const char *baton_automaton_path(const struct baton_automaton *automaton, uint32_t position);

/* Returns the open ways of a position that read a byte. Valid until the next call that steps. */
const struct baton_way *baton_automaton_ways(const struct baton_automaton *automaton,
                                             uint32_t position, size_t *n);

/* Returns the position of one state, for any list to return to; NOWHERE without memory. Where a
 * walk from it has ended the rule, baton_automaton_leaves is true. */
uint32_t baton_automaton_local(struct baton_automaton *automaton, uint32_t state);
bool baton_automaton_leaves(const struct baton_automaton *automaton, uint32_t position);

/* Returns the position of a way after the rule of its state has ended. */
uint32_t baton_automaton_return(struct baton_automaton *automaton, struct baton_way way);

/* True when more nesting is open than a local walk assumes: such a walk might find ways that are
 * cut off here. */
bool baton_automaton_is_deep(const struct baton_automaton *automaton, struct baton_way way);

/* Sets *next to the position that all plain characters (plain.h) lead to, perhaps NOWHERE. False
 * when they lead to different positions. */
bool baton_automaton_step_plain(struct baton_automaton *automaton, uint32_t position,
                                uint32_t *next);

/* True when exactly one byte may follow and the text may not end. */
bool baton_automaton_only_byte(const struct baton_automaton *automaton, uint32_t position,
                               uint8_t *byte);

size_t baton_automaton_n_positions(const struct baton_automaton *automaton);

/* Drops all positions but those at kept [n], which it replaces by their new numbers. False without
 * memory; nothing has changed then. */
bool baton_automaton_collect(struct baton_automaton *automaton, uint32_t **kept, size_t n);

#endif
