/* A model on disk, opened once: its facts, and access to each of its parts.
 *
 *     checkpoint -+- config, facts     read by open
 *                 +- fingerprint       \
 *                 +- weights            \ read when
 *                 +- tokenizer tables   / requested
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
    char path[PATH_MAX];        /* the path that open was given */
    char config_path[PATH_MAX]; /* the file of config, for messages about it */
    struct baton_model_config config;
    struct baton_model_facts facts;
};

/* Opens the model at path: a directory in the layout of a Hugging Face checkout (model_files.h) or
 * a GGUF file (gguf/model.h). A config without a vocabulary or a context size is INVALID. */
enum baton_err baton_checkpoint_open(const char *path, struct baton_checkpoint **checkpoint,
                                     struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_checkpoint_close(struct baton_checkpoint *checkpoint);

/* True when the model's tensors are ggml's blocks, as a GGUF file's are. */
bool baton_checkpoint_has_blocks(const struct baton_checkpoint *checkpoint);

/* Computes the digests of the model's parts. with_weights false leaves the weights' digest empty;
 * true without weight files is NOT_FOUND. The weights' digest is taken from cache while the files
 * are the same; cache NULL hashes them in any case. */
enum baton_err baton_checkpoint_fingerprint(const struct baton_checkpoint *checkpoint,
                                            const struct baton_cache_dirs *cache, bool with_weights,
                                            struct baton_fingerprint *fingerprint,
                                            struct baton_why *why) BATON_MUST_CHECK;

/* Maps all tensors. The caller closes them with baton_weights_close. */
enum baton_err baton_checkpoint_weights(const struct baton_checkpoint *checkpoint,
                                        struct baton_weights **weights,
                                        struct baton_why *why) BATON_MUST_CHECK;

/* Reads the tokenizer's tables. The caller frees them with baton_tokenizer_tables_free. With a
 * cache, a large tokenizer is parsed once; digest is then the tokenizer's of the fingerprint. cache
 * NULL parses in any case. */
enum baton_err baton_checkpoint_tokenizer(const struct baton_checkpoint *checkpoint,
                                          const struct baton_cache_dirs *cache,
                                          const char digest[BATON_SHA256_HEX],
                                          struct baton_tokenizer_tables **tables,
                                          struct baton_why *why) BATON_MUST_CHECK;

/* Reads the chat template into an empty struct. The caller frees it with baton_chat_template_fini,
 * also after an error. */
enum baton_err baton_checkpoint_chat_template(const struct baton_checkpoint *checkpoint,
                                              struct baton_chat_template *source,
                                              struct baton_why *why) BATON_MUST_CHECK;

#endif
