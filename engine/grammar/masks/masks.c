#include "engine/grammar/masks/masks.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/masks/plain_vocab.h"

/* Above these numbers of ways, or of nodes to continue from, one walk for all of them is less work
 * than one for each. */
enum { MAX_LOCAL_WAYS = 8, MANY_EXITS = 1024, MAX_LOCALS = 1024 };

/* The tokens that a state allows, for any list to return to. */
struct local {
    uint32_t state;
    uint64_t used; /* the request for a mask that used it last */
    uint64_t *mask;
    const struct baton_token_trie *trie;
    uint32_t *exits; /* the trie's nodes at which the rule may end */
    size_t n_exits, cap_exits;
};

struct kept_mask {
    uint32_t position; /* NOWHERE: an empty slot */
    uint64_t used;
    uint64_t *mask;
};

struct baton_masks {
    struct baton_automaton *automaton;
    const struct baton_token_trie *trie;
    size_t n_words;
    uint64_t now;
    struct local *locals; /* [n_locals] */
    size_t n_locals, local_bytes;
    struct kept_mask kept[BATON_MAX_MASKS];
    uint32_t path[BATON_TRIE_MAX_DEPTH + 1]; /* positions along the path to a node */
};

static void mark(const struct baton_token_trie *trie, uint32_t first, uint32_t end, uint64_t *mask)
{
    for (uint32_t i = first; i < end; i++)
        mask[trie->tokens[i] / 64] |= (uint64_t)1 << (trie->tokens[i] % 64);
}

static void add_mask(const struct baton_masks *m, uint64_t *mask, const uint64_t *more)
{
    for (size_t i = 0; i < m->n_words; i++)
        mask[i] |= more[i];
}

static bool add_exit(struct local *local, uint32_t node)
{
    if (BATON_RESERVE(local->exits, local->cap_exits, local->n_exits + 1))
        return false;
    local->exits[local->n_exits++] = node;
    return true;
}

/* Marks the tokens below a node of a trie that continue from position; adds to local, if given, the
 * nodes where its rule ends. False without memory. */
static bool walk(struct baton_masks *m, const struct baton_token_trie *trie, uint32_t node,
                 uint32_t position, uint64_t *mask, struct local *local)
{
    const struct baton_trie_node *nodes = trie->nodes;
    uint32_t *path = m->path, end = nodes[node].end;
    path[nodes[node].depth] = position;
    for (uint32_t i = node + 1; i < end;) {
        struct baton_trie_node at = nodes[i];
        uint32_t next = baton_automaton_step(m->automaton, path[at.depth - 1], at.byte);
        if (next == BATON_NOWHERE) {
            i = at.end;
            continue;
        }
        path[at.depth] = next;
        if (local && baton_automaton_leaves(m->automaton, next) && !add_exit(local, i))
            return false;
        mark(trie, at.first, nodes[++i].first, mask);
    }
    return true;
}

/* Finds the positions after 0, 1, 2 ... plain characters, chain [n + 1], up to
 * BATON_PLAIN_MAX_CHARS or until none may follow. False when plain characters lead to different
 * positions, or a local rule may end. */
static bool find_chain(struct baton_masks *m, uint32_t position, bool is_local, uint32_t *chain,
                       size_t *n)
{
    uint32_t next;
    chain[0] = position;
    for (*n = 0; *n < BATON_PLAIN_MAX_CHARS; ++*n, chain[*n] = next) {
        if (!baton_automaton_step_plain(m->automaton, chain[*n], &next))
            return false;
        if (next == BATON_NOWHERE)
            break;
        if (is_local && baton_automaton_leaves(m->automaton, next))
            return false;
    }
    return *n > 0;
}

/* Does what walk does from the root, where plain characters lead to one position: then only tails
 * are walked. */
static bool walk_plain(struct baton_masks *m, const uint32_t *chain, size_t n, uint64_t *mask,
                       struct local *local)
{
    const struct baton_plain_vocab *plain = m->trie->plain;
    const struct baton_trie_node *nodes = plain->tails->nodes;
    add_mask(m, mask, plain->masks + n * m->n_words);
    for (uint32_t i = 1; i < plain->tails->n_nodes && nodes[i].byte <= n; i = nodes[i].end)
        if (!walk(m, plain->tails, i, chain[nodes[i].byte], mask, local))
            return false;
    return true;
}

static bool walk_all(struct baton_masks *m, uint32_t position, uint64_t *mask, struct local *local)
{
    uint32_t chain[BATON_PLAIN_MAX_CHARS + 1];
    size_t n;
    bool is_plain = m->trie->plain && find_chain(m, position, local, chain, &n);
    if (local)
        local->trie = is_plain ? m->trie->plain->tails : m->trie;
    return is_plain ? walk_plain(m, chain, n, mask, local)
                    : walk(m, m->trie, 0, position, mask, local);
}

/* ---- masks of states ---- */

static size_t bytes_of(const struct baton_masks *m, const struct local *local)
{
    return m->n_words * sizeof(uint64_t) + local->cap_exits * sizeof(uint32_t);
}

static void drop_local(struct baton_masks *m, struct local *local)
{
    m->local_bytes -= bytes_of(m, local);
    free(local->mask);
    free(local->exits);
    *local = m->locals[--m->n_locals];
}

