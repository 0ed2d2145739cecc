/* A vocabulary and its merges in Hugging Face's form, and the two kinds of files that hold them;
 * private to engine/checkpoint.
 *
 *     vocab:  {"h": 71, "\u0120the": 262, ...}       token -> id (BPE)
 *             [["the", -3.5], ...]                   token, score; in order of id (Unigram)
 *     merges: ["h e", ...] or [["h","e"], ...]       in order of rank; or merges.txt, a line each
 *
 * Ownership: the tables own their entries and their texts, which end with a zero.
 * Threading: any thread.
 * Errors:    INVALID with the file and the token or merge, LIMIT, NO_MEMORY.
 */
#ifndef BATON_ENGINE_CHECKPOINT_HF_VOCAB_FILE_H
#define BATON_ENGINE_CHECKPOINT_HF_VOCAB_FILE_H

#include "engine/checkpoint/hf/json_text.h"
#include "engine/checkpoint/token_index.h"
#include "engine/checkpoint/tokenizer_tables.h"

enum { BATON_TOKENIZER_FILE_MAX_BYTES = 256 << 20 };

/* The destination of a vocabulary. index finds its tokens by text: zero it first, and end it with
 * baton_token_index_fini. */
struct baton_vocab_reader {
    struct baton_tokenizer_tables *tables;
    struct baton_token_index index;
    struct baton_why *why;
    size_t cap_scores; /* of tables->scores */
};

/* Fills tokens and index from an object. */
enum baton_err baton_vocab_read(struct baton_vocab_reader *reader,
                                struct baton_json_span vocab) BATON_MUST_CHECK;
/* Fills tokens, scores and index from an array. */
enum baton_err baton_vocab_read_scores(struct baton_vocab_reader *reader,
                                       struct baton_json_span vocab) BATON_MUST_CHECK;

/* Builds the index of tokens that other code filled. unique makes a text with two ids INVALID, as
 * in an object, whose keys are the texts. */
enum baton_err baton_vocab_index(struct baton_vocab_reader *reader, bool unique) BATON_MUST_CHECK;

/* A list of merges to which merges are added one by one. */
struct baton_merges {
    struct baton_vocab_reader *reader;
    char *text; /* of one merge: left and right, joined */
    size_t cap;
};

/* Begins a list for merges of up to n bytes, after the index is built. The caller ends it with
 * baton_merges_end, also after an error.
 */
enum baton_err baton_merges_begin(struct baton_merges *merges, struct baton_vocab_reader *reader,
                                  size_t n) BATON_MUST_CHECK;
/* Adds the next merge in order of rank, as "left right". */
enum baton_err baton_merges_add(struct baton_merges *merges, const char *line,
                                size_t n) BATON_MUST_CHECK;
void baton_merges_end(struct baton_merges *merges);

/* Fill the merges, after the index is built: from an array, or from the content of merges.txt. */
enum baton_err baton_merges_read(struct baton_vocab_reader *reader,
                                 struct baton_json_span merges) BATON_MUST_CHECK;
enum baton_err baton_merges_read_text(struct baton_vocab_reader *reader, const char *text,
                                      size_t n) BATON_MUST_CHECK;

/* Fills steps from steps_json. */
enum baton_err baton_tokenizer_json_read_steps(struct baton_tokenizer_tables *tables,
                                               struct baton_why *why) BATON_MUST_CHECK;

/* Applies the model's tokenizer_config.json, if it has one: it may state the special tokens around
 * a prompt. */
enum baton_err baton_tokenizer_config_apply(const char *model_path,
                                            struct baton_tokenizer_tables *tables,
                                            struct baton_why *why) BATON_MUST_CHECK;

/* Fill tables in which only file is set: from the text of a tokenizer.json, from a model's
 * tokenizer.json, or from its vocab.json and merges.txt. The caller frees the tables, also after an
 * error. */
enum baton_err baton_tokenizer_json_parse(const void *json, size_t n,
                                          struct baton_tokenizer_tables *tables,
                                          struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_tokenizer_json_read(const char *model_path,
                                         struct baton_tokenizer_tables *tables,
                                         struct baton_why *why) BATON_MUST_CHECK;
enum baton_err baton_tokenizer_pair_read(const char *model_path,
                                         struct baton_tokenizer_tables *tables,
                                         struct baton_why *why) BATON_MUST_CHECK;

#endif
