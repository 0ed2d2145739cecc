/* Token ids to text, token by token: each token's bytes, less what a decoder takes away where a
 * text begins.
 *
 * A tokenizer that writes a space before the first word of a text takes it away again when it
 * decodes. That holds for a text that begins with the first token, not for what continues another.
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
    uint32_t n_strip; /* characters that may still be taken away */
    bool is_first;    /* no token came yet */
};

/* begins_text: no token with text precedes the first one. */
void baton_detokenizer_init(struct baton_detokenizer *detokenizer,
                            const struct baton_tokenizer *tokenizer, bool begins_text);

/* The bytes that the next token adds; NULL for an id that does not exist. Borrowed from the
 * tokenizer. */
const char *baton_detokenizer_next(struct baton_detokenizer *detokenizer, uint32_t id, size_t *n);

/* Gives the next token's bytes to stream, which appends to out what may be shown of them. */
void baton_detokenizer_push(struct baton_detokenizer *detokenizer, uint32_t id,
                            struct baton_text_stream *stream, struct baton_buf *out);

/* Appends the text of n ids, without the special tokens among them when skip_special. Bytes that
 * are no text become U+FFFD. */
void baton_detokenize(const struct baton_tokenizer *tokenizer, const uint32_t *ids, size_t n,
                      bool skip_special, struct baton_buf *out);

#endif
