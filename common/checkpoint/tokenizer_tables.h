/* What a model's files say of its tokenizer: a vocabulary, merges, added tokens and the steps
 * around them, in one shape for every format that they may be written in.
 *
 *     tokens   id -> text in the byte-level alphabet (tokenizer/byte_level.h draws it)
 *     merges   rank -> left, right and the token they become, all three in tokens
 *     added    texts that are found in a prompt before it is split into words
 *     steps    two flags, for the one pre-tokenizer that is supported
 *
 * The readers refuse a part that would change ids and has no place here. They check names and
 * ranges: every id in merges and added is below BATON_MAX_TOKEN_IDS, and every id in merges has a
 * token.
 *
 * Ownership: free with baton_tokenizer_tables_free; texts are borrowed from the parsed file, which
 *            the tables own.
 * Threading: immutable once read.
 * Errors:    INVALID with the file and the part that is wrong or not supported, NOT_FOUND, IO,
 *            LIMIT, NO_MEMORY. Outputs are untouched.
 */
#ifndef BATON_CHECKPOINT_TOKENIZER_TABLES_H
#define BATON_CHECKPOINT_TOKENIZER_TABLES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct baton_json;

/* Four times the largest vocabulary in use: bounds the memory that one huge id in a file can cost.
 */
enum { BATON_MAX_TOKEN_IDS = 1 << 20 };

struct baton_token_row {
    const char *text; /* NULL: no token has this id */
    size_t n_bytes;
};

struct baton_merge_row {
    uint32_t left, right, merged;
};

struct baton_added_row {
    const char *text; /* as it stands in a prompt, not in the byte-level alphabet */
    size_t n_bytes;   /* at least 1 */
    uint32_t id;      /* may be that of a token of the vocabulary */
    bool special, normalized;
};

struct baton_tokenizer_tables {
    char file[PATH_MAX]; /* where it is from, for messages */
    struct baton_token_row *tokens;
    size_t n_tokens; /* one more than the highest id of the vocabulary */
    struct baton_merge_row *merges;
    size_t n_merges;
    struct baton_added_row *added;
    size_t n_added;
    bool splits_words; /* by the GPT-2 pattern; else the text between added tokens is one word */
    bool add_prefix_space;     /* before each piece of text that does not begin with one */
    struct baton_json *parsed; /* the texts are borrowed from it */
};

/* From the model at model_path: tokenizer.json, or vocab.json and merges.txt. NOT_FOUND when
 * neither is there. */
enum baton_err baton_tokenizer_tables_read(const char *model_path,
                                           struct baton_tokenizer_tables **tables,
                                           struct baton_why *why) BATON_MUST_CHECK;

/* From the n bytes of a tokenizer.json; file stands for it in messages. */
enum baton_err baton_tokenizer_tables_parse(const char *file, const void *json, size_t n,
                                            struct baton_tokenizer_tables **tables,
                                            struct baton_why *why) BATON_MUST_CHECK;

/* NULL is fine. */
void baton_tokenizer_tables_free(struct baton_tokenizer_tables *tables);

#endif
