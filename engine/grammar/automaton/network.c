#include "engine/grammar/automaton/network.h"
#include "common/base/array.h"
#include "engine/grammar/automaton/network_checks.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 512 };

/* ---- building: Thompson's construction, a part of the network per expression ---- */

struct builder {
    const struct baton_exprs *exprs;
    struct baton_network *network;
    uint32_t *rule_of; /* [exprs->n] the rule that an expression became, plus one */
    uint32_t *extra;   /* [n_extra] expressions that became rules */
    size_t n_extra, cap_extra, cap_starts;
    int depth;
    enum baton_err err;
};

static void *grown(struct builder *b, void *items, size_t n, size_t *cap, size_t size, size_t max)
{
    if (b->err || n < *cap)
        return items;
    if (n >= max) {
        b->err = BATON_LIMIT;
        return items;
    }
    void *made = baton_array_grown(items, cap, n + 1, size);
    if (!made)
        b->err = BATON_NO_MEMORY;
    return made ? made : items;
}

static uint32_t add_state(struct builder *b, uint32_t rule)
{
    struct baton_network *net = b->network;
    net->states = grown(b, net->states, net->n_states, &net->cap_states, sizeof *net->states,
                        BATON_MAX_STATES);
    if (b->err)
        return 0;
    net->states[net->n_states] = (struct baton_state){.rule = rule};
    return (uint32_t)net->n_states++;
}

static void add_edge(struct builder *b, uint32_t from, struct baton_edge edge)
{
    struct baton_network *net = b->network;
    net->edges = grown(b, net->edges, net->n_edges, &net->cap_edges, sizeof *net->edges,
                       (size_t)BATON_MAX_STATES * 4);
    if (b->err)
        return;
    edge.next = net->states[from].edges;
    net->edges[net->n_edges] = edge;
    net->states[from].edges = (uint32_t)++net->n_edges;
}

static void add_empty(struct builder *b, uint32_t from, uint32_t to)
{
    add_edge(b, from, (struct baton_edge){.kind = BATON_EDGE_EMPTY, .to = to});
}

static uint32_t state_like(struct builder *b, uint32_t state)
{
    return b->err ? 0 : add_state(b, b->network->states[state].rule);
}

static uint32_t build(struct builder *b, uint32_t id, uint32_t from);

static uint32_t build_call(struct builder *b, uint32_t rule, uint32_t from)
{
    uint32_t to = state_like(b, from);
    add_edge(b, from, (struct baton_edge){.kind = BATON_EDGE_CALL, .to = to, .rule = rule});
    return to;
}

/* Builds a repeated part once, as its own rule, unless it is a byte. */
static uint32_t build_copy(struct builder *b, uint32_t id, uint32_t from)
{
    enum baton_expr_kind kind = b->exprs->items[id].kind;
    if (b->err || kind == BATON_EXPR_BYTE || kind == BATON_EXPR_RULE || kind == BATON_EXPR_EMPTY)
        return build(b, id, from);
    if (!b->rule_of[id]) {
        b->extra = grown(b, b->extra, b->n_extra, &b->cap_extra, sizeof *b->extra, BATON_MAX_EXPRS);
        if (b->err)
            return from;
        b->extra[b->n_extra++] = id;
        b->rule_of[id] = (uint32_t)(b->exprs->n_rules + b->n_extra);
    }
    return build_call(b, b->rule_of[id] - 1, from);
}

static uint32_t build_repeat(struct builder *b, const struct baton_expr *expr, uint32_t from)
{
    uint32_t last = expr->max == BATON_NO_MAX ? expr->min : expr->max;
    for (uint32_t i = 0; i < expr->min && !b->err; i++)
        from = build_copy(b, expr->a, from);
    if (last == 1 && !expr->min) {
        uint32_t end = build(b, expr->a, from);
        add_empty(b, from, end);
        return end;
    }
    uint32_t end = state_like(b, from);
    if (expr->max == BATON_NO_MAX) {
        /* The loop has its own state, because no edge may lead back to from. */
        uint32_t loop = state_like(b, from);
        add_empty(b, from, loop);
        add_empty(b, expr->min ? build_copy(b, expr->a, loop) : build(b, expr->a, loop), loop);
        from = loop;
    }
    for (uint32_t i = expr->min; i < last && !b->err; i++) {
        add_empty(b, from, end);
        from = build_copy(b, expr->a, from);
    }
    add_empty(b, from, end);
    return end;
}

