/* Text to token ids and back, as Hugging Face's tokenizers library does it: BPE over bytes or
 * characters, or Unigram, with the steps around them (tokenizer/steps.h).
 *
 * It is built from the tables of a checkpoint. Added tokens are cut out of the text first.
 *
 * Ownership: results go to the caller's growable array or buffer.
 * Threading: a tokenizer is immutable once created, except for encode's scratch: one thread at a
 *            time may encode; decode is free for all.
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

/* A growable array of ids; zero it to begin with, free with baton_tokens_fini. */
struct baton_tokens {
    uint32_t *ids;
    size_t n, cap;
};

/* Frees the ids and leaves an empty array. */
void baton_tokens_fini(struct baton_tokens *tokens);

/* Nothing of the tables is kept. */
enum baton_err baton_tokenizer_create(const struct baton_tokenizer_tables *tables,
                                      struct baton_tokenizer **tokenizer,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* For a caller that wants nothing else of the model at model_path, which may lack everything else.
 * Errors besides create's: those of baton_tokenizer_tables_read. */
enum baton_err baton_tokenizer_open(const char *model_path, struct baton_tokenizer **tokenizer,
                                    struct baton_why *why) BATON_MUST_CHECK;
/* NULL is fine. */
void baton_tokenizer_close(struct baton_tokenizer *tokenizer);

/* One more than the highest id; ids between may be unused. */
size_t baton_tokenizer_n_vocab(const struct baton_tokenizer *tokenizer);

/* Appends the ids of text. Special tokens written out in the text become their ids when
 * parse_special, else they are ordinary text. */
enum baton_err baton_tokenizer_encode(struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                      bool parse_special, size_t max_tokens,
                                      struct baton_tokens *out,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* The ids of a text that is a prompt of its own: special tokens written out become their ids, and
 * those that the model's post-processor puts around a text (often one at the start) are added. */
enum baton_err baton_tokenizer_encode_prompt(struct baton_tokenizer *tokenizer, const char *text,
                                             size_t n, size_t max_tokens, struct baton_tokens *out,
                                             struct baton_why *why) BATON_MUST_CHECK;

/* Whether any text of n bytes has more than max_tokens: known without reading it. */
bool baton_tokenizer_exceeds(const struct baton_tokenizer *tokenizer, size_t n, size_t max_tokens);

/* Bytes start .. end - 1 of a text. */
struct baton_span {
    size_t start, end;
};

/* As baton_tokenizer_encode, but a special token written out becomes its id only where all of it
 * lies in one of the spans, which are ascending and do not overlap. Everything else is encoded as
 * in a text without spans: words and merges run across a span's borders. Nothing is put around the
 * text: who renders a conversation writes its first token. */
enum baton_err baton_tokenizer_encode_spans(struct baton_tokenizer *tokenizer, const char *text,
                                            size_t n, const struct baton_span *spans,
                                            size_t n_spans, size_t max_tokens,
                                            struct baton_tokens *out,
                                            struct baton_why *why) BATON_MUST_CHECK;

/* The bytes that a token adds in the middle of a text: not NUL-terminated, may be part of a UTF-8
 * character. NULL for an id that does not exist. Borrowed from the tokenizer. */
const char *baton_tokenizer_bytes(const struct baton_tokenizer *tokenizer, uint32_t id, size_t *n);

/* Whether id is a special token; false for an id that does not exist. */
bool baton_tokenizer_is_special(const struct baton_tokenizer *tokenizer, uint32_t id);

/* The id of the special token that is written as the n bytes at text; false when there is none. */
bool baton_tokenizer_special_id(const struct baton_tokenizer *tokenizer, const char *text, size_t n,
                                uint32_t *id);

#endif
