/* The digests of a GGUF model's metadata, for its fingerprint. The tokenizer's covers the entries
 * "tokenizer.*" and the architecture. The config's covers all entries but the tokenizer's, and the
 * name, type and shape of each tensor.
 *
 * The split of a model into files changes neither.
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

/* part is CONFIG or TOKENIZER. */
enum baton_err baton_gguf_digest(const struct baton_gguf_model *model, enum baton_model_part part,
                                 char hex[BATON_SHA256_HEX],
                                 struct baton_why *why) BATON_MUST_CHECK;

#endif
