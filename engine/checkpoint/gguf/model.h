/* A model in GGUF: one file, or several that its first one counts.
 *
 *     NAME.gguf
 *     NAME-00001-of-0000N.gguf    the metadata; split.count N, split.no 0
 *     NAME-0000K-of-0000N.gguf    split.no K - 1
 *     split.tensors.count         tensors in all of them
 *
 * Ownership: owns the mappings; metadata and tensors are borrowed from them.
 * Threading: immutable once open.
 * Errors:    NOT_FOUND, IO and LIMIT with the file; those of baton_gguf_parse with the file;
 *            INVALID where the files do not belong together.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_MODEL_H
#define BATON_ENGINE_CHECKPOINT_GGUF_MODEL_H

#include <limits.h>

#include "common/base/os/file.h"
#include "engine/checkpoint/gguf/gguf.h"

struct baton_gguf_shard {
    struct baton_mapping mapping;
    struct baton_gguf file;
};

struct baton_gguf_model {
    char path[PATH_MAX]; /* of the first file */
    struct baton_gguf_shard *shards;
    int n_shards;
};

/* Whether path is a file, so that a model there is one of GGUF. */
bool baton_gguf_model_is_at(const char *path);

/* path is that of the first file. Weights are mapped but not read. */
enum baton_err baton_gguf_model_open(const char *path, struct baton_gguf_model **model,
                                     struct baton_why *why) BATON_MUST_CHECK;
/* NULL is fine. */
void baton_gguf_model_close(struct baton_gguf_model *model);

/* The metadata that all files share. */
static inline const struct baton_gguf *
baton_gguf_model_metadata(const struct baton_gguf_model *model)
{
    return &model->shards[0].file;
}

/* In whichever file it is; NULL when there is no such tensor. */
const struct baton_tensor *baton_gguf_model_find(const struct baton_gguf_model *model,
                                                 const char *name);

/* The most files that a model may have, and the name of the number-th, from 1 on, of a model whose
 * first file is at path. False for a path that names no first one. */
enum { BATON_GGUF_MAX_SHARDS = 1024 };
bool baton_gguf_shard_path(const char *path, int number, char shard[PATH_MAX]);
/* How many files the name of the first one says that there are; 1 for any other name. */
int baton_gguf_n_shards(const char *path);

#endif
