#include "engine/checkpoint/gguf/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/checkpoint/tensor.h"

#define MODEL struct baton_gguf_model

/* ---- file names: "-00001-of-00012.gguf" ---- */

enum { DIGITS = 5, SUFFIX_CHARS = sizeof "-00001-of-00012.gguf" - 1 };

static bool are_digits(const char *text)
{
    return strspn(text, "0123456789") >= DIGITS;
}

static const char *suffix_of(const char *path)
{
    size_t n = strlen(path);
    const char *suffix = n > SUFFIX_CHARS ? path + n - SUFFIX_CHARS : NULL;
    if (!suffix || suffix[0] != '-' || !are_digits(suffix + 1) ||
        strncmp(suffix + 1 + DIGITS, "-of-", 4) != 0 || !are_digits(suffix + 5 + DIGITS) ||
        strcmp(suffix + 5 + 2 * DIGITS, ".gguf") != 0)
        return NULL;
    return suffix;
}

int baton_gguf_n_shards(const char *path)
{
    const char *suffix = suffix_of(path);
    return suffix ? (int)strtol(suffix + 5 + DIGITS, NULL, 10) : 1;
}

bool baton_gguf_shard_path(const char *path, int number, char shard[PATH_MAX])
{
    const char *suffix = suffix_of(path);
    if (!suffix || strtol(suffix + 1, NULL, 10) != 1)
        return false;
    int n = snprintf(shard, PATH_MAX, "%.*s-%05d%s", (int)(suffix - path), path, number,
                     suffix + 1 + DIGITS);
    return n > 0 && n < PATH_MAX;
}

bool baton_gguf_model_is_at(const char *path)
{
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode);
}

/* ---- the files of a model ---- */

static enum baton_err get_count(const struct baton_gguf *file, const char *key, int64_t otherwise,
                                int64_t max, int64_t *count, struct baton_why *why)
{
    const struct baton_gguf_value *value = baton_gguf_find(file, key);
    int64_t number = otherwise;
    if (value && (!baton_gguf_int(value, &number) || number < 0 || number > max))
        return baton_fail(why, BATON_INVALID, "%s: must be a whole number in 0..%" PRId64, key,
                          max);
    *count = number;
    return BATON_OK;
}

/* Compares the position that a file states with its name. */
static enum baton_err check_place(const struct baton_gguf *file, int index, int n_shards,
                                  struct baton_why *why)
{
    int64_t no = 0, count = 1;
    enum baton_err err = get_count(file, "split.no", 0, INT32_MAX, &no, why);
    if (!err)
        err = get_count(file, "split.count", 1, INT32_MAX, &count, why);
    if (err)
        return err;
    if (no != index)
        return baton_fail(why, BATON_INVALID, "split.no: %" PRId64 " must be %d: %s", no, index,
                          index ? "the file's name has another number"
                                : "give the path of the model's first file");
    if ((count ? count : 1) != n_shards) /* gguf-split writes 0 after merging */
        return baton_fail(why, BATON_INVALID,
                          "split.count: %" PRId64 " files, but its name says %d", count, n_shards);
    return BATON_OK;
}

static enum baton_err add_shard(MODEL *model, const char *path, int n_shards, struct baton_why *why)
{
    struct baton_gguf_shard *shard = &model->shards[model->n_shards];
    struct baton_why reason;
    enum baton_err err = baton_file_map(path, &shard->mapping, why);
    if (err)
        return err;
    model->n_shards++;
    err = baton_gguf_parse(shard->mapping.data, shard->mapping.n_bytes, &shard->file, &reason);
    if (!err)
        err = check_place(&shard->file, model->n_shards - 1, n_shards, &reason);
    return err ? baton_fail(why, err, "%s: %s", path, reason.text) : BATON_OK;
}

static enum baton_err check_tensors(const MODEL *model, struct baton_why *why)
{
    int64_t wanted = 0, n = 0;
    for (int i = 0; i < model->n_shards; i++)
        n += (int64_t)(model->shards[i].file.n_tensors - model->shards[i].file.n_listed);
    enum baton_err err = get_count(baton_gguf_model_metadata(model), "split.tensors.count", n,
                                   INT32_MAX, &wanted, why);
    if (!err && wanted != n && model->n_shards > 1)
        err =
            baton_fail(why, BATON_INVALID,
                       "split.tensors.count: %" PRId64 ", but the files have %" PRId64, wanted, n);
    return err;
}

static enum baton_err open_shards(MODEL *model, struct baton_why *why)
{
    int n_shards = baton_gguf_n_shards(model->path);
    char path[PATH_MAX];
    struct baton_why reason;
    if (n_shards < 1 || n_shards > BATON_GGUF_MAX_SHARDS)
        return baton_fail(why, BATON_LIMIT, "%s: a model must have 1 to %d files, not %d",
                          model->path, BATON_GGUF_MAX_SHARDS, n_shards);
    model->shards = calloc((size_t)n_shards, sizeof model->shards[0]);
    if (!model->shards)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", model->path);
    enum baton_err err = add_shard(model, model->path, n_shards, why);
    for (int i = 2; i <= n_shards && !err; i++) {
        if (!baton_gguf_shard_path(model->path, i, path))
            return baton_fail(why, BATON_INVALID, "%s: give the path of the model's first file",
                              model->path);
        err = add_shard(model, path, n_shards, why);
    }
    if (err)
        return err;
    err = check_tensors(model, &reason);
    return err ? baton_fail(why, err, "%s: %s", model->path, reason.text) : BATON_OK;
}

enum baton_err baton_gguf_model_open(const char *path, MODEL **model, struct baton_why *why)
{
    MODEL *opened = calloc(1, sizeof *opened);
    if (!opened)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    int n = snprintf(opened->path, sizeof opened->path, "%s", path);
    enum baton_err err = n < 0 || n >= (int)sizeof opened->path
                             ? baton_fail(why, BATON_INVALID, "%s: path too long", path)
                             : open_shards(opened, why);
    if (err)
        baton_gguf_model_close(opened);
    else
        *model = opened;
    return err;
}

void baton_gguf_model_close(MODEL *model)
{
    if (!model)
        return;
    for (int i = 0; i < model->n_shards; i++) {
        baton_gguf_fini(&model->shards[i].file);
        baton_file_unmap(&model->shards[i].mapping);
    }
    free(model->shards);
    free(model);
}

const struct baton_tensor *baton_gguf_model_find(const MODEL *model, const char *name)
{
    const struct baton_tensor *found = NULL;
    for (int i = 0; i < model->n_shards && !found; i++)
        found = baton_gguf_find_tensor(&model->shards[i].file, name);
    return found;
}
