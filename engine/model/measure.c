/* A model before it has memory: its kernels, and the dtypes of each matrix. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/arch/spec_cost.h"
#include "engine/model/layers.h"
#include "engine/model/storage.h"

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
    return baton_fail(why, BATON_INVALID, "kernels: this CPU cannot run \"%.40s\"; it runs: %s",
                      name, names);
}

static enum baton_err refuse_dtype(const char *name, struct baton_why *why)
{
    char names[128] = "auto";
    for (int i = 0; i < BATON_N_DTYPES; i++) {
        size_t n = strlen(names);
        if (!baton_dtype_is_native((enum baton_dtype)i))
            (void)snprintf(names + n, sizeof names - n, ", %s",
                           baton_dtype_name((enum baton_dtype)i));
    }
    return baton_fail(why, BATON_INVALID, "dtype: \"%.40s\" is none of %s, q4, native", name,
                      names);
}

static enum baton_err refuse_kernels(const struct baton_model *model, struct baton_why *why)
{
    return baton_fail(why, BATON_INVALID, "dtype: the %s kernels do not compute in %s",
                      model->kernels->name, model->info.dtype);
}

/* A rule chooses the dtypes of matrices; those that it leaves alone are f32. Only the panels'
 * layout has kernels for every dtype. */
static enum baton_err choose_by_rule(struct baton_model *model, const char *name,
                                     struct baton_why *why)
{
    model->dtype = BATON_F32;
    model->info.dtype = name;
    return model->kernels->layout == BATON_PANELS ? BATON_OK : refuse_kernels(model, why);
}

static enum baton_err choose_dtype(struct baton_model *model, const char *name,
                                   struct baton_why *why)
{
    model->dtype = BATON_F32;
    if (name && is_auto(name))
        model->dtype = model->kernels->fastest;
    else if (name &&
             (!baton_dtype_parse(name, &model->dtype) || baton_dtype_is_native(model->dtype)))
        return refuse_dtype(name, why);
    model->info.dtype = baton_dtype_name(model->dtype);
    return model->kernels->dtypes[model->dtype].linear ? BATON_OK : refuse_kernels(model, why);
}

static enum baton_err choose(struct baton_model *model, const struct baton_model_options *options,
                             const struct baton_dtype_rule *rule, struct baton_why *why)
{
    enum baton_err err = choose_kernels(options->kernels, &model->kernels, why);
    if (err)
        return err;
    return rule && rule->name ? choose_by_rule(model, rule->name, why)
                              : choose_dtype(model, options->dtype, why);
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

/* Describes an array's matrix, all but its memory. Neighbouring rows of one dtype are one part. */
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
    else if (rule)
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

/* Describes every layer's norms, all but their arrays. */
static void describe_parts(struct baton_model *model)
{
    const struct baton_norm norm = {.kind = model->spec.norm, .epsilon = model->spec.norm_epsilon};
    for (int i = 0; i < model->spec.n_layers; i++) {
        struct baton_layer *layer = &model->layers[i];
        layer->attention.norm = layer->attention.post_norm = norm;
        layer->mlp.norm = layer->mlp.post_norm = norm;
        layer->mlp.router_norm = layer->mlp.experts_norm = norm;
        layer->mlp.experts_post_norm = layer->mlp.shared_post_norm = layer->per_layer.norm = norm;
    }
    model->embed_norm = model->final_norm = norm;
    model->draft_token_norm = model->draft_state_norm = norm;
}

/* The dtype of most of the layers' bytes. The embedding and the head do not count: in a small model
 * with a large vocabulary they outweigh all layers. */
static const char *main_dtype(const struct baton_model *model)
{
    double bytes[BATON_N_DTYPES] = {0};
    enum baton_dtype most = BATON_F32;
    for (int i = 0; i < baton_n_arrays(&model->spec); i++) {
        struct baton_array array = baton_array_at(&model->spec, i);
        if (!array.is_matrix || !baton_array_is_of_layer(array.kind))
            continue;
        const struct baton_matrix *matrix = baton_model_matrix_in(model, &array);
        for (int k = 0; k < matrix->n_parts; k++)
            bytes[matrix->parts[k].dtype] +=
                (double)baton_packed_read_bytes(&matrix->parts[k]) * baton_array_n_copies(&array);
    }
    for (int i = 0; i < BATON_N_DTYPES; i++)
        most = bytes[i] > bytes[most] ? (enum baton_dtype)i : most;
    return baton_dtype_name(most);
}

/* The model's dtype is chosen already. */
static void describe(struct baton_model *model)
{
    const struct baton_spec *spec = &model->spec;
    model->info.n_vocab = spec->n_vocab;
    model->info.n_embd = spec->n_embd;
    model->info.n_context = spec->n_context;
    model->info.n_pooled = baton_spec_n_pooled(spec);
    model->info.is_encoder = spec->is_encoder;
    model->info.n_chunk = baton_spec_chunk(spec);
    model->info.main_dtype = main_dtype(model);
    model->info.kernels = model->kernels->name;
    model->info.weight_bytes = model->n_taken;
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
    enum baton_err err = choose(made, options, rule, why);
    if (err) {
        baton_model_close(made);
        return err;
    }
    describe_parts(made);
    describe_matrices(made, rule);
    baton_model_place(made, NULL);
    describe(made);
    *model = made;
    return BATON_OK;
}
