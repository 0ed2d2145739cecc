/* The tokens of a vocabulary by the plain characters (language/plain.h) that they begin with; most
 * tokens are nothing else.
 *
 * In a string that counts its characters every place is another state, and at each almost the whole
 * vocabulary would have to be walked. But what is plain is told by its length alone:
 *
 *     token        plain characters   tail
 *     house        5
 *     s",          1                  ",        walked from where one character leads
 *     ":           0                  ":
 *
 * Ownership: the tree of all tokens owns what is made of it here.
 * Threading: immutable once made.
 * Errors:    add: those of baton_token_trie_create.
 */
#ifndef BATON_ENGINE_GRAMMAR_MASKS_PLAIN_VOCAB_H
#define BATON_ENGINE_GRAMMAR_MASKS_PLAIN_VOCAB_H

#include "engine/grammar/masks/token_trie.h"

enum { BATON_PLAIN_MAX_CHARS = 32 };

struct baton_plain_vocab {
    size_t n_words;
    /* [1 + BATON_PLAIN_MAX_CHARS][n_words] tokens of at most so many plain characters and no
     * tail */
    uint64_t *masks;
    /* All other tokens: how many plain characters they begin with, as a byte, then the tail. After
     * BATON_PLAIN_MAX_CHARS the tail begins in any case. */
    struct baton_token_trie *tails;
};

/* Makes trie->plain, without which all is walked. */
enum baton_err baton_plain_vocab_add(struct baton_token_trie *trie) BATON_MUST_CHECK;
/* NULL is fine. */
void baton_plain_vocab_destroy(struct baton_plain_vocab *vocab);

#endif
