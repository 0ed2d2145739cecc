#include "engine/grammar/automaton/network_checks.h"

#include <stdlib.h>
#include <string.h>

/* ---- the states that can lead to an end ---- */

/* The edges to examine when a state is found to lead to an end: the edges to it and, if a rule
 * starts there, the calls of the rule. */
struct waiting {
    uint32_t *from;  /* [n_edges] the state that an edge leaves */
    uint32_t *first; /* [n_states + 1] in edges */
    uint32_t *edges; /* [2 n_edges] the edges of each state */
};

static void waiting_free(struct waiting *waiting)
{
    free(waiting->from);
    free(waiting->first);
    free(waiting->edges);
}

/* Counts first, then fills backwards, so that each count becomes the index of the first. */
static bool waiting_init(struct waiting *waiting, const struct baton_network *net)
{
    size_t n_edges = net->n_edges ? net->n_edges : 1;
    *waiting = (struct waiting){.from = calloc(n_edges, sizeof(uint32_t)),
                                .first = calloc(net->n_states + 1, sizeof(uint32_t)),
                                .edges = calloc(n_edges, 2 * sizeof(uint32_t))};
    if (!waiting->from || !waiting->first || !waiting->edges)
        return false;
    for (uint32_t i = 0; i < net->n_states; i++)
        for (uint32_t e = net->states[i].edges; e; e = net->edges[e - 1].next) {
            const struct baton_edge *edge = &net->edges[e - 1];
            waiting->from[e - 1] = i;
            waiting->first[edge->to]++;
            if (edge->kind == BATON_EDGE_CALL)
                waiting->first[net->starts[edge->rule]]++;
        }
    /* Sums turn the counts into the ends of each state's edges. */
    for (size_t i = 1; i <= net->n_states; i++)
        waiting->first[i] += waiting->first[i - 1];
    for (uint32_t i = 0; i < net->n_states; i++)
        for (uint32_t e = net->states[i].edges; e; e = net->edges[e - 1].next) {
            const struct baton_edge *edge = &net->edges[e - 1];
            waiting->edges[--waiting->first[edge->to]] = e - 1;
            if (edge->kind == BATON_EDGE_CALL)
                waiting->edges[--waiting->first[net->starts[edge->rule]]] = e - 1;
        }
    return true;
}

static bool edge_ends(const struct baton_network *net, const bool *ends,
                      const struct baton_edge *edge)
{
    return ends[edge->to] && (edge->kind != BATON_EDGE_CALL || ends[net->starts[edge->rule]]);
}

/* Finds the states that can reach their rule's end, through bytes or, unless reads, without any:
 * a search backwards from the final states. The caller frees *ends [n_states], also after an
 * error. */
static enum baton_err find_ends(const struct baton_network *net, bool reads, bool **ends)
{
    struct waiting waiting;
    uint32_t *stack = calloc(net->n_states, sizeof *stack);
    size_t n = 0;
    *ends = calloc(net->n_states, sizeof **ends);
    bool fits = waiting_init(&waiting, net) && stack && *ends;
    for (uint32_t i = 0; fits && i < net->n_states; i++)
        if (net->states[i].is_final) {
            (*ends)[i] = true;
            stack[n++] = i;
        }
    while (n) {
        /* Each state enters the stack once, so n_states places suffice. */
        uint32_t state = stack[--n];
        for (uint32_t i = waiting.first[state]; i < waiting.first[state + 1]; i++) {
            const struct baton_edge *edge = &net->edges[waiting.edges[i]];
            uint32_t from = waiting.from[waiting.edges[i]];
            if ((reads || edge->kind != BATON_EDGE_BYTE) && !(*ends)[from] &&
                edge_ends(net, *ends, edge)) {
                (*ends)[from] = true;
                stack[n++] = from;
            }
        }
    }
    waiting_free(&waiting);
    free(stack);
    return fits ? BATON_OK : BATON_NO_MEMORY;
}

static void cut_edges(struct baton_network *net, const bool *ends)
{
    for (size_t i = 0; i < net->n_states; i++)
        for (uint32_t *at = &net->states[i].edges; *at;) {
            struct baton_edge *edge = &net->edges[*at - 1];
            if (edge_ends(net, ends, edge))
                at = &edge->next;
            else
                *at = edge->next;
        }
}

