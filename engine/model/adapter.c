#include "engine/model/adapter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/arch/arch.h"
#include "engine/checkpoint/adapter/adapter_file.h"
#include "engine/checkpoint/gguf/config.h"
#include "engine/checkpoint/weights/weights.h"
#include "engine/model/layers.h"
#include "engine/model/packing.h"
#include "engine/system/slab.h"

/* A file's A and B for one of its model's tensors. */
struct part {
    struct baton_named_tensor named;
    const struct baton_tensor *down, *up;
    int rank, first; /* first: row of the matrix's A */
    double scale;
};

struct parts {
    int n, rank; /* rank: of all together */
    struct part list[BATON_ADAPTER_MAX_PARTS];
};

struct loading {
    const struct baton_model *model;
    const struct baton_adapter_file *file;
    const struct baton_tensor_names *names;
    const struct baton_tensor **used; /* [n_used] of the file */
    size_t n_used;
    struct baton_adapter *adapter;
    struct baton_why *why;
};

/* ---- the file's tensors ---- */

/* Finds A of a row's tensor, under any prefix that its model may have had. NULL: there is none. */
static const struct baton_tensor *find_down(const struct loading *loading,
                                            const struct baton_tensor_row *row, int layer,
                                            char tensor[BATON_TENSOR_NAME_BYTES])
{
    const struct baton_tensor *found = NULL;
    const char *prefix;
    char name[BATON_ADAPTER_NAME_BYTES];
    for (int i = 0; !found && (prefix = baton_tensor_prefix_at(loading->names, i)); i++) {
        (void)baton_tensor_name(loading->names, row, layer, 0, prefix, tensor);
        found = baton_weights_find(loading->file->weights,
                                   baton_adapter_file_name(loading->file, tensor, false, name));
    }
    return found;
}

static int rank_of(const struct loading *loading, const struct baton_tensor *down)
{
    /* A GGUF file omits leading 1s. */
    if (loading->file->is_gguf && down->n_dims == 1)
        return 1;
    return down->n_dims == 2 && down->shape[0] <= BATON_ADAPTER_MAX_RANK ? (int)down->shape[0] : 0;
}

static enum baton_err find_up(struct loading *loading, const char *tensor, struct part *part,
                              int n_columns)
{
    char down[BATON_ADAPTER_NAME_BYTES], up[BATON_ADAPTER_NAME_BYTES];
    const int64_t down_shape[] = {part->rank, n_columns};
    const int64_t up_shape[] = {part->named.n_rows, part->rank};
    enum baton_err err = baton_weights_find_shaped(
        loading->file->weights, baton_adapter_file_name(loading->file, tensor, false, down), 2,
        down_shape, &part->down, loading->why);
    if (err)
        return err;
    return baton_weights_find_shaped(loading->file->weights,
                                     baton_adapter_file_name(loading->file, tensor, true, up), 2,
                                     up_shape, &part->up, loading->why);
}

/* Refuses values that are no numbers, which would make every logit one that is none. */
static enum baton_err check_numbers(const struct loading *loading,
                                    const struct baton_tensor *tensor, int n_rows, int n_columns)
{
    const struct baton_weights_source source = {
        .n_out = n_rows,
        .n_in = n_columns,
        .n_slices = 1,
        .slices = {{.tensor = tensor, .n = n_rows, .n_stored = n_rows}}};
    float *row = malloc((size_t)n_columns * sizeof *row);
    enum baton_err err = row ? BATON_OK : BATON_NO_MEMORY;
    for (int r = 0; r < n_rows && !err; r++) {
        baton_weights_read(&source, r, 1, row);
        for (int k = 0; k < n_columns && !err; k++)
            if (!isfinite(row[k]))
                err = baton_fail(loading->why, BATON_INVALID,
                                 "tensor %s: row %d has a value that is no finite number",
                                 tensor->name, r);
    }
    free(row);
    return err;
}

