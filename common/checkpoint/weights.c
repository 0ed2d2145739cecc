#include "common/checkpoint/weights.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/file.h"
#include "common/checkpoint/model_files.h"

enum { TILE_LINES = 16 };

struct shard {
    struct baton_mapping mapping;
    struct baton_safetensors file;
};

struct baton_weights {
    struct shard *shards;
    size_t n_shards;
    const struct baton_tensor **by_name; /* sorted */
    size_t n_tensors;
};

static enum baton_err add_shard(void *arg, const char *path, struct baton_why *why)
{
    struct baton_weights *weights = arg;
    struct baton_why reason;
    struct shard *shards =
        realloc(weights->shards, (weights->n_shards + 1) * sizeof weights->shards[0]);
    if (!shards)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    weights->shards = shards;
    struct shard *shard = &shards[weights->n_shards];
    enum baton_err err = baton_file_map(path, &shard->mapping, why);
    if (err)
        return err;
    err =
        baton_safetensors_parse(shard->mapping.data, shard->mapping.n_bytes, &shard->file, &reason);
    if (err) {
        baton_file_unmap(&shard->mapping);
        return baton_fail(why, err, "%s: %s", path, reason.text);
    }
    weights->n_shards++;
    weights->n_tensors += shard->file.n_tensors;
    return BATON_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct baton_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Sorts all tensors by name, for bsearch. A name in two shards is refused: either tensor
 * could be the one that is meant. */
static enum baton_err index_names(struct baton_weights *weights, const char *dir,
                                  struct baton_why *why)
{
    size_t n = 0;
    weights->by_name = calloc(weights->n_tensors + 1, sizeof weights->by_name[0]);
    if (!weights->by_name)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", dir);
    for (size_t i = 0; i < weights->n_shards; i++)
        for (size_t k = 0; k < weights->shards[i].file.n_tensors; k++)
            weights->by_name[n++] = &weights->shards[i].file.tensors[k];
    qsort(weights->by_name, n, sizeof weights->by_name[0], by_name);
    for (size_t i = 1; i < n; i++)
        if (!strcmp(weights->by_name[i - 1]->name, weights->by_name[i]->name))
            return baton_fail(why, BATON_INVALID, "%s: tensor %s is in two files", dir,
                              weights->by_name[i]->name);
    return BATON_OK;
}

enum baton_err baton_weights_open(const char *model_path, struct baton_weights **weights,
                                  struct baton_why *why)
{
    struct baton_weights *opened = calloc(1, sizeof *opened);
    if (!opened)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", model_path);
    enum baton_err err =
        baton_model_files_visit(model_path, BATON_PART_WEIGHTS, add_shard, opened, why);
    if (!err)
        err = index_names(opened, model_path, why);
    if (err)
        baton_weights_close(opened);
    else
        *weights = opened;
    return err;
}

void baton_weights_close(struct baton_weights *weights)
{
    if (!weights)
        return;
    for (size_t i = 0; i < weights->n_shards; i++) {
        baton_safetensors_fini(&weights->shards[i].file);
        baton_file_unmap(&weights->shards[i].mapping);
    }
    free(weights->by_name);
    free(weights->shards);
    free(weights);
}

const struct baton_tensor *baton_weights_find(const struct baton_weights *weights, const char *name)
{
    const struct baton_tensor wanted = {.name = name}, *key = &wanted;
    const struct baton_tensor **found =
        bsearch(&key, weights->by_name, weights->n_tensors, sizeof weights->by_name[0], by_name);
    return found ? *found : NULL;
}

size_t baton_weights_n_elements(const struct baton_weights *weights)
{
    size_t n = 0;
    for (size_t i = 0; i < weights->n_tensors; i++)
        n += weights->by_name[i]->n_bytes / baton_element_bytes(weights->by_name[i]->dtype);
    return n;
}

static enum baton_err find_shaped(const struct baton_weights *weights, const char *name, int n_dims,
                                  const int64_t shape[2], const struct baton_tensor **tensor,
                                  struct baton_why *why)
{
    const struct baton_tensor *found = baton_weights_find(weights, name);
    if (!found)
        return baton_fail(why, BATON_INVALID, "tensor %s is missing", name);
    if (!baton_element_converts(found->dtype))
        return baton_fail(why, BATON_INVALID, "tensor %s: dtype %s; F32, F16 or BF16 is wanted",
                          name, baton_element_name(found->dtype));
    bool same = found->n_dims == n_dims;
    for (int i = 0; i < n_dims && same; i++)
        same = found->shape[i] == shape[i];
    if (!same && n_dims == 1)
        return baton_fail(why, BATON_INVALID, "tensor %s: must have shape [%lld]", name,
                          (long long)shape[0]);
    if (!same)
        return baton_fail(why, BATON_INVALID, "tensor %s: must have shape [%lld, %lld]", name,
                          (long long)shape[0], (long long)shape[1]);
    *tensor = found;
    return BATON_OK;
}

enum baton_err baton_weights_vector(const struct baton_weights *weights, const char *name, int n,
                                    float *floats, struct baton_why *why)
{
    const struct baton_tensor *tensor = NULL;
    enum baton_err err = find_shaped(weights, name, 1, (int64_t[2]){n, 0}, &tensor, why);
    if (!err)
        baton_convert(tensor->dtype, tensor->data, (size_t)n, floats);
    return err;
}

enum baton_err baton_weights_matrix(const struct baton_weights *weights, const char *name,
                                    int n_rows, int n_columns, float *floats, struct baton_why *why)
{
    const struct baton_tensor *tensor = NULL;
    enum baton_err err =
        find_shaped(weights, name, 2, (int64_t[2]){n_rows, n_columns}, &tensor, why);
    if (!err)
        baton_convert(tensor->dtype, tensor->data, (size_t)n_rows * (size_t)n_columns, floats);
    return err;
}

enum baton_err baton_weights_source(const struct baton_weights *weights, const char *name,
                                    int n_out, int n_in, bool transposed,
                                    struct baton_weights_source *source, struct baton_why *why)
{
    const int64_t shape[2] = {transposed ? n_in : n_out, transposed ? n_out : n_in};
    const struct baton_tensor *tensor = NULL;
    enum baton_err err = find_shaped(weights, name, 2, shape, &tensor, why);
    if (!err)
        *source = (struct baton_weights_source){
            .tensor = tensor, .n_out = n_out, .n_in = n_in, .transposed = transposed};
    return err;
}

/* Reads n lines of n_outs elements from (k, first) on and transposes them. A tile of lines is small
 * enough to stay in the cache, and its columns fill whole cache lines. */
static void read_tile(const struct baton_weights_source *source, size_t k, size_t n, size_t first,
                      size_t n_outs, float *rows)
{
    const struct baton_tensor *tensor = source->tensor;
    size_t n_bytes = baton_element_bytes(tensor->dtype), n_in = (size_t)source->n_in;
    float tile[TILE_LINES][BATON_WEIGHTS_READ_MAX];
    for (size_t i = 0; i < n; i++) {
        size_t at = (k + i) * (size_t)source->n_out + first;
        baton_convert(tensor->dtype, tensor->data + at * n_bytes, n_outs, tile[i]);
    }
    for (size_t o = 0; o < n_outs; o++)
        for (size_t i = 0; i < n; i++)
            rows[o * n_in + k + i] = tile[i][o];
}

void baton_weights_read(const struct baton_weights_source *source, int first, int n, float *rows)
{
    const struct baton_tensor *tensor = source->tensor;
    size_t n_bytes = baton_element_bytes(tensor->dtype), n_in = (size_t)source->n_in;
    if (!source->transposed) {
        baton_convert(tensor->dtype, tensor->data + (size_t)first * n_in * n_bytes,
                      (size_t)n * n_in, rows);
        return;
    }
    for (size_t k = 0; k < n_in; k += TILE_LINES)
        read_tile(source, k, n_in - k < TILE_LINES ? n_in - k : TILE_LINES, (size_t)first,
                  (size_t)n, rows);
}