enum baton_err baton_network_prune(struct baton_network *net, struct baton_why *why)
{
    bool *ends;
    enum baton_err err = find_ends(net, true, &ends);
    if (!err && !ends[net->starts[0]])
        err = baton_fail(why, BATON_INVALID, "no text matches");
    if (!err)
        cut_edges(net, ends);
    free(ends);
    return err;
}

/* ---- left recursion ---- */

enum color { NEW, OPEN, DONE };

/* The rules that each rule calls before it reads a byte, and a depth-first walk over them. */
struct calls {
    const struct baton_network *network;
    bool *empties;   /* [n_states] can reach an end without a byte */
    bool *seen;      /* [n_states] */
    uint32_t *stack; /* [n_states] of states, then of rules: each has at least one state */
    uint32_t *first; /* [n_rules + 1] in rules */
    uint32_t *rules; /* [n_edges] the called rules, by the calling rule */
    uint32_t *at;    /* [n_rules] the next call to follow */
    uint8_t *colors; /* [n_rules] */
};

static bool calls_init(struct calls *calls, const struct baton_network *net)
{
    *calls = (struct calls){.network = net,
                            .seen = calloc(net->n_states, sizeof(bool)),
                            .stack = calloc(net->n_states, sizeof(uint32_t)),
                            .first = calloc(net->n_rules + 1, sizeof(uint32_t)),
                            .rules = calloc(net->n_edges + 1, sizeof(uint32_t)),
                            .at = calloc(net->n_rules, sizeof(uint32_t)),
                            .colors = calloc(net->n_rules, 1)};
    return !find_ends(net, false, &calls->empties) && calls->seen && calls->stack && calls->first &&
           calls->rules && calls->at && calls->colors;
}

static void calls_free(struct calls *calls)
{
    free(calls->empties);
    free(calls->seen);
    free(calls->stack);
    free(calls->first);
    free(calls->rules);
    free(calls->at);
    free(calls->colors);
}

/* Lists the rules that a rule calls before it reads. seen needs no reset, because each state
 * belongs to one rule. */
static void list_calls(struct calls *calls, uint32_t rule)
{
    const struct baton_network *net = calls->network;
    uint32_t n_calls = calls->first[rule];
    size_t n = 0;
    calls->stack[n++] = net->starts[rule];
    calls->seen[net->starts[rule]] = true;
    while (n) {
        uint32_t e = net->states[calls->stack[--n]].edges;
        for (; e; e = net->edges[e - 1].next) {
            const struct baton_edge *edge = &net->edges[e - 1];
            bool is_call = edge->kind == BATON_EDGE_CALL;
            if (is_call)
                calls->rules[n_calls++] = edge->rule;
            bool reads =
                is_call ? !calls->empties[net->starts[edge->rule]] : edge->kind == BATON_EDGE_BYTE;
            if (!reads && !calls->seen[edge->to]) {
                calls->seen[edge->to] = true;
                calls->stack[n++] = edge->to;
            }
        }
    }
    calls->at[rule] = calls->first[rule];
    calls->first[rule + 1] = n_calls;
}

/* Follows the calls from a rule. Returns a rule that reaches itself, otherwise n_rules. */
static uint32_t find_cycle(struct calls *calls, uint32_t root)
{
    size_t n = 0;
    if (calls->colors[root] == NEW)
        calls->stack[n++] = root;
    while (n) {
        uint32_t rule = calls->stack[n - 1];
        calls->colors[rule] = OPEN;
        if (calls->at[rule] == calls->first[rule + 1]) {
            calls->colors[rule] = DONE;
            n--;
            continue;
        }
        uint32_t called = calls->rules[calls->at[rule]++];
        if (calls->colors[called] == OPEN)
            return called;
        if (calls->colors[called] == NEW)
            calls->stack[n++] = called;
    }
    return (uint32_t)calls->network->n_rules;
}

enum baton_err baton_network_refuse_left_recursion(const struct baton_network *net,
                                                   struct baton_why *why)
{
    struct calls calls;
    enum baton_err err = calls_init(&calls, net) ? BATON_OK : BATON_NO_MEMORY;
    for (uint32_t i = 0; i < net->n_rules && !err; i++)
        list_calls(&calls, i);
    for (uint32_t i = 0; i < net->n_rules && !err; i++) {
        uint32_t rule = find_cycle(&calls, i);
        if (rule < net->n_rules)
            err = baton_fail(why, BATON_INVALID, "%s refers to itself before it reads anything",
                             rule < net->n_labels ? net->labels[rule] : "a repeated part");
    }
    calls_free(&calls);
    return err;
}
