#include "engine/grammar/automaton/automaton.h"

#include <stdlib.h>
#include <string.h>

#include "engine/grammar/automaton/positions.h"
#include "engine/grammar/language/plain.h"

/* Follows calls, ends of rules and empty edges from all open ways. */
static void follow(struct baton_automaton *a, struct position *made)
{
    const struct baton_network *net = a->network;
    /* The list grows while it is followed. */
    for (size_t i = 0; i < a->n_open; i++) {
        struct baton_way way = a->open[i];
        const struct baton_state *state = &net->states[way.state];
        if (state->is_final) {
            made->accepts |= way.returns == ROOT;
            made->leaves |= way.returns == OUTSIDE;
            if (way.returns > OUTSIDE)
                baton_positions_open(a, a->returns[way.returns].state,
                                     a->returns[way.returns].rest);
        }
        for (uint32_t e = state->edges; e; e = net->edges[e - 1].next) {
            const struct baton_edge *edge = &net->edges[e - 1];
            uint32_t list = way.returns;
            if (edge->kind == BATON_EDGE_EMPTY)
                baton_positions_open(a, edge->to, way.returns);
            /* A call that returns only to the end of its rule leaves no state on the list, as a
             * tail call: right recursion then needs no depth. A call that keeps the path does leave
             * one. */
            else if (edge->kind == BATON_EDGE_CALL &&
                     ((net->states[edge->to].only_ends && !edge->keeps) ||
                      baton_positions_push(a, edge->to, way.returns, &list)))
                baton_positions_open(a, net->starts[edge->rule], list);
        }
    }
}

static uint32_t open_at(struct baton_automaton *a, uint32_t state, uint32_t returns)
{
    struct position made = {0};
    baton_positions_begin(a);
    baton_positions_open(a, state, returns);
    follow(a, &made);
    return baton_positions_settle(a, made);
}

uint32_t baton_automaton_start(struct baton_automaton *a)
{
    return open_at(a, a->network->starts[0], ROOT);
}

uint32_t baton_automaton_local(struct baton_automaton *a, uint32_t state)
{
    return open_at(a, state, OUTSIDE);
}

uint32_t baton_automaton_return(struct baton_automaton *a, struct baton_way way)
{
    if (way.returns <= OUTSIDE)
        return BATON_NOWHERE;
    return open_at(a, a->returns[way.returns].state, a->returns[way.returns].rest);
}

static uint32_t compute_step(struct baton_automaton *a, uint32_t from, uint8_t byte)
{
    const struct baton_network *net = a->network;
    const struct position position = a->positions[from];
    struct position made = {0};
    baton_positions_begin(a);
    for (uint32_t i = 0; i < position.n_ways; i++) {
        struct baton_way way = a->ways[position.first_way + i];
        for (uint32_t e = net->states[way.state].edges; e; e = net->edges[e - 1].next) {
            const struct baton_edge *edge = &net->edges[e - 1];
            if (edge->kind == BATON_EDGE_BYTE && edge->low <= byte && byte <= edge->high)
                baton_positions_open(a, edge->to, way.returns);
        }
    }
    follow(a, &made);
    return baton_positions_settle(a, made);
}

uint32_t baton_automaton_step(struct baton_automaton *a, uint32_t position, uint8_t byte)
{
    uint8_t class = a->network->class_of[byte];
    size_t at = (size_t)position * (size_t)a->network->n_classes + class;
    if (position == BATON_NOWHERE)
        return BATON_NOWHERE;
    if (a->steps[at] == UNKNOWN) {
        uint32_t to = compute_step(a, position, a->network->byte_of[class]);
        /* compute_step may have moved the table, so a->steps is read again. */
        a->steps[at] = to + 1; /* the table may have moved */
    }
    return a->steps[at] - 1;
}

/* Follows the bytes of one kind from the i-th on, one byte of each class. *to is the position that
 * the earlier ones led to; false when these lead elsewhere. */
static bool step_kind(struct baton_automaton *a, uint32_t position,
                      const struct baton_plain_bytes *kind, int i, bool *is_first, uint32_t *to)
{
    const struct baton_network *net = a->network;
    if (i == 4 || !kind->bytes[i].high || position == BATON_NOWHERE) {
        /* Once no text matches, the rest of the character makes no difference. */
        bool is_same = *is_first || *to == position;
        *to = position;
        *is_first = false;
        return is_same;
    }
    for (int byte = kind->bytes[i].low; byte <= kind->bytes[i].high; byte++) {
        if (byte > kind->bytes[i].low && net->class_of[byte] == net->class_of[byte - 1])
            continue;
        uint32_t next = baton_automaton_step(a, position, (uint8_t)byte);
        if (!step_kind(a, next, kind, i + 1, is_first, to))
            return false;
    }
    return true;
}

bool baton_automaton_step_plain(struct baton_automaton *a, uint32_t position, uint32_t *next)
{
    bool is_first = true, is_one = true;
    uint32_t to = BATON_NOWHERE;
    if (position == BATON_NOWHERE) {
        *next = BATON_NOWHERE;
        return true;
    }
    if (a->positions[position].plain == UNKNOWN) {
        for (int i = 0; i < BATON_N_PLAIN_KINDS && is_one; i++)
            is_one = step_kind(a, position, &baton_plain_kinds[i], 0, &is_first, &to);
        a->positions[position].plain = is_one ? to + 2 : MIXED;
    }
    *next = a->positions[position].plain - 2;
    return a->positions[position].plain != MIXED;
}

bool baton_automaton_only_byte(const struct baton_automaton *a, uint32_t at, uint8_t *byte)
{
    const struct baton_network *net = a->network;
    const struct position *position = &a->positions[at];
    bool has_one = false;
    /* Where the text may end, the model still has a choice. */
    for (uint32_t i = 0; i < position->n_ways && !position->accepts; i++) {
        const struct baton_state *state = &net->states[a->ways[position->first_way + i].state];
        for (uint32_t e = state->edges; e; e = net->edges[e - 1].next) {
            const struct baton_edge *edge = &net->edges[e - 1];
            if (edge->kind != BATON_EDGE_BYTE)
                continue;
            if (edge->low != edge->high || (has_one && edge->low != *byte))
                return false;
            *byte = edge->low;
            has_one = true;
        }
    }
    return has_one;
}

bool baton_automaton_accepts(const struct baton_automaton *a, uint32_t position)
{
    return a->positions[position].accepts;
}

bool baton_automaton_leaves(const struct baton_automaton *a, uint32_t position)
{
    return a->positions[position].leaves;
}

const struct baton_way *baton_automaton_ways(const struct baton_automaton *a, uint32_t position,
                                             size_t *n)
{
    *n = a->positions[position].n_ways;
    return a->ways + a->positions[position].first_way;
}

bool baton_automaton_is_deep(const struct baton_automaton *a, struct baton_way way)
{
    return a->returns[way.returns].depth > BATON_MAX_NESTING / 2;
}

size_t baton_automaton_n_positions(const struct baton_automaton *a)
{
    return a->n_positions;
}
