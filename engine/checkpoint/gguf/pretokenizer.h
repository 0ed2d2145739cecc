/* How a text is cut into words by the name that a GGUF file gives (tokenizer.ggml.pre); private to
 * engine/checkpoint.
 *
 * A file says neither the patterns nor the normalizer of a byte-level tokenizer. Writers recognise
 * a tokenizer.json and write a name for it; here are the steps that stand in those tokenizer.json.
 *
 * Source: the models' own files, and ggml-org/llama.cpp, src/llama-vocab.cpp, for the names and for
 * what is only known from there.
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
    bool composes;      /* NFC comes first */
    bool ignore_merges; /* as in tokenizer/tables.h */
    bool adds_bos;      /* unless the file says otherwise */
};

/* NULL for a name that is not known. */
const struct baton_gguf_pretokenizer *baton_gguf_pretokenizer_find(struct baton_gguf_text name);

/* Sets normalizer, pre-tokenizer and decoder of steps that are empty. */
void baton_gguf_pretokenizer_apply(const struct baton_gguf_pretokenizer *pretokenizer,
                                   struct baton_tokenizer_steps *steps);

#endif
