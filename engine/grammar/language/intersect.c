/* Thompson's construction, then the construction of subsets for all parts at once. */
#include "engine/grammar/language/intersect.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"

enum {
    MAX_STATES = 1 << 17, /* of the nondeterministic automaton */
    N_SLOTS = 2 * BATON_MAX_MEETS,
    MAX_DEPTH = 1000,
    NONE = -1,
};

/* A state reads a byte from low to high and goes to next, or goes to next and other unread. */
struct state {
    int low, high; /* low NONE: reads nothing */
    int next, other;
};

/* A set of states: members [begin, end) of the machine. */
struct set {
    size_t begin, end;
    uint64_t hash;
    bool is_live; /* a text that matches goes on from here */
    bool accepts;
};

struct machine {
    struct baton_exprs *exprs;
    enum baton_err err;
    struct state *states;
    size_t n_states, cap_states;
    const struct baton_part *parts;
    size_t n_parts;
    int accepts[BATON_MAX_PARTS]; /* the last state of each part */
    int *part_of;                 /* [n_states] */
    struct set *sets;
    size_t n_sets, cap_sets;
    int slots[N_SLOTS]; /* by hash: the number of a set, plus one */
    size_t *work;
    int *members;
    size_t n_members, cap_members;
    uint32_t *marks; /* [n_states] the last set that each state was put in */
    uint32_t mark;
    int *stack;           /* [n_states] */
    uint8_t byte_of[257]; /* the first byte of each class */
    int n_classes;        /* of bytes that no state tells apart */
    int (*steps)[256];    /* [n_sets][n_classes] the set behind; NONE */
    size_t cap_steps;
};

/* ---- the nondeterministic automaton ---- */

static int add_state(struct machine *m, struct state state)
{
    if (m->n_states >= MAX_STATES)
        m->err = m->err ? m->err : BATON_LIMIT;
    if (m->err || (m->err = BATON_RESERVE(m->states, m->cap_states, m->n_states + 1)))
        return 0;
    m->states[m->n_states] = state;
    return (int)m->n_states++;
}

static int add_fork(struct machine *m, int next, int other)
{
    return add_state(m, (struct state){NONE, NONE, next, other});
}

static int build(struct machine *m, uint32_t expr, int next, int depth);

static int build_repeat(struct machine *m, const struct baton_expr *e, int next, int depth)
{
    int at = next;
    if (e->max == BATON_NO_MAX) {
        int loop = add_fork(m, NONE, next);
        int body = build(m, e->a, loop, depth);
        if (!m->err)
            m->states[loop].next = body;
        at = loop;
    }
    for (uint32_t i = e->min; e->max != BATON_NO_MAX && i < e->max && !m->err; i++)
        at = add_fork(m, build(m, e->a, at, depth), next);
    for (uint32_t i = 0; i < e->min && !m->err; i++)
        at = build(m, e->a, at, depth);
    return at;
}

/* Adds the states of an expression before the state next; returns the first. */
static int build(struct machine *m, uint32_t expr, int next, int depth)
{
    if (depth > MAX_DEPTH)
        m->err = m->err ? m->err : BATON_INVALID;
    if (m->err || expr >= m->exprs->n)
        return next;
    const struct baton_expr e = m->exprs->items[expr];
    switch (e.kind) {
    case BATON_EXPR_EMPTY:
        return next;
    case BATON_EXPR_NEVER:
        return add_fork(m, NONE, NONE);
    case BATON_EXPR_BYTE:
        return add_state(m, (struct state){(int)e.a, (int)e.b, next, NONE});
    case BATON_EXPR_SEQ:
        return build(m, e.a, build(m, e.b, next, depth + 1), depth + 1);
    case BATON_EXPR_ALT: {
        int other = build(m, e.b, next, depth + 1);
        return add_fork(m, build(m, e.a, next, depth + 1), other);
    }
    case BATON_EXPR_REPEAT:
        return build_repeat(m, &e, next, depth + 1);
    case BATON_EXPR_RULE:
        return build(m, m->exprs->rules[e.a].expr, next, depth + 1);
    }
    return next;
}

/* Adds the states behind one remainder: each digit leads to another; digits are worth `unit`. */
static void add_digits(struct machine *m, int at, int nodes, uint64_t times, uint64_t unit,
                       uint64_t remainder, uint64_t modulus)
{
    for (uint64_t d = 0; d < 10 && !m->err; d++) {
        int next = nodes + (int)((remainder * times + d * unit) % modulus);
        int digit = add_state(m, (struct state){(int)('0' + d), (int)('0' + d), next, NONE});
        int fork = m->err ? 0 : add_fork(m, digit, m->states[at].other);
        if (!m->err)
            m->states[at].other = fork;
    }
}

/* Adds a state for each remainder, of the whole part and behind each decimal. Returns the first.
 * The nodes of part p begin at start + p * modulus: the whole part, then that many decimals. */
