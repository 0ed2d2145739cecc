/* Models of pseudo-random weights. */
#include <stdlib.h>
#include <string.h>

#include "common/arch/arch.h"
#include "common/engine/model/arrays.h"
#include "common/engine/model/model_random.h"
#include "common/engine/model/packing.h"
#include "common/engine/model/random_weights.h"

/* n weights of an array whose first the seed enters at, from the first-th on. */
static void fill(float *floats, size_t first, size_t n, float center, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        floats[i] = center + baton_random_weight(seed, first + i);
}

static enum baton_err fill_part(const struct baton_array *array, const struct baton_packed *packed,
                                int first_row, uint64_t seed)
{
    size_t n_in = (size_t)packed->n_in;
    float *rows = calloc(BATON_PANEL * n_in, sizeof *rows);
    if (!rows)
        return BATON_NO_MEMORY;
    for (int panel = 0; panel < baton_packed_n_panels(packed); panel++) {
        struct baton_panel_rows of = baton_panel_rows(
            array->is_gated ? array->n_rows : packed->n_out, array->is_gated, panel);
        memset(rows, 0, BATON_PANEL * n_in * sizeof *rows);
        fill(rows, (size_t)(first_row + of.first) * n_in, (size_t)of.n * n_in, array->center, seed);
        baton_packed_write(packed, panel, rows);
    }
    free(rows);
    return BATON_OK;
}

static enum baton_err fill_matrix(const struct baton_array *array,
                                  const struct baton_matrix *matrix, uint64_t seed)
{
    enum baton_err err = BATON_OK;
    for (int i = 0, first = 0; i < matrix->n_parts && !err; first += matrix->parts[i++].n_out)
        err = fill_part(array, &matrix->parts[i], first, seed);
    return err;
}

static void fill_floats(const struct baton_array *array, float *floats, uint64_t seed)
{
    if (!array->is_gated) {
        fill(floats, 0, baton_array_n_elements(array), array->center, seed);
        return;
    }
    for (int panel = 0; panel < baton_gated_n_out(array->n_rows / 2) / BATON_PANEL; panel++) {
        struct baton_panel_rows of = baton_panel_rows(array->n_rows, true, panel);
        fill(floats + (size_t)panel * BATON_PANEL, (size_t)of.first, (size_t)of.n, array->center,
             seed);
    }
}

static enum baton_err fill_array(struct baton_model *model, const struct baton_array *array,
                                 uint64_t seed)
{
    if (array->is_matrix) {
        struct baton_matrix matrix = baton_model_matrix_of(model, array);
        return fill_matrix(array, &matrix, seed);
    }
    fill_floats(array, baton_model_floats_of(model, array), seed);
    return BATON_OK;
}

/* The same weights whatever they are kept in. */
static enum baton_err fill_all(struct baton_model *model, uint64_t seed)
{
    int n = baton_n_arrays(&model->spec);
    enum baton_err err = BATON_OK;
    for (int i = 0; i < n && !err; i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        for (; array.n_rows && !err && array.expert < baton_array_n_copies(&array);
             array.expert++, seed += baton_array_n_elements(&array) * BATON_RANDOM_STEP)
            err = fill_array(model, &array, seed);
    }
    return err;
}

enum baton_err baton_model_random_by(const struct baton_spec *spec, uint64_t seed,
                                     const struct baton_model_options *options,
                                     const struct baton_dtype_rule *rule,
                                     struct baton_model **model, struct baton_why *why)
{
    const struct baton_model_options none = {0};
    struct baton_model *made = NULL;
    enum baton_err err = baton_spec_check(spec, why);
    if (!err)
        err = baton_model_measure(spec, options ? options : &none, rule, &made, why);
    if (!err)
        err = baton_model_allocate(made, why);
    if (!err)
        err = fill_all(made, seed);
    if (err) {
        baton_model_close(made);
        return err;
    }
    *model = made;
    return BATON_OK;
}

enum baton_err baton_model_random(const struct baton_spec *spec, uint64_t seed,
                                  const struct baton_model_options *options,
                                  struct baton_model **model, struct baton_why *why)
{
    return baton_model_random_by(spec, seed, options, NULL, model, why);
}
