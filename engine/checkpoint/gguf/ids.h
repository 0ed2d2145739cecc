/* The tokens of a GGUF file's vocabulary with a special role: the ones that begin or end a text, or
 * replace unknown characters.
 *
 *     tokenizer.ggml.bos_token_id, .eos_token_id, .eot_token_id, .eom_token_id, .unknown_token_id
 *
 *     tokenizer.ggml.fim_{pre,suf,mid,pad,rep,sep}_token_id, .{prefix,suffix,middle}_token_id
 *
 * Files name one or two of the tokens that end a generation. The others are recognised by their
 * texts.
 *
 * Ownership: plain data; texts are borrowed from the file.
 * Threading: any thread.
 * Errors:    INVALID with the key, its value and the rule; LIMIT. Outputs are untouched.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_IDS_H
#define BATON_ENGINE_CHECKPOINT_GGUF_IDS_H

#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/gguf.h"

struct baton_gguf_ids {
    /* the size of tokenizer.ggml.tokens; 0: the file has no vocabulary */
    size_t n_tokens;
    int64_t bos, eos, eot, eom, unk; /* -1: none */
};

/* Reads the ids. An id that the file does not name has the default of its kind of tokenizer. */
enum baton_err baton_gguf_ids_read(const struct baton_gguf *gguf, struct baton_gguf_ids *ids,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* True when a token of this text ends a generation, in any model. Such a token is special, whatever
 * type the file gives it. */
bool baton_gguf_is_end(struct baton_gguf_text text);

/* Returns the text of token id; n == 0 when there is no such token. */
struct baton_gguf_text baton_gguf_token(const struct baton_gguf *gguf, int64_t id);

/* Sets bos_id, eos_ids, n_eos and fim_ids of a config whose n_vocab is known. */
enum baton_err baton_gguf_ids_apply(const struct baton_gguf *gguf,
                                    struct baton_model_config *config,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
