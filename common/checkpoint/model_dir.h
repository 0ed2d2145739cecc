/* Which files make a model, what a process without weights needs to know of it, and its
 * fingerprint.
 *
 * A model directory is a Hugging Face checkout: config.json, tokenizer.json (or vocab.json and
 * merges.txt), model.safetensors or model.safetensors.index.json with its shards.
 *
 * Ownership: plain data in the caller's struct.
 * Threading: any thread.
 * Errors:    NOT_FOUND, IO, INVALID with the file and the field.
 */
#ifndef BATON_CHECKPOINT_MODEL_DIR_H
#define BATON_CHECKPOINT_MODEL_DIR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"
#include "common/base/fingerprint.h"
#include "common/checkpoint/cache_dir.h"

enum { BATON_MODEL_MAX_EOS = 8 };

struct baton_model_facts {
    char name[128];           /* the directory's own name, for people */
    int64_t n_vocab;          /* V */
    int64_t n_context_tokens; /* prompt and output together */
    int64_t eos_ids[BATON_MODEL_MAX_EOS];
    int n_eos;
    int64_t bos_id; /* what an empty prompt stands for; -1: none */
};

/* From config.json and, if present, generation_config.json (its eos ids are added). */
enum baton_err baton_model_dir_facts(const char *dir, struct baton_model_facts *facts,
                                     struct baton_why *why) BATON_MUST_CHECK;

/* Over every byte of the model's files (file_digest.h). with_weights false leaves `weights` empty;
 * true without weight files is NOT_FOUND. The weights' digest is taken from cache while the files
 * are the same (weights_digest.h); NULL: hashed in any case. */
enum baton_err baton_model_dir_fingerprint(const char *dir, const struct baton_cache_dirs *cache,
                                           bool with_weights, struct baton_fingerprint *fingerprint,
                                           struct baton_why *why) BATON_MUST_CHECK;

/* Calls visit with the path of each weight file, in order of name; stops at the first error. */
enum baton_err baton_model_dir_weights(const char *dir,
                                       enum baton_err (*visit)(void *arg, const char *path,
                                                               struct baton_why *why),
                                       void *arg, struct baton_why *why) BATON_MUST_CHECK;

#endif
