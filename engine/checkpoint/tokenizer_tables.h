/* The tokenizer of a model as tables: a vocabulary, merges or scores, added tokens and the steps
 * around them, in one shape for every file format.
 *
 *     tokens   id -> text, as the file has it (with ByteLevel: in the alphabet of byte_level.h)
 *     merges   BPE: rank -> left, right and the token they become, all three in tokens
 *     scores   Unigram: id -> log probability
 *     added    texts that are found in a prompt before it is split into words
 *     steps    normalizer, pre-tokenizer, post-processor and decoder (steps.h)
 *
 * The readers refuse a part that would change ids and has no field here. They check names and
 * ranges: every id in merges, added, flags and steps is below BATON_MAX_TOKEN_IDS, and every id in
 * merges has a token.
 *
 * Ownership: free with baton_tokenizer_tables_free; texts belong to the tables and end with a zero.
 * Threading: immutable once read.
 * Errors:    INVALID with the file and the part that is wrong or not supported, NOT_FOUND, IO,
 *            LIMIT, NO_MEMORY. Outputs are untouched.
 */
#ifndef BATON_ENGINE_CHECKPOINT_TOKENIZER_TABLES_H
#define BATON_ENGINE_CHECKPOINT_TOKENIZER_TABLES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/digest.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/cache_dir.h"
#include "engine/checkpoint/tokenizer_steps.h"

struct baton_json;

/* Four times the largest vocabulary in use. It bounds the memory that one huge id in a file can
 * cost. */
enum { BATON_MAX_TOKEN_IDS = 1 << 20 };

/* Far longer than real tokens. Added tokens and the pieces of Unigram have a smaller limit, because
 * a text is searched for them at every character. */
enum {
    BATON_TOKEN_MAX_BYTES = 1 << 20,
    BATON_ADDED_TOKEN_MAX_BYTES = 1024,
    BATON_UNIGRAM_PIECE_MAX_BYTES = 1024
};

#define BATON_NO_TOKEN UINT32_MAX

struct baton_token_row {
    const char *text; /* NULL: no token has this id */
    size_t n_bytes;
};

struct baton_merge_row {
    uint32_t left, right, merged;
};

struct baton_added_row {
    const char *text; /* as it stands in a prompt, not in the byte-level alphabet */
    size_t n_bytes;   /* 1 .. BATON_ADDED_TOKEN_MAX_BYTES */
    uint32_t id;      /* may be that of a token of the vocabulary */
    bool special;
    bool normalized;     /* found in the normalised text; its own text is normalised first */
    bool lstrip, rstrip; /* includes the white space before it, after it */
    bool single_word;    /* matches only where no word character is beside it */
};

enum baton_tokenizer_model {
    BATON_TOKENIZER_BPE,
    BATON_TOKENIZER_UNIGRAM,
    BATON_TOKENIZER_WORDPIECE /* tokens that begin a word begin with BATON_WORD_BEGINS */
};

#define BATON_WORD_BEGINS    "\xe2\x96\x81" /* U+2581 */
#define BATON_WORD_CONTINUES "##"           /* the mark of BERT's files, which the tables drop */

struct baton_tokenizer_tables {
    char file[PATH_MAX]; /* the file read, for messages */
    struct baton_token_row *tokens;
    size_t n_tokens; /* one more than the highest id of the vocabulary */
    enum baton_tokenizer_model model;
    struct baton_merge_row *merges; /* BPE */
    size_t n_merges;
    double *scores;     /* Unigram: [n_tokens] */
    uint32_t unk_id;    /* the token of an unknown character; BATON_NO_TOKEN: it is refused */
    bool fuse_unk;      /* neighbouring unknown characters are one token */
    bool byte_fallback; /* an unknown character becomes the tokens <0x..> of its bytes */
    bool ignore_merges; /* a word that is a token is that token, whatever the merges say */
    struct baton_added_row *added;
    size_t n_added;
    struct baton_tokenizer_steps steps;
    /* The memory that the texts above lie in. */
    char *texts, *steps_json; /* texts: of the tokens; steps_json: of the steps, as in the file */
    size_t n_steps_json;
    struct baton_json *parsed_steps, *parsed_added;
    struct baton_mapping kept; /* the file of tokenizer_cache.h */
};

/* Reads the tables of the model at model_path: a GGUF file, or a directory with tokenizer.json, or
 * with vocab.json and merges.txt. NOT_FOUND when none is there. */
enum baton_err baton_tokenizer_tables_read(const char *model_path,
                                           struct baton_tokenizer_tables **tables,
                                           struct baton_why *why) BATON_MUST_CHECK;

/* Does the same, but parses a large vocabulary once: its tables are kept in one of dirs under the
 * digest of the model's tokenizer (BATON_PART_TOKENIZER of digest/model.h). */
enum baton_err baton_tokenizer_tables_recall(const char *model_path,
                                             const struct baton_cache_dirs *dirs,
                                             const char digest[BATON_SHA256_HEX],
                                             struct baton_tokenizer_tables **tables,
                                             struct baton_why *why) BATON_MUST_CHECK;

/* Parses the n bytes of a tokenizer.json; file stands for it in messages. */
enum baton_err baton_tokenizer_tables_parse(const char *file, const void *json, size_t n,
                                            struct baton_tokenizer_tables **tables,
                                            struct baton_why *why) BATON_MUST_CHECK;

/* Accepts NULL. */
void baton_tokenizer_tables_free(struct baton_tokenizer_tables *tables);

#endif
