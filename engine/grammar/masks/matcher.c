#include "engine/grammar/masks/matcher.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/list.h"

/* Above this number, positions that no sequence is at are dropped. */
enum { MANY_POSITIONS = BATON_MAX_POSITIONS / 4, FORCED_MAX_BYTES = 128 };

struct baton_matcher {
    struct baton_node in_grammar;
    struct baton_grammar *grammar;
    uint32_t position;
    uint32_t before[BATON_MATCHER_MAX_DROPS]; /* a ring: the positions before the last tokens */
    unsigned n_noted;
    uint32_t *waiting; /* [n_waiting] tokens from before the grammar was ready */
    size_t n_waiting, cap_waiting;
    bool has_lost; /* a waiting token was lost for lack of memory */
};

BATON_LIST(matcher_list, struct baton_matcher, in_grammar)

struct baton_grammar {
    atomic_int state;     /* enum baton_err */
    pthread_mutex_t lock; /* protects all fields below */
    size_t n_holds;
    struct baton_network *network;
    const struct baton_token_trie *trie;
    struct baton_automaton *automaton;
    struct baton_masks *masks;
    struct matcher_list matchers;
};

static void lock(struct baton_grammar *grammar)
{
    (void)pthread_mutex_lock(&grammar->lock);
}

static void unlock(struct baton_grammar *grammar)
{
    (void)pthread_mutex_unlock(&grammar->lock);
}

static void destroy(struct baton_grammar *grammar)
{
    baton_masks_destroy(grammar->masks);
    baton_automaton_destroy(grammar->automaton);
    baton_network_destroy(grammar->network);
    (void)pthread_mutex_destroy(&grammar->lock);
    free(grammar);
}

struct baton_grammar *baton_grammar_begin(void)
{
    struct baton_grammar *grammar = calloc(1, sizeof *grammar);
    if (!grammar)
        return NULL;
    grammar->n_holds = 1;
    atomic_init(&grammar->state, BATON_AGAIN);
    (void)pthread_mutex_init(&grammar->lock, NULL);
    matcher_list_init(&grammar->matchers);
    return grammar;
}

enum baton_err baton_grammar_state(const struct baton_grammar *grammar)
{
    return (enum baton_err)atomic_load(&grammar->state);
}

void baton_grammar_give_up(struct baton_grammar *grammar, enum baton_err err)
{
    atomic_store(&grammar->state, err);
}

struct baton_grammar *baton_grammar_hold(struct baton_grammar *grammar)
{
    lock(grammar);
    grammar->n_holds++;
    unlock(grammar);
    return grammar;
}

void baton_grammar_release(struct baton_grammar *grammar)
{
    if (!grammar)
        return;
    lock(grammar);
    bool was_last = !--grammar->n_holds;
    unlock(grammar);
    if (was_last)
        destroy(grammar);
}

/* ---- positions; the lock is held ---- */

/* Drops unused positions. Every matcher's positions stay, under new numbers. */
static void collect(struct baton_grammar *grammar)
{
    size_t n = 0;
    uint32_t **kept =
        calloc(grammar->matchers.n * (BATON_MATCHER_MAX_DROPS + 1) + 1, sizeof(uint32_t *));
    for (struct baton_matcher *m = matcher_list_first(&grammar->matchers); m && kept;
         m = matcher_list_next(&grammar->matchers, m)) {
        kept[n++] = &m->position;
        for (int i = 0; i < BATON_MATCHER_MAX_DROPS; i++)
            kept[n++] = &m->before[i];
    }
    if (kept && baton_automaton_collect(grammar->automaton, kept, n))
        baton_masks_forget_positions(grammar->masks);
    free(kept);
}

static void tidy(struct baton_grammar *grammar)
{
    if (baton_automaton_n_positions(grammar->automaton) > MANY_POSITIONS)
        collect(grammar);
}

static void accept_token(struct baton_matcher *matcher, uint32_t token)
{
    struct baton_grammar *grammar = matcher->grammar;
    size_t n;
    const char *bytes = baton_token_trie_bytes(grammar->trie, token, &n);
    tidy(grammar);
    /* A token without text, such as a special one, is in no grammar. */
    uint32_t position = n ? matcher->position : BATON_NOWHERE;
    for (size_t i = 0; i < n; i++)
        position = baton_automaton_step(grammar->automaton, position, (uint8_t)bytes[i]);
    matcher->before[matcher->n_noted++ % BATON_MATCHER_MAX_DROPS] = matcher->position;
    matcher->position = position;
}

