/* The bytes that a token adds to the text, by a tokenizer's decoder; private to engine/tokenizer.
 *
 * A decoder is steps over each single token, then steps over the whole text. The first kind is
 * applied once, which gives the bytes of each token. Of the second kind only a Strip at the start
 * is supported, which the detokenizer does.
 *
 * Ownership: plain data; the caller's buffer.
 * Threading: pure.
 * Errors:    rule: INVALID with the step that is not supported. make: NO_MEMORY and LIMIT (too
 *            long) stick in the buffer.
 */
#ifndef BATON_ENGINE_TOKENIZER_MODEL_TOKEN_BYTES_H
#define BATON_ENGINE_TOKENIZER_MODEL_TOKEN_BYTES_H

#include "common/base/buf.h"
#include "engine/checkpoint/tokenizer_steps.h"
#include "engine/tokenizer/growth.h"

/* The treatment of a text's start and of bytes that are not text. */
struct baton_text_rule {
    char strip;       /* the character to strip */
    uint32_t n_strip; /* the most of them */
    bool drops_first; /* strips the first token's leading spaces */
    bool each_byte;   /* one U+FFFD per bad byte; otherwise one per maximal part of a character */
};

enum baton_err baton_text_rule_of(const struct baton_tokenizer_steps *steps,
                                  struct baton_text_rule *rule,
                                  struct baton_why *why) BATON_MUST_CHECK;

/* Replaces bytes, a token's text, by the bytes that it adds in the middle of a text. growth bounds
 * the work of all steps on all tokens together. */
void baton_token_bytes_make(const struct baton_tokenizer_steps *steps, struct baton_growth *growth,
                            struct baton_buf *bytes);

/* Returns the byte of a token such as <0x0A>; -1 for other text. */
int baton_token_fallback_byte(const char *text, size_t n);

#endif
