#include "engine/checkpoint/model_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/gguf/model.h"

enum { INDEX_MAX_BYTES = 64 << 20, MAX_SHARDS = 1024 };

#define INDEX_NAME "model.safetensors.index.json"

bool baton_model_files_has(const char *model_path, const char *name)
{
    char path[PATH_MAX];
    return !baton_file_path(path, model_path, name, NULL) && !access(path, R_OK);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists the distinct file names of an index's weight_map, sorted and borrowed from the index. A
 * name may not leave the model's directory, because the index may come from anywhere. */
static enum baton_err shard_names(const char *model_path, const struct baton_json *index,
                                  const char *names[MAX_SHARDS], size_t *n_names,
                                  struct baton_why *why)
{
    const struct baton_json *map = baton_json_get(index, "weight_map");
    size_t n = 0;
    for (void *it = baton_json_first(map); it; it = baton_json_next(map, it)) {
        const char *name = baton_json_string(baton_json_member(it), NULL);
        if (!name || !*name || strchr(name, '/') || name[0] == '.')
            return baton_fail(why, BATON_INVALID,
                              "%s: weight_map: \"%s\" must name a file in the model's directory",
                              model_path, baton_json_key(it));
        size_t i = 0;
        while (i < n && strcmp(names[i], name) != 0)
            i++;
        if (i < n)
            continue;
        if (n == MAX_SHARDS)
            return baton_fail(why, BATON_LIMIT, "%s: more than %d shards", model_path, MAX_SHARDS);
        names[n++] = name;
    }
    qsort(names, n, sizeof *names, by_name);
    *n_names = n;
    return BATON_OK;
}

/* The index owns the names, so the caller frees it after the last visit. */
static enum baton_err read_index(const char *model_path, struct baton_json **index,
                                 const char *names[MAX_SHARDS], size_t *n_names,
                                 struct baton_why *why)
{
    char path[PATH_MAX];
    enum baton_err err = baton_file_path(path, model_path, INDEX_NAME, why);
    if (!err)
        err = baton_json_read_file(path, INDEX_MAX_BYTES, index, why);
    if (err)
        return err;
    if (baton_json_kind(*index) != BATON_JSON_OBJECT)
        return baton_fail(why, BATON_INVALID, "%s: must hold one JSON object", path);
    return shard_names(model_path, *index, names, n_names, why);
}

/* Visits all files of a GGUF model. */
static enum baton_err visit_gguf(const char *model_path,
                                 enum baton_err (*visit)(void *arg, const char *path,
                                                         struct baton_why *why),
                                 void *arg, struct baton_why *why)
{
    char path[PATH_MAX];
    int n = baton_gguf_n_shards(model_path);
    if (n > BATON_GGUF_MAX_SHARDS)
        return baton_fail(why, BATON_LIMIT, "%s: more than %d files", model_path,
                          BATON_GGUF_MAX_SHARDS);
    enum baton_err err = visit(arg, model_path, why);
    for (int i = 2; i <= n && !err; i++) {
        if (!baton_gguf_shard_path(model_path, i, path))
            return baton_fail(why, BATON_INVALID, "%s: must be the path of the model's first file",
                              model_path);
        err = visit(arg, path, why);
    }
    return err;
}

enum baton_err baton_model_files_visit(const char *model_path, enum baton_model_part part,
                                       enum baton_err (*visit)(void *arg, const char *path,
                                                               struct baton_why *why),
                                       void *arg, struct baton_why *why)
{
    const char *names[MAX_SHARDS] = {"config.json"};
    size_t n_names = 1;
    struct baton_json *index = NULL;
    enum baton_err err = BATON_OK;
    if (baton_gguf_model_is_at(model_path))
        return visit_gguf(model_path, visit, arg, why);
    if (part == BATON_PART_TOKENIZER) {
        names[0] = "tokenizer.json";
        if (!baton_model_files_has(model_path, names[0])) {
            names[0] = "vocab.json";
            names[n_names++] = "merges.txt";
        }
    } else if (part == BATON_PART_WEIGHTS) {
        names[0] = "model.safetensors";
        if (!baton_model_files_has(model_path, names[0]) &&
            baton_model_files_has(model_path, INDEX_NAME))
            err = read_index(model_path, &index, names, &n_names, why);
    }
    static const char *const dense[] = {BATON_DENSE_FILES};
    for (size_t i = 0; part == BATON_PART_WEIGHTS && i < BATON_N_OF(dense) && n_names < MAX_SHARDS;
         i++)
        if (baton_model_files_has(model_path, dense[i]))
            names[n_names++] = dense[i];
    for (size_t i = 0; i < n_names && !err; i++) {
        char path[PATH_MAX];
        err = baton_file_path(path, model_path, names[i], why);
        if (!err)
            err = visit(arg, path, why);
    }
    baton_json_free(index);
    return err;
}
