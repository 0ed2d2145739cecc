/* The vocabulary as a trie over bytes, which walks all tokens with a common start at once.
 *
 * Nodes are in the order of a depth-first walk, so that a walk is a scan forward and a skipped
 * subtree is a jump. Tokens are in the order of their nodes: a subtree's tokens are adjacent.
 *
 * Ownership: the trie is the caller's.
 * Threading: immutable once made.
 * Errors:    create: LIMIT (more bytes than 32 bits can count), NO_MEMORY. A token of more than
 *            BATON_TRIE_MAX_DEPTH bytes is left out.
 */
#ifndef BATON_ENGINE_GRAMMAR_MASKS_TOKEN_TRIE_H
#define BATON_ENGINE_GRAMMAR_MASKS_TOKEN_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { BATON_TRIE_MAX_DEPTH = 1024 };

struct baton_trie_node {
    uint32_t end;   /* the first node outside this subtree */
    uint32_t first; /* its first token; those of its subtree follow */
    uint16_t depth; /* bytes from the root */
    uint8_t byte;
};

struct baton_plain_vocab;

struct baton_token_trie {
    struct baton_trie_node *nodes; /* [n_nodes + 1]; 0 is the root; the last only ends the tokens */
    size_t n_nodes;
    uint32_t *tokens; /* [n_tokens] */
    size_t n_tokens;
    size_t n_vocab;    /* ids are below it */
    char *bytes;       /* of all ids, one after another */
    uint32_t *offsets; /* [n_vocab + 1] */
    /* the same tokens by plain characters (plain_vocab.h); NULL: not made */
    struct baton_plain_vocab *plain;
};

/* Returns the n bytes of an id's text; NULL for a token that a grammar never generates. */
typedef const char *(*baton_token_text_fn)(void *arg, uint32_t id, size_t *n);

/* Creates a trie of the ids below n_vocab; those without bytes are left out. */
enum baton_err baton_token_trie_create(size_t n_vocab, baton_token_text_fn text, void *arg,
                                       struct baton_token_trie **trie) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_token_trie_destroy(struct baton_token_trie *trie);

/* Returns a token's bytes; n is 0 for a token that is not in the trie. */
static inline const char *baton_token_trie_bytes(const struct baton_token_trie *trie, uint32_t id,
                                                 size_t *n)
{
    *n = id < trie->n_vocab ? trie->offsets[id + 1] - trie->offsets[id] : 0;
    return *n ? trie->bytes + trie->offsets[id] : NULL;
}

#endif
