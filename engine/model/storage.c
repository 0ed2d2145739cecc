#include "engine/model/storage.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "engine/model/layers.h"
#include "engine/system/floats.h"
#include "engine/system/slab.h"

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
    for (int i = 0; array->n_rows && i < matrix->n_parts; i++) /* a tied head borrows its parts */
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
        else if (!array.is_mapped)
            place_floats(model, &array);
    }
    if (model->spec.has_tied_head) /* last: it copies the embedding's places */
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

/* Loading reorders the rows of interleaved ropes, so n_rotated changes the packed bytes as well. */
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
        /* Only what the slab's layout depends on: a model's scales and flags may differ. */
        const int sizes[] = {(int)array.kind, array.layer, array.n_experts, array.n_rows,
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

void baton_model_close(struct baton_model *model)
{
    if (!model)
        return;
    if (model->pack.payload)
        baton_pack_file_unmap(&model->pack);
    else
        free(model->slab);
    baton_row_table_close(&model->per_layer_table);
    free(model->layers);
    free(model);
}

const struct baton_model_info *baton_model_info(const struct baton_model *model)
{
    return &model->info;
}

const struct baton_spec *baton_model_spec(const struct baton_model *model)
{
    return &model->spec;
}

bool baton_model_is_f32(const struct baton_model *model)
{
    for (int i = 0; i < BATON_N_DTYPES; i++)
        if (i != BATON_F32 && baton_model_has_dtype(model, (enum baton_dtype)i))
            return false;
    return true;
}

/* Whether every step reads the matrix, whatever its tokens, beside the head. */
static bool is_of_step(const struct baton_array *array)
{
    return array->is_matrix && array->n_rows &&
           (baton_array_is_of_layer(array->kind) || array->kind == BATON_ARRAY_PER_LAYER_IN);
}

struct baton_model_bytes baton_model_bytes(const struct baton_model *model)
{
    struct baton_model_bytes bytes = {.head = (double)baton_matrix_read_bytes(&model->head)};
    for (int i = 0; i < baton_n_arrays(&model->spec); i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        if (!is_of_step(&array))
            continue;
        double n_bytes = (double)baton_matrix_read_bytes(baton_model_matrix_in(model, &array));
        bool is_of_heads = array.kind == BATON_ARRAY_KEY_UP || array.kind == BATON_ARRAY_VALUE_UP;
        *(array.n_experts && !is_of_heads ? &bytes.experts : &bytes.layers) +=
            n_bytes * baton_array_n_copies(&array);
    }
    return bytes;
}
