/* What a tokenizer is made of, and the readers that fill it; private to common/tokenizer.
 *
 * Ownership: the struct owns its parts; added tokens borrow their text from vocab.
 * Threading: as tokenizer.h.
 * Errors:    INVALID with the file and the part that is wrong or not supported, LIMIT, NO_MEMORY,
 *            and those of baton_json_read_file.
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

enum { BATON_TOKENIZER_FILE_MAX_BYTES = 64 << 20 };

struct baton_tokenizer *baton_tokenizer_create(void);

/* Each fills a tokenizer just created, which the caller closes whatever the result: from the n
 * bytes of a tokenizer.json (name stands for the file in messages), from the tokenizer.json in dir,
 * or from vocab.json and merges.txt there. NOT_FOUND when dir holds no such file. */
enum baton_err baton_tokenizer_parse_json(struct baton_tokenizer *tokenizer, const char *name,
                                          const void *json, size_t n,
                                          struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_tokenizer_read_json(struct baton_tokenizer *tokenizer, const char *dir,
                                         struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_tokenizer_read_pair(struct baton_tokenizer *tokenizer, const char *dir,
                                         struct baton_why *why) BATON_MUST_CHECK;

#endif
