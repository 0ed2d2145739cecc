#include "engine/model/tensors_load.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/weights/coded.h"
#include "engine/model/layers.h"

static const struct baton_tensor *find(const struct baton_tensor_names *names,
                                       const struct baton_weights *weights,
                                       const struct baton_tensor_row *row, int layer, int expert,
                                       const char *prefix, char name[BATON_TENSOR_NAME_BYTES])
{
    return baton_weights_find(weights, baton_tensor_name(names, row, layer, expert, prefix, name));
}

/* The prefix with which a token embedding is found: every checkpoint has one. */
const char *baton_tensors_prefix(const struct baton_tensor_names *names,
                                 const struct baton_weights *weights)
{
    const struct baton_tensor_row *row;
    const char *prefix;
    char name[BATON_TENSOR_NAME_BYTES];
    for (int p = 0; (prefix = baton_tensor_prefix_at(names, p)); p++)
        for (int i = 0; (row = baton_tensor_row_at(names, i)); i++)
            if (row->kind == BATON_ARRAY_TOKEN_EMBEDDING &&
                find(names, weights, row, 0, 0, prefix, name))
                return prefix;
    return names->prefix;
}

/* The first tensor found for an array outside of the layers; NULL: there is none. */
static const struct baton_tensor *tensor_of(const struct baton_tensor_names *names,
                                            const struct baton_weights *weights,
                                            enum baton_array_kind kind)
{
    const char *prefix = baton_tensors_prefix(names, weights);
    const struct baton_tensor_row *row;
    const struct baton_tensor *tensor = NULL;
    char name[BATON_TENSOR_NAME_BYTES];
    for (int i = 0; !tensor && (row = baton_tensor_row_at(names, i)); i++)
        if (row->kind == kind)
            tensor = find(names, weights, row, 0, 0, prefix, name);
    return tensor;
}

bool baton_tensors_have_head(const struct baton_tensor_names *names,
                             const struct baton_weights *weights)
{
    const struct baton_tensor *head = tensor_of(names, weights, BATON_ARRAY_HEAD);
    const struct baton_tensor *embedding = tensor_of(names, weights, BATON_ARRAY_TOKEN_EMBEDDING);
    if (!head || !embedding)
        return head;
    /* The bytes are compared: a copy that is fine-tuned has the same shape and other values. */
    return head->dtype != embedding->dtype || head->block_type != embedding->block_type ||
           head->n_bytes != embedding->n_bytes ||
           memcmp(head->data, embedding->data, head->n_bytes) != 0;
}

/* The layer of a tensor's name, and the rest of the name; -1: it is outside of the layers. */
static int layer_of(const struct baton_tensor_names *names, const char *prefix, const char *name,
                    const char **rest)
{
    size_t n = strlen(prefix), n_layer = strlen(names->layer_prefix);
    if (strncmp(name, prefix, n) != 0 || strncmp(name + n, names->layer_prefix, n_layer) != 0)
        return -1;
    char *end;
    const char *digits = name + n + n_layer;
    long layer = strtol(digits, &end, 10);
    *rest = end + 1;
    return end > digits && *end == '.' && layer >= 0 && layer < BATON_MAX_LAYERS ? (int)layer : -1;
}

static bool is_row_of_model(const struct baton_spec *spec, const struct baton_tensor_row *row,
                            int layer)
{
    if (!baton_array_is_of_layer(row->kind))
        return baton_array_of(spec, row->kind, 0).n_rows || row->kind == BATON_ARRAY_HEAD;
    if (layer >= spec->n_layers)
        return false;
    /* Files may hold the keys of a layer that reads another one's, as published ones do. */
    if (row->kind == BATON_ARRAY_K_NORM && !baton_spec_stores_kv(spec, layer))
        return true;
    if (row->slice == BATON_SLICE_V && spec->layers[layer].values_are_keys)
        return false;
    if (row->kind == BATON_ARRAY_QKV && spec->latent.n_rank &&
        (row->slice == BATON_SLICE_Q_RANK) != (spec->latent.n_q_rank > 0) &&
        row->slice != BATON_SLICE_LATENT)
        return false;
    const struct baton_array array = baton_array_of(spec, row->kind, layer);
    return array.n_rows && baton_tensor_row_fills(row, &array);
}

