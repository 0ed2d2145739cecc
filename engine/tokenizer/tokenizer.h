/* Text to token ids and back, with the results of Hugging Face's tokenizers library: BPE over bytes
 * or characters, or Unigram, with the steps around them (checkpoint/tokenizer_steps.h).
 *
 * A tokenizer is built from a checkpoint's tables. Encoding first cuts added tokens out of the
 * text.
 *
 * Ownership: results go to the caller's growable array or buffer.
 * Threading: a tokenizer is immutable once created, except for encode's scratch: one thread at a
 *            time may encode; decode is free for all. Another thread needs a second tokenizer,
 *            which may share the first one's vocabulary.
 * Errors:    create: INVALID with the file and the reason, NO_MEMORY. encode: LIMIT (more than
 *            max_tokens), INVALID (not UTF-8, a character without a token, a text that the file's
 *            pattern takes too many steps on), NO_MEMORY.
 */
#ifndef BATON_ENGINE_TOKENIZER_TOKENIZER_H
#define BATON_ENGINE_TOKENIZER_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

struct baton_tokenizer;
struct baton_tokenizer_tables;

/* A growable array of ids. Zero it first; free it with baton_tokens_fini. */
struct baton_tokens {
    uint32_t *ids;
    size_t n, cap;
};

/* Frees the ids and leaves an empty array. */
void baton_tokens_fini(struct baton_tokens *tokens);

/* Builds a tokenizer, which borrows nothing from the tables. */
enum baton_err baton_tokenizer_create(const struct baton_tokenizer_tables *tables,
                                      struct baton_tokenizer **tokenizer,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Builds one that encodes the same and borrows the vocabulary of original, which was created from
 * the same tables and must be closed later. Only scratch and the steps around the model are its
 * own. */
enum baton_err baton_tokenizer_create_second(const struct baton_tokenizer *original,
                                             const struct baton_tokenizer_tables *tables,
                                             struct baton_tokenizer **tokenizer,
                                             struct baton_why *why) BATON_MUST_CHECK;

/* Opens only the tokenizer of the model at model_path, which may lack all its other files. Errors
 * besides create's: those of baton_tokenizer_tables_read. */
enum baton_err baton_tokenizer_open(const char *model_path, struct baton_tokenizer **tokenizer,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_tokenizer_close(struct baton_tokenizer *tokenizer);

/* Returns the highest id plus one; ids in between may be unused. */
size_t baton_tokenizer_n_vocab(const struct baton_tokenizer *tokenizer);

/* Appends the ids of text. Special tokens that are written in the text become their ids when
 * parse_special; otherwise they are ordinary text. */
enum baton_err baton_tokenizer_encode(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                      bool parse_special, size_t max_tokens,
                                      struct baton_tokens *out,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Appends the ids of a text that is a prompt: special tokens written in it become their ids, and
 * the special tokens of the model's post-processor are added around it (often one at the start). */
enum baton_err baton_tokenizer_encode_prompt(struct baton_tokenizer *tokenizer, const char *text,
                                             size_t n, size_t max_tokens, struct baton_tokens *out,
                                             struct baton_why *why) BATON_MUST_CHECK;

/* The special tokens of a model that reads pairs of texts: before the first text, between the two,
 * and after the second. Borrowed from the tokenizer. */
struct baton_pair_ends {
    const uint32_t *first, *between, *last;
    int n_first, n_between, n_last;
};
struct baton_pair_ends baton_tokenizer_pair_ends(const struct baton_tokenizer *tokenizer);

/* True when any text of n bytes must have more than max_tokens, which its length alone shows. */
bool baton_tokenizer_exceeds(const struct baton_tokenizer *tokenizer, size_t n, size_t max_tokens);

/* Bytes start .. end - 1 of a text. */
struct baton_span {
    size_t start, end;
};

/* Encodes like baton_tokenizer_encode, but a special token becomes its id only where it lies
 * completely in one of the spans, which are ascending and do not overlap. All other text is encoded
 * as without spans: words and merges cross a span's borders. Nothing is added around the text,
 * because a rendered conversation begins with its own first token. */
enum baton_err baton_tokenizer_encode_spans(struct baton_tokenizer *tokenizer, const char *text,
                                            size_t n, const struct baton_span *spans,
                                            size_t n_spans, size_t max_tokens,
                                            struct baton_tokens *out,
                                            struct baton_why *why) BATON_MUST_CHECK;

/* Encodes like baton_tokenizer_encode without parse_special. A token of literal [n_literal] that is
 * written in the text is ordinary text too, although the file does not mark it as special. */
enum baton_err baton_tokenizer_encode_literal(struct baton_tokenizer *tokenizer, const char *text,
                                              size_t n, const uint32_t *literal, size_t n_literal,
                                              size_t max_tokens, struct baton_tokens *out,
                                              struct baton_why *why) BATON_MUST_CHECK;

/* Returns the bytes that a token adds in the middle of a text: not NUL-terminated, perhaps part of
 * a UTF-8 character. NULL for an unknown id. Borrowed from the tokenizer. */
const char *baton_tokenizer_bytes(const struct baton_tokenizer *tokenizer, uint32_t id, size_t *n);

/* True when id is a special token; false for an unknown id. */
bool baton_tokenizer_is_special(const struct baton_tokenizer *tokenizer, uint32_t id);

/* Finds the id of the special token whose text is the n bytes at text; false when there is none. */
bool baton_tokenizer_special_id(const struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                uint32_t *id);

#endif
