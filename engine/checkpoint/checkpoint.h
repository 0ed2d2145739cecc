/* A model on disk, opened once: its facts, and access to each of its parts.
 *
 *     checkpoint -+- config, facts     read by open
 *                 +- fingerprint       \
 *                 +- weights            \ read when
 *                 +- tokenizer tables   / asked for
 *                 +- chat template     /
 *
 * Opening reads the little that every process needs, so a gateway opens a model of any size without
 * mapping a weight. Callers see structs and tensors, never the files' formats.
 *
 * Ownership: the checkpoint is the caller's until closed; objects taken from it outlive it.
 * Threading: immutable once open.
 * Errors:    NOT_FOUND, IO, LIMIT, INVALID or CORRUPT with the file, the field and the reason;
 *            NO_MEMORY. Outputs are untouched.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CHECKPOINT_H
#define BATON_ENGINE_CHECKPOINT_CHECKPOINT_H

#include <limits.h>

#include "common/base/fingerprint.h"
#include "engine/checkpoint/cache_dir.h"
#include "engine/checkpoint/chat_template.h"
#include "engine/checkpoint/config/model_config.h"
#include "engine/checkpoint/facts.h"

struct baton_tokenizer_tables;
struct baton_weights;

struct baton_checkpoint {
    char path[PATH_MAX];        /* as it was given to open */
    char config_path[PATH_MAX]; /* the file that config is from, for messages about it */
    struct baton_model_config config;
    struct baton_model_facts facts;
};

/* path is a directory in the layout of a Hugging Face checkout (model_files.h) or a GGUF file
 * (gguf/model.h). A config without a vocabulary or a context size is INVALID. */
enum baton_err baton_checkpoint_open(const char *path, struct baton_checkpoint **checkpoint,
                                     struct baton_why *why) BATON_MUST_CHECK;
/* NULL is fine. */
void baton_checkpoint_close(struct baton_checkpoint *checkpoint);

/* Whether its tensors are ggml's blocks, as a GGUF file's are. */
bool baton_checkpoint_has_blocks(const struct baton_checkpoint *checkpoint);

/* The digests of its parts. with_weights false leaves that of the weights empty; true without
 * weight files is NOT_FOUND. The weights' digest is taken from cache while the files are the same;
 * NULL: hashed in any case. */
enum baton_err baton_checkpoint_fingerprint(const struct baton_checkpoint *checkpoint,
                                            const struct baton_cache_dirs *cache, bool with_weights,
                                            struct baton_fingerprint *fingerprint,
                                            struct baton_why *why) BATON_MUST_CHECK;

/* Maps all tensors; to be closed with baton_weights_close. */
enum baton_err baton_checkpoint_weights(const struct baton_checkpoint *checkpoint,
                                        struct baton_weights **weights,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* What the files say of the tokenizer; to be freed with baton_tokenizer_tables_free. With a cache,
 * a large one is parsed once; digest is then that of the fingerprint. NULL: parsed in any case. */
enum baton_err baton_checkpoint_tokenizer(const struct baton_checkpoint *checkpoint,
                                          const struct baton_cache_dirs *cache,
                                          const char digest[BATON_SHA256_HEX],
                                          struct baton_tokenizer_tables **tables,
                                          struct baton_why *why) BATON_MUST_CHECK;

/* Into an empty struct, which is to be freed with baton_chat_template_fini whatever the result. */
enum baton_err baton_checkpoint_chat_template(const struct baton_checkpoint *checkpoint,
                                              struct baton_chat_template *source,
                                              struct baton_why *why) BATON_MUST_CHECK;

#endif
