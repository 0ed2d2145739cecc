/* The digests of a GGUF model's metadata, as parts of its fingerprint: of the tokenizer, which are
 * the entries "tokenizer.*" and the architecture, and of how the model is built, which are all but
 * those of the tokenizer and what its tensors are.
 *
 * How the model is split into files changes neither.
 *
 * Ownership: the caller's array.
 * Threading: any thread.
 * Errors:    NO_MEMORY.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_DIGEST_H
#define BATON_ENGINE_CHECKPOINT_GGUF_DIGEST_H

#include "common/base/digest.h"
#include "engine/checkpoint/gguf/model.h"
#include "engine/checkpoint/model_files.h"

/* part: CONFIG or TOKENIZER. */
enum baton_err baton_gguf_digest(const struct baton_gguf_model *model, enum baton_model_part part,
                                 char hex[BATON_SHA256_HEX],
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
