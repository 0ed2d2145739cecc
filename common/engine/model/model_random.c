/* Models of pseudo-random weights. */
#include <stdlib.h>
#include <string.h>

#include "common/arch/arch.h"
#include "common/engine/model/arrays.h"
#include "common/engine/model/random_weights.h"
#include "common/engine/model/storage.h"

static void fill(float *floats, size_t n, float center, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        floats[i] = center + baton_random_weight(*seed, i);
    *seed += n * BATON_RANDOM_STEP;
}

static enum baton_err fill_matrix(const struct baton_packed *packed, float center, uint64_t *seed)
{
    size_t n_in = (size_t)packed->n_in;
    float *rows = calloc(BATON_PANEL * n_in, sizeof *rows);
    if (!rows)
        return BATON_NO_MEMORY;
    for (int panel = 0; panel < baton_packed_n_panels(packed); panel++) {
        int n = packed->n_out - panel * BATON_PANEL;
        n = n < BATON_PANEL ? n : BATON_PANEL;
        memset(rows, 0, BATON_PANEL * n_in * sizeof *rows);
        fill(rows, (size_t)n * n_in, center, seed);
        baton_packed_write(packed, panel, rows);
    }
    free(rows);
    return BATON_OK;
}

/* The same weights whatever they are kept in. */
static enum baton_err fill_all(struct baton_model *model, uint64_t seed)
{
    int n = baton_n_arrays(&model->spec);
    enum baton_err err = BATON_OK;
    for (int i = 0; i < n && !err; i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        if (!array.n_rows)
            continue;
        if (array.is_matrix)
            err = fill_matrix(baton_model_matrix(model, &array), array.center, &seed);
        else
            fill(*baton_model_floats(model, &array), baton_array_n_elements(&array), array.center,
                 &seed);
    }
    return err;
}

enum baton_err baton_model_random(const struct baton_spec *spec, uint64_t seed,
                                  const struct baton_model_options *options,
                                  struct baton_model **model, struct baton_why *why)
{
    const struct baton_model_options none = {0};
    struct baton_model *made = NULL;
    enum baton_err err = baton_spec_check(spec, why);
    if (!err)
        err = baton_model_measure(spec, options ? options : &none, &made, why);
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
