/* The division of a text into words by the name in a GGUF file (tokenizer.ggml.pre); private to
 * engine/checkpoint.
 *
 * A file contains neither the patterns nor the normalizer of a byte-level tokenizer. Its writer
 * recognises a tokenizer.json and writes a name for it; this table has the steps of those
 * tokenizer.json.
 *
 * Source: the models' own files; ggml-org/llama.cpp, src/llama-vocab.cpp, for the names and for the
 * steps that no other file states.
 *
 * Pure.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_PRETOKENIZER_H
#define BATON_ENGINE_CHECKPOINT_GGUF_PRETOKENIZER_H

#include "engine/checkpoint/gguf/gguf.h"
#include "engine/checkpoint/tokenizer_steps.h"

struct baton_gguf_pretokenizer {
    const char *name;
    const struct baton_gguf_scheme *scheme;
    bool composes;      /* NFC is applied first */
    bool ignore_merges; /* as in tokenizer_tables.h */
    bool adds_bos;      /* the default of add_bos_token */
};

/* Returns NULL for an unknown name. */
const struct baton_gguf_pretokenizer *baton_gguf_pretokenizer_find(struct baton_gguf_text name);

/* Sets normalizer, pre-tokenizer and decoder of empty steps. */
void baton_gguf_pretokenizer_apply(const struct baton_gguf_pretokenizer *pretokenizer,
                                   struct baton_tokenizer_steps *steps);

#endif
