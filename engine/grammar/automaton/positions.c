#include "engine/grammar/automaton/positions.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/hash.h"

enum { N_FIRST = 256, FIRST_POSITION = 1 };

/* ---- lists of returns ---- */

static bool table_init(struct table *table, size_t n_slots)
{
    *table = (struct table){.slots = calloc(n_slots, sizeof *table->slots), .n_slots = n_slots};
    return table->slots != NULL;
}

static void table_put(struct table *table, uint32_t hash, uint32_t index)
{
    size_t at = hash & (table->n_slots - 1);
    while (table->slots[at])
        at = (at + 1) & (table->n_slots - 1);
    table->slots[at] = index + 1;
}

static uint32_t hash_of_returns(const struct returns *returns)
{
    return (uint32_t)baton_hash_pair(returns->state, returns->rest);
}

static bool widen_returns(struct baton_automaton *a)
{
    struct table wider;
    if (a->n_returns * 2 < a->returns_table.n_slots)
        return true;
    if (!table_init(&wider, a->returns_table.n_slots * 2))
        return false;
    for (size_t i = OUTSIDE + 1; i < a->n_returns; i++)
        table_put(&wider, hash_of_returns(&a->returns[i]), (uint32_t)i);
    free(a->returns_table.slots);
    a->returns_table = wider;
    return true;
}

bool baton_positions_push(struct baton_automaton *a, uint32_t state, uint32_t rest, uint32_t *list)
{
    const struct returns wanted = {state, rest, a->returns[rest].depth + 1};
    uint32_t hash = hash_of_returns(&wanted);
    const struct table *table = &a->returns_table;
    if (wanted.depth > BATON_MAX_NESTING)
        return false;
    for (size_t at = hash & (table->n_slots - 1); table->slots[at];
         at = (at + 1) & (table->n_slots - 1)) {
        const struct returns *other = &a->returns[table->slots[at] - 1];
        if (other->state == state && other->rest == rest) {
            *list = table->slots[at] - 1;
            return true;
        }
    }
    if (BATON_RESERVE(a->returns, a->cap_returns, a->n_returns + 1) || !widen_returns(a))
        return false;
    a->returns[a->n_returns] = wanted;
    *list = (uint32_t)a->n_returns++;
    table_put(&a->returns_table, hash, *list);
    return true;
}

/* ---- positions in the making ---- */

/* Entries of an older round count as free, so the table of seen ways needs no clearing. */
void baton_positions_begin(struct baton_automaton *a)
{
    a->n_open = 0;
    if (!++a->round)
        memset(a->rounds, 0, sizeof a->rounds);
    a->round += !a->round;
}

void baton_positions_open(struct baton_automaton *a, uint32_t state, uint32_t returns)
{
    size_t at = baton_hash_pair(state, returns) & (N_SEEN - 1);
    for (; a->rounds[at] == a->round; at = (at + 1) & (N_SEEN - 1)) {
        const struct baton_way *way = &a->open[a->seen[at]];
        if (way->state == state && way->returns == returns)
            return;
    }
    if (a->n_open == MAX_OPEN)
        return;
    a->rounds[at] = a->round;
    a->seen[at] = (uint32_t)a->n_open;
    a->open[a->n_open++] = (struct baton_way){state, returns};
}

static int compare_ways(const void *x, const void *y)
{
    const struct baton_way *a = x, *b = y;
    if (a->state != b->state)
        return a->state < b->state ? -1 : 1;
    return (a->returns > b->returns) - (a->returns < b->returns);
}

/* Keeps the ways that read a byte: only they distinguish positions. Sorted, equal sets are equal
 * arrays. */
static void keep_readers(struct baton_automaton *a)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n_open && n < BATON_MAX_WAYS; i++)
        if (a->network->states[a->open[i].state].reads)
            a->open[n++] = a->open[i];
    a->n_open = n;
    if (n > 1)
        qsort(a->open, n, sizeof a->open[0], compare_ways);
}

static uint32_t find(const struct baton_automaton *a, const struct position *made)
{
    const struct table *table = &a->position_table;
    for (size_t at = made->hash & (table->n_slots - 1); table->slots[at];
         at = (at + 1) & (table->n_slots - 1)) {
        const struct position *other = &a->positions[table->slots[at] - 1];
        if (other->hash == made->hash && other->n_ways == made->n_ways &&
            other->accepts == made->accepts && other->leaves == made->leaves &&
            !memcmp(a->ways + other->first_way, a->open, made->n_ways * sizeof a->open[0]))
            return table->slots[at] - 1;
    }
    return BATON_NOWHERE;
}

static bool widen_positions(struct baton_automaton *a)
{
    struct table wider;
    if (a->n_positions * 2 < a->position_table.n_slots)
        return true;
    if (!table_init(&wider, a->position_table.n_slots * 2))
        return false;
    for (size_t i = FIRST_POSITION; i < a->n_positions; i++)
        table_put(&wider, a->positions[i].hash, (uint32_t)i);
    free(a->position_table.slots);
    a->position_table = wider;
    return true;
}

