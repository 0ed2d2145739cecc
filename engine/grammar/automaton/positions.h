/* The tables of an automaton: lists of returns, and positions as numbers, equal ones once. Private
 * to engine/grammar.
 *
 * Ownership: the automaton owns its tables.
 * Threading: one owner at a time.
 * Errors:    push: false when the list is too deep, or without memory; settle: NOWHERE without
 *            memory.
 */
#ifndef BATON_ENGINE_GRAMMAR_AUTOMATON_POSITIONS_H
#define BATON_ENGINE_GRAMMAR_AUTOMATON_POSITIONS_H

#include "engine/grammar/automaton/automaton.h"

/* Numbers of lists: ROOT is the empty one; OUTSIDE represents any list that a local walk would
 * return to.
 */
enum { ROOT = 0, OUTSIDE = 1 };
/* Special values of a step, or of the target of plain characters. */
enum { UNKNOWN = 0, MIXED = 1 };
enum { N_SEEN = 8 * 2 * BATON_MAX_WAYS, MAX_OPEN = 4 * BATON_MAX_WAYS };

/* A list of states to return to: this one, then the rest. */
struct returns {
    uint32_t state, rest;
    uint32_t depth;
};

struct position {
    uint32_t first_way, n_ways;
    uint32_t hash;
    uint32_t plain; /* the target of plain characters, plus two; UNKNOWN, MIXED */
    bool accepts, leaves;
};

/* Open addressing: hash -> index plus one. */
struct table {
    uint32_t *slots;
    size_t n_slots; /* a power of two */
};

struct baton_automaton {
    const struct baton_network *network;
    struct returns *returns;
    size_t n_returns, cap_returns;
    struct table returns_table;
    struct position *positions;
    uint32_t *steps; /* [n_positions][n_classes] a position plus one; UNKNOWN */
    size_t n_positions, cap_positions, cap_steps;
    struct table position_table;
    struct baton_way *ways; /* of all positions */
    size_t n_ways, cap_ways;
    /* scratch: the ways of the position being made */
    struct baton_way open[MAX_OPEN];
    size_t n_open;
    uint32_t seen[N_SEEN]; /* index in open, valid in the round of the same slot */
    uint32_t rounds[N_SEEN];
    uint32_t round;
};

/* Adds a state in front of a list. *list becomes the new list. */
bool baton_positions_push(struct baton_automaton *a, uint32_t state, uint32_t rest, uint32_t *list);

/* A position is made of the ways that are opened after begin, each once. */
void baton_positions_begin(struct baton_automaton *a);
void baton_positions_open(struct baton_automaton *a, uint32_t state, uint32_t returns);
/* Returns the number of the position with the open ways, without those that read no byte. */
uint32_t baton_positions_settle(struct baton_automaton *a, struct position made);

#endif
