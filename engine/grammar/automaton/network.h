/* A grammar's rules as a recursive transition network over bytes: states, and edges that read a
 * byte, read nothing, or call a rule and return.
 *
 *     rule ::= "[" rule? "]"      s0 --[--> s1 --call rule--> s2 --]--> s3 (final)
 *                                           \_______________/
 *
 * Every state can be reached and can lead to an end: parts of the grammar that match no text are
 * cut off. A rule that would call itself before it reads a byte is refused.
 *
 * Ownership: the network is the caller's; free with baton_network_destroy.
 * Threading: immutable once made.
 * Errors:    create: INVALID (left recursion, no text matches) with the rule's label, LIMIT (more
 *            than BATON_MAX_STATES, or nested too deep to build), NO_MEMORY.
 */
#ifndef BATON_ENGINE_GRAMMAR_AUTOMATON_NETWORK_H
#define BATON_ENGINE_GRAMMAR_AUTOMATON_NETWORK_H

#include "engine/grammar/language/expr.h"

enum { BATON_MAX_STATES = 1 << 17 };

enum baton_edge_kind { BATON_EDGE_BYTE, BATON_EDGE_EMPTY, BATON_EDGE_CALL };

struct baton_edge {
    uint32_t next; /* the next edge of the same state, plus one; 0: the last */
    uint32_t to;   /* for a call: the state to return to */
    uint32_t rule; /* for a call: the rule */
    uint8_t kind, low, high;
    bool keeps; /* a call that always returns, to keep the path */
};

struct baton_state {
    uint32_t edges; /* the first edge, plus one */
    uint32_t rule;
    bool is_final;  /* the rule may end here */
    bool reads;     /* has an edge that reads a byte */
    bool only_ends; /* is final and has no edge: a call needs not return here */
};

struct baton_network {
    struct baton_state *states;
    size_t n_states, cap_states;
    struct baton_edge *edges;
    size_t n_edges, cap_edges;
    uint32_t *starts; /* [n_rules] */
    size_t n_rules;
    char **labels; /* [n_labels] of the first rules; the other rules are repeated parts */
    size_t n_labels;
    /* Bytes that no edge distinguishes are one class. */
    uint8_t class_of[256], byte_of[256];
    int n_classes;
};

enum baton_err baton_network_create(const struct baton_exprs *exprs, struct baton_network **network,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Returns the rule's place in its source; "" for a repeated part. */
const char *baton_network_label(const struct baton_network *network, uint32_t rule);
/* Returns the rule's path in a schema, from "#"; NULL: it has none. */
const char *baton_network_path(const struct baton_network *network, uint32_t rule);
/* Accepts NULL. */
void baton_network_destroy(struct baton_network *network);

#endif
