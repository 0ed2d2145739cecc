/* What a tokenizer is made of; private to common/tokenizer.
 *
 * Ownership: the struct owns its parts; added tokens borrow their text from vocab.
 * Threading: as tokenizer.h.
 * Errors:    none.
 */
#ifndef BATON_TOKENIZER_TOKENIZER_PARTS_H
#define BATON_TOKENIZER_TOKENIZER_PARTS_H

#include "common/tokenizer/added.h"
#include "common/tokenizer/bpe.h"
#include "common/tokenizer/pretokenize.h"
#include "common/tokenizer/tokenizer.h"
#include "common/tokenizer/vocab.h"

struct baton_tokenizer {
    struct baton_vocab vocab;
    struct baton_bpe bpe;
    /* Searched in this order: first the tokens with "normalized": false, then, in what lies between
     * those, the others. (No normalizer is supported, so only the order differs.) */
    struct baton_added added[2];
    struct baton_pretokenizer *pretokenizer; /* NULL: the text between added tokens is one word */
    bool add_prefix_space;
};

#endif
