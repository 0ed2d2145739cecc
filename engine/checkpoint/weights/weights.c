#include "engine/checkpoint/weights/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "engine/checkpoint/gguf/model.h"
#include "engine/checkpoint/hf/safetensors.h"
#include "engine/checkpoint/model_files.h"
#include "engine/checkpoint/weights/blocks.h"
#include "engine/checkpoint/weights/coded.h"
#include "engine/checkpoint/weights/scaled.h"

/* 16 floats fill a cache line of 64 bytes, so a tile writes whole lines of its rows. */
enum { TILE_LINES = 16 };

struct shard {
    struct baton_mapping mapping;
    struct baton_safetensors file;
    void *names; /* of a dense module's tensors; NULL: they have their own */
};

struct baton_weights {
    struct shard *shards; /* of a safetensors model */
    size_t n_shards, cap_shards;
    struct baton_gguf_model *gguf; /* of a GGUF model; otherwise NULL */
    struct baton_coded_list coded;
    struct baton_tensor *scaled;         /* NAME.weight beside which there is a NAME.scale */
    const struct baton_tensor **by_name; /* sorted */
    size_t n_tensors;
};

/* The folder of a dense module at the end of a path, "2_Dense"; NULL: it is no module's. */
static const char *dense_folder(const char *path)
{
    static const char *const files[] = {BATON_DENSE_FILES};
    size_t n_path = strlen(path);
    for (size_t i = 0; i < BATON_N_OF(files); i++) {
        size_t n = strlen(files[i]);
        if (n_path > n && path[n_path - n - 1] == '/' && !strcmp(path + n_path - n, files[i]))
            return files[i];
    }
    return NULL;
}

/* Puts the folder's name before the names of a dense module's tensors. */
static enum baton_err name_dense(const char *folder, struct shard *shard)
{
    enum { NAME_BYTES = 64 };
    size_t n = shard->file.n_tensors;
    char(*names)[NAME_BYTES] = calloc(n + 1, sizeof *names);
    if (!names)
        return BATON_NO_MEMORY;
    shard->names = names;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(names[i], sizeof names[i], "%.*s.%s", (int)strcspn(folder, "/"), folder,
                       shard->file.tensors[i].name);
        shard->file.tensors[i].name = names[i];
    }
    return BATON_OK;
}

