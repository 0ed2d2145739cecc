/* The config of a GGUF model: its metadata is written as a config.json and read as that.
 *
 * A GGUF file names its architecture and gives its numbers under keys of that name
 * ("llama.block_count"). They are written as the config.json of the family and read by its one
 * reader, so that ranges, defaults and refusals are the same for both formats. A constant that the
 * file leaves to its reader is added as llama.cpp has it, or as the model's own config has it where
 * the two are known to differ (docs/design/models.md).
 *
 * Source: ggml-org/llama.cpp, gguf-py/gguf/constants.py, conversion/, src/models/.
 *
 * Ownership: plain data in the caller's struct.
 * Threading: any thread.
 * Errors:    INVALID with the file, the key, its value and the rule; NO_MEMORY. Outputs are
 *            untouched.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_CONFIG_H
#define BATON_ENGINE_CHECKPOINT_GGUF_CONFIG_H

#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/gguf/model.h"

enum baton_err baton_gguf_config_read(const struct baton_gguf_model *model,
                                      struct baton_model_config *config,
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Returns general.architecture of files that hold models of this type; NULL when there are no such
 * files. */
const char *baton_gguf_arch_of(const char *model_type);
/* Whether files of this general.architecture may hold models of this type, of which there are
 * files at all. */
bool baton_gguf_arch_holds(const char *arch, const char *model_type);

#endif
