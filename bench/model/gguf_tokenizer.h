/* Writes a byte-level BPE tokenizer and its chat template as metadata of a GGUF file.
 *
 * Ownership: everything is copied.
 * Threading: none; one owner at a time.
 * Errors:    those of the tokenizer's files; INVALID for a tokenizer of another kind.
 */
#ifndef BATON_BENCH_MODEL_GGUF_TOKENIZER_H
#define BATON_BENCH_MODEL_GGUF_TOKENIZER_H

#include "bench/model/gguf_writer.h"
#include "bench/model/make_tokenizer.h"

/* Writes the tokenizer of the directory dir or, for NULL, that of make_tokenizer.h. A file has as
 * many tokens as the model, n_vocab; tokens without a text are named by their ids. */
enum baton_err bench_gguf_put_tokenizer(struct bench_gguf *gguf, const char *dir, int n_vocab,
                                        struct baton_why *why) BATON_MUST_CHECK;

#endif