static void make_room(struct baton_masks *m)
{
    while (m->n_locals && (m->local_bytes >= BATON_LOCAL_BYTES || m->n_locals == MAX_LOCALS)) {
        struct local *oldest = m->locals;
        for (size_t i = 1; i < m->n_locals; i++)
            if (m->locals[i].used < oldest->used)
                oldest = &m->locals[i];
        drop_local(m, oldest);
    }
}

static const struct local *find_local(struct baton_masks *m, uint32_t state)
{
    for (size_t i = 0; i < m->n_locals; i++)
        if (m->locals[i].state == state) {
            m->locals[i].used = m->now;
            return &m->locals[i];
        }
    return NULL;
}

/* Returns the mask of a state, valid until the next call; NULL without memory. */
static const struct local *local_of(struct baton_masks *m, uint32_t state)
{
    const struct local *found = find_local(m, state);
    struct local made = {.state = state, .used = m->now};
    if (found)
        return found;
    make_room(m);
    uint32_t position = baton_automaton_local(m->automaton, state);
    /* The walk's states are shared by all lists of returns, hence a position of its own. */
    made.mask = position ? calloc(m->n_words, sizeof *made.mask) : NULL;
    if (!made.mask || !walk_all(m, position, made.mask, &made)) {
        free(made.mask);
        free(made.exits);
        return NULL;
    }
    m->local_bytes += bytes_of(m, &made);
    m->locals[m->n_locals] = made;
    return &m->locals[m->n_locals++];
}

/* ---- masks of positions ---- */

static bool add_way(struct baton_masks *m, struct baton_way way, uint64_t *mask)
{
    const struct local *local = local_of(m, way.state);
    if (!local)
        return false;
    /* A walk from each exit would cost more than one walk with plain tails. */
    if (local->n_exits > MANY_EXITS && m->trie->plain)
        return false;
    add_mask(m, mask, local->mask);
    uint32_t after = local->n_exits ? baton_automaton_return(m->automaton, way) : BATON_NOWHERE;
    for (size_t i = 0; i < local->n_exits && after; i++)
        (void)walk(m, local->trie, local->exits[i], after, mask, NULL);
    return true;
}

static bool add_ways(struct baton_masks *m, uint32_t position, uint64_t *mask)
{
    struct baton_way ways[MAX_LOCAL_WAYS];
    size_t n;
    const struct baton_way *open = baton_automaton_ways(m->automaton, position, &n);
    if (n > MAX_LOCAL_WAYS)
        return false;
    /* A copy, because the walks below may move the automaton's tables. */
    memcpy(ways, open, n * sizeof ways[0]);
    for (size_t i = 0; i < n; i++)
        if (baton_automaton_is_deep(m->automaton, ways[i]) || !add_way(m, ways[i], mask))
            return false;
    return true;
}

static struct kept_mask *slot_for(struct baton_masks *m, uint32_t position)
{
    struct kept_mask *oldest = m->kept;
    for (int i = 0; i < BATON_MAX_MASKS; i++) {
        if (m->kept[i].position == position)
            return &m->kept[i];
        if (m->kept[i].used < oldest->used)
            oldest = &m->kept[i];
    }
    return oldest;
}

static void compute(struct baton_masks *m, uint32_t position, uint64_t *mask)
{
    memset(mask, 0, m->n_words * sizeof *mask);
    /* The failed attempt may have marked part of the tokens: clear them again. */
    if (add_ways(m, position, mask))
        return;
    memset(mask, 0, m->n_words * sizeof *mask);
    (void)walk_all(m, position, mask, NULL);
}

void baton_masks_get(struct baton_masks *m, uint32_t position, uint64_t *mask)
{
    m->now++;
    if (position == BATON_NOWHERE) {
        memset(mask, 0, m->n_words * sizeof *mask);
        return;
    }
    struct kept_mask *slot = slot_for(m, position);
    slot->used = m->now;
    if (slot->position != position) {
        compute(m, position, mask);
        if (!slot->mask)
            slot->mask = malloc(m->n_words * sizeof *mask);
        slot->position = slot->mask ? position : BATON_NOWHERE;
        if (slot->mask)
            memcpy(slot->mask, mask, m->n_words * sizeof *mask);
        return;
    }
    memcpy(mask, slot->mask, m->n_words * sizeof *mask);
}

void baton_masks_forget_positions(struct baton_masks *m)
{
    for (int i = 0; i < BATON_MAX_MASKS; i++) {
        m->kept[i].position = BATON_NOWHERE;
        m->kept[i].used = 0;
    }
}

struct baton_masks *baton_masks_create(struct baton_automaton *automaton,
                                       const struct baton_token_trie *trie)
{
    struct baton_masks *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    *m = (struct baton_masks){.automaton = automaton,
                              .trie = trie,
                              .n_words = baton_mask_words(trie->n_vocab),
                              .locals = calloc(MAX_LOCALS, sizeof *m->locals)};
    if (m->locals)
        return m;
    free(m);
    return NULL;
}

void baton_masks_destroy(struct baton_masks *m)
{
    if (!m)
        return;
    while (m->n_locals)
        drop_local(m, &m->locals[0]);
    for (int i = 0; i < BATON_MAX_MASKS; i++)
        free(m->kept[i].mask);
    free(m->locals);
    free(m);
}
