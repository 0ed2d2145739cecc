/* Where a text stands in a grammar, byte by byte: a pushdown automaton, made deterministic as far
 * as it is walked.
 *
 *     position   the ways that the grammar is still open: each is a state of the network and the
 *                states that its rules return to, innermost first
 *     step       from a position over a byte, computed once and then looked up
 *
 * Equal ways are one, and so are equal positions, so that a walk through thousands of tokens mostly
 * reads a table. Positions are numbers. collect forgets all that nobody stands at.
 *
 * A grammar may be so ambiguous, or nest so deeply, that more than BATON_MAX_WAYS are open or more
 * than BATON_MAX_NESTING rules: what is beyond is cut off. Then fewer texts match, never others.
 *
 * Ownership: owns its tables; borrows the network.
 * Threading: one owner at a time.
 * Errors:    create: NO_MEMORY. A step that finds no memory leads to BATON_NOWHERE.
 */
#ifndef BATON_ENGINE_GRAMMAR_AUTOMATON_AUTOMATON_H
#define BATON_ENGINE_GRAMMAR_AUTOMATON_AUTOMATON_H

#include "engine/grammar/automaton/network.h"

enum { BATON_MAX_WAYS = 1024, BATON_MAX_NESTING = 256, BATON_MAX_POSITIONS = 1 << 16 };

/* No text goes on from here. */
#define BATON_NOWHERE 0u

struct baton_automaton;

struct baton_way {
    uint32_t state;
    uint32_t returns; /* names a list of states to return to */
};

struct baton_automaton *baton_automaton_create(const struct baton_network *network);
void baton_automaton_destroy(struct baton_automaton *automaton);

/* Before the first byte. */
uint32_t baton_automaton_start(struct baton_automaton *automaton);

/* The position after one more byte. */
uint32_t baton_automaton_step(struct baton_automaton *automaton, uint32_t position, uint8_t byte);

/* Whether the text may end at the position. */
bool baton_automaton_accepts(const struct baton_automaton *automaton, uint32_t position);

/* The path in the schema of what is open at the position, of the innermost part that all ways share
 * or go on from: a label of the network's. NULL: the grammar is no schema. */
const char *baton_automaton_path(const struct baton_automaton *automaton, uint32_t position);

/* The open ways of a position that read a byte. Valid until the next call that steps. */
const struct baton_way *baton_automaton_ways(const struct baton_automaton *automaton,
                                             uint32_t position, size_t *n);

/* The position of one state, whatever it returns to; NOWHERE without memory. Where a walk from it
 * has ended the rule, baton_automaton_leaves is true. */
uint32_t baton_automaton_local(struct baton_automaton *automaton, uint32_t state);
bool baton_automaton_leaves(const struct baton_automaton *automaton, uint32_t position);

/* Where a way stands that has ended the rule of its state. */
uint32_t baton_automaton_return(struct baton_automaton *automaton, struct baton_way way);

/* Whether more nesting is open than a local walk reckons with: it may then find ways that are cut
 * off. */
bool baton_automaton_is_deep(const struct baton_automaton *automaton, struct baton_way way);

/* Where all plain characters (plain.h) lead, which may be NOWHERE. False: not to one position. */
bool baton_automaton_step_plain(struct baton_automaton *automaton, uint32_t position,
                                uint32_t *next);

/* Whether one byte alone may come, and the text may not end. */
bool baton_automaton_only_byte(const struct baton_automaton *automaton, uint32_t position,
                               uint8_t *byte);

size_t baton_automaton_n_positions(const struct baton_automaton *automaton);

/* Forgets all positions but those at kept [n], which it replaces by their new names. False: no
 * memory, and nothing has changed. */
bool baton_automaton_collect(struct baton_automaton *automaton, uint32_t **kept, size_t n);

#endif
