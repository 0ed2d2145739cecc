#include "common/engine/model/storage.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/engine/model/arrays.h"
#include "common/engine/system/floats.h"
#include "common/engine/system/slab.h"

/* The bounds of a shape keep every product far below SIZE_MAX. */
static void *take(struct baton_model *model, size_t n_bytes)
{
    return baton_slab_take(model->slab, &model->n_taken, n_bytes);
}

static void place_floats(struct baton_model *model, const struct baton_array *array)
{
    size_t n = baton_model_n_floats(array) * (size_t)baton_array_n_copies(array);
    *baton_model_floats(model, array) = n ? take(model, n * sizeof(float)) : NULL;
}

static void place_matrix(struct baton_model *model, const struct baton_array *array)
{
    struct baton_matrix *matrix = baton_model_matrix(model, array);
    for (int i = 0; array->n_rows && i < matrix->n_parts; i++) /* a tied head's are another's */
        matrix->parts[i].data = take(model, baton_packed_read_bytes(&matrix->parts[i]) *
                                                (size_t)baton_array_n_copies(array));
}

/* The head's matrix is the embedding's; its bias is its own. */
static void tie_head(struct baton_model *model)
{
    float *bias = model->head.bias;
    model->head = model->token_embedding;
    model->head.bias = bias;
}

void baton_model_place(struct baton_model *model, char *slab)
{
    int n = baton_n_arrays(&model->spec);
    model->slab = slab;
    model->n_taken = 0;
    for (int i = 0; i < n; i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        if (array.is_matrix)
            place_matrix(model, &array);
        else
            place_floats(model, &array);
    }
    if (model->spec.has_tied_head)
        tie_head(model);
}

enum baton_err baton_model_allocate(struct baton_model *model, struct baton_why *why)
{
    char *slab = (char *)baton_floats_create(model->n_taken / sizeof(float));
    if (!slab)
        return baton_fail(why, BATON_NO_MEMORY, "model: no memory for %zu weights",
                          baton_spec_n_weights(&model->spec));
    baton_model_place(model, slab);
    return BATON_OK;
}

/* The order of rows that loading turns counts as well. */
static uint32_t digest_order(const struct baton_spec *spec, uint32_t crc)
{
    for (int i = 0; i < spec->n_layers && spec->rotates_pairs; i++) {
        int rope = spec->layers[i].rope, n_rotated = rope < 0 ? 0 : spec->ropes[rope].n_rotated;
        crc = baton_crc32c(crc, &n_rotated, sizeof n_rotated);
    }
    return crc;
}

static uint32_t digest_matrix(const struct baton_matrix *matrix, uint32_t crc)
{
    for (int i = 0; i < matrix->n_parts; i++) {
        const struct baton_packed *part = &matrix->parts[i];
        const char *dtype = baton_dtype_name(part->dtype);
        crc = baton_crc32c(crc, &part->n_out, sizeof part->n_out);
        crc = baton_crc32c(crc, dtype, strlen(dtype) + 1);
    }
    return crc;
}

uint32_t baton_model_layout_digest(const struct baton_model *model)
{
    int n = baton_n_arrays(&model->spec);
    uint32_t crc = 0;
    for (int i = 0; i < n; i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        const int sizes[] = {(int)array.slot, array.layer, array.n_experts, array.n_rows,
                             array.n_columns};
        if (!array.n_rows)
            continue;
        crc = baton_crc32c(crc, sizes, sizeof sizes);
        if (array.is_matrix)
            crc = digest_matrix(baton_model_matrix_in(model, &array), crc);
    }
    return digest_order(&model->spec, crc);
}

bool baton_model_has_dtype(const struct baton_model *model, enum baton_dtype dtype)
{
    for (int i = 0; i < baton_n_arrays(&model->spec); i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        const struct baton_matrix *matrix =
            array.is_matrix ? baton_model_matrix_in(model, &array) : NULL;
        for (int k = 0; matrix && k < matrix->n_parts; k++)
            if (matrix->parts[k].dtype == dtype)
                return true;
    }
    return false;
}

static bool is_auto(const char *option)
{
    return !option || !strcmp(option, "auto");
}

static enum baton_err choose_kernels(const char *name, const struct baton_kernels **kernels,
                                     struct baton_why *why)
{
    char names[128] = "auto";
    const struct baton_kernels *found =
        is_auto(name) ? baton_kernels_best() : baton_kernels_find(name);
    if (found) {
        *kernels = found;
        return BATON_OK;
    }
    for (int i = 0; (found = baton_kernels_at(i)); i++) {
        size_t n = strlen(names);
        (void)snprintf(names + n, sizeof names - n, ", %s", found->name);
    }
    return baton_fail(why, BATON_INVALID, "kernels: \"%.40s\" is none of what this CPU runs: %s",
                      name, names);
}

static enum baton_err refuse_dtype(const char *name, struct baton_why *why)
{
    char names[128] = "auto";
    for (int i = 0; i < BATON_F16; i++) {
        size_t n = strlen(names);
        (void)snprintf(names + n, sizeof names - n, ", %s", baton_dtype_name((enum baton_dtype)i));
    }
    return baton_fail(why, BATON_INVALID, "dtype: \"%.40s\" is none of %s", name, names);
}

