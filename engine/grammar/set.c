#include "engine/grammar/set.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "engine/grammar/masks/plain_vocab.h"

/* A grammar to compile; holds it. */
struct baton_grammar_order {
    struct baton_grammar_order *next;
    struct baton_grammar_text text;
    struct baton_grammar *grammar;
};

void baton_grammar_set_init(struct baton_grammar_set *set, const struct baton_grammar_hooks *hooks)
{
    *set = (struct baton_grammar_set){.hooks = *hooks};
    (void)pthread_mutex_init(&set->lock, NULL);
    (void)pthread_cond_init(&set->changed, NULL);
}

/* ---- the thread ---- */

static void free_order(struct baton_grammar_order *order)
{
    baton_grammar_release(order->grammar);
    baton_grammar_text_fini(&order->text);
    free(order);
}

/* Returns the next order; NULL when the set ends. */
static struct baton_grammar_order *wait_for_order(struct baton_grammar_set *set)
{
    (void)pthread_mutex_lock(&set->lock);
    while (!set->first && !set->stops)
        (void)pthread_cond_wait(&set->changed, &set->lock);
    struct baton_grammar_order *order = set->stops ? NULL : set->first;
    if (order && !(set->first = order->next))
        set->last = NULL;
    (void)pthread_mutex_unlock(&set->lock);
    return order;
}

static enum baton_err load_vocabulary(struct baton_grammar_set *set, struct baton_why *why)
{
    if (set->trie)
        return BATON_OK;
    enum baton_err err = set->hooks.load(set->hooks.arg, &set->trie, why);
    return err ? err : baton_plain_vocab_add(set->trie);
}

static void make(struct baton_grammar_set *set, const struct baton_grammar_order *order)
{
    struct baton_why why = {""};
    int64_t begin_ns = baton_now_ns();
    enum baton_err err = load_vocabulary(set, &why);
    if (err)
        baton_grammar_give_up(order->grammar, err);
    else
        err = baton_grammar_make(order->grammar, &order->text, set->trie, &why);
    set->hooks.made(set->hooks.arg, err, &why, baton_seconds(baton_now_ns() - begin_ns));
}

static void *make_all(void *arg)
{
    struct baton_grammar_set *set = arg;
    for (struct baton_grammar_order *order; (order = wait_for_order(set));) {
        make(set, order);
        free_order(order);
    }
    return NULL;
}

void baton_grammar_set_fini(struct baton_grammar_set *set)
{
    (void)pthread_mutex_lock(&set->lock);
    set->stops = true;
    (void)pthread_cond_signal(&set->changed);
    (void)pthread_mutex_unlock(&set->lock);
    /* The thread uses the trie and the kept grammars, so it ends first. */
    if (set->has_thread)
        (void)pthread_join(set->thread, NULL);
    for (struct baton_grammar_order *order; (order = set->first);) {
        set->first = order->next;
        free_order(order);
    }
    for (int i = 0; i < BATON_MAX_GRAMMARS; i++)
        baton_grammar_release(set->kept[i].grammar);
    baton_token_trie_destroy(set->trie);
    (void)pthread_mutex_destroy(&set->lock);
    (void)pthread_cond_destroy(&set->changed);
    *set = (struct baton_grammar_set){0};
}

/* ---- requests ---- */

static void put_order(struct baton_grammar_set *set, struct baton_grammar_order *order)
{
    (void)pthread_mutex_lock(&set->lock);
    *(set->last ? &set->last->next : &set->first) = order;
    set->last = order;
    (void)pthread_cond_signal(&set->changed);
    (void)pthread_mutex_unlock(&set->lock);
}

/* Returns a grammar that the thread will compile; NULL without memory. */
static struct baton_grammar *order_grammar(struct baton_grammar_set *set,
                                           const struct baton_grammar_text *text)
{
    /* The thread starts with the first grammar: most workers never need one. */
    if (!set->has_thread)
        set->has_thread = !pthread_create(&set->thread, NULL, make_all, set);
    struct baton_grammar_order *order = set->has_thread ? calloc(1, sizeof *order) : NULL;
    if (!order)
        return NULL;
    order->grammar = baton_grammar_begin();
    if (!order->grammar || baton_grammar_text_copy(&order->text, text)) {
        free_order(order);
        return NULL;
    }
    struct baton_grammar *grammar = baton_grammar_hold(order->grammar);
    put_order(set, order);
    return grammar;
}

static bool has_failed(const struct baton_grammar *grammar)
{
    enum baton_err state = baton_grammar_state(grammar);
    return state && state != BATON_AGAIN;
}

static bool is_kept(const struct baton_kept_grammar *kept, enum baton_grammar_kind kind,
                    const uint8_t *digest)
{
    return kept->grammar && kept->kind == kind && !has_failed(kept->grammar) &&
           !memcmp(kept->digest, digest, sizeof kept->digest);
}

/* Returns the slot of the grammar with that digest, or the slot used longest ago. */
static struct baton_kept_grammar *place_for(struct baton_grammar_set *set,
                                            enum baton_grammar_kind kind, const uint8_t *digest)
{
    struct baton_kept_grammar *oldest = set->kept;
    for (int i = 0; i < BATON_MAX_GRAMMARS; i++) {
        if (is_kept(&set->kept[i], kind, digest))
            return &set->kept[i];
        if (set->kept[i].used < oldest->used)
            oldest = &set->kept[i];
    }
    return oldest;
}

enum baton_err baton_grammar_set_match(struct baton_grammar_set *set,
                                       const struct baton_grammar_text *text,
                                       struct baton_matcher **matcher)
{
    uint8_t digest[BATON_SHA256_BYTES];
    enum baton_err err = baton_sha256_of(text->bytes, text->n, digest);
    if (err)
        return err;
    struct baton_kept_grammar *place = place_for(set, text->kind, digest);
    if (!is_kept(place, text->kind, digest)) {
        struct baton_grammar *made = order_grammar(set, text);
        if (!made)
            return BATON_NO_MEMORY;
        baton_grammar_release(place->grammar); /* sequences that use it keep it */
        *place = (struct baton_kept_grammar){.kind = text->kind, .grammar = made};
        memcpy(place->digest, digest, sizeof digest);
    }
    place->used = ++set->now;
    struct baton_matcher *made = baton_matcher_create(place->grammar);
    if (!made)
        return BATON_NO_MEMORY;
    *matcher = made;
    return BATON_OK;
}

enum baton_err baton_grammar_set_texts(struct baton_grammar_set *set,
                                       struct baton_matcher **matcher)
{
    static char any[] = "a";
    const struct baton_grammar_text text = {
        .kind = BATON_GRAMMAR_REGEX, .bytes = any, .n = sizeof any - 1};
    return baton_grammar_set_match(set, &text, matcher);
}