static bool reserve(struct baton_automaton *a, size_t n_ways)
{
    size_t n = a->n_positions + 1;
    return !BATON_RESERVE(a->positions, a->cap_positions, n) &&
           !BATON_RESERVE(a->steps, a->cap_steps, n * (size_t)a->network->n_classes) &&
           !BATON_RESERVE(a->ways, a->cap_ways, a->n_ways + n_ways) && widen_positions(a);
}

static uint32_t add(struct baton_automaton *a, struct position made)
{
    size_t n_classes = (size_t)a->network->n_classes;
    /* Nothing is collected here, because callers hold numbers of positions during a walk. */
    if (a->n_positions >= BATON_MAX_POSITIONS || !reserve(a, made.n_ways))
        return BATON_NOWHERE;
    made.first_way = (uint32_t)a->n_ways;
    if (made.n_ways)
        memcpy(a->ways + a->n_ways, a->open, made.n_ways * sizeof a->open[0]);
    a->n_ways += made.n_ways;
    memset(a->steps + a->n_positions * n_classes, 0, n_classes * sizeof *a->steps);
    a->positions[a->n_positions] = made;
    table_put(&a->position_table, made.hash, (uint32_t)a->n_positions);
    return (uint32_t)a->n_positions++;
}

uint32_t baton_positions_settle(struct baton_automaton *a, struct position made)
{
    keep_readers(a);
    if (!a->n_open && !made.accepts && !made.leaves)
        return BATON_NOWHERE;
    made.n_ways = (uint32_t)a->n_open;
    made.hash = (uint32_t)baton_hash_pair(made.accepts, made.leaves);
    for (size_t i = 0; i < a->n_open; i++)
        made.hash = (uint32_t)baton_hash_pair(made.hash ^ a->open[i].state,
                                              a->open[i].returns + (uint32_t)i);
    uint32_t found = find(a, &made);
    return found ? found : add(a, made);
}

struct baton_automaton *baton_automaton_create(const struct baton_network *network)
{
    struct baton_automaton *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->network = network;
    a->n_returns = OUTSIDE + 1;
    a->n_positions = FIRST_POSITION;
    bool fits = !BATON_RESERVE(a->returns, a->cap_returns, a->n_returns) &&
                table_init(&a->returns_table, N_FIRST) && table_init(&a->position_table, N_FIRST) &&
                reserve(a, 1);
    if (!fits) {
        baton_automaton_destroy(a);
        return NULL;
    }
    a->returns[ROOT] = (struct returns){0};
    /* A local walk stands for lists of any depth, so it starts half way to the limit; deeper lists
     * are walked from their own position (baton_automaton_is_deep). */
    a->returns[OUTSIDE] = (struct returns){.depth = BATON_MAX_NESTING / 2};
    a->positions[BATON_NOWHERE] = (struct position){0};
    return a;
}

void baton_automaton_destroy(struct baton_automaton *a)
{
    if (!a)
        return;
    free(a->returns);
    free(a->returns_table.slots);
    free(a->positions);
    free(a->position_table.slots);
    free(a->steps);
    free(a->ways);
    free(a);
}

/* ---- collecting ---- */

/* Copies a list to another automaton. It has at most BATON_MAX_NESTING states. */
static bool copy_returns(struct baton_automaton *to, const struct baton_automaton *from,
                         uint32_t list, uint32_t *copied)
{
    uint32_t states[BATON_MAX_NESTING], n = 0;
    for (; list > OUTSIDE; list = from->returns[list].rest)
        states[n++] = from->returns[list].state;
    *copied = list;
    /* From the outermost in: lists share their tails. */
    while (n--)
        if (!baton_positions_push(to, states[n], *copied, copied))
            return false;
    return true;
}

static bool copy_position(struct baton_automaton *to, const struct baton_automaton *from,
                          uint32_t position, uint32_t *copied)
{
    const struct position *old = &from->positions[position];
    struct position made = {.accepts = old->accepts, .leaves = old->leaves};
    baton_positions_begin(to);
    for (uint32_t i = 0; i < old->n_ways; i++) {
        struct baton_way way = from->ways[old->first_way + i];
        if (!copy_returns(to, from, way.returns, &way.returns))
            return false;
        baton_positions_open(to, way.state, way.returns);
    }
    *copied = baton_positions_settle(to, made);
    return *copied != BATON_NOWHERE || position == BATON_NOWHERE;
}

bool baton_automaton_collect(struct baton_automaton *a, uint32_t **kept, size_t n)
{
    struct baton_automaton *fresh = baton_automaton_create(a->network);
    uint32_t *copied = calloc(n + 1, sizeof *copied);
    bool fits = fresh && copied;
    for (size_t i = 0; i < n && fits; i++)
        fits = copy_position(fresh, a, *kept[i], &copied[i]);
    for (size_t i = 0; i < n && fits; i++)
        *kept[i] = copied[i];
    if (fits) { /* the old tables are destroyed with fresh */
        struct baton_automaton old = *a;
        *a = *fresh;
        *fresh = old;
    }
    baton_automaton_destroy(fresh);
    free(copied);
    return fits;
}