static enum baton_err choose(struct baton_model *model, const struct baton_model_options *options,
                             struct baton_why *why)
{
    enum baton_err err = choose_kernels(options->kernels, &model->kernels, why);
    if (err)
        return err;
    model->dtype = BATON_F32;
    if (options->dtype && is_auto(options->dtype))
        model->dtype = model->kernels->fastest;
    else if (options->dtype && (!baton_dtype_parse(options->dtype, &model->dtype) ||
                                baton_dtype_is_native(model->dtype)))
        return refuse_dtype(options->dtype, why);
    if (!model->kernels->dtypes[model->dtype].linear)
        return baton_fail(why, BATON_INVALID, "dtype: the %s kernels do not compute in %s",
                          model->kernels->name, baton_dtype_name(model->dtype));
    return BATON_OK;
}

static void add_part(struct baton_model *model, struct baton_matrix *matrix, int n_out,
                     enum baton_dtype dtype)
{
    struct baton_packed *last = matrix->n_parts ? &matrix->parts[matrix->n_parts - 1] : NULL;
    if (last && last->dtype == dtype)
        last->n_out += n_out;
    else
        matrix->parts[matrix->n_parts++] = (struct baton_packed){
            .dtype = dtype, .layout = model->kernels->layout, .n_out = n_out, .n_in = matrix->n_in};
    matrix->n_out += n_out;
}

/* What an array's matrix is, but for its memory. Neighbouring rows of one dtype are one part. */
static void describe_matrix(struct baton_model *model, const struct baton_dtype_rule *rule,
                            const struct baton_array *array)
{
    struct baton_matrix *matrix = baton_model_matrix(model, array);
    struct baton_matrix_dtypes dtypes = {
        .n = 1, .ranges = {{.n_rows = array->n_rows, .dtype = model->dtype}}};
    if (!array->n_rows)
        return;
    if (array->is_exact)
        dtypes.ranges[0].dtype = BATON_F32;
    else if (rule && rule->choose)
        rule->choose(rule->arg, model, array, &dtypes);
    matrix->n_in = array->n_columns;
    if (array->is_gated)
        dtypes.ranges[0].n_rows = baton_model_n_packed_rows(array);
    for (int i = 0; i < dtypes.n; i++)
        add_part(model, matrix, dtypes.ranges[i].n_rows, dtypes.ranges[i].dtype);
    assert(matrix->n_out == baton_model_n_packed_rows(array));
    assert(matrix->n_parts == 1 || !(array->is_gated || array->n_experts));
}

static void describe_matrices(struct baton_model *model, const struct baton_dtype_rule *rule)
{
    for (int i = 0; i < baton_n_arrays(&model->spec); i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        if (array.is_matrix)
            describe_matrix(model, rule, &array);
    }
}

/* What every layer's parts are, but for their arrays. */
static void describe_parts(struct baton_model *model)
{
    const struct baton_norm norm = {.kind = model->spec.norm, .epsilon = model->spec.norm_epsilon};
    for (int i = 0; i < model->spec.n_layers; i++) {
        struct baton_layer *layer = &model->layers[i];
        layer->attention.norm = layer->attention.post_norm = norm;
        layer->mlp.norm = layer->mlp.post_norm = norm;
    }
    model->final_norm = norm;
}

enum baton_err baton_model_measure(const struct baton_spec *spec,
                                   const struct baton_model_options *options,
                                   const struct baton_dtype_rule *rule, struct baton_model **model,
                                   struct baton_why *why)
{
    struct baton_model *made = calloc(1, sizeof *made);
    struct baton_layer *layers = calloc((size_t)spec->n_layers, sizeof *layers);
    if (!made || !layers) {
        free(made);
        free(layers);
        return baton_fail(why, BATON_NO_MEMORY, "model: out of memory");
    }
    made->spec = *spec;
    made->layers = layers;
    enum baton_err err = choose(made, options, why);
    if (err) {
        baton_model_close(made);
        return err;
    }
    describe_parts(made);
    describe_matrices(made, rule);
    baton_model_place(made, NULL);
    *model = made;
    return BATON_OK;
}

void baton_model_close(struct baton_model *model)
{
    if (!model)
        return;
    if (model->pack.payload)
        baton_pack_file_unmap(&model->pack);
    else
        free(model->slab);
    free(model->layers);
    free(model);
}

const struct baton_spec *baton_model_spec(const struct baton_model *model)
{
    return &model->spec;
}

struct baton_kv_layout baton_model_kv_layout(const struct baton_model *model)
{
    return (struct baton_kv_layout){.spec = &model->spec,
                                    .auto_dtype = model->dtype == BATON_F32 ? "f32" : "f16"};
}

double baton_model_bytes_per_weight(const struct baton_model *model)
{
    const struct baton_matrix *head = &model->head;
    return (double)baton_matrix_read_bytes(head) / ((double)head->n_out * head->n_in);
}

size_t baton_model_mapped_bytes(const struct baton_model *model)
{
    return model->pack.payload ? model->n_taken : 0;
}

const char *baton_model_dtype(const struct baton_model *model)
{
    return baton_dtype_name(model->dtype);
}

const char *baton_model_kernels(const struct baton_model *model)
{
    return model->kernels->name;
}
