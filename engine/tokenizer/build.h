/* Builds a tokenizer's parts from a checkpoint's tables; private to engine/tokenizer.
 *
 * Ownership: borrows nothing from the tables afterwards.
 * Threading: one thread.
 * Errors:    INVALID, with the part and the reason; NO_MEMORY, LIMIT. The parts made before an
 *            error stay in the tokenizer, whose close frees them.
 */
#ifndef BATON_ENGINE_TOKENIZER_BUILD_H
#define BATON_ENGINE_TOKENIZER_BUILD_H

#include "engine/checkpoint/tokenizer_tables.h"
#include "engine/tokenizer/internal.h"

/* Fills a zeroed tokenizer whose vocabulary is initialised. */
enum baton_err baton_tokenizer_build(struct baton_tokenizer *tokenizer,
                                     const struct baton_tokenizer_tables *tables,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* Sets word_bytes_per_token and text_bytes_per_token of a tokenizer whose model is filled. */
void baton_tokenizer_find_bounds(struct baton_tokenizer *tokenizer,
                                 const struct baton_tokenizer_tables *tables);

#endif
