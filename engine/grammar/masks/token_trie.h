/* The vocabulary as a tree over bytes, for walking all tokens that begin alike at once.
 *
 * Nodes lie in the order of a depth-first walk, so that a walk is a scan forward and leaving out a
 * subtree is a jump. Tokens lie in the order of their nodes: a subtree's are neighbours.
 *
 * Ownership: the tree is the caller's.
 * Threading: immutable once made.
 * Errors:    create: LIMIT (a token of more than BATON_TRIE_MAX_DEPTH bytes is left out, which is
 *            no error; more bytes than 32 bits count are one), NO_MEMORY.
 */
#ifndef BATON_ENGINE_GRAMMAR_MASKS_TOKEN_TRIE_H
#define BATON_ENGINE_GRAMMAR_MASKS_TOKEN_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { BATON_TRIE_MAX_DEPTH = 1024 };

struct baton_trie_node {
    uint32_t end;   /* the first node that is not below this one */
    uint32_t first; /* its first token; those of all nodes below follow */
    uint16_t depth; /* bytes from the root */
    uint8_t byte;
};

struct baton_plain_vocab;

struct baton_token_trie {
    struct baton_trie_node *nodes; /* [n_nodes + 1]; 0 is the root; the last only ends the tokens */
    size_t n_nodes;
    uint32_t *tokens; /* [n_tokens] */
    size_t n_tokens;
    size_t n_vocab;                  /* one more than the highest id may be */
    char *bytes;                     /* of all ids, one after the other */
    uint32_t *offsets;               /* [n_vocab + 1] */
    struct baton_plain_vocab *plain; /* of the same tokens (plain.h); NULL: not made */
};

/* The n bytes of an id's text; NULL: no text that may be generated under a grammar. */
typedef const char *(*baton_token_text_fn)(void *arg, uint32_t id, size_t *n);

/* Of ids below n_vocab; those without bytes are in no tree. */
enum baton_err baton_token_trie_create(size_t n_vocab, baton_token_text_fn text, void *arg,
                                       struct baton_token_trie **trie) BATON_MUST_CHECK;
/* NULL is fine. */
void baton_token_trie_destroy(struct baton_token_trie *trie);

/* A token's bytes; n is 0 for one that is not in the tree. */
static inline const char *baton_token_trie_bytes(const struct baton_token_trie *trie, uint32_t id,
                                                 size_t *n)
{
    *n = id < trie->n_vocab ? trie->offsets[id + 1] - trie->offsets[id] : 0;
    return *n ? trie->bytes + trie->offsets[id] : NULL;
}

#endif