static bool is_known(const struct baton_spec *spec, const struct baton_tensor_names *names,
                     const char *prefix, const char *name)
{
    const char *rest = NULL;
    int layer = layer_of(names, prefix, name, &rest);
    const struct baton_tensor_row *row;
    char of_row[BATON_TENSOR_NAME_BYTES];
    for (int i = 0; (row = baton_tensor_row_at(names, i)); i++) {
        if (baton_array_is_of_layer(row->kind) != (layer >= 0) ||
            !is_row_of_model(spec, row, layer))
            continue;
        if (layer >= 0 ? baton_tensor_row_has_name(row, rest, spec->moe.n_experts)
                       : !strcmp(baton_tensor_name(names, row, 0, 0, prefix, of_row), name))
            return true;
    }
    return false;
}

/* Whether a tensor is NAME.bias without an effect, beside the codes of NAME.weight. */
static bool is_idle_bias(const struct baton_weights *weights, const struct baton_tensor *tensor)
{
    static const char end[] = ".bias";
    char weight[BATON_TENSOR_NAME_BYTES];
    const size_t n = strlen(tensor->name), n_end = sizeof end - 1;
    if (n < n_end || n >= sizeof weight - 2 || strcmp(tensor->name + n - n_end, end) != 0)
        return false;
    (void)snprintf(weight, sizeof weight, "%.*s.weight", (int)(n - n_end), tensor->name);
    const struct baton_tensor *matrix = baton_weights_find(weights, weight);
    return matrix && matrix->coded && baton_coded_is_zero_bias(tensor);
}

/* Whether the tensor belongs to a layer after the last that is computed, where a file has such. */
static bool is_late(const struct baton_spec *spec, const struct baton_tensor_names *names,
                    const char *prefix, const char *name)
{
    const char *rest = NULL;
    return names->has_late_layers && layer_of(names, prefix, name, &rest) >= spec->n_layers;
}

/* Refuses a tensor that would change the result if the model knew it. */
static enum baton_err check_known(const struct baton_spec *spec,
                                  const struct baton_tensor_names *names,
                                  const struct baton_weights *weights, struct baton_why *why)
{
    const char *prefix = baton_tensors_prefix(names, weights);
    const struct baton_tensor *tensor;
    for (size_t i = 0; (tensor = baton_weights_at(weights, i)); i++)
        if (!is_known(spec, names, prefix, tensor->name) &&
            !is_late(spec, names, prefix, tensor->name) &&
            !baton_tensor_is_ignored(names, prefix, tensor->name) && !is_idle_bias(weights, tensor))
            return baton_fail(why, BATON_INVALID,
                              "tensor %s: the model that its configuration describes has none",
                              tensor->name);
    return BATON_OK;
}

struct loading {
    const struct baton_spec *spec;
    const struct baton_tensor_names *names;
    const struct baton_weights *weights;
    const char *prefix;
    struct baton_why *why;
};

/* Blocks and codes can only be read as whole rows of a matrix. */
static enum baton_err check_rows(const struct loading *loading,
                                 const struct baton_named_tensor *named,
                                 const struct baton_tensor *tensor)
{
    bool are_whole_rows = !named->row->transposed || (tensor->dtype == BATON_ELEMENT_BLOCKS &&
                                                      named->row->slice == BATON_SLICE_KEYS_UP);
    if (tensor->dtype < BATON_ELEMENT_BLOCKS || (!named->is_vector && are_whole_rows))
        return BATON_OK;
    return baton_fail(loading->why, BATON_INVALID, "tensor %s: %s; F32, F16 or BF16 is wanted",
                      tensor->name,
                      tensor->coded ? "codes" : baton_block_type_name(tensor->block_type));
}

