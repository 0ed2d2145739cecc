/* The byte-level alphabet: a printable character for every byte, so that a vocabulary of arbitrary
 * bytes can be written as JSON text; private to engine/tokenizer.
 *
 * The 188 bytes 0x21..0x7e, 0xa1..0xac and 0xae..0xff are their own characters (U+0021..); the
 * other 68, in ascending order, are U+0100..U+0143: a space is U+0120. This is bytes_to_unicode of
 * OpenAI's GPT-2 encoder.py, which Hugging Face calls ByteLevel.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_TOKENIZER_MODEL_BYTE_LEVEL_H
#define BATON_ENGINE_TOKENIZER_MODEL_BYTE_LEVEL_H

#include <stddef.h>
#include <stdint.h>

enum { BATON_BYTE_LEVEL_MAX = 2 }; /* UTF-8 bytes of the longest character of the alphabet */

/* Writes byte's character as NUL-terminated UTF-8 to text; returns its length, 1 or 2. */
size_t baton_byte_level_encode(uint8_t byte, char text[BATON_BYTE_LEVEL_MAX + 1]);

/* Decodes the n bytes of valid UTF-8 at text to out (n bytes; may be text itself). When a character
 * is not in the alphabet, the whole text is copied unchanged, as in Hugging Face's decoder. Returns
 * the number of bytes written. */
size_t baton_byte_level_decode(const char *text, size_t n, char *out);

#endif
