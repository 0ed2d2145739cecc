/* Token ids to text, token by token: each token's bytes, without what a decoder strips at the start
 * of a text.
 *
 * A tokenizer that puts a space before the first word of a text strips it when it decodes. That
 * applies to a text that begins with the first token, not to the continuation of another.
 *
 * Ownership: the struct is embedded and borrows the tokenizer.
 * Threading: one owner at a time.
 * Errors:    those of the out buffer.
 */
#ifndef BATON_ENGINE_TOKENIZER_DETOKENIZER_H
#define BATON_ENGINE_TOKENIZER_DETOKENIZER_H

#include "engine/tokenizer/stream.h"
#include "engine/tokenizer/tokenizer.h"

struct baton_detokenizer {
    const struct baton_tokenizer *tokenizer;
    uint32_t n_strip; /* characters that may still be stripped */
    bool is_first;    /* no token has come yet */
};

/* Starts a text. begins_text: no token with text precedes the first one. */
void baton_detokenizer_init(struct baton_detokenizer *detokenizer,
                            const struct baton_tokenizer *tokenizer, bool begins_text);

/* Returns the bytes that the next token adds, borrowed from the tokenizer; NULL for an unknown
 * id. */
const char *baton_detokenizer_next(struct baton_detokenizer *detokenizer, uint32_t id, size_t *n);

/* Gives the next token's bytes to stream, which appends to out the text that may be shown. */
void baton_detokenizer_push(struct baton_detokenizer *detokenizer, uint32_t id,
                            struct baton_text_stream *stream, struct baton_buf *out);

/* Appends the text of n ids, without special tokens when skip_special. Bytes that are not text
 * become U+FFFD. */
void baton_detokenize(const struct baton_tokenizer *tokenizer, const uint32_t *ids, size_t n,
                      bool skip_special, struct baton_buf *out);

#endif