/* Once, while the adapter has no slab. */
static enum baton_err check_part(const struct loading *loading, const struct part *part,
                                 int n_columns)
{
    if (loading->adapter->slab)
        return BATON_OK;
    enum baton_err err = check_numbers(loading, part->down, part->rank, n_columns);
    return err ? err : check_numbers(loading, part->up, part->named.n_rows, part->rank);
}

static enum baton_err add_part(struct loading *loading, const struct baton_array *array,
                               const struct baton_tensor_row *row, struct parts *parts)
{
    char tensor[BATON_TENSOR_NAME_BYTES];
    const struct baton_tensor *down = find_down(loading, row, array->layer, tensor);
    if (!down)
        return BATON_OK;
    struct part part = {.named = baton_tensor_of(&loading->model->spec, array, row),
                        .rank = rank_of(loading, down),
                        .first = parts->rank};
    if (!part.rank)
        return baton_fail(loading->why, BATON_LIMIT, "tensor %s: the rank must be 1..%d",
                          down->name, BATON_ADAPTER_MAX_RANK);
    if (parts->n == BATON_ADAPTER_MAX_PARTS)
        return baton_fail(loading->why, BATON_INVALID, "tensor %s: the same rows have another one",
                          down->name);
    enum baton_err err = find_up(loading, tensor, &part, array->n_columns);
    if (!err)
        err = check_part(loading, &part, array->n_columns);
    if (!err)
        err = baton_adapter_file_scale(loading->file, tensor, part.rank, &part.scale, loading->why);
    if (err)
        return err;
    loading->used[loading->n_used++] = part.down;
    loading->used[loading->n_used++] = part.up;
    parts->list[parts->n++] = part;
    parts->rank += part.rank;
    return BATON_OK;
}

/* The parts of the file that change a matrix. */
static enum baton_err find_parts(struct loading *loading, const struct baton_array *array,
                                 struct parts *parts)
{
    const struct baton_tensor_row *row;
    enum baton_err err = BATON_OK;
    *parts = (struct parts){0};
    if (!array->n_rows || array->n_experts) /* experts choose other rows than an adapter's */
        return BATON_OK;
    for (int i = 0; !err && (row = baton_tensor_row_at(loading->names, i)); i++)
        if (baton_tensor_row_fills(row, array))
            err = add_part(loading, array, row, parts);
    return err;
}

static bool is_used(const struct loading *loading, const struct baton_tensor *tensor)
{
    for (size_t i = 0; i < loading->n_used; i++)
        if (loading->used[i] == tensor)
            return true;
    return false;
}

/* Refuses tensors that would change the result if the engine knew them. */
static enum baton_err check_known(const struct loading *loading)
{
    const struct baton_tensor *tensor;
    for (size_t i = 0; (tensor = baton_weights_at(loading->file->weights, i)); i++)
        if (!is_used(loading, tensor))
            return baton_fail(loading->why, BATON_INVALID,
                              "tensor %.160s: has no other half, or is of none of the matrices "
                              "that adapters change: projections of this model's attention and "
                              "dense MLPs",
                              tensor->name);
    if (!loading->n_used)
        return baton_fail(loading->why, BATON_INVALID, "it has no tensors");
    return BATON_OK;
}

/* ---- packing ---- */

static void describe(const struct loading *loading, const struct baton_array *array,
                     const struct parts *parts, size_t *n_taken, struct baton_delta *delta)
{
    const struct baton_packed packed = {.dtype = BATON_F32,
                                        .layout = loading->model->kernels->layout};
    char *slab = loading->adapter->slab;
    delta->rank = parts->rank;
    delta->down = delta->up = packed;
    delta->down.n_out = delta->up.n_in = parts->rank;
    delta->down.n_in = array->n_columns;
    delta->up.n_out = baton_model_n_packed_rows(array);
    delta->down.data = baton_slab_take(slab, n_taken, baton_packed_read_bytes(&delta->down));
    delta->up.data = baton_slab_take(slab, n_taken, baton_packed_read_bytes(&delta->up));
    for (int i = 0; i < parts->n; i++)
        if (parts->list[i].rank > loading->adapter->info.rank)
            loading->adapter->info.rank = parts->list[i].rank;
}