static uint32_t build_alt(struct builder *b, uint32_t id, uint32_t from)
{
    const struct baton_expr *items = b->exprs->items;
    uint32_t end = state_like(b, from);
    for (; !b->err && items[id].kind == BATON_EXPR_ALT; id = items[id].b)
        add_empty(b, build(b, items[id].a, from), end);
    add_empty(b, build(b, id, from), end);
    return end;
}

/* Builds the part of an expression that begins at from, to which no edge of the part leads back.
 * Returns its end. */
static uint32_t build(struct builder *b, uint32_t id, uint32_t from)
{
    const struct baton_expr *items = b->exprs->items;
    uint32_t to = from;
    if (b->depth >= MAX_DEPTH)
        b->err = b->err ? b->err : BATON_LIMIT;
    b->depth++;
    /* Sequences are built from the right, so a loop replaces the recursion. */
    for (; !b->err && items[id].kind == BATON_EXPR_SEQ; id = items[id].b)
        from = build(b, items[id].a, from);
    const struct baton_expr *expr = &items[id];
    switch (b->err ? BATON_EXPR_EMPTY : expr->kind) {
    case BATON_EXPR_EMPTY:
    case BATON_EXPR_SEQ: /* only after an error */
        to = from;
        break;
    case BATON_EXPR_NEVER:
        to = state_like(b, from);
        break;
    case BATON_EXPR_BYTE:
        to = state_like(b, from);
        add_edge(b, from,
                 (struct baton_edge){.kind = BATON_EDGE_BYTE,
                                     .to = to,
                                     .low = (uint8_t)expr->a,
                                     .high = (uint8_t)expr->b});
        break;
    case BATON_EXPR_ALT:
        to = build_alt(b, id, from);
        break;
    case BATON_EXPR_REPEAT:
        to = build_repeat(b, expr, from);
        break;
    case BATON_EXPR_RULE:
        to = build_call(b, expr->a, from);
        break;
    }
    b->depth--;
    return to;
}

static void build_rule(struct builder *b, uint32_t rule, uint32_t expr)
{
    struct baton_network *net = b->network;
    uint32_t start = add_state(b, rule);
    if (b->err)
        return;
    net->starts[rule] = start;
    uint32_t end = build(b, expr, start);
    if (!b->err)
        net->states[end].is_final = true;
}

static void build_all(struct builder *b)
{
    struct baton_network *net = b->network;
    const struct baton_exprs *exprs = b->exprs;
    for (size_t i = 0; i < exprs->n_rules && !b->err; i++)
        build_rule(b, (uint32_t)i, exprs->rules[i].expr);
    for (size_t i = 0; i < b->n_extra && !b->err; i++) { /* the list grows during the loop */
        b->err = BATON_RESERVE(net->starts, b->cap_starts, net->n_rules + 1);
        if (b->err)
            return;
        net->starts[net->n_rules++] = 0;
        build_rule(b, (uint32_t)(exprs->n_rules + i), b->extra[i]);
    }
}

static enum baton_err copy_labels(struct baton_network *net, const struct baton_exprs *exprs)
{
    net->labels = calloc(exprs->n_rules + 1, sizeof *net->labels);
    net->starts = calloc(exprs->n_rules + 1, sizeof *net->starts);
    if (!net->labels || !net->starts)
        return BATON_NO_MEMORY;
    net->n_rules = exprs->n_rules;
    for (; net->n_labels < exprs->n_rules; net->n_labels++)
        if (!(net->labels[net->n_labels] = strdup(exprs->rules[net->n_labels].label)))
            return BATON_NO_MEMORY;
    return BATON_OK;
}