static int build_multiples(struct machine *m, const struct baton_part *part, int end)
{
    const int n_parts = part->n_decimals ? (int)part->n_decimals + 2 : 1;
    const int modulus = (int)part->modulus, start = (int)m->n_states;
    uint64_t unit = 1;
    for (uint32_t i = 0; i < part->n_decimals; i++)
        unit *= 10;
    const uint64_t whole = unit;
    for (int i = 0; i < n_parts * modulus && !m->err; i++)
        (void)add_fork(m, i % modulus ? NONE : end, NONE);
    for (int p = 0; p < n_parts; p++) {
        const int nodes = start + p * modulus;
        for (int r = 0; r < modulus && !m->err; r++) {
            if (!p)
                add_digits(m, nodes + r, start, 10, whole, (uint64_t)r, part->modulus);
            else if (p < n_parts - 1)
                add_digits(m, nodes + r, nodes + modulus, 1, unit / 10, (uint64_t)r, part->modulus);
            if (!p && n_parts > 1 && !m->err) {
                int point = add_state(m, (struct state){'.', '.', start + modulus + r, NONE});
                int fork = m->err ? 0 : add_fork(m, point, m->states[nodes + r].other);
                if (!m->err)
                    m->states[nodes + r].other = fork;
            }
        }
        unit = p ? unit / 10 : unit;
    }
    return m->err ? 0 : add_fork(m, start, add_state(m, (struct state){'-', '-', start, NONE}));
}

/* Divides the bytes where a state's range begins or ends. */
static void find_classes(struct machine *m)
{
    bool begins[257] = {[0] = true};
    for (size_t i = 0; i < m->n_states; i++)
        if (m->states[i].low != NONE)
            begins[m->states[i].low] = begins[m->states[i].high + 1] = true;
    for (int byte = 0; byte < 256; byte++)
        if (begins[byte])
            m->byte_of[m->n_classes++] = (uint8_t)byte;
}

/* ---- sets of states ---- */

/* Adds a state to the set being made, and all states that it goes to unread. */
static void add_member(struct machine *m, int first)
{
    size_t n = 0;
    m->stack[n++] = first;
    while (n && !m->err) {
        int at = m->stack[--n];
        if (at == NONE || m->marks[at] == m->mark)
            continue;
        m->marks[at] = m->mark;
        if (++*m->work > BATON_MAX_MEET_WORK)
            m->err = BATON_LIMIT;
        if (m->err || (m->err = BATON_RESERVE(m->members, m->cap_members, m->n_members + 1)))
            return;
        const struct state *state = &m->states[at];
        m->members[m->n_members++] = at;
        if (state->low == NONE) {
            m->stack[n++] = state->other;
            m->stack[n++] = state->next;
        }
    }
}

static int compare(const void *x, const void *y)
{
    return *(const int *)x - *(const int *)y;
}

/* True unless a part that must match has no state left. */
static bool may_match(const struct machine *m, size_t begin)
{
    bool has[BATON_MAX_PARTS] = {false};
    for (size_t i = begin; i < m->n_members; i++)
        has[m->part_of[m->members[i]]] = true;
    for (size_t i = 0; i < m->n_parts; i++)
        if (!has[i] && !m->parts[i].is_excluded)
            return false;
    return true;
}

static bool accepts(const struct machine *m, size_t begin)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        bool is_end = false;
        for (size_t j = begin; j < m->n_members && !is_end; j++)
            is_end = m->members[j] == m->accepts[i];
        if (is_end == m->parts[i].is_excluded)
            return false;
    }
    return true;
}

/* Returns the number of the set of the members from begin on, which it drops if it is known. */
static int finish_set(struct machine *m, size_t begin)
{
    size_t n = m->n_members - begin;
    uint64_t hash = 0xcbf29ce484222325;
    if (m->err || !may_match(m, begin)) {
        m->n_members = begin;
        return NONE;
    }
    qsort(m->members + begin, n, sizeof *m->members, compare);
    for (size_t i = begin; i < m->n_members; i++)
        hash = (hash ^ (uint64_t)m->members[i]) * 0x100000001b3;
    size_t slot = hash % N_SLOTS;
    for (; m->slots[slot]; slot = (slot + 1) % N_SLOTS) {
        const struct set *set = &m->sets[m->slots[slot] - 1];
        if (set->hash == hash && set->end - set->begin == n &&
            !memcmp(m->members + set->begin, m->members + begin, n * sizeof *m->members)) {
            m->n_members = begin;
            return m->slots[slot] - 1;
        }
    }
    if (m->n_sets >= BATON_MAX_MEETS)
        m->err = BATON_LIMIT;
    if (m->err || (m->err = BATON_RESERVE(m->sets, m->cap_sets, m->n_sets + 1)) ||
        (m->err = BATON_RESERVE(m->steps, m->cap_steps, m->n_sets + 1)))
        return NONE;
    m->sets[m->n_sets] = (struct set){
        .begin = begin, .end = m->n_members, .hash = hash, .accepts = accepts(m, begin)};
    m->slots[slot] = (int)++m->n_sets;
    return (int)m->n_sets - 1;
}