static void note_later(struct baton_matcher *matcher, uint32_t token)
{
    if (BATON_RESERVE(matcher->waiting, matcher->cap_waiting, matcher->n_waiting + 1)) {
        matcher->has_lost = true;
        return;
    }
    matcher->waiting[matcher->n_waiting++] = token;
}

static void begin_text(struct baton_matcher *matcher)
{
    matcher->position = baton_automaton_start(matcher->grammar->automaton);
    for (size_t i = 0; i < matcher->n_waiting; i++)
        accept_token(matcher, matcher->waiting[i]);
    free(matcher->waiting);
    matcher->waiting = NULL;
    matcher->n_waiting = matcher->cap_waiting = 0;
}

/* ---- compiling ---- */

/* Moves the matchers that were created before the grammar was ready to their positions. */
static void begin_texts(struct baton_grammar *grammar)
{
    for (struct baton_matcher *m = matcher_list_first(&grammar->matchers); m;
         m = matcher_list_next(&grammar->matchers, m))
        begin_text(m);
}

enum baton_err baton_grammar_make(struct baton_grammar *grammar,
                                  const struct baton_grammar_text *text,
                                  const struct baton_token_trie *trie, struct baton_why *why)
{
    struct baton_network *network = NULL;
    enum baton_err err = baton_grammar_read(text->kind, text->bytes, text->n, &network, why);
    struct baton_automaton *automaton = err ? NULL : baton_automaton_create(network);
    struct baton_masks *masks = automaton ? baton_masks_create(automaton, trie) : NULL;
    if (!err && !masks)
        err = BATON_NO_MEMORY;
    /* Only now: compiling takes long, and the lock would stop the matchers that wait. */
    lock(grammar);
    grammar->network = network;
    grammar->trie = trie;
    grammar->automaton = automaton;
    grammar->masks = masks;
    if (!err)
        begin_texts(grammar);
    /* The state is stored last and under the lock: who reads OK finds every part. */
    atomic_store(&grammar->state, err);
    unlock(grammar);
    return err;
}

enum baton_err baton_grammar_create(const struct baton_grammar_text *text,
                                    const struct baton_token_trie *trie, struct baton_grammar **out,
                                    struct baton_why *why)
{
    struct baton_grammar *grammar = baton_grammar_begin();
    enum baton_err err = grammar ? baton_grammar_make(grammar, text, trie, why) : BATON_NO_MEMORY;
    if (err)
        baton_grammar_release(grammar);
    else
        *out = grammar;
    return err;
}

/* ---- matchers ---- */

struct baton_matcher *baton_matcher_create(struct baton_grammar *grammar)
{
    struct baton_matcher *matcher = calloc(1, sizeof *matcher);
    if (!matcher)
        return NULL;
    matcher->grammar = grammar;
    lock(grammar);
    grammar->n_holds++;
    if (baton_grammar_state(grammar) == BATON_OK)
        begin_text(matcher);
    matcher_list_push_back(&grammar->matchers, matcher);
    unlock(grammar);
    return matcher;
}

void baton_matcher_destroy(struct baton_matcher *matcher)
{
    if (!matcher)
        return;
    struct baton_grammar *grammar = matcher->grammar;
    lock(grammar);
    matcher_list_remove(&grammar->matchers, matcher);
    unlock(grammar);
    free(matcher->waiting);
    free(matcher);
    baton_grammar_release(grammar);
}

enum baton_err baton_matcher_state(const struct baton_matcher *matcher)
{
    enum baton_err state = baton_grammar_state(matcher->grammar);
    return state ? state : matcher->has_lost ? BATON_NO_MEMORY : BATON_OK;
}

void baton_matcher_accept(struct baton_matcher *matcher, uint32_t token)
{
    struct baton_grammar *grammar = matcher->grammar;
    lock(grammar);
    if (baton_grammar_state(grammar) == BATON_OK)
        accept_token(matcher, token);
    else
        note_later(matcher, token);
    unlock(grammar);
}

void baton_matcher_drop(struct baton_matcher *matcher)
{
    lock(matcher->grammar); /* other matchers may renumber all positions */
    matcher->position = matcher->before[--matcher->n_noted % BATON_MATCHER_MAX_DROPS];
    unlock(matcher->grammar);
}

