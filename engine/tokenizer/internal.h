/* The parts of a tokenizer; private to engine/tokenizer.
 *
 * Ownership: the struct owns its parts; added tokens and index borrow their texts from texts and
 *            vocab.
 * Threading: as tokenizer.h.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_TOKENIZER_INTERNAL_H
#define BATON_ENGINE_TOKENIZER_INTERNAL_H

#include "common/base/arena.h"
#include "engine/checkpoint/token_index.h"
#include "engine/tokenizer/added.h"
#include "engine/tokenizer/model/bpe.h"
#include "engine/tokenizer/model/token_bytes.h"
#include "engine/tokenizer/model/unigram.h"
#include "engine/tokenizer/model/vocab.h"
#include "engine/tokenizer/model/wordpiece.h"
#include "engine/tokenizer/normalize/normalize.h"
#include "engine/tokenizer/split/pretokenize.h"
#include "engine/tokenizer/tokenizer.h"

/* The sets in the order of their search: tokens with "normalized": false in the text as it is, then
 * the others in the normalised text between those. */
enum { BATON_ADDED_RAW, BATON_ADDED_NORMALIZED, BATON_N_ADDED };

/* True for a token whose own bytes, as a word, merge into that token. Most do, and such a word
 * needs no merging. */
enum baton_whole_word { BATON_WHOLE_UNKNOWN, BATON_WHOLE_YES, BATON_WHOLE_NO };

struct baton_tokenizer {
    struct baton_vocab vocab; /* the bytes that each token adds to a text */
    struct baton_text_rule text_rule;
    enum baton_tokenizer_model model;
    struct baton_bpe bpe;
    struct baton_unigram unigram;
    struct baton_wordpiece wordpiece;
    struct baton_token_index words; /* BPE: tokens that a whole word may be */
    uint8_t *whole;                 /* BPE: [n_tokens], enum baton_whole_word */
    size_t longest_word_bytes;      /* of the index words */
    struct baton_added added[BATON_N_ADDED];
    struct baton_text_set specials; /* the special tokens' own texts -> id */
    struct baton_normalizer *normalizer;
    struct baton_pretokenizer *pretokenizer;
    uint32_t first_ids[BATON_TOKENIZER_MAX_ENDS], last_ids[BATON_TOKENIZER_MAX_ENDS];
    int n_first, n_last;
    uint32_t between_ids[BATON_TOKENIZER_MAX_ENDS];
    int n_between;
    /* a word of n bytes has at least n / this tokens; 0: perhaps one */
    size_t word_bytes_per_token;
    size_t text_bytes_per_token; /* the same for a text */
    bool traces_special;         /* a special token is searched in normalised text */
    bool traces_first;           /* the start of a text must be known after normalising */
    struct baton_arena *texts;
    bool is_second; /* only whole, normalizer, pretokenizer and scratch are its own */
};

#endif