static void pack_down(const struct parts *parts, const struct baton_packed *down, float *rows)
{
    struct baton_weights_source source = {
        .n_out = down->n_out, .n_in = down->n_in, .n_slices = parts->n};
    for (int i = 0; i < parts->n; i++)
        source.slices[i] = (struct baton_weights_slice){.tensor = parts->list[i].down,
                                                        .first = parts->list[i].first,
                                                        .n = parts->list[i].rank,
                                                        .n_stored = parts->list[i].rank};
    for (int panel = 0; panel < baton_packed_n_panels(down); panel++) {
        struct baton_panel_rows of = baton_panel_rows(down->n_out, false, panel);
        memset(rows, 0, BATON_PANEL * (size_t)down->n_in * sizeof *rows);
        baton_weights_read(&source, of.first, of.n, rows);
        baton_packed_write(down, panel, rows);
    }
}

/* Reads B's row of an output of the matrix into the part's columns. */
static void read_up_row(const struct part *part, int out, float *row)
{
    for (int i = 0; i < part->named.n_slices; i++) {
        const struct baton_tensor_slice *slice = &part->named.slices[i];
        if (out < slice->first || out >= slice->first + slice->n)
            continue;
        const struct baton_weights_source source = {
            .n_out = 1,
            .n_in = part->rank,
            .n_slices = 1,
            .slices = {{.tensor = part->up,
                        .n = 1,
                        .order = {.first = baton_row_order_at(&slice->order, out - slice->first)},
                        .n_stored = part->named.n_rows}}};
        baton_weights_read(&source, 0, 1, row + part->first);
        for (int k = 0; k < part->rank; k++)
            row[part->first + k] = (float)(part->scale * (double)row[part->first + k]);
    }
}

static void pack_up(const struct parts *parts, const struct baton_array *array,
                    const struct baton_packed *up, float *rows)
{
    size_t n_in = (size_t)up->n_in;
    for (int panel = 0; panel < baton_packed_n_panels(up); panel++) {
        struct baton_panel_rows of = baton_panel_rows(array->n_rows, array->is_gated, panel);
        memset(rows, 0, BATON_PANEL * n_in * sizeof *rows);
        for (int r = 0; r < of.n; r++)
            for (int i = 0; i < parts->n; i++)
                read_up_row(&parts->list[i], of.first + r, rows + (size_t)r * n_in);
        baton_packed_write(up, panel, rows);
    }
}

static enum baton_err pack(const struct parts *parts, const struct baton_array *array,
                           const struct baton_delta *delta)
{
    int n_in = delta->down.n_in > delta->rank ? delta->down.n_in : delta->rank;
    float *rows = calloc(BATON_PANEL * (size_t)n_in, sizeof *rows);
    if (!rows)
        return BATON_NO_MEMORY;
    pack_down(parts, &delta->down, rows);
    pack_up(parts, array, &delta->up, rows);
    free(rows);
    return BATON_OK;
}

/* Measures the adapter while it has no slab, and packs it when it has one. */
static enum baton_err visit_layers(struct loading *loading, size_t *n_taken)
{
    const struct baton_spec *spec = &loading->model->spec;
    enum baton_err err = BATON_OK;
    *n_taken = loading->n_used = 0;
    for (int i = 0; !err && i < spec->n_layers * BATON_N_ADAPTED; i++) {
        int slot = i % BATON_N_ADAPTED, layer = i / BATON_N_ADAPTED;
        struct baton_array array =
            baton_array_of(spec, baton_adapted_kind((enum baton_adapted)slot), layer);
        struct baton_delta *delta = &loading->adapter->layers[layer][slot];
        struct parts parts;
        err = find_parts(loading, &array, &parts);
        if (err || !parts.n)
            continue;
        describe(loading, &array, &parts, n_taken, delta);
        if (loading->adapter->slab)
            err = pack(&parts, &array, delta);
    }
    return err;
}

