/* Cuts text into the words that BPE may not merge across, by the GPT-2 pattern; private to
 * common/tokenizer.
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * \s is Unicode's White_Space. Every character belongs to exactly one word.
 *
 * Ownership: create/destroy; nothing of the text is kept.
 * Threading: one thread at a time (the match data is shared between calls).
 * Errors:    create: NO_MEMORY. next: NO_MEMORY, INTERNAL (the matcher gave up).
 */
#ifndef BATON_TOKENIZER_PRETOKENIZE_H
#define BATON_TOKENIZER_PRETOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct baton_pretokenizer;

/* want_jit: compile to machine code. Where the system refuses writable code (W^X) the interpreter
 * is used, with the same results. */
enum baton_err baton_pretokenizer_create(bool want_jit, struct baton_pretokenizer **pretokenizer,
                                         struct baton_why *why) BATON_MUST_CHECK;
/* NULL is fine. */
void baton_pretokenizer_destroy(struct baton_pretokenizer *pretokenizer);

/* The word that begins at start (< n) of the n bytes of valid UTF-8 at text ends before *end. */
enum baton_err baton_pretokenizer_next(struct baton_pretokenizer *pretokenizer, const char *text,
                                       size_t n, size_t start, size_t *end,
                                       struct baton_why *why) BATON_MUST_CHECK;

#endif
