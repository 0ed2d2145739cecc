/* The characters of valid UTF-8 and their classes that tokenizers use; private to engine/tokenizer.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_TOKENIZER_CHARACTER_H
#define BATON_ENGINE_TOKENIZER_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the character at the start of text, which has at least one byte; *n (may be NULL) is its
 * length. */
uint32_t baton_character_at(const char *text, size_t *n);

/* Returns where the character begins that ends at at (> 0). */
size_t baton_character_before(const char *text, size_t at);

/* Writes c as UTF-8 and returns its length. */
size_t baton_character_put(uint32_t c, char text[4]);

/* True for Unicode's White_Space. */
bool baton_character_is_space(uint32_t c);

/* True for \w of Rust's regular expressions: letters, marks, decimal digits, connectors,
 * joiners. */
bool baton_character_is_word(uint32_t c);

/* True for the general category Mark. */
bool baton_character_is_mark(uint32_t c);

#endif
