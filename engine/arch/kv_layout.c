#include "engine/arch/kv_layout.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Adds a line of text to the digest, one per fact. Doubles are written as their bits: decimal
 * digits would hide differences in the last place. */
static BATON_PRINTF(2, 3) void add(struct baton_sha256 *sha, const char *fmt, ...)
{
    char line[160];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    baton_sha256_update(sha, line, n > 0 && (size_t)n < sizeof line ? (size_t)n : 0);
}

static void add_double(struct baton_sha256 *sha, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add(sha, "%016" PRIx64 "\n", bits);
}

static void add_rope(struct baton_sha256 *sha, const struct baton_rope_spec *rope)
{
    add(sha, "rope %d\n", rope->n_rotated);
    add_double(sha, rope->attention_factor);
    for (int i = 0; i < rope->n_rotated / 2; i++)
        add_double(sha, rope->inverse[i]);
}

/* Both ends must keep the same state, and know its heads by the same order. */
static void add_state(struct baton_sha256 *sha, const struct baton_spec *spec)
{
    const struct baton_state_spec *state = &spec->state;
    for (int i = 0; i < spec->n_layers; i++)
        if (baton_spec_has_state(spec, i))
            add(sha, "layer %d state f32 %d: taps %d heads %d/%d tiled %d keys %d values %d\n", i,
                spec->layers[i].mixer, state->n_taps, state->n_key_heads, state->n_heads,
                state->is_tiled, state->n_keys, state->n_values);
}

static void add_layer(struct baton_sha256 *sha, const struct baton_layer_spec *layer)
{
    add(sha, "layer G %d D %d from %d window %d rope %d\n", layer->n_kv_heads, layer->head_dim,
        layer->kv_from, layer->window, layer->rope);
    if (layer->n_latent)
        add(sha, "values are the first %d of K\n", layer->n_latent);
}

/* Layers with a window send only the window's blocks, and both ends must agree on that. */
static void add_windows(struct baton_sha256 *sha, const struct baton_spec *spec)
{
    for (int i = 0; i < spec->n_layers; i++)
        if (spec->layers[i].window) {
            add(sha, "windows alone are sent\n");
            return;
        }
}

enum baton_err baton_kv_layout_digest(const struct baton_spec *spec, const char *kv_dtype,
                                      int block_tokens, char hex[BATON_SHA256_HEX])
{
    struct baton_sha256 *sha = baton_sha256_create();
    if (!sha)
        return BATON_NO_MEMORY;
    add(sha, "baton KV layout 1\ndtype %.16s\nblock %d\n", kv_dtype, block_tokens);
    for (int i = 0; i < spec->n_ropes; i++)
        add_rope(sha, &spec->ropes[i]);
    for (int i = 0; i < spec->n_layers; i++)
        add_layer(sha, &spec->layers[i]);
    add_windows(sha, spec);
    add_state(sha, spec);
    baton_sha256_final(sha, hex);
    return BATON_OK;
}