static enum baton_err add_shard(void *arg, const char *path, struct baton_why *why)
{
    struct baton_weights *weights = arg;
    struct baton_why reason;
    if (BATON_RESERVE(weights->shards, weights->cap_shards, weights->n_shards + 1))
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    struct shard *shard = &weights->shards[weights->n_shards];
    enum baton_err err = baton_file_map(path, &shard->mapping, why);
    if (err)
        return err;
    err =
        baton_safetensors_parse(shard->mapping.data, shard->mapping.n_bytes, &shard->file, &reason);
    if (err) {
        baton_file_unmap(&shard->mapping);
        return baton_fail(why, err, "%s: %s", path, reason.text);
    }
    shard->names = NULL;
    weights->n_shards++;
    weights->n_tensors += shard->file.n_tensors;
    return dense_folder(path) ? name_dense(dense_folder(path), shard) : BATON_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct baton_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static size_t list(struct baton_weights *weights, size_t n, const struct baton_tensor *tensors,
                   size_t n_tensors)
{
    for (size_t i = 0; i < n_tensors; i++)
        weights->by_name[n + i] = &tensors[i];
    return n + n_tensors;
}

static void list_all(struct baton_weights *weights)
{
    size_t n = 0;
    for (size_t i = 0; i < weights->n_shards; i++)
        n = list(weights, n, weights->shards[i].file.tensors, weights->shards[i].file.n_tensors);
    for (int i = 0; weights->gguf && i < weights->gguf->n_shards; i++)
        n = list(weights, n, weights->gguf->shards[i].file.tensors,
                 weights->gguf->shards[i].file.n_tensors);
}

/* Sorts all tensors by name, for bsearch. A name that two have is refused, because either tensor
 * could be the right one. */
static enum baton_err sort_names(struct baton_weights *weights, const char *path,
                                 const char *reason, struct baton_why *why)
{
    qsort(weights->by_name, weights->n_tensors, sizeof weights->by_name[0], by_name);
    for (size_t i = 1; i < weights->n_tensors; i++)
        if (!strcmp(weights->by_name[i - 1]->name, weights->by_name[i]->name))
            return baton_fail(why, BATON_INVALID, "%s: tensor %s is %s", path,
                              weights->by_name[i]->name, reason);
    return BATON_OK;
}

static enum baton_err index_names(struct baton_weights *weights, const char *path,
                                  struct baton_why *why)
{
    weights->by_name = calloc(weights->n_tensors + 1, sizeof weights->by_name[0]);
    if (!weights->by_name)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    list_all(weights);
    return sort_names(weights, path, "in two files", why);
}

/* Replaces the tensors of coded matrices by one for each, of which there are never more. */
static enum baton_err join_coded(struct baton_weights *weights, const char *path,
                                 struct baton_why *why)
{
    struct baton_why reason;
    enum baton_err err =
        baton_coded_find(weights->by_name, &weights->n_tensors, &weights->coded, &reason);
    if (err)
        return baton_fail(why, err, "%s: %s", path, reason.text);
    if (!weights->coded.n)
        return BATON_OK;
    weights->n_tensors =
        list(weights, weights->n_tensors, weights->coded.tensors, weights->coded.n);
    return sort_names(weights, path, "there both as codes and as numbers", why);
}

static enum baton_err join_scales(struct baton_weights *weights, const char *path,
                                  struct baton_why *why)
{
    struct baton_why reason;
    enum baton_err err =
        baton_scaled_find(baton_gguf_model_metadata(weights->gguf), weights->by_name,
                          &weights->n_tensors, &weights->scaled, &reason);
    return err ? baton_fail(why, err, "%s: %s", path, reason.text) : BATON_OK;
}

static enum baton_err open_gguf(struct baton_weights *weights, const char *path,
                                struct baton_why *why)
{
    enum baton_err err = baton_gguf_model_open(path, &weights->gguf, why);
    for (int i = 0; !err && i < weights->gguf->n_shards; i++)
        weights->n_tensors += weights->gguf->shards[i].file.n_tensors;
    return err;
}

static enum baton_err open_file(struct baton_weights *weights, const char *path,
                                struct baton_why *why)
{
    return add_shard(weights, path, why);
}

static enum baton_err open_model(struct baton_weights *weights, const char *path,
                                 struct baton_why *why)
{
    return baton_gguf_model_is_at(path)
               ? open_gguf(weights, path, why)
               : baton_model_files_visit(path, BATON_PART_WEIGHTS, add_shard, weights, why);
}

static enum baton_err open_with(enum baton_err (*open)(struct baton_weights *weights,
                                                       const char *path, struct baton_why *why),
                                const char *path, struct baton_weights **weights,
                                struct baton_why *why)
{
    struct baton_weights *opened = calloc(1, sizeof *opened);
    if (!opened)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    enum baton_err err = open(opened, path, why);
    if (!err)
        err = index_names(opened, path, why);
    if (!err)
        err = opened->gguf ? join_scales(opened, path, why) : join_coded(opened, path, why);
    if (err)
        baton_weights_close(opened);
    else
        *weights = opened;
    return err;
}

enum baton_err baton_weights_open(const char *model_path, struct baton_weights **weights,
                                  struct baton_why *why)
{
    return open_with(open_model, model_path, weights, why);
}

enum baton_err baton_weights_open_file(const char *path, struct baton_weights **weights,
                                       struct baton_why *why)
{
    return open_with(open_file, path, weights, why);
}

void baton_weights_close(struct baton_weights *weights)
{
    if (!weights)
        return;
    for (size_t i = 0; i < weights->n_shards; i++) {
        baton_safetensors_fini(&weights->shards[i].file);
        free(weights->shards[i].names);
        baton_file_unmap(&weights->shards[i].mapping);
    }
    baton_gguf_model_close(weights->gguf);
    baton_coded_fini(&weights->coded);
    free(weights->scaled);
    free(weights->by_name);
    free(weights->shards);
    free(weights);
}

const struct baton_tensor *baton_weights_at(const struct baton_weights *weights, size_t index)
{
    return index < weights->n_tensors ? weights->by_name[index] : NULL;
}

const struct baton_tensor *baton_weights_find(const struct baton_weights *weights, const char *name)
{
    const struct baton_tensor wanted = {.name = name}, *key = &wanted;
    const struct baton_tensor **found =
        bsearch(&key, weights->by_name, weights->n_tensors, sizeof weights->by_name[0], by_name);
    return found ? *found : NULL;
}

enum { SHAPE_BYTES = 96 };

static void write_shape(char *text, size_t n_text, int n_dims, const int64_t *shape)
{
    size_t n = 0;
    for (int i = 0; i < n_dims && n < n_text; i++)
        n += (size_t)snprintf(text + n, n_text - n, "%s%lld", i ? ", " : "", (long long)shape[i]);
}

/* Skips the leading 1s of a shape, but not the last dimension. Returns the number that is left. */
static int strip(int n_dims, const int64_t **shape)
{
    for (; n_dims > 1 && (*shape)[0] == 1; n_dims--)
        ++*shape;
    return n_dims;
}

static bool is_shape(const struct baton_weights *weights, const struct baton_tensor *tensor,
                     int n_dims, const int64_t *shape)
{
    const int64_t *given = tensor->shape;
    int n_given = tensor->n_dims;
    /* GGUF files do not store leading 1s. */
    if (weights->gguf) {
        n_dims = strip(n_dims, &shape);
        n_given = strip(n_given, &given);
    }
    return n_given == n_dims && !memcmp(given, shape, (size_t)n_dims * sizeof *shape);
}

static enum baton_err check_shape(const struct baton_weights *weights,
                                  const struct baton_tensor *tensor, int n_dims,
                                  const int64_t *shape, struct baton_why *why)
{
    char wanted[SHAPE_BYTES] = "", given[SHAPE_BYTES] = "";
    if (is_shape(weights, tensor, n_dims, shape))
        return BATON_OK;
    write_shape(wanted, sizeof wanted, n_dims, shape);
    write_shape(given, sizeof given, tensor->n_dims, tensor->shape);
    return baton_fail(why, BATON_INVALID, "tensor %s: must have shape [%s], not [%s]", tensor->name,
                      wanted, given);
}

enum baton_err baton_weights_find_shaped(const struct baton_weights *weights, const char *name,
                                         int n_dims, const int64_t *shape,
                                         const struct baton_tensor **tensor, struct baton_why *why)
{
    const struct baton_tensor *found = baton_weights_find(weights, name);
    if (!found)
        return baton_fail(why, BATON_INVALID, "tensor %s is missing", name);
    if (!baton_element_converts(found->dtype) && found->dtype < BATON_ELEMENT_BLOCKS)
        return baton_fail(why, BATON_INVALID, "tensor %s: dtype must be F32, F16 or BF16, not %s",
                          name, baton_element_name(found->dtype));
    enum baton_err err = check_shape(weights, found, n_dims, shape, why);
    if (!err)
        *tensor = found;
    return err;
}

static enum baton_err find_bytes(const struct baton_weights *weights, const char *name, int n_dims,
                                 const int64_t *shape, const struct baton_tensor **tensor,
                                 struct baton_why *why)
{
    const struct baton_tensor *found = baton_weights_find(weights, name);
    if (!found)
        return baton_fail(why, BATON_INVALID, "tensor %s is missing", name);
    if (found->dtype != BATON_ELEMENT_U8)
        return baton_fail(why, BATON_INVALID, "tensor %s: dtype must be U8, not %s", name,
                          baton_element_name(found->dtype));
    *tensor = found;
    return check_shape(weights, found, n_dims, shape, why);
}

enum baton_err baton_weights_find_mxfp4(const struct baton_weights *weights, const char *blocks,
                                        const char *scales, int n_dims, const int64_t *shape,
                                        const struct baton_tensor **blocks_tensor,
                                        const struct baton_tensor **scales_tensor,
                                        struct baton_why *why)
{
    int64_t stored[BATON_TENSOR_MAX_DIMS];
    if (shape[n_dims - 1] % BATON_MXFP4_BLOCK)
        return baton_fail(why, BATON_INVALID, "tensor %s: rows of %lld are no multiple of %d",
                          blocks, (long long)shape[n_dims - 1], BATON_MXFP4_BLOCK);
    memcpy(stored, shape, (size_t)n_dims * sizeof *shape);
    stored[n_dims - 1] /= BATON_MXFP4_BLOCK;
    stored[n_dims] = BATON_MXFP4_BLOCK_BYTES;
    enum baton_err err = find_bytes(weights, blocks, n_dims + 1, stored, blocks_tensor, why);
    return err ? err : find_bytes(weights, scales, n_dims, stored, scales_tensor, why);
}

/* Counts the rows from r on, at most n, that are adjacent in the tensor. */
static int count_run(const struct baton_row_order *order, int r, int n)
{
    int first = baton_row_order_at(order, r), run = 1;
    while (run < n && baton_row_order_at(order, r + run) == first + run)
        run++;
    return run;
}

/* Returns the bytes of a number of elements of a slice's tensor. */
static size_t bytes_of(const struct baton_weights_slice *slice, size_t n_elements)
{
    if (slice->scales)
        return n_elements / BATON_MXFP4_BLOCK * BATON_MXFP4_BLOCK_BYTES;
    if (slice->tensor->dtype == BATON_ELEMENT_BLOCKS)
        return n_elements / baton_block_values(slice->tensor->block_type) *
               baton_block_bytes(slice->tensor->block_type);
    return n_elements * baton_element_bytes(slice->tensor->dtype);
}

/* Reads n adjacent elements of a tensor from `at` on. Both are multiples of a block where the
 * tensor has blocks. */
static void read_run(const struct baton_weights_slice *slice, size_t at, size_t n, float *floats)
{
    const struct baton_tensor *tensor = slice->tensor;
    const uint8_t *data = tensor->data + bytes_of(slice, at);
    if (tensor->coded) {
        const size_t n_in = (size_t)tensor->coded->n_in;
        baton_coded_read(tensor->coded, (int)(at / n_in), (int)(n / n_in), floats);
    } else if (slice->scales)
        baton_mxfp4_decode(data, slice->scales->data + at / BATON_MXFP4_BLOCK,
                           n / BATON_MXFP4_BLOCK, floats);
    else if (tensor->dtype == BATON_ELEMENT_BLOCKS)
        baton_blocks_decode(tensor->block_type, data, n / baton_block_values(tensor->block_type),
                            floats);
    else
        baton_convert(tensor->dtype, data, n, floats);
    const float factor = baton_scaled_factor(tensor, at);
    for (size_t i = 0; tensor->factors && i < n; i++)
        floats[i] *= factor;
}

/* Reads n <= READ_MAX adjacent elements of a tensor of blocks, which may begin inside of one. */
static void read_within_blocks(const struct baton_weights_slice *slice, size_t at, size_t n,
                               float *floats)
{
    float values[BATON_WEIGHTS_READ_MAX + 2 * BATON_BLOCK_MAX_VALUES];
    size_t n_values = baton_block_values(slice->tensor->block_type), skip = at % n_values;
    read_run(slice, at - skip, (skip + n + n_values - 1) / n_values * n_values, values);
    memcpy(floats, values + skip, n * sizeof *floats);
}

/* Reads n elements of a line: those of the rows from r on. */
static void read_line(const struct baton_weights_slice *slice, size_t line, int r, int n,
                      float *floats)
{
    const struct baton_tensor *tensor = slice->tensor;
    size_t n_bytes = tensor->dtype == BATON_ELEMENT_BLOCKS ? 0 : baton_element_bytes(tensor->dtype);
    for (int i = 0, run; i < n; i += run) {
        size_t at = slice->skip + line * (size_t)slice->n_stored +
                    (size_t)baton_row_order_at(&slice->order, r + i);
        run = count_run(&slice->order, r + i, n - i);
        if (tensor->dtype == BATON_ELEMENT_BLOCKS)
            read_within_blocks(slice, at, (size_t)run, floats + i);
        else
            baton_convert(tensor->dtype, tensor->data + at * n_bytes, (size_t)run, floats + i);
    }
}

/* Reads n lines from k on and transposes them. The tile stays in the cache, and its columns fill
 * whole cache lines. */
static void read_tile(const struct baton_weights_slice *slice, size_t k, size_t n, int r,
                      int n_rows, float *rows, size_t n_in)
{
    float tile[TILE_LINES][BATON_WEIGHTS_READ_MAX];
    for (size_t i = 0; i < n; i++)
        read_line(slice, k + i, r, n_rows, tile[i]);
    for (size_t o = 0; o < (size_t)n_rows; o++)
        for (size_t i = 0; i < n; i++)
            rows[o * n_in + k + i] = tile[i][o];
}

/* Reads n rows of a slice, from its r-th on. */
static void read_slice(const struct baton_weights_slice *slice, int r, int n, float *rows,
                       size_t n_in)
{
    if (slice->transposed) {
        for (size_t k = 0; k < n_in; k += TILE_LINES)
            read_tile(slice, k, n_in - k < TILE_LINES ? n_in - k : TILE_LINES, r, n, rows, n_in);
        return;
    }
    for (int i = 0, run; i < n; i += run) {
        size_t at = (size_t)baton_row_order_at(&slice->order, r + i);
        run = count_run(&slice->order, r + i, n - i);
        read_run(slice, slice->skip + at * n_in, (size_t)run * n_in, rows + (size_t)i * n_in);
    }
}

void baton_weights_read(const struct baton_weights_source *source, int first, int n, float *rows)
{
    size_t n_in = (size_t)source->n_in;
    for (int i = 0; i < source->n_slices; i++) {
        const struct baton_weights_slice *slice = &source->slices[i];
        int begin = first > slice->first ? first : slice->first;
        int end = first + n < slice->first + slice->n ? first + n : slice->first + slice->n;
        if (begin < end)
            read_slice(slice, begin - slice->first, end - begin,
                       rows + (size_t)(begin - first) * n_in, n_in);
    }
}

static const struct baton_weights_slice *slice_of(const struct baton_weights_source *source,
                                                  int out)
{
    const struct baton_weights_slice *slice = source->slices;
    while (out < slice->first || out >= slice->first + slice->n)
        slice++;
    return slice;
}

const uint8_t *baton_weights_blocks(const struct baton_weights_source *source, int out,
                                    uint8_t *buffer)
{
    const struct baton_weights_slice *slice = slice_of(source, out);
    size_t row = (size_t)baton_row_order_at(&slice->order, out - slice->first);
    if (slice->tensor->coded) {
        baton_coded_blocks(slice->tensor->coded, (int)row, 1, buffer);
        return buffer;
    }
    return slice->tensor->data + bytes_of(slice, slice->skip + row * (size_t)source->n_in);
}

float baton_weights_factor(const struct baton_weights_source *source, int out)
{
    const struct baton_weights_slice *slice = slice_of(source, out);
    return baton_scaled_factor(slice->tensor, slice->skip);
}

/* Releases only this matrix's slice of a tensor that it shares with others. */
void baton_weights_release(const struct baton_weights_source *source)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < source->n_slices; i++) {
        const struct baton_weights_slice *slice = &source->slices[i];
        const bool is_coded = slice->tensor->dtype == BATON_ELEMENT_CODED;
        uintptr_t data = (uintptr_t)slice->tensor->data + bytes_of(slice, slice->skip);
        size_t n_bytes = is_coded ? slice->tensor->n_bytes
                                  : bytes_of(slice, (size_t)slice->n_stored * (size_t)source->n_in);
        uintptr_t begin = (data + page - 1) / page * page, end = (data + n_bytes) / page * page;
        /* Only whole pages, of a mapping that is never written. It is advice: a failure costs
         * memory alone. */
        if (begin < end)
            (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
}