/* Finds a row's tensor of this name, and its scales if the row names them. */
static enum baton_err find_tensor(const struct loading *loading, const struct baton_array *array,
                                  const struct baton_named_tensor *named, const char *name,
                                  struct baton_weights_slice *slice)
{
    int64_t shape[BATON_TENSOR_MAX_SHAPE];
    int n_dims = baton_tensor_shape(loading->spec, named, shape);
    char scales[BATON_TENSOR_NAME_BYTES];
    const struct baton_tensor_row row_of_scales = {.name = named->row->scales,
                                                   .kind = named->row->kind};
    if (!named->row->scales) {
        const struct baton_tensor *found = baton_weights_find(loading->weights, name);
        if (found && !found->n_dims && named->is_vector && named->n_rows == 1)
            n_dims = 0; /* one number may be stored without a dimension */
        enum baton_err err = baton_weights_find_shaped(loading->weights, name, n_dims, shape,
                                                       &slice->tensor, loading->why);
        return err ? err : check_rows(loading, named, slice->tensor);
    }
    (void)baton_tensor_name(loading->names, &row_of_scales, array->layer, array->expert,
                            loading->prefix, scales);
    return baton_weights_find_mxfp4(loading->weights, name, scales, n_dims, shape, &slice->tensor,
                                    &slice->scales, loading->why);
}

/* Adds a tensor's slices to the source; n_out counts the rows that have a tensor so far. */
static enum baton_err add_tensor(const struct loading *loading, const struct baton_array *array,
                                 const struct baton_tensor_row *row, const char *name,
                                 struct baton_weights_source *source)
{
    struct baton_named_tensor named = baton_tensor_of(loading->spec, array, row);
    struct baton_weights_slice whole = {.n_stored = named.n_rows, .transposed = row->transposed};
    if (named.n_experts)
        whole.skip = (size_t)array->expert * (size_t)named.n_rows * (size_t)named.n_columns;
    enum baton_err err = find_tensor(loading, array, &named, name, &whole);
    assert(err || source->n_slices + named.n_slices <= BATON_WEIGHTS_MAX_SLICES);
    for (int i = 0; !err && i < named.n_slices; i++) {
        struct baton_weights_slice *slice = &source->slices[source->n_slices++];
        *slice = whole;
        slice->first = named.slices[i].first;
        slice->n = named.slices[i].n;
        slice->order = named.slices[i].order;
        source->n_out += named.slices[i].n;
    }
    return err;
}

/* Whether another tensor already gives some of the rows, since a checkpoint may hold an array both
 * whole and in slices; or whether the array lacks them, as that of a layer without keys does. */
static bool overlaps(const struct baton_weights_source *source, const struct baton_array *array,
                     const struct baton_named_tensor *named)
{
    for (int k = 0; k < named->n_slices; k++)
        if (named->slices[k].first + named->slices[k].n > array->n_rows)
            return true;
    for (int i = 0; i < source->n_slices; i++)
        for (int k = 0; k < named->n_slices; k++) {
            const struct baton_weights_slice *has = &source->slices[i];
            const struct baton_tensor_slice *gives = &named->slices[k];
            if (has->first < gives->first + gives->n && gives->first < has->first + has->n)
                return true;
        }
    return false;
}

static enum baton_err refuse_missing(const struct loading *loading, const struct baton_array *array,
                                     const struct baton_weights_source *source)
{
    const struct baton_tensor_row *row;
    char name[BATON_TENSOR_NAME_BYTES] = "";
    for (int i = 0; (row = baton_tensor_row_at(loading->names, i)); i++) {
        if (!baton_tensor_row_fills(row, array))
            continue;
        struct baton_named_tensor named = baton_tensor_of(loading->spec, array, row);
        if (!overlaps(source, array, &named)) {
            (void)baton_tensor_name(loading->names, row, array->layer, array->expert,
                                    loading->prefix, name);
            break;
        }
    }
    return baton_fail(loading->why, BATON_INVALID, "tensor %s is missing", name);
}

/* Finds the tensors that hold the rows of an array: for each slice, the first of the names that the
 * checkpoint has. */
static enum baton_err find_source(const struct loading *loading, const struct baton_array *array,
                                  struct baton_weights_source *source)
{
    const struct baton_tensor_row *row;
    char name[BATON_TENSOR_NAME_BYTES];
    enum baton_err err = BATON_OK;
    *source = (struct baton_weights_source){.n_in = array->n_columns};
    for (int i = 0; !err && (row = baton_tensor_row_at(loading->names, i)); i++) {
        if (!baton_tensor_row_fills(row, array) || source->n_out == array->n_rows ||
            !find(loading->names, loading->weights, row, array->layer, array->expert,
                  loading->prefix, name))
            continue;
        struct baton_named_tensor named = baton_tensor_of(loading->spec, array, row);
        if (!overlaps(source, array, &named))
            err = add_tensor(loading, array, row, name, source);
    }
    if (!err && source->n_out != array->n_rows)
        return refuse_missing(loading, array, source);
    return err;
}

