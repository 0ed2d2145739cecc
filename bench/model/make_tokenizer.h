/* The tokenizer of models without one: a token for each byte, tokens that begin and end a turn, and
 * words of two and four letters for all other ids (up to half a million), so that every output of a
 * model with random weights has a text. It is written in Hugging Face's files, with the chat
 * template that goes with them (ChatML).
 *
 * Ownership: nothing outlives the call.
 * Threading: any thread.
 * Errors:    IO with the path and the reason; LIMIT and NO_MEMORY of the text.
 */
#ifndef BATON_BENCH_MODEL_MAKE_TOKENIZER_H
#define BATON_BENCH_MODEL_MAKE_TOKENIZER_H

#include "common/base/buf.h"

/* The ids after those of the 256 bytes. */
enum { BENCH_END_OF_TEXT = 256, BENCH_BEGIN_OF_TURN, BENCH_END_OF_TURN, BENCH_FIRST_WORD };

/* A bound on the texts of its files. */
enum { BENCH_TOKENIZER_MAX_BYTES = 32 << 20 };

extern const char bench_chat_template[];

/* Writes the text of its tokenizer.json, for a model of n_vocab ids. */
void bench_tokenizer_put(struct baton_buf *text, int n_vocab);

/* Writes tokenizer.json and tokenizer_config.json. */
enum baton_err bench_tokenizer_write(const char *dir, int n_vocab,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* Writes the text as the file of that name. A buffer that failed is not written. */
enum baton_err bench_write_file(const char *dir, const char *name, const struct baton_buf *text,
                                struct baton_why *why) BATON_MUST_CHECK;

#endif
