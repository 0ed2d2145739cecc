/* The state that the parts of tokenizer.c share: a tokenizer that is being read.
 *
 * Ownership: owns the types; the rest is borrowed.
 * Threading: one owner.
 * Errors:    as tokenizer.h.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_TOKENIZER_INTERNAL_H
#define BATON_ENGINE_CHECKPOINT_GGUF_TOKENIZER_INTERNAL_H

#include "engine/checkpoint/gguf/ids.h"
#include "engine/checkpoint/gguf/pretokenizer.h"
#include "engine/checkpoint/hf/vocab_file.h"

/* The numbers are those of the file. A file without types has only normal tokens. */
enum baton_gguf_token_type {
    BATON_GGUF_TOKEN_NORMAL = 1,
    BATON_GGUF_TOKEN_UNKNOWN,
    BATON_GGUF_TOKEN_CONTROL,
    BATON_GGUF_TOKEN_USER_DEFINED,
    BATON_GGUF_TOKEN_UNUSED,
    BATON_GGUF_TOKEN_BYTE
};

enum baton_gguf_tokenizer_kind {
    BATON_GGUF_BYTE_BPE,
    BATON_GGUF_SENTENCEPIECE,
    BATON_GGUF_UNIGRAM,
    BATON_GGUF_PIECE_BPE, /* SentencePiece's pieces with listed merges */
    BATON_GGUF_WORDPIECE
};

struct baton_gguf_tokenizer {
    const struct baton_gguf *gguf;
    struct baton_tokenizer_tables *tables;
    struct baton_vocab_reader vocab;
    enum baton_gguf_tokenizer_kind kind;
    const struct baton_gguf_pretokenizer *pretokenizer; /* BYTE_BPE */
    struct baton_gguf_ids ids;
    uint8_t *types; /* [n_tokens], enum baton_gguf_token_type */
    struct baton_why *why;
};

/* Returns INVALID: "FILE: KEY RULE". */
enum baton_err baton_gguf_tokenizer_wrong(const struct baton_gguf_tokenizer *reading,
                                          const char *key, const char *rule) BATON_MUST_CHECK;

/* Reads a flag, which keeps its value where the file does not have it. */
enum baton_err baton_gguf_tokenizer_flag(const struct baton_gguf_tokenizer *reading,
                                         const char *key, bool *flag) BATON_MUST_CHECK;

/* Fills tokens, scores, added tokens, types and the index. */
enum baton_err baton_gguf_vocab_read(struct baton_gguf_tokenizer *reading) BATON_MUST_CHECK;

/* Fill the merges: from the file's list, or from the pieces and their scores. */
enum baton_err baton_gguf_merges_read(struct baton_gguf_tokenizer *reading) BATON_MUST_CHECK;
enum baton_err baton_gguf_merges_make(struct baton_gguf_tokenizer *reading) BATON_MUST_CHECK;

/* Fills the steps. */
enum baton_err baton_gguf_steps_read(struct baton_gguf_tokenizer *reading) BATON_MUST_CHECK;

#endif