enum baton_err baton_tensors_source(const struct baton_spec *spec,
                                    const struct baton_tensor_names *names,
                                    const struct baton_weights *weights,
                                    const struct baton_array *array,
                                    struct baton_weights_source *source, struct baton_why *why)
{
    const struct loading loading = {.spec = spec,
                                    .names = names,
                                    .weights = weights,
                                    .prefix = baton_tensors_prefix(names, weights),
                                    .why = why};
    return find_source(&loading, array, source);
}

/* Reads a bias in the order of its matrix's panels. */
static void read_gated(const struct baton_array *array, const struct baton_weights_source *source,
                       float *floats)
{
    int n_panels = baton_gated_n_out(array->n_rows / 2) / BATON_PANEL;
    memset(floats, 0, (size_t)n_panels * BATON_PANEL * sizeof *floats);
    for (int panel = 0; panel < n_panels; panel++) {
        struct baton_panel_rows rows = baton_panel_rows(array->n_rows, true, panel);
        baton_weights_read(source, rows.first, rows.n, floats + (size_t)panel * BATON_PANEL);
    }
}

static void read_floats(const struct loading *loading, const struct baton_array *array,
                        const struct baton_weights_source *source, float *floats)
{
    size_t n_columns = (size_t)array->n_columns;
    if (array->is_gated) {
        read_gated(array, source, floats);
        return;
    }
    for (int r = 0; r < array->n_rows; r += BATON_WEIGHTS_READ_MAX) {
        int n =
            array->n_rows - r < BATON_WEIGHTS_READ_MAX ? array->n_rows - r : BATON_WEIGHTS_READ_MAX;
        baton_weights_read(source, r, n, floats + (size_t)r * n_columns);
    }
    /* Gemma stores w - 1 and computes x (1 + w); kernels multiply by the weight alone. */
    if (loading->names->norms_less_one && array->center > 0 && !array->is_whole)
        for (int r = 0; r < array->n_rows; r++)
            floats[r] += 1;
}

enum baton_err baton_tensors_check(const struct baton_spec *spec,
                                   const struct baton_tensor_names *names,
                                   const struct baton_weights *weights, struct baton_why *why)
{
    const struct loading loading = {.spec = spec,
                                    .names = names,
                                    .weights = weights,
                                    .prefix = baton_tensors_prefix(names, weights),
                                    .why = why};
    enum baton_err err = BATON_OK;
    for (int i = 0; i < baton_n_arrays(spec) && !err; i++) {
        struct baton_array array = baton_array_at(spec, i);
        struct baton_weights_source source;
        for (; array.n_rows && !err && array.expert < baton_array_n_copies(&array); array.expert++)
            err = find_source(&loading, &array, &source);
    }
    return err || names->is_part ? err : check_known(spec, names, weights, why);
}

static enum baton_err load_array(const struct loading *loading, struct baton_model *model,
                                 const struct baton_array *array, struct baton_packing *packing)
{
    struct baton_weights_source source;
    enum baton_err err = find_source(loading, array, &source);
    if (err)
        return err;
    if (array->is_mapped)
        return BATON_OK;
    if (!array->is_matrix) {
        read_floats(loading, array, &source, baton_model_floats_of(model, array));
        return BATON_OK;
    }
    struct baton_matrix matrix = baton_model_matrix_of(model, array);
    return baton_packing_add(packing, &source, array->is_gated, &matrix);
}

enum baton_err baton_tensors_load(struct baton_model *model, const struct baton_tensor_names *names,
                                  const struct baton_weights *weights,
                                  struct baton_packing *packing, struct baton_why *why)
{
    const struct loading loading = {.spec = &model->spec,
                                    .names = names,
                                    .weights = weights,
                                    .prefix = baton_tensors_prefix(names, weights),
                                    .why = why};
    enum baton_err err = BATON_OK;
    for (int i = 0; i < baton_n_arrays(&model->spec) && !err; i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        for (; array.n_rows && !err && array.expert < baton_array_n_copies(&array); array.expert++)
            err = load_array(&loading, model, &array, packing);
    }
    return err;
}
