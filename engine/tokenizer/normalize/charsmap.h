/* A precompiled character map of SentencePiece, applied as by Hugging Face's library; private to
 * engine/tokenizer.
 *
 *     u32 n, little-endian | double array of n bytes, units of u32 | texts, each ending with 0
 *
 * The double array (Yata et al., 2007; as in darts-clone) maps the bytes of a character or of a
 * short grapheme to the offset of the text that replaces it.
 *
 * Ownership: create/destroy.
 * Threading: immutable once created.
 * Errors:    INVALID (not base64, or wrong sizes), NO_MEMORY.
 */
#ifndef BATON_ENGINE_TOKENIZER_NORMALIZE_CHARSMAP_H
#define BATON_ENGINE_TOKENIZER_NORMALIZE_CHARSMAP_H

#include "engine/tokenizer/normalize/mapped_text.h"

struct baton_charsmap;

/* Creates a map from n characters of base64. */
enum baton_err baton_charsmap_create(const char *base64, size_t n, struct baton_charsmap **map,
                                     struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_charsmap_destroy(struct baton_charsmap *map);

/* Appends the mapped text to out. Failures stick in out. */
void baton_charsmap_apply(const struct baton_charsmap *map, const struct baton_text_view *text,
                          struct baton_mapped_text *out);

#endif
