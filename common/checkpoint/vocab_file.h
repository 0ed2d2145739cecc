/* A vocabulary and its merges as Hugging Face writes them, and the two kinds of files that hold
 * them; private to common/checkpoint.
 *
 *     vocab:  {"h": 71, "\u0120the": 262, ...}       token in the byte-level alphabet -> id
 *     merges: ["h e", ...] or [["h","e"], ...]       in order of rank; or merges.txt, a line each
 *
 * Ownership: the tables own their entries; texts are borrowed from the JSON, which stays
 *            with the tables (parsed) when the file is read to its end.
 * Threading: any thread.
 * Errors:    INVALID with the file and the token or merge, LIMIT, NO_MEMORY.
 */
#ifndef BATON_CHECKPOINT_VOCAB_FILE_H
#define BATON_CHECKPOINT_VOCAB_FILE_H

#include "common/base/json.h"
#include "common/checkpoint/tokenizer_tables.h"

enum { BATON_TOKENIZER_FILE_MAX_BYTES = 64 << 20 };

/* Fills tokens and scores from Unigram's [["the", -3.5], ...], in order of id. */
enum baton_err baton_vocab_read_scores(struct baton_tokenizer_tables *tables,
                                       const struct baton_json *vocab,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* Fills tokens, and merges from an array. */
enum baton_err baton_vocab_read(struct baton_tokenizer_tables *tables,
                                const struct baton_json *vocab, const struct baton_json *merges,
                                struct baton_why *why) BATON_MUST_CHECK;

/* The same, with merges.txt's content. */
enum baton_err baton_vocab_read_text(struct baton_tokenizer_tables *tables,
                                     const struct baton_json *vocab, const char *merges, size_t n,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* Each fills tables that are empty but for their file: from the text of a tokenizer.json, from that
 * file of a model, or from its vocab.json and merges.txt. The caller frees the tables whatever the
 * result. */
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
