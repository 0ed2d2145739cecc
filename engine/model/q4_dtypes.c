#include "engine/model/q4_dtypes.h"

static const enum baton_dtype values_format = BATON_Q6_K;

/* The formats of all matrices but the router. */
static const enum baton_dtype formats[BATON_N_ARRAY_KINDS] = {
    [BATON_ARRAY_TOKEN_EMBEDDING] = BATON_Q6_K,
    [BATON_ARRAY_QKV] = BATON_Q4_K,
    [BATON_ARRAY_OUT] = BATON_Q5_K,
    [BATON_ARRAY_UP] = BATON_Q4_K,
    [BATON_ARRAY_DOWN] = BATON_Q5_K,
    [BATON_ARRAY_SHARED_UP] = BATON_Q4_K,
    [BATON_ARRAY_SHARED_DOWN] = BATON_Q5_K,
    [BATON_ARRAY_Q_UP] = BATON_Q4_K,
    [BATON_ARRAY_KEY_UP] = BATON_Q6_K,
    [BATON_ARRAY_VALUE_UP] = BATON_Q6_K,
    [BATON_ARRAY_PER_LAYER_IN] = BATON_Q6_K,
    [BATON_ARRAY_PER_LAYER_GATE] = BATON_Q6_K,
    [BATON_ARRAY_PER_LAYER_OUT] = BATON_Q6_K,
    [BATON_ARRAY_HEAD] = BATON_Q6_K,
};

/* The format itself, or one of blocks of 32 if padding rows of n_in weights would cost more. */
static enum baton_dtype for_rows(enum baton_dtype format, int n_in)
{
    /* K-quants have blocks of 256: a width of 320 takes two of them, but ten blocks of 32. */
    enum baton_dtype other = format == BATON_Q6_K ? BATON_Q8_0 : BATON_Q5_1;
    return baton_packed_panel_bytes(format, n_in) <= baton_packed_panel_bytes(other, n_in) ? format
                                                                                           : other;
}

/* The rows of values, or of keys that are values too, which come last; 0: the layer has none, or
 * its queries and keys do not end with a panel, which has one dtype. */
static int n_values(const struct baton_spec *spec, int layer)
{
    int n = baton_spec_stores_kv(spec, layer) ? baton_spec_kv_width(spec, layer) : 0;
    return (baton_spec_qkv_width(spec, layer) - n) % BATON_PANEL ? 0 : n;
}

static void choose(void *arg, const struct baton_model *model, const struct baton_array *array,
                   struct baton_matrix_dtypes *dtypes)
{
    int n_last = array->kind == BATON_ARRAY_QKV ? n_values(&model->spec, array->layer) : 0;
    (void)arg;
    *dtypes = (struct baton_matrix_dtypes){
        .n = n_last ? 2 : 1,
        .ranges = {{.n_rows = array->n_rows - n_last,
                    .dtype = for_rows(formats[array->kind], array->n_columns)},
                   {.n_rows = n_last, .dtype = for_rows(values_format, array->n_columns)}}};
}

const struct baton_dtype_rule baton_q4_rule = {.choose = choose, .name = "q4"};
