/* The classes of characters that tokenizers use; private to engine/tokenizer.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_TOKENIZER_CHARACTER_H
#define BATON_ENGINE_TOKENIZER_CHARACTER_H

#include <stdbool.h>
#include <stdint.h>

/* True for Unicode's White_Space. */
bool baton_character_is_space(uint32_t c);

/* True for \w of Rust's regular expressions: letters, marks, decimal digits, connectors,
 * joiners. */
bool baton_character_is_word(uint32_t c);

/* True for the general category Mark. */
bool baton_character_is_mark(uint32_t c);

#endif
