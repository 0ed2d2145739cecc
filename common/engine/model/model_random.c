/* Models of pseudo-random weights. */
#include <stdlib.h>
#include <string.h>

#include "common/engine/model/arch/arch.h"
#include "common/engine/model/model_build.h"
#include "common/engine/model/random_weights.h"

static void fill(float *floats, size_t n, float middle, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        floats[i] = middle + baton_random_weight(*seed, i);
    *seed += n * BATON_RANDOM_STEP;
}

static void fill_norm(const struct baton_norm *norm, int n, uint64_t *seed)
{
    fill(norm->weight, (size_t)n, 1, seed);
    fill(norm->bias, (size_t)n, 0, seed);
}

static enum baton_err fill_matrix(const struct baton_matrix *matrix, uint64_t *seed)
{
    size_t n_in = (size_t)matrix->packed.n_in;
    float *rows = calloc(BATON_PANEL * n_in, sizeof *rows);
    if (!rows)
        return BATON_NO_MEMORY;
    for (int panel = 0; panel < baton_packed_n_panels(&matrix->packed); panel++) {
        int n = matrix->packed.n_out - panel * BATON_PANEL;
        n = n < BATON_PANEL ? n : BATON_PANEL;
        memset(rows, 0, BATON_PANEL * n_in * sizeof *rows);
        fill(rows, (size_t)n * n_in, 0, seed);
        baton_packed_write(&matrix->packed, panel, rows);
    }
    if (matrix->bias)
        fill(matrix->bias, (size_t)matrix->packed.n_out, 0, seed);
    free(rows);
    return BATON_OK;
}

static enum baton_err fill_layer(const struct baton_layer *layer, int n_embd, uint64_t *seed)
{
    const struct baton_matrix *matrices[] = {&layer->qkv, &layer->attention_out, &layer->up,
                                             &layer->down};
    enum baton_err err = BATON_OK;
    fill_norm(&layer->attention_norm, n_embd, seed);
    fill_norm(&layer->mlp_norm, n_embd, seed);
    for (size_t i = 0; i < sizeof matrices / sizeof matrices[0] && !err; i++)
        err = fill_matrix(matrices[i], seed);
    return err;
}

/* The same weights whatever they are kept in. */
static enum baton_err fill_all(struct baton_model *model, uint64_t seed)
{
    const struct baton_model_shape *shape = &model->shape;
    enum baton_err err = fill_matrix(&model->token_embedding, &seed);
    fill(model->position_embedding, (size_t)shape->n_context * (size_t)shape->n_embd, 0, &seed);
    for (int i = 0; i < shape->n_layers && !err; i++)
        err = fill_layer(&model->layers[i], shape->n_embd, &seed);
    fill_norm(&model->final_norm, shape->n_embd, &seed);
    return err;
}

enum baton_err baton_model_random(const struct baton_model_shape *shape, uint64_t seed,
                                  const struct baton_model_options *options,
                                  struct baton_model **model, struct baton_why *why)
{
    const struct baton_model_options none = {0};
    struct baton_model *made = NULL;
    enum baton_err err = baton_arch_check_shape(shape, why);
    if (!err)
        err = baton_model_measure(baton_arch_find("gpt2"), shape, options ? options : &none, false,
                                  &made, why);
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
