#include "engine/checkpoint/weights/scaled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tensors {
    const struct baton_tensor **list; /* [n], sorted by name */
    size_t n;
    bool is_gemma4;
};

static int by_name(const void *a, const void *b)
{
    const struct baton_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* The place of the tensor that is called like this one, but for its end; NULL: there is none. */
static const struct baton_tensor **beside(const struct tensors *tensors,
                                          const struct baton_tensor *tensor, const char *from,
                                          const char *to)
{
    char name[256];
    const size_t n = strlen(tensor->name), n_from = strlen(from);
    const struct baton_tensor wanted = {.name = name}, *key = &wanted;
    if (n < n_from || strcmp(tensor->name + n - n_from, from) != 0 || n + strlen(to) >= sizeof name)
        return NULL;
    (void)snprintf(name, sizeof name, "%.*s%s", (int)(n - n_from), tensor->name, to);
    return bsearch(&key, tensors->list, tensors->n, sizeof tensors->list[0], by_name);
}

/* Parts of Gemma 4's router are called like factors. */
static bool is_of_router(const struct tensors *tensors, const struct baton_tensor *tensor)
{
    const char *part = strstr(tensor->name, ".ffn_");
    return tensors->is_gemma4 && part &&
           (!strcmp(part, ".ffn_gate_inp.scale") || !strcmp(part, ".ffn_down_exps.scale"));
}

static const struct baton_tensor **weight_of(const struct tensors *tensors,
                                             const struct baton_tensor *scale)
{
    return is_of_router(tensors, scale) ? NULL : beside(tensors, scale, ".scale", ".weight");
}

/* The scales of activations are for kernels that round these to 4 bits. */
static bool is_dropped(const struct tensors *tensors, const struct baton_tensor *tensor)
{
    return weight_of(tensors, tensor) || beside(tensors, tensor, ".input_scale", ".weight");
}

static bool fits(const struct baton_tensor *scale, const struct baton_tensor *weight)
{
    const size_t n = scale->n_bytes / sizeof(float);
    return scale->dtype == BATON_ELEMENT_F32 &&
           (n == 1 || (weight->n_dims == 3 && n == (size_t)weight->shape[0]));
}

/* Gives tensors their factors; scaled has room for as many as there are tensors. */
static enum baton_err give_factors(struct tensors *tensors, struct baton_tensor *scaled,
                                   struct baton_why *why)
{
    for (size_t i = 0; i < tensors->n; i++) {
        const struct baton_tensor *scale = tensors->list[i], **weight = weight_of(tensors, scale);
        if (weight && !fits(scale, *weight))
            return baton_fail(why, BATON_INVALID,
                              "tensor %s: must be F32, one number or one for each expert",
                              scale->name);
        if (!weight)
            continue;
        *scaled = **weight;
        scaled->factors = scale;
        *weight = scaled++;
    }
    return BATON_OK;
}

/* Moves the tensors that stay to the front; kept has room for all of them. */
static void drop_factors(struct tensors *tensors, const struct baton_tensor **kept)
{
    size_t n = 0;
    for (size_t i = 0; i < tensors->n; i++)
        if (!is_dropped(tensors, tensors->list[i]))
            kept[n++] = tensors->list[i];
    memcpy((void *)tensors->list, (const void *)kept, n * sizeof kept[0]);
    tensors->n = n;
}

enum baton_err baton_scaled_find(const struct baton_gguf *metadata,
                                 const struct baton_tensor **list, size_t *n_tensors,
                                 struct baton_tensor **scaled, struct baton_why *why)
{
    struct baton_gguf_text arch;
    struct tensors tensors = {.list = list, .n = *n_tensors};
    tensors.is_gemma4 = baton_gguf_text(baton_gguf_find(metadata, "general.architecture"), &arch) &&
                        baton_gguf_text_is(arch, "gemma4");
    size_t n_scaled = 0;
    for (size_t i = 0; i < tensors.n; i++)
        n_scaled += weight_of(&tensors, list[i]) != NULL;
    const struct baton_tensor **kept = calloc(tensors.n + 1, sizeof *kept);
    *scaled = calloc(n_scaled + 1, sizeof **scaled);
    enum baton_err err = kept && *scaled ? give_factors(&tensors, *scaled, why)
                                         : baton_fail(why, BATON_NO_MEMORY, "out of memory");
    if (!err)
        drop_factors(&tensors, kept);
    *n_tensors = tensors.n;
    free((void *)kept);
    return err;
}

float baton_scaled_factor(const struct baton_tensor *tensor, size_t at)
{
    const struct baton_tensor *factors = tensor->factors;
    float factor = 1;
    if (!factors)
        return factor;
    const size_t n = factors->n_bytes / sizeof factor,
                 expert = n == 1 ? 0 : at / (size_t)(tensor->shape[1] * tensor->shape[2]);
    memcpy(&factor, factors->data + expert * sizeof factor, sizeof factor);
    return factor;
}
