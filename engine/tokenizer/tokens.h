/* Growth of the id arrays that encode fills; private to engine/tokenizer.
 *
 * Ownership: the array belongs to the caller of encode.
 * Threading: one owner at a time.
 * Errors:    NO_MEMORY; the array is then unchanged.
 */
#ifndef BATON_ENGINE_TOKENIZER_TOKENS_H
#define BATON_ENGINE_TOKENIZER_TOKENS_H

#include "engine/tokenizer/tokenizer.h"

/* Reserves space for n more ids. */
enum baton_err baton_tokens_reserve(struct baton_tokens *tokens, size_t n) BATON_MUST_CHECK;

/* Appends one id. */
enum baton_err baton_tokens_push(struct baton_tokens *tokens, uint32_t id) BATON_MUST_CHECK;

#endif
