/* Unigram (Kudo, 2018): the segmentation of a word into tokens with the highest sum of log
 * probabilities, by Viterbi's algorithm; private to engine/tokenizer.
 *
 * A character becomes an unknown token, with a score 10 below the lowest, where no single token is
 * that character. Of equal segmentations the first found is taken, as in the reference.
 *
 * Ownership: the struct is embedded and owns its tables and scratch; texts are borrowed.
 * Threading: one thread at a time (scratch).
 * Errors:    init, encode: NO_MEMORY. encode: INVALID (an unknown character without an unknown
 *            token), LIMIT (a word of 64 MiB); ids of the failed word are not appended.
 */
#ifndef BATON_ENGINE_TOKENIZER_MODEL_UNIGRAM_H
#define BATON_ENGINE_TOKENIZER_MODEL_UNIGRAM_H

#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/text_set.h"
#include "engine/tokenizer/tokenizer.h"

struct baton_unigram {
    struct baton_text_set pieces; /* the vocabulary, each text -> its id */
    double *scores;               /* [n_tokens] */
    size_t n_tokens;
    double unk_score;
    uint32_t unk_id;
    uint32_t fallback_ids[256]; /* ids of <0x00>..<0xFF>; BATON_NO_TOKEN: none */
    struct baton_unigram_node *nodes;
    size_t n_nodes;
    size_t left_steps; /* of the searches; set by the caller for a call */
};

/* Copies the scores and flags of tables. The caller adds the pieces and fallback_ids, and seals the
 * pieces. */
enum baton_err baton_unigram_init(struct baton_unigram *unigram,
                                  const struct baton_tokenizer_tables *tables) BATON_MUST_CHECK;
/* Frees everything but the texts. */
void baton_unigram_fini(struct baton_unigram *unigram);

/* Frees the scratch, which the next word makes again. A copy of the struct must forget it
 * instead. */
void baton_unigram_drop_scratch(struct baton_unigram *unigram);
void baton_unigram_forget_scratch(struct baton_unigram *unigram);

/* Appends the ids of the n >= 1 bytes at word. */
enum baton_err baton_unigram_encode(struct baton_unigram *unigram, const char *word, size_t n,
                                    struct baton_tokens *out,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
