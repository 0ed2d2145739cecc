/* The grammars of a worker's requests, each compiled once, and the vocabulary they are for.
 *
 * A thread of the set compiles them, one after another, because a large schema takes a good part of
 * a second. Matchers are created at once: they collect tokens until their grammar is ready
 * (baton_matcher_state). The vocabulary is loaded with the first grammar. The BATON_MAX_GRAMMARS
 * used last are kept; a grammar that sequences still use stays until they end.
 *
 * Ownership: owns its thread and the trie, and holds the grammars; the matchers it returns are the
 *            caller's, and end before it.
 * Threading: one thread calls match, and may pass the matchers to others. load and made are called
 *            by the set's thread.
 * Errors:    match: NO_MEMORY. A compile error is the state of the grammar's matchers; the next
 *            match for it compiles it anew.
 */
#ifndef BATON_ENGINE_GRAMMAR_SET_H
#define BATON_ENGINE_GRAMMAR_SET_H

#include <pthread.h>

#include "common/base/digest.h"
#include "engine/grammar/masks/matcher.h"

enum { BATON_MAX_GRAMMARS = 16 };

struct baton_grammar_hooks {
    void *arg;
    /* Creates the trie. */
    enum baton_err (*load)(void *arg, struct baton_token_trie **trie, struct baton_why *why);
    /* Reports a grammar that is ready, or failed. */
    void (*made)(void *arg, enum baton_err err, const struct baton_why *why, double made_s);
};

struct baton_grammar_order;

struct baton_grammar_set {
    struct baton_grammar_hooks hooks;
    struct baton_token_trie *trie; /* the thread's; NULL: not loaded yet */
    struct baton_kept_grammar {
        uint8_t digest[BATON_SHA256_BYTES];
        enum baton_grammar_kind kind;
        uint64_t used;
        struct baton_grammar *grammar; /* NULL: none */
    } kept[BATON_MAX_GRAMMARS];
    uint64_t now;

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t changed;
    struct baton_grammar_order *first, *last; /* to be compiled */
    bool stops;
};

void baton_grammar_set_init(struct baton_grammar_set *set, const struct baton_grammar_hooks *hooks);
/* Waits for the grammar that is being compiled. */
void baton_grammar_set_fini(struct baton_grammar_set *set);

/* Creates a matcher at the start of a text. */
enum baton_err baton_grammar_set_match(struct baton_grammar_set *set,
                                       const struct baton_grammar_text *text,
                                       struct baton_matcher **matcher) BATON_MUST_CHECK;

/* Creates a matcher for the tokens' texts alone (baton_matcher_text). */
enum baton_err baton_grammar_set_texts(struct baton_grammar_set *set,
                                       struct baton_matcher **matcher) BATON_MUST_CHECK;

#endif
