/* Byte-pair encoding of one word: its bytes or its characters become ids, then the adjacent pair of
 * lowest rank (the leftmost of equals) is replaced by its merged id until no pair has a rank;
 * private to engine/tokenizer.
 *
 * A character without a token becomes the tokens of its bytes (byte_fallback), or the unknown
 * token, or is refused.
 *
 * Pairs lie in an open-addressed table of (left, right) -> (rank, merged). A word of n bytes costs
 * O(n log n): its symbols form a linked list and candidate pairs a heap by (rank, position); a
 * candidate whose symbols were merged away in the meantime is dropped when it is popped. A cache of
 * words would be 1.4 times faster on English, which is not worth keeping users' text in memory.
 *
 * Ownership: the struct is embedded and owns its tables and scratch.
 * Threading: one thread at a time (scratch).
 * Errors:    init, encode: NO_MEMORY. encode: INVALID (no token for a byte or a character), LIMIT
 *            (a word of 2 GiB); ids of the failed word are not appended.
 */
#ifndef BATON_ENGINE_TOKENIZER_MODEL_BPE_H
#define BATON_ENGINE_TOKENIZER_MODEL_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "engine/checkpoint/token_index.h"
#include "engine/tokenizer/tokenizer.h"

struct baton_bpe {
    struct baton_bpe_pair *pairs;
    size_t n_slots;         /* a power of two, at least twice the number of pairs */
    bool by_characters;     /* the units are characters; false: bytes */
    uint32_t byte_ids[256]; /* ids of bytes, or of ASCII characters; BATON_NO_TOKEN: none */
    struct baton_token_index characters; /* ids of the other characters; texts are borrowed */
    uint32_t fallback_ids[256];          /* of <0x00>..<0xFF>; BATON_NO_TOKEN: none */
    uint32_t unk_id;                     /* BATON_NO_TOKEN: none */
    bool fuse_unk;                       /* neighbouring unknowns are one token */
    struct baton_bpe_symbol *symbols;
    struct baton_bpe_candidate *heap;
    size_t scratch_bytes; /* the longest word that symbols and heap can hold */
};

/* Starts with bytes as units and no token for any byte; the caller sets what differs. */
enum baton_err baton_bpe_init(struct baton_bpe *bpe, size_t n_pairs) BATON_MUST_CHECK;
/* Frees tables and scratch. */
void baton_bpe_fini(struct baton_bpe *bpe);

/* Frees the scratch, which the next word makes again. A copy of the struct must forget it
 * instead. */
void baton_bpe_drop_scratch(struct baton_bpe *bpe);
void baton_bpe_forget_scratch(struct baton_bpe *bpe);

/* Adds a pair; at most n_pairs different ones. A pair given twice keeps the later rank. */
void baton_bpe_add(struct baton_bpe *bpe, uint32_t left, uint32_t right, uint32_t rank,
                   uint32_t merged);

/* Appends the ids of the n >= 1 bytes at word. */
enum baton_err baton_bpe_encode(struct baton_bpe *bpe, const char *word, size_t n,
                                struct baton_tokens *out, struct baton_why *why) BATON_MUST_CHECK;

#endif
