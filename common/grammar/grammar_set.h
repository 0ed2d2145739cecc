/* The grammars that a worker's requests use, each made once, and the vocabulary they are for.
 *
 * The vocabulary is loaded with the first grammar. The BATON_MAX_GRAMMARS used last are kept; one
 * that sequences still use stays until they end.
 *
 * Ownership: owns the tree of tokens and holds the grammars; the matchers it gives are the
 *            caller's, and end before it.
 * Threading: one thread takes matchers, which then may go to any.
 * Errors:    match: INVALID, LIMIT with the reason, what load fails with, NO_MEMORY.
 */
#ifndef BATON_GRAMMAR_GRAMMAR_SET_H
#define BATON_GRAMMAR_GRAMMAR_SET_H

#include "common/base/digest.h"
#include "common/grammar/matcher.h"

enum { BATON_MAX_GRAMMARS = 16 };

/* Makes the tree of tokens. */
typedef enum baton_err (*baton_load_trie_fn)(void *arg, struct baton_token_trie **trie,
                                             struct baton_why *why);

struct baton_grammar_set {
    baton_load_trie_fn load;
    void *arg;
    struct baton_token_trie *trie; /* NULL: not loaded yet */
    struct baton_kept_grammar {
        uint8_t digest[BATON_SHA256_BYTES];
        enum baton_grammar_kind kind;
        uint64_t used;
        struct baton_grammar *grammar; /* NULL: none */
    } kept[BATON_MAX_GRAMMARS];
    uint64_t now;
};

void baton_grammar_set_init(struct baton_grammar_set *set, baton_load_trie_fn load, void *arg);
void baton_grammar_set_fini(struct baton_grammar_set *set);

/* A matcher at the start of a text. */
enum baton_err baton_grammar_set_match(struct baton_grammar_set *set,
                                       const struct baton_grammar_text *text,
                                       struct baton_matcher **matcher,
                                       struct baton_why *why) BATON_MUST_CHECK;

#endif
