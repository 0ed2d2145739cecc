/* The tokenizer of a GGUF file, as the tables that a tokenizer.json gives; private to
 * engine/checkpoint.
 *
 *     tokenizer.ggml.model       "gpt2"    BPE over bytes: tokens, merges, pre
 *                                "llama"   SentencePiece's BPE: tokens, scores, add_space_prefix
 *                                "t5"      SentencePiece's Unigram: tokens, scores,
 *                                          precompiled_charsmap, remove_extra_whitespaces
 *     tokenizer.ggml.token_type  1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
 *     add_bos_token, add_eos_token, and the ids of ids.h
 *
 * Other models are refused by name. Tokens of types 2 and 3 are special; those and type 4 are added
 * tokens. Where llama.cpp and a model's own tokenizer.json differ, the model is followed
 * (docs/design/tokenizer.md).
 *
 * Ownership: the tables own everything; nothing of the file is kept.
 * Threading: any thread.
 * Errors:    INVALID and LIMIT with the file, the key and the value; NOT_FOUND where the file holds
 *            no tokenizer; NO_MEMORY. The caller frees the tables whatever the result.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_TOKENIZER_H
#define BATON_ENGINE_CHECKPOINT_GGUF_TOKENIZER_H

#include "engine/checkpoint/gguf/gguf.h"
#include "engine/checkpoint/tokenizer_tables.h"

/* Fills tables that are empty but for their file. */
enum baton_err baton_gguf_tokenizer_read(const struct baton_gguf *gguf,
                                         struct baton_tokenizer_tables *tables,
                                         struct baton_why *why) BATON_MUST_CHECK;

/* Fills what a kept tokenizer leaves out (tokenizer/cache.h): the steps. */
enum baton_err baton_gguf_tokenizer_read_steps(const struct baton_gguf *gguf,
                                               struct baton_tokenizer_tables *tables,
                                               struct baton_why *why) BATON_MUST_CHECK;

/* Whether reading it takes so long that it is worth keeping. */
bool baton_gguf_tokenizer_is_large(const struct baton_gguf *gguf);

#endif