static enum baton_err fill(struct loading *loading)
{
    struct baton_adapter *adapter = loading->adapter;
    size_t n_bytes = 0, n_tensors = 0;
    while (baton_weights_at(loading->file->weights, n_tensors))
        n_tensors++;
    loading->used = calloc(n_tensors + 2, sizeof *loading->used);
    adapter->n_layers = loading->model->spec.n_layers;
    adapter->layers = calloc((size_t)adapter->n_layers, sizeof adapter->layers[0]);
    if (!loading->used || !adapter->layers)
        return BATON_NO_MEMORY;
    enum baton_err err = visit_layers(loading, &n_bytes);
    if (!err)
        err = check_known(loading);
    if (err)
        return err;
    adapter->slab = aligned_alloc(BATON_SLAB_LINE_BYTES, n_bytes);
    adapter->info.n_bytes = n_bytes;
    return adapter->slab ? visit_layers(loading, &n_bytes) : BATON_NO_MEMORY;
}

static const struct baton_tensor_names *names_of(const struct baton_model *model, bool is_gguf)
{
    if (!model->arch)
        return NULL;
    return is_gguf ? model->arch->gguf : model->arch->tensors;
}

/* A GGUF file says of which family its model is; PEFT's do not. */
static enum baton_err check_arch(const struct baton_model *model,
                                 const struct baton_adapter_file *file, struct baton_why *why)
{
    const char *type = model->arch ? model->arch->model_type : "";
    if (!file->is_gguf || !baton_gguf_arch_of(type) || baton_gguf_arch_holds(file->arch, type))
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "general.architecture: \"%s\" is not that of the model, which is of type %s",
                      file->arch, type);
}

static enum baton_err load(const struct baton_model *model, const struct baton_adapter_file *file,
                           struct baton_adapter *adapter, struct baton_why *why)
{
    struct loading loading = {.model = model,
                              .file = file,
                              .names = names_of(model, file->is_gguf),
                              .adapter = adapter,
                              .why = why};
    if (!loading.names)
        return baton_fail(why, BATON_INVALID, "the model's family has no names for its tensors");
    enum baton_err err = check_arch(model, file, why);
    if (!err)
        err = fill(&loading);
    free(loading.used);
    memcpy(adapter->info.digest, file->digest, sizeof adapter->info.digest);
    if (err == BATON_NO_MEMORY)
        return baton_fail(why, err, "out of memory");
    return err;
}

enum baton_err baton_adapter_load(const struct baton_model *model, const char *path,
                                  struct baton_adapter **adapter, struct baton_why *why)
{
    struct baton_adapter_file file;
    struct baton_why reason = {""};
    if (model->spec.state.n_taps)
        return baton_fail(why, BATON_INVALID,
                          "%s: adapters of a model whose layers keep a state are not supported",
                          path);
    enum baton_err err = baton_adapter_file_open(path, &file, why);
    if (err)
        return err;
    struct baton_adapter *made = calloc(1, sizeof *made);
    err = made ? load(model, &file, made, &reason)
               : baton_fail(&reason, BATON_NO_MEMORY, "out of memory");
    baton_adapter_file_close(&file);
    if (!err) {
        *adapter = made;
        return BATON_OK;
    }
    baton_adapter_close(made);
    return baton_fail(why, err, "%s: %s", path, reason.text);
}

void baton_adapter_close(struct baton_adapter *adapter)
{
    if (!adapter)
        return;
    free(adapter->layers);
    free(adapter->slab);
    free(adapter);
}

const struct baton_adapter_info *baton_adapter_info(const struct baton_adapter *adapter)
{
    return &adapter->info;
}