/* ---- what a walk needs at once ---- */

static void mark_states(struct baton_network *net)
{
    for (size_t i = 0; i < net->n_states; i++) {
        struct baton_state *state = &net->states[i];
        for (uint32_t e = state->edges; e; e = net->edges[e - 1].next)
            state->reads |= net->edges[e - 1].kind == BATON_EDGE_BYTE;
        state->only_ends = state->is_final && !state->edges;
    }
    /* A state with a single empty edge to the end is equivalent to the end. */
    for (size_t i = net->n_states; i-- > 0;) {
        uint32_t at = (uint32_t)i;
        for (int n = 0; n < MAX_DEPTH && net->states[at].edges; n++) {
            const struct baton_edge *edge = &net->edges[net->states[at].edges - 1];
            if (edge->next || edge->kind != BATON_EDGE_EMPTY)
                break;
            at = edge->to;
        }
        net->states[i].only_ends = net->states[at].only_ends;
    }
}

static void find_classes(struct baton_network *net)
{
    /* A range begins a class at its first byte, and another after its last. */
    bool begins[257] = {true};
    for (size_t i = 0; i < net->n_edges; i++)
        if (net->edges[i].kind == BATON_EDGE_BYTE)
            begins[net->edges[i].low] = begins[net->edges[i].high + 1] = true;
    for (int byte = 0; byte < 256; byte++) {
        if (begins[byte])
            net->byte_of[net->n_classes++] = (uint8_t)byte;
        net->class_of[byte] = (uint8_t)(net->n_classes - 1);
    }
}

/* Marks calls that would lose the path: a rule with a path calls one without, such as the rules
 * that all schemas share. */
static void mark_calls(struct baton_network *net)
{
    for (size_t i = 0; i < net->n_states; i++)
        for (uint32_t e = net->states[i].edges; e; e = net->edges[e - 1].next) {
            struct baton_edge *edge = &net->edges[e - 1];
            edge->keeps = edge->kind == BATON_EDGE_CALL &&
                          baton_network_path(net, net->states[i].rule) &&
                          !baton_network_path(net, edge->rule);
        }
}

enum baton_err baton_network_create(const struct baton_exprs *exprs, struct baton_network **out,
                                    struct baton_why *why)
{
    struct builder b = {.exprs = exprs, .err = exprs->err};
    b.network = calloc(1, sizeof *b.network);
    b.rule_of = calloc(exprs->n + 1, sizeof *b.rule_of);
    if (!b.err && (!b.network || !b.rule_of || !exprs->items))
        b.err = BATON_NO_MEMORY;
    if (!b.err)
        b.err = copy_labels(b.network, exprs);
    if (!b.err)
        build_all(&b);
    free(b.rule_of);
    free(b.extra);
    enum baton_err err = b.err;
    if (!err)
        err = baton_network_prune(b.network, why);
    /* Second, because calls that were cut off are no recursion. */
    if (!err)
        err = baton_network_refuse_left_recursion(b.network, why);
    if (err) {
        baton_network_destroy(b.network);
        return err != BATON_LIMIT ? err
                                  : baton_fail(why, err,
                                               "takes more than %d states, or nests more than %d "
                                               "deep",
                                               BATON_MAX_STATES, MAX_DEPTH);
    }
    mark_states(b.network);
    mark_calls(b.network);
    find_classes(b.network);
    *out = b.network;
    return BATON_OK;
}

const char *baton_network_path(const struct baton_network *net, uint32_t rule)
{
    const char *label = baton_network_label(net, rule);
    return label[0] == '#' ? label : NULL;
}

const char *baton_network_label(const struct baton_network *net, uint32_t rule)
{
    return rule < net->n_labels ? net->labels[rule] : "";
}

void baton_network_destroy(struct baton_network *net)
{
    if (!net)
        return;
    for (size_t i = 0; i < net->n_labels; i++)
        free(net->labels[i]);
    free(net->labels);
    free(net->starts);
    free(net->states);
    free(net->edges);
    free(net);
}
