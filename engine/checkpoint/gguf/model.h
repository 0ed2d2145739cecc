/* A GGUF model: one file, or several whose number the first one states.
 *
 *     NAME.gguf
 *     NAME-00001-of-0000N.gguf    the metadata; split.count N, split.no 0
 *     NAME-0000K-of-0000N.gguf    split.no K - 1
 *     split.tensors.count         tensors in all of them
 *
 * Ownership: owns the mappings; metadata and tensors are borrowed from them.
 * Threading: immutable once open.
 * Errors:    NOT_FOUND, IO and LIMIT with the file; the errors of baton_gguf_parse with the file;
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
    char path[PATH_MAX]; /* the first file */
    struct baton_gguf_shard *shards;
    int n_shards;
};

/* True when path is a file: a model at the path of a file is a GGUF model. */
bool baton_gguf_model_is_at(const char *path);

/* Opens the model whose first file is at path. Weights are mapped but not read. */
enum baton_err baton_gguf_model_open(const char *path, struct baton_gguf_model **model,
                                     struct baton_why *why) BATON_MUST_CHECK;
/* Accepts NULL. */
void baton_gguf_model_close(struct baton_gguf_model *model);

/* Returns the metadata that all files share. */
static inline const struct baton_gguf *
baton_gguf_model_metadata(const struct baton_gguf_model *model)
{
    return &model->shards[0].file;
}

/* Finds a tensor in any of the files; NULL when there is none. */
const struct baton_tensor *baton_gguf_model_find(const struct baton_gguf_model *model,
                                                 const char *name);

/* Writes the path of a model's number-th file, counted from 1, from the path of its first one.
 * Returns false when path is not the name of a first file. */
enum { BATON_GGUF_MAX_SHARDS = 1024 };
bool baton_gguf_shard_path(const char *path, int number, char shard[PATH_MAX]);
/* Returns the number of files that the first file's name states; 1 for any other name. */
int baton_gguf_n_shards(const char *path);

#endif