static int step(struct machine *m, size_t from, int byte)
{
    size_t begin = m->n_members;
    m->mark++;
    for (size_t i = m->sets[from].begin; i < m->sets[from].end && !m->err; i++) {
        const struct state *state = &m->states[m->members[i]];
        if (state->low != NONE && byte >= state->low && byte <= state->high)
            add_member(m, state->next);
    }
    return finish_set(m, begin);
}

static void find_sets(struct machine *m, const int *starts)
{
    m->mark++;
    for (size_t i = 0; i < m->n_parts; i++)
        add_member(m, starts[i]);
    (void)finish_set(m, 0);
    for (size_t from = 0; from < m->n_sets && !m->err; from++)
        for (int c = 0; c < m->n_classes && !m->err; c++) {
            int to = step(m, from, m->byte_of[c]); /* which may move steps */
            m->steps[from][c] = to;
        }
}

/* Marks the sets from which a text that matches goes on. */
static void find_live(struct machine *m)
{
    for (size_t i = 0; i < m->n_sets; i++)
        m->sets[i].is_live = m->sets[i].accepts;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = m->n_sets; i-- > 0;)
            for (int c = 0; c < m->n_classes && !m->sets[i].is_live; c++)
                if (m->steps[i][c] != NONE && m->sets[m->steps[i][c]].is_live)
                    more = m->sets[i].is_live = true;
    }
}

/* ---- rules ---- */

static uint32_t rule_expr(struct machine *m, size_t set, const uint32_t *rules)
{
    struct baton_exprs *x = m->exprs;
    uint32_t expr = m->sets[set].accepts ? baton_expr_empty(x) : baton_expr_never(x);
    for (int c = m->n_classes; c-- > 0;) {
        int to = m->steps[set][c];
        if (to == NONE || !m->sets[to].is_live)
            continue;
        int end = c + 1 < m->n_classes ? m->byte_of[c + 1] : 256;
        while (c > 0 && m->steps[set][c - 1] == to)
            c--;
        uint32_t bytes = baton_expr_byte(x, m->byte_of[c], (uint8_t)(end - 1));
        expr = baton_expr_alt(x, baton_expr_seq(x, bytes, baton_expr_rule(x, rules[to])), expr);
    }
    return expr;
}

static uint32_t put_rules(struct machine *m, const char *label)
{
    uint32_t *rules = calloc(m->n_sets ? m->n_sets : 1, sizeof *rules);
    if (!rules || !m->n_sets || !m->sets[0].is_live) {
        m->err = rules ? m->err : BATON_NO_MEMORY;
        free(rules);
        return baton_expr_never(m->exprs);
    }
    for (size_t i = 0; i < m->n_sets; i++)
        if (m->sets[i].is_live)
            rules[i] = baton_expr_rule_add(m->exprs, label);
    for (size_t i = 0; i < m->n_sets && !m->exprs->err; i++)
        if (m->sets[i].is_live)
            baton_expr_rule_set(m->exprs, rules[i], rule_expr(m, i, rules));
    uint32_t expr = baton_expr_rule(m->exprs, rules[0]);
    free(rules);
    return expr;
}

/* ---- all of it ---- */

static void build_parts(struct machine *m, int *starts)
{
    size_t ends[BATON_MAX_PARTS];
    for (size_t i = 0; i < m->n_parts; i++) {
        m->accepts[i] = add_fork(m, NONE, NONE);
        starts[i] = m->parts[i].modulus ? build_multiples(m, &m->parts[i], m->accepts[i])
                                        : build(m, m->parts[i].expr, m->accepts[i], 0);
        ends[i] = m->n_states;
    }
    m->part_of = calloc(m->n_states + 1, sizeof *m->part_of);
    m->marks = calloc(m->n_states + 1, sizeof *m->marks);
    m->stack = calloc(2 * m->n_states + 2, sizeof *m->stack);
    if (!m->part_of || !m->marks || !m->stack)
        m->err = m->err ? m->err : BATON_NO_MEMORY;
    for (size_t i = 0, at = 0; i < m->n_parts && !m->err; i++)
        for (; at < ends[i]; at++)
            m->part_of[at] = (int)i;
}

enum baton_err baton_expr_intersect(struct baton_exprs *exprs, const struct baton_part *parts,
                                    size_t n, const char *label, size_t *work, uint32_t *expr)
{
    struct machine m = {.exprs = exprs, .parts = parts, .n_parts = n, .work = work};
    int starts[BATON_MAX_PARTS];
    if (exprs->err)
        return exprs->err;
    build_parts(&m, starts);
    if (!m.err) {
        find_classes(&m);
        find_sets(&m, starts);
    }
    if (!m.err) {
        find_live(&m);
        *expr = put_rules(&m, label);
    }
    free(m.states);
    free(m.part_of);
    free(m.marks);
    free(m.stack);
    free(m.sets);
    free(m.members);
    free(m.steps);
    return m.err ? m.err : exprs->err;
}
