/* A vocabulary's tokens by the plain characters (language/plain.h) at their start. Most tokens
 * consist of these alone.
 *
 * In a string that counts its characters every place is another state, and almost the whole
 * vocabulary would be walked at each. But for plain tokens their length decides:
 *
 *     token        plain characters   tail
 *     house        5
 *     s",          1                  ",        walked from where one character leads
 *     ":           0                  ":
 *
 * Ownership: the trie of all tokens owns it.
 * Threading: immutable once made.
 * Errors:    add: those of baton_token_trie_create.
 */
#ifndef BATON_ENGINE_GRAMMAR_MASKS_PLAIN_VOCAB_H
#define BATON_ENGINE_GRAMMAR_MASKS_PLAIN_VOCAB_H

#include "engine/grammar/masks/token_trie.h"

enum { BATON_PLAIN_MAX_CHARS = 32 };

struct baton_plain_vocab {
    size_t n_words;
    /* [1 + BATON_PLAIN_MAX_CHARS][n_words] tokens of at most that many plain characters and no
     * tail */
    uint64_t *masks;
    /* All other tokens: the number of plain characters at their start, as a byte, then the tail.
     * After BATON_PLAIN_MAX_CHARS the tail begins in any case. */
    struct baton_token_trie *tails;
};

/* Makes trie->plain. Without it every mask walks the whole trie. */
enum baton_err baton_plain_vocab_add(struct baton_token_trie *trie) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_plain_vocab_destroy(struct baton_plain_vocab *vocab);

#endif
