/* Splits text into words by a tokenizer's pre-tokenizer; the model never joins two words; private
 * to engine/tokenizer.
 *
 * Each step splits a piece or rewrites it, and passes the result to the next step. With ByteLevel
 * the words are the raw bytes: its alphabet is written only for steps after it.
 *
 * Ownership: create/destroy; keeps no text.
 * Threading: one thread at a time (scratch).
 * Errors:    create: INVALID (a pattern), NO_MEMORY. run: the errors of baton_pattern_find and of
 *            word, NO_MEMORY.
 */
#ifndef BATON_ENGINE_TOKENIZER_SPLIT_PRETOKENIZE_H
#define BATON_ENGINE_TOKENIZER_SPLIT_PRETOKENIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"
#include "engine/checkpoint/tokenizer_steps.h"

struct baton_pretokenizer;

/* want_jit: see pattern.h. */
enum baton_err baton_pretokenizer_create(const struct baton_tokenizer_steps *steps, bool want_jit,
                                         struct baton_pretokenizer **pretokenizer,
                                         struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_pretokenizer_destroy(struct baton_pretokenizer *pretokenizer);

/* The receiver of the words, which have at least one byte each and come in the order of the
 * text. */
struct baton_word_sink {
    enum baton_err (*word)(void *arg, const char *bytes, size_t n);
    void *arg;
    struct baton_why *why;
};

/* Begins a call: the texts of the runs until the next one may become 16 times as long, and all of
 * them together 64 KiB longer (growth.h). A longer one is INVALID. */
void baton_pretokenizer_begin(struct baton_pretokenizer *pretokenizer);

/* Passes on the words of the n bytes of valid UTF-8 at text. is_first: the text is the start of the
 * whole text.
 */
enum baton_err baton_pretokenizer_run(struct baton_pretokenizer *pretokenizer, const char *text,
                                      size_t n, bool is_first,
                                      const struct baton_word_sink *sink) BATON_MUST_CHECK;

#endif
