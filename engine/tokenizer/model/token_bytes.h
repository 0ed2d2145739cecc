/* What a token adds to the text, by a tokenizer's decoder; private to engine/tokenizer.
 *
 * A decoder is steps over each token by itself, then steps over the whole text. The first become
 * the bytes of each token, made once. Of the others only a Strip at the start is supported, which
 * the detokenizer does.
 *
 * Ownership: plain data; the caller's buffer.
 * Threading: pure.
 * Errors:    rule: INVALID with the step that is not supported. make: NO_MEMORY sticks in the
 *            buffer.
 */
#ifndef BATON_ENGINE_TOKENIZER_MODEL_TOKEN_BYTES_H
#define BATON_ENGINE_TOKENIZER_MODEL_TOKEN_BYTES_H

#include "common/base/buf.h"
#include "engine/checkpoint/tokenizer_steps.h"

/* What happens at the start of a text and to bytes that are no text. */
struct baton_text_rule {
    char strip;       /* this character ... */
    uint32_t n_strip; /* ... at most so often */
    bool drops_first; /* the spaces that the first token begins with */
    bool each_byte;   /* each bad byte is one U+FFFD; else each maximal part of a character */
};

enum baton_err baton_text_rule_of(const struct baton_tokenizer_steps *steps,
                                  struct baton_text_rule *rule,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Replaces bytes, a token's text, by what it adds to a text in its middle. */
void baton_token_bytes_make(const struct baton_tokenizer_steps *steps, struct baton_buf *bytes);

/* The byte that a token such as <0x0A> stands for; -1 for other text. */
int baton_token_fallback_byte(const char *text, size_t n);

#endif
