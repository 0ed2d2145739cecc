/* What a tokenizer is made of; private to engine/tokenizer.
 *
 * Ownership: the struct owns its parts; added tokens and index borrow their texts from texts and
 *            vocab.
 * Threading: as tokenizer.h.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_TOKENIZER_PARTS_H
#define BATON_ENGINE_TOKENIZER_PARTS_H

#include "common/base/arena.h"
#include "engine/checkpoint/token_index.h"
#include "engine/tokenizer/added.h"
#include "engine/tokenizer/model/bpe.h"
#include "engine/tokenizer/model/token_bytes.h"
#include "engine/tokenizer/model/unigram.h"
#include "engine/tokenizer/model/vocab.h"
#include "engine/tokenizer/normalize/normalize.h"
#include "engine/tokenizer/split/pretokenize.h"
#include "engine/tokenizer/tokenizer.h"

/* Searched in this order: the tokens with "normalized": false in the text as it is, then the others
 * in what lies between those, normalised. */
enum { BATON_ADDED_RAW, BATON_ADDED_NORMALIZED, BATON_N_ADDED };

/* Whether the bytes of a token, as a word, are merged into that token. Most are, and a word that is
 * known to be needs no merging. */
enum baton_whole_word { BATON_WHOLE_UNKNOWN, BATON_WHOLE_YES, BATON_WHOLE_NO };

struct baton_tokenizer {
    struct baton_vocab vocab; /* what each token adds to a text */
    struct baton_text_rule text_rule;
    enum baton_tokenizer_model model;
    struct baton_bpe bpe;
    struct baton_unigram unigram;
    struct baton_token_index words; /* BPE: tokens that a word may be as a whole */
    uint8_t *whole;                 /* BPE: [n_tokens], enum baton_whole_word */
    size_t longest_word_bytes;      /* of words */
    struct baton_added added[BATON_N_ADDED];
    struct baton_text_set specials; /* the special tokens' own texts -> id */
    struct baton_normalizer *normalizer;
    struct baton_pretokenizer *pretokenizer;
    uint32_t first_ids[BATON_TOKENIZER_MAX_ENDS], last_ids[BATON_TOKENIZER_MAX_ENDS];
    int n_first, n_last;
    size_t word_bytes_per_token; /* a word of n bytes has at least n / that tokens; 0: may be one */
    size_t text_bytes_per_token; /* the same of a text */
    bool traces_special;         /* some special token is found in normalised text */
    bool traces_first;           /* what begins a text must be known after it is normalised */
    struct baton_arena *texts;
};

#endif
