/* Options of every process that opens the served model: the gateway for its tokenizer, a worker for
 * its weights. Rows of a process's option table (common/base/options/config.h).
 *
 * Pure.
 */
#ifndef BATON_ENGINE_CHECKPOINT_OPTIONS_H
#define BATON_ENGINE_CHECKPOINT_OPTIONS_H

#include "common/base/options/config.h"
#include "engine/checkpoint/config/model_config.h"

struct baton_checkpoint_options {
    const char *model, *pack_dir;
    int64_t context_tokens;
};

/* in is the struct baton_checkpoint_options inside the process's struct. */
#define BATON_CHECKPOINT_OPTIONS(type, in)                                                         \
    BATON_ROW_TEXT(type, in.model, "model", "models/tale",                                         \
                   "model: a directory in Hugging Face's layout or a GGUF file; a gateway "        \
                   "needs no weights"),                                                            \
        BATON_ROW_TEXT(type, in.pack_dir, "pack-dir", "auto",                                      \
                       "directory in which workers share packed weights and digests are kept "     \
                       "between starts; auto: beside the model, else in the user's cache "         \
                       "directory; \"\": none"),                                                   \
        BATON_ROW_INT(type, in.context_tokens, "context-tokens", "0", 0, BATON_MAX_CONTEXT,        \
                      "tokens",                                                                    \
                      "longest prompt and output of a request together, the same in every "        \
                      "process of the fleet; 0 = the model's context")

#endif
