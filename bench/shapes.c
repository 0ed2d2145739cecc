#include "bench/shapes.h"

#include <string.h>

#include "common/arch/gpt2.h"

static const char prefix[] = "shape:";

static const struct {
    const char *name;
    int n_layers, n_embd, n_heads, n_vocab, n_context;
} shapes[] = {
    {"distilgpt2", 6, 768, 12, 50257, 1024},
    {"gpt2", 12, 768, 12, 50257, 1024},
    {"gpt2-medium", 24, 1024, 16, 50257, 1024},
    {"gpt2-large", 36, 1280, 20, 50257, 1024},
    {"gpt2-xl", 48, 1600, 25, 50257, 1024},
    {"tiny", 2, 80, 4, 2560, 256}, /* for tests: widths that kernels must pad */
};

const char *bench_shape_name(const char *model)
{
    return strncmp(model, prefix, sizeof prefix - 1) ? NULL : model + sizeof prefix - 1;
}

enum baton_err bench_shape_find(const char *option, const char *name, struct baton_spec *spec,
                                struct baton_why *why)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (strcmp(shapes[i].name, name) != 0)
            continue;
        const struct baton_gpt2_sizes sizes = {.n_layers = shapes[i].n_layers,
                                               .n_embd = shapes[i].n_embd,
                                               .n_heads = shapes[i].n_heads,
                                               .n_kv_heads = shapes[i].n_heads,
                                               .head_dim = shapes[i].n_embd / shapes[i].n_heads,
                                               .n_ff = 4 * shapes[i].n_embd,
                                               .n_vocab = shapes[i].n_vocab,
                                               .n_context = shapes[i].n_context};
        baton_gpt2_spec(&sizes, spec);
        return BATON_OK;
    }
    return baton_fail(why, BATON_INVALID,
                      "%s: no shape \"%.40s\"; there are distilgpt2, gpt2, gpt2-medium, "
                      "gpt2-large, gpt2-xl and tiny",
                      option, name);
}
