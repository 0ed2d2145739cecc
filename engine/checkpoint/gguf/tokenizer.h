/* The tokenizer of a GGUF file, read into the same tables as a tokenizer.json; private to
 * engine/checkpoint.
 *
 *     tokenizer.ggml.model       "gpt2"    BPE over bytes: tokens, merges, pre
 *                                "llama"   SentencePiece's BPE: tokens, scores, add_space_prefix
 *                                "t5"      SentencePiece's Unigram: tokens, scores,
 *                                          precompiled_charsmap, remove_extra_whitespaces
 *                                "gemma4"  BPE over a whole text's characters: tokens, merges
 *     tokenizer.ggml.token_type  1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
 *     add_bos_token, add_eos_token, and the ids of ids.h
 *
 * Other models are refused by name. Tokens of types 2 and 3 are special; those and type 4 are added
 * tokens. Where llama.cpp and a model's own tokenizer.json differ, the model's file decides
 * (docs/design/tokenizer.md).
 *
 * Ownership: the tables own everything and borrow nothing from the file.
 * Threading: any thread.
 * Errors:    INVALID and LIMIT with the file, the key and the value; NOT_FOUND where the file has
 *            no tokenizer; NO_MEMORY. The caller frees the tables, also after an error.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_TOKENIZER_H
#define BATON_ENGINE_CHECKPOINT_GGUF_TOKENIZER_H

#include "engine/checkpoint/gguf/gguf.h"
#include "engine/checkpoint/tokenizer_tables.h"

/* Fills tables in which only file is set. */
enum baton_err baton_gguf_tokenizer_read(const struct baton_gguf *gguf,
                                         struct baton_tokenizer_tables *tables,
                                         struct baton_why *why) BATON_MUST_CHECK;

/* Fills the steps, the part that a kept tokenizer lacks (tokenizer_cache.h). */
enum baton_err baton_gguf_tokenizer_read_steps(const struct baton_gguf *gguf,
                                               struct baton_tokenizer_tables *tables,
                                               struct baton_why *why) BATON_MUST_CHECK;

/* True when reading the tokenizer takes so long that its tables are worth keeping. */
bool baton_gguf_tokenizer_is_large(const struct baton_gguf *gguf);

#endif
