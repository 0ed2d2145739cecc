#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/file.h"
#include "common/engine/arch/arch.h"
#include "common/engine/floats.h"
#include "common/engine/formats/weights.h"
#include "common/engine/model_config.h"
#include "common/engine/model_parts.h"

enum { CONFIG_MAX_BYTES = 16 << 20, LINE_FLOATS = 16 };

float *baton_model_take(struct baton_model *model, int n_rows, int n_columns)
{
    size_t n = (size_t)n_rows * (size_t)n_columns;
    float *taken = model->slab ? model->slab + model->n_taken : NULL;
    model->n_taken += (n + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
    model->n_weights += n;
    return taken;
}

/* The layers' table is allocated and every array measured, but no slab yet. */
static enum baton_err measure(const struct baton_model_config *config, bool own_head,
                              struct baton_model **model, struct baton_why *why)
{
    struct baton_model *made = calloc(1, sizeof *made);
    struct baton_layer *layers = calloc((size_t)config->shape.n_layers, sizeof *layers);
    if (!made || !layers) {
        free(made);
        free(layers);
        return baton_fail(why, BATON_NO_MEMORY, "model: out of memory");
    }
    made->arch = config->arch;
    made->shape = config->shape;
    made->own_head = own_head;
    made->layers = layers;
    made->arch->lay_out(made);
    *model = made;
    return BATON_OK;
}

static enum baton_err allocate(struct baton_model *model, struct baton_why *why)
{
    model->slab = baton_floats_create(model->n_taken);
    if (!model->slab)
        return baton_fail(why, BATON_NO_MEMORY, "model: no memory for %zu weights",
                          model->n_weights);
    model->n_taken = model->n_weights = 0;
    model->arch->lay_out(model);
    return BATON_OK;
}

static enum baton_err read_config(const char *dir, struct baton_model_config *config,
                                  struct baton_why *why)
{
    char path[PATH_MAX];
    struct baton_buf text;
    struct baton_why reason;
    int n = snprintf(path, sizeof path, "%s/config.json", dir);
    if (n < 0 || n >= (int)sizeof path)
        return baton_fail(why, BATON_INVALID, "%s: path too long", dir);
    baton_buf_init(&text, CONFIG_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err) {
        err = baton_model_config_parse(baton_buf_text(&text), text.len, config, &reason);
        if (err)
            (void)baton_fail(why, err, "%s: %s", path, reason.text);
    }
    baton_buf_fini(&text);
    return err;
}

static enum baton_err load(const struct baton_model_config *config,
                           const struct baton_weights *weights, struct baton_model **model,
                           struct baton_why *why)
{
    struct baton_model *made = NULL;
    bool own_head = baton_weights_find(weights, "lm_head.weight") != NULL;
    if (!own_head && !config->tied_head)
        return baton_fail(why, BATON_INVALID, "tensor lm_head.weight is missing");
    enum baton_err err = measure(config, own_head, &made, why);
    if (err)
        return err;
    /* Before memory is asked for in a size that only config.json vouches for. */
    if (made->n_weights > baton_weights_n_elements(weights))
        err =
            baton_fail(why, BATON_INVALID, "config.json describes %zu weights, the files hold %zu",
                       made->n_weights, baton_weights_n_elements(weights));
    if (!err)
        err = allocate(made, why);
    if (!err)
        err = made->arch->load(made, weights, why);
    if (err)
        baton_model_close(made);
    else
        *model = made;
    return err;
}

enum baton_err baton_model_open(const char *dir, struct baton_model **model, struct baton_why *why)
{
    struct baton_model_config config;
    struct baton_weights *weights = NULL;
    struct baton_why reason;
    enum baton_err err = read_config(dir, &config, why);
    if (!err)
        err = baton_weights_open(dir, &weights, why);
    if (err)
        return err;
    err = load(&config, weights, model, &reason);
    if (err)
        (void)baton_fail(why, err, "%s: %s", dir, reason.text);
    baton_weights_close(weights);
    return err;
}

void baton_model_close(struct baton_model *model)
{
    if (!model)
        return;
    free(model->slab);
    free(model->layers);
    free(model);
}

/* splitmix64 (Steele, Lea, Flood, 2014) to a float in [-scale, scale). */
static float random_weight(uint64_t *state, float scale)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return ((float)(z >> 40) * 0x1p-23F - 1.0F) * scale;
}

static void shift_norm(const struct baton_norm *norm, int n)
{
    for (int i = 0; i < n; i++)
        norm->weight[i] += 1.0F;
}

enum baton_err baton_model_random(const struct baton_model_shape *shape, uint64_t seed,
                                  struct baton_model **model, struct baton_why *why)
{
    struct baton_model_config config = {.arch = baton_arch_find("gpt2"), .shape = *shape};
    struct baton_model *made = NULL;
    enum baton_err err = baton_arch_check_shape(shape, why);
    if (!err)
        err = measure(&config, false, &made, why);
    if (!err)
        err = allocate(made, why);
    if (err) {
        baton_model_close(made);
        return err;
    }
    for (size_t i = 0; i < made->n_taken; i++)
        made->slab[i] = random_weight(&seed, 0.06F);
    for (int i = 0; i < shape->n_layers; i++) {
        shift_norm(&made->layers[i].attention_norm, shape->n_embd);
        shift_norm(&made->layers[i].mlp_norm, shape->n_embd);
    }
    shift_norm(&made->final_norm, shape->n_embd);
    *model = made;
    return BATON_OK;
}

const struct baton_model_shape *baton_model_shape(const struct baton_model *model)
{
    return &model->shape;
}

size_t baton_model_step_bytes(const struct baton_model *model)
{
    const struct baton_model_shape *shape = &model->shape;
    size_t n_embd = (size_t)shape->n_embd, n_looked_up = 0; /* of tables only some rows are read */
    if (model->position_embedding)
        n_looked_up += (size_t)shape->n_context * n_embd;
    if (model->own_head)
        n_looked_up += (size_t)shape->n_vocab * n_embd;
    return (model->n_weights - n_looked_up) * sizeof(float);
}

const char *baton_model_dtype(const struct baton_model *model)
{
    (void)model;
    return "f32";
}
