/* Characters of valid UTF-8 and the classes of them that tokenizers ask for; private to
 * engine/tokenizer.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_TOKENIZER_CHARACTER_H
#define BATON_ENGINE_TOKENIZER_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character that begins at text, of at least one byte; *n (may be NULL) is its length. */
uint32_t baton_character_at(const char *text, size_t *n);

/* Where the character begins that ends before at (> 0). */
size_t baton_character_before(const char *text, size_t at);

/* Writes c as UTF-8; returns its length. */
size_t baton_character_put(uint32_t c, char text[4]);

/* Unicode's White_Space. */
bool baton_character_is_space(uint32_t c);

/* What Rust's regular expressions call \w: letters, marks, decimal digits, connectors, joiners. */
bool baton_character_is_word(uint32_t c);

/* Of the general category Mark. */
bool baton_character_is_mark(uint32_t c);

#endif