/* Writes the forced bytes, each the only one that may follow, up to cap. Returns how many. */
static size_t forced_bytes(struct baton_automaton *automaton, uint32_t position, char *bytes,
                           size_t cap)
{
    uint8_t byte;
    size_t n = 0;
    while (n < cap && baton_automaton_only_byte(automaton, position, &byte)) {
        bytes[n++] = (char)byte;
        position = baton_automaton_step(automaton, position, byte);
    }
    return n;
}

/* Returns the child of the node for the byte; 0 when there is none. */
static uint32_t child_of(const struct baton_token_trie *trie, uint32_t node, uint8_t byte)
{
    for (uint32_t i = node + 1; i < trie->nodes[node].end; i = trie->nodes[i].end)
        if (trie->nodes[i].byte == byte)
            return i;
    return 0;
}

/* Splits bytes [n] into the longest tokens, one after another, at most n_max, and returns their
 * number. The rest that begins no token is left out. The model still chooses how forced bytes are
 * split, and mostly takes the longest tokens. */
static int forced_tokens(const struct baton_token_trie *trie, const char *bytes, size_t n,
                         uint32_t *tokens, int n_max)
{
    int n_tokens = 0;
    for (size_t at = 0; at < n && n_tokens < n_max;) {
        uint32_t node = 0;
        size_t end = at;
        /* A node has a token of its own where its first child's tokens begin later. */
        for (size_t i = at; i < n && (node = child_of(trie, node, (uint8_t)bytes[i])); i++)
            if (trie->nodes[node].first < trie->nodes[node + 1].first) {
                tokens[n_tokens] = trie->tokens[trie->nodes[node].first];
                end = i + 1;
            }
        if (end == at)
            break;
        n_tokens++;
        at = end;
    }
    return n_tokens;
}

int baton_matcher_forced(struct baton_matcher *matcher, uint32_t *tokens, int n_max)
{
    struct baton_grammar *grammar = matcher->grammar;
    char bytes[FORCED_MAX_BYTES];
    lock(grammar);
    tidy(grammar);
    size_t n = forced_bytes(grammar->automaton, matcher->position, bytes, sizeof bytes);
    unlock(grammar);
    /* The trie is immutable, so this needs no lock. */
    return forced_tokens(grammar->trie, bytes, n, tokens, n_max);
}

const char *baton_matcher_text(const struct baton_matcher *matcher, uint32_t token, size_t *n)
{
    return baton_token_trie_bytes(matcher->grammar->trie, token, n); /* immutable */
}

const char *baton_matcher_removed_at(struct baton_matcher *matcher, uint32_t token)
{
    struct baton_grammar *grammar = matcher->grammar;
    size_t n_bytes;
    const char *bytes = baton_token_trie_bytes(grammar->trie, token, &n_bytes);
    lock(grammar);
    tidy(grammar);
    uint32_t at = matcher->position, next = at;
    for (size_t i = 0; i < n_bytes && next != BATON_NOWHERE; i++) {
        at = next;
        next = baton_automaton_step(grammar->automaton, at, (uint8_t)bytes[i]);
    }
    const char *path = baton_automaton_path(grammar->automaton, at);
    unlock(grammar);
    return path;
}

static bool is_empty(const uint64_t *mask, size_t n_words)
{
    uint64_t any = 0;
    for (size_t i = 0; i < n_words; i++)
        any |= mask[i];
    return !any;
}

void baton_matcher_mask(struct baton_matcher *matcher, const uint32_t *stops, size_t n,
                        size_t n_vocab, uint64_t *mask)
{
    struct baton_grammar *grammar = matcher->grammar;
    size_t n_words = baton_mask_words(n_vocab);
    lock(grammar);
    tidy(grammar);
    baton_masks_get(grammar->masks, matcher->position, mask);
    bool ends = baton_automaton_accepts(grammar->automaton, matcher->position);
    unlock(grammar);
    for (size_t i = 0; i < n; i++)
        if (stops[i] < n_vocab)
            mask[stops[i] / 64] &= ~((uint64_t)1 << (stops[i] % 64));
    /* At a dead end the stop tokens are allowed, because a mask must leave the sampler
     * something. */
    if (!ends && !is_empty(mask, n_words))
        return;
    for (size_t i = 0; i < n; i++)
        if (stops[i] < n_vocab)
            mask[stops[i] / 64] |= (uint64_t)1 << (stops[i] % 64);
}
