#include "tools/support/machine/shape_model.h"

#include <ctype.h>
#include <stdio.h>

#include "engine/model/random.h"
#include "tools/support/machine/gguf_mix.h"
#include "tools/support/machine/shapes.h"

enum { NAME_BYTES = 16 };

struct mixing {
    struct bench_gguf_mix mix;
    char name[NAME_BYTES];
};

static bool find_mix(const char *dtype, struct mixing *mixing)
{
    char upper[NAME_BYTES] = "";
    struct baton_why none;
    (void)snprintf(mixing->name, sizeof mixing->name, "%s", dtype);
    for (int i = 0; mixing->name[i]; i++)
        upper[i] = (char)toupper((unsigned char)mixing->name[i]);
    return !bench_gguf_mix_parse("--dtype", upper, &mixing->mix, &none) && mixing->mix.is_mix;
}

static enum baton_dtype dtype_of(const struct mixing *mixing, const struct baton_spec *spec,
                                 const struct baton_array *array, enum baton_slice slice)
{
    const struct baton_tensor_row row = {.kind = array->kind, .slice = slice};
    const struct bench_tensor tensor = {.named = {.row = &row, .layer = array->layer},
                                        .n_columns = array->n_columns};
    return baton_dtype_of_blocks(bench_gguf_mix_type(&mixing->mix, spec, &tensor));
}

static void choose(void *arg, const struct baton_model *model, const struct baton_array *array,
                   struct baton_matrix_dtypes *dtypes)
{
    static const enum baton_slice slices[] = {BATON_SLICE_Q, BATON_SLICE_K, BATON_SLICE_V};
    const struct baton_spec *spec = baton_model_spec(model);
    int q_width = baton_spec_q_width(spec, array->layer),
        kv_width = baton_spec_kv_width(spec, array->layer);
    if (array->kind != BATON_ARRAY_QKV || array->n_rows == q_width) {
        dtypes->ranges[0].dtype = dtype_of(arg, spec, array, BATON_SLICE_ALL);
        return;
    }
    dtypes->n = 3;
    for (int i = 0; i < dtypes->n; i++)
        dtypes->ranges[i] = (struct baton_dtype_range){
            .n_rows = i ? kv_width : q_width, .dtype = dtype_of(arg, spec, array, slices[i])};
}

enum baton_err bench_shape_model(const struct baton_spec *spec,
                                 const struct baton_model_options *options,
                                 struct baton_model **model, struct baton_why *why)
{
    static struct mixing mixing; /* the model borrows its name for good */
    if (!options->dtype || !find_mix(options->dtype, &mixing))
        return baton_model_random(spec, BENCH_SHAPE_SEED, options, model, why);
    const struct baton_dtype_rule rule = {.choose = choose, .arg = &mixing, .name = mixing.name};
    return baton_model_random_by(spec, BENCH_SHAPE_SEED, options, &rule, model, why);
}
