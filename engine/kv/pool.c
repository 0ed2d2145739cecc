#include "engine/kv/pool.h"

#include <stdlib.h>
#include <string.h>

#include "engine/kv/growth.h"
#include "engine/kv/state.h"
#include "engine/model/model.h"
#include "engine/system/reserve.h"

static const char *const names[BATON_N_KV_DTYPES] = {"f32", "f16", "q8"};

static struct baton_kv_layout layout_of(const struct baton_model *model)
{
    const struct baton_spec *spec = baton_model_spec(model);
    return (struct baton_kv_layout){
        .spec = spec, .auto_dtype = baton_model_is_f32(model) || spec->is_encoder ? "f32" : "f16"};
}

static enum baton_err choose_dtype(struct baton_kv *kv, const struct baton_kv_layout *layout,
                                   const char *name, struct baton_why *why)
{
    if (!name || !strcmp(name, "auto"))
        name = layout->auto_dtype;
    for (int i = 0; i < BATON_N_KV_DTYPES; i++)
        if (!strcmp(names[i], name)) {
            kv->dtype = (enum baton_kv_dtype)i;
            return BATON_OK;
        }
    return baton_fail(why, BATON_INVALID, "kv-dtype: \"%s\" is none of auto, f32, f16, q8", name);
}

/* Bytes of one block of a layer, as kv_block.h draws it. */
static bool measure_layer(const struct baton_layer_spec *layer, enum baton_kv_dtype dtype,
                          size_t *bytes)
{
    size_t head_bytes = baton_kv_head_bytes(dtype, layer->head_dim, layer->n_latent);
    return !__builtin_mul_overflow(head_bytes, (size_t)layer->n_kv_heads, bytes);
}

static bool measure(const struct baton_spec *spec, int layer, enum baton_kv_dtype dtype,
                    size_t *bytes)
{
    if (!baton_spec_has_state(spec, layer))
        return measure_layer(&spec->layers[layer], dtype, bytes);
    *bytes = baton_state_bytes(&spec->state);
    return true;
}

/* Whether all layers that read the layer's K and V see a window only. An encoder's text is in the
 * pool as a whole. */
static bool is_windowed(const struct baton_spec *spec, int layer)
{
    for (int i = layer; i < spec->n_layers; i++)
        if (baton_spec_kv_layer(spec, i) == layer && !spec->layers[i].window &&
            !baton_spec_has_state(spec, i))
            return false;
    return !spec->is_encoder;
}

static int widest_window(const struct baton_spec *spec)
{
    int widest = 0;
    for (int i = 0; i < spec->n_layers; i++)
        widest = spec->layers[i].window > widest ? spec->layers[i].window : widest;
    return widest;
}

static enum baton_err make_tables(struct baton_kv *kv, int n_layers)
{
    kv->n_layers = n_layers;
    kv->layers = calloc((size_t)n_layers, sizeof *kv->layers);
    kv->held = calloc(3 * (size_t)n_layers, sizeof *kv->held); /* three lists in one array */
    if (!kv->layers || !kv->held)
        return BATON_NO_MEMORY;
    kv->of[false] = kv->held + n_layers;
    kv->of[true] = kv->of[false] + n_layers;
    return BATON_OK;
}

/* q8 has a scale for each part of a latent, and both have to fit its integer sums. */
static enum baton_err check_q8(const struct baton_spec *spec, int layer, struct baton_why *why)
{
    int dim = spec->layers[layer].head_dim, n_latent = spec->layers[layer].n_latent;
    if (n_latent && (n_latent % 16 || n_latent > BATON_KV_Q8_MAX_HEAD_DIM))
        return baton_fail(why, BATON_INVALID,
                          "kv-dtype: q8 is for a kv_lora_rank that is a multiple of 16 in 16..%d; "
                          "layer %d has %d",
                          BATON_KV_Q8_MAX_HEAD_DIM, layer, n_latent);
    if (dim - n_latent <= BATON_KV_Q8_MAX_HEAD_DIM)
        return BATON_OK;
    return baton_fail(why, BATON_INVALID,
                      "kv-dtype: q8 is for heads of at most %d; layer %d has %d",
                      BATON_KV_Q8_MAX_HEAD_DIM, layer, dim);
}

static enum baton_err describe(struct baton_kv *kv, const struct baton_kv_layout *layout,
                               const char *dtype, struct baton_why *why)
{
    const struct baton_spec *spec = layout->spec;
    enum baton_err err = choose_dtype(kv, layout, dtype, why);
    if (err)
        return err;
    if (make_tables(kv, spec->n_layers))
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    for (int i = 0; i < spec->n_layers; i++) {
        struct kv_layer *layer = &kv->layers[i];
        layer->from = baton_spec_kv_layer(spec, i);
        if (layer->from != i)
            continue;
        layer->is_windowed = is_windowed(spec, i);
        kv->has_states |= baton_spec_has_state(spec, i);
        kv->held[kv->n_held++] = i;
        kv->of[layer->is_windowed][kv->n_of[layer->is_windowed]++] = i;
        err = kv->dtype == BATON_KV_Q8 ? check_q8(spec, i, why) : BATON_OK;
        if (err)
            return err;
        if (!measure(spec, i, kv->dtype, &layer->block_bytes) ||
            __builtin_add_overflow(kv->all_block_bytes, layer->block_bytes, &kv->all_block_bytes))
            return baton_fail(why, BATON_NO_MEMORY,
                              "KV cache: no memory holds a block of this model");
        kv->window_block_bytes += layer->is_windowed ? layer->block_bytes : 0;
    }
    /* One window for all: layers with a narrower one keep a few blocks more. */
    kv->window = kv->n_of[true] ? widest_window(spec) : 0;
    return BATON_OK;
}

static void forget_layers(struct baton_kv *kv)
{
    free(kv->layers);
    free(kv->held);
}

/* The blocks behind, one more (baton_kv_first_block), and the blocks of n_rows positions. Positions
 * that begin inside a block may touch one block more, but then that block is the extra one. */
static int window_blocks(const struct baton_kv *kv, int n_rows)
{
    if (kv->has_states) /* the one that it writes, and one that it read or saved */
        return 2;
    return kv->window ? kv_blocks_behind(kv) + 1 + baton_kv_blocks_for(n_rows) : 0;
}

enum baton_err baton_kv_measure_of(struct baton_kv_layout layout,
                                   const struct baton_kv_pool_options *options,
                                   struct baton_kv_sizes *sizes, struct baton_why *why)
{
    struct baton_kv kv = {0};
    enum baton_err err = describe(&kv, &layout, options->dtype, why);
    if (!err)
        *sizes = (struct baton_kv_sizes){.block_bytes = kv.all_block_bytes,
                                         .window_bytes = kv.window_block_bytes,
                                         .window_blocks = window_blocks(&kv, options->n_step_rows),
                                         .keeps_states = kv.has_states};
    forget_layers(&kv);
    return err;
}

enum baton_err baton_kv_measure(const struct baton_model *model,
                                const struct baton_kv_pool_options *options,
                                struct baton_kv_sizes *sizes, struct baton_why *why)
{
    return baton_kv_measure_of(layout_of(model), options, sizes, why);
}

bool baton_kv_place_layer(size_t n_bytes, size_t *end, size_t *at)
{
    enum { ALIGNMENT = BATON_RESERVE_ALIGNMENT };
    *at = *end;
    if (n_bytes >= (size_t)2 * ALIGNMENT) {
        if (__builtin_add_overflow(*end, ALIGNMENT - 1, at))
            return false;
        *at -= *at % ALIGNMENT;
    }
    return !__builtin_add_overflow(*at, n_bytes, end);
}

/* The number of blocks of a layer in a pool of n_blocks. */
static int layer_blocks(const struct baton_kv *kv, int layer, int n_blocks)
{
    return kv->windows && kv->layers[layer].is_windowed ? kv->windows->blocks.n_blocks : n_blocks;
}

/* Divides the memory layer by layer; a layer that holds no block reads the memory of an earlier
 * one. memory NULL: only measures. False: the size overflows. */
static bool divide(struct baton_kv *kv, char *memory, int n_blocks, size_t *end)
{
    size_t at, n_bytes;
    *end = 0;
    for (int i = 0; i < kv->n_layers; i++) {
        struct kv_layer *layer = &kv->layers[i];
        size_t n = (size_t)layer_blocks(kv, i, n_blocks);
        if (__builtin_mul_overflow(layer->block_bytes, n, &n_bytes) ||
            !baton_kv_place_layer(n_bytes, end, &at))
            return false;
        if (memory)
            layer->memory = layer->from == i ? memory + at : kv->layers[layer->from].memory;
    }
    return true;
}

bool baton_kv_place_stamps(size_t end, int n_blocks, size_t *stamps_at, size_t *n_bytes)
{
    const size_t stamp = sizeof *((struct baton_kv *)NULL)->stamps;
    if (__builtin_add_overflow(end, stamp - 1, stamps_at))
        return false;
    *stamps_at -= *stamps_at % stamp;
    return !__builtin_add_overflow(*stamps_at, (size_t)n_blocks * stamp, n_bytes);
}

static enum baton_err reserve(struct baton_kv *kv, int n_blocks, bool is_shared)
{
    size_t end, stamps_at, n_bytes;
    if (!divide(kv, NULL, n_blocks, &end) ||
        !baton_kv_place_stamps(end, n_blocks, &stamps_at, &n_bytes))
        return BATON_NO_MEMORY;
    enum baton_err err = is_shared ? baton_reserve_create_shared(n_bytes, &kv->reserve)
                                   : baton_reserve_create(n_bytes, &kv->reserve);
    if (err)
        return err;
    char *memory = baton_reserve_memory(kv->reserve);
    /* The stamps are in the same mapping as the blocks, so readers get both with one descriptor. */
    kv->stamps = (_Atomic uint64_t *)(memory + stamps_at);
    (void)divide(kv, memory, n_blocks, &end);
    return baton_reserve_back(kv->reserve, stamps_at, n_bytes - stamps_at);
}

/* Steps of blocks as large as a huge page in the layer with the largest blocks. */
static int step_blocks(const struct baton_kv *kv, bool of_windows)
{
    size_t most = 1;
    for (int i = 0; i < kv->n_layers; i++)
        if (!kv->windows || kv->layers[i].is_windowed == of_windows)
            most = kv->layers[i].block_bytes > most ? kv->layers[i].block_bytes : most;
    return baton_kv_growth_step_blocks(most);
}

static enum baton_err allocate(struct baton_kv *kv, const struct baton_kv_pool_options *options)
{
    int n_blocks = options->n_blocks;
    enum baton_err err = reserve(kv, n_blocks, options->is_shared);
    if (err)
        return err;
    kv->n_claims = calloc((size_t)n_blocks, sizeof *kv->n_claims);
    if (!kv->n_claims)
        return BATON_NO_MEMORY;
    err = baton_kv_blocks_init(&kv->blocks, n_blocks, step_blocks(kv, false));
    if (!err && options->growth)
        err = baton_kv_growth_create(kv, options->growth, &kv->growth);
    return err;
}

static enum baton_err create_windows(struct baton_kv *kv,
                                     const struct baton_kv_pool_options *options)
{
    int n = options->n_window_blocks, n_sequence = window_blocks(kv, options->n_step_rows);
    if (kv->has_states && !n)
        n = options->n_blocks;
    if (!n || !n_sequence)
        return BATON_OK;
    size_t most = 1;
    for (int i = 0; i < kv->n_of[true]; i++) {
        size_t n_bytes = kv->layers[kv->of[true][i]].block_bytes;
        most = n_bytes > most ? n_bytes : most;
    }
    return baton_kv_windows_create(n, n_sequence, baton_kv_growth_step_blocks(most), &kv->windows);
}

static enum baton_err create(struct baton_kv *kv, const struct baton_kv_layout *layout,
                             const struct baton_kv_pool_options *options, struct baton_why *why)
{
    enum baton_err err = describe(kv, layout, options->dtype, why);
    if (err)
        return err;
    if (baton_kv_layout_digest(layout->spec, baton_kv_dtype(kv), BATON_KV_BLOCK_TOKENS,
                               kv->layout_name) ||
        create_windows(kv, options))
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    err = allocate(kv, options);
    if (err == BATON_IO)
        return baton_fail(why, err, "KV cache: the system has no memory that others can map");
    if (err)
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: no memory for %d blocks of %d tokens",
                          options->n_blocks, BATON_KV_BLOCK_TOKENS);
    return BATON_OK;
}

enum baton_err baton_kv_create_of(struct baton_kv_layout layout,
                                  const struct baton_kv_pool_options *options, struct baton_kv **kv,
                                  struct baton_why *why)
{
    if (options->n_blocks < 1)
        return baton_fail(why, BATON_INVALID, "KV cache: needs at least one block, not %d",
                          options->n_blocks);
    struct baton_kv *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    enum baton_err err = create(made, &layout, options, why);
    if (err)
        baton_kv_destroy(made);
    else
        *kv = made;
    return err;
}

enum baton_err baton_kv_create(const struct baton_model *model,
                               const struct baton_kv_pool_options *options, struct baton_kv **kv,
                               struct baton_why *why)
{
    return baton_kv_create_of(layout_of(model), options, kv, why);
}

void baton_kv_destroy(struct baton_kv *kv)
{
    if (!kv)
        return;
    baton_kv_growth_destroy(kv->growth);
    baton_reserve_destroy(kv->reserve);
    baton_kv_blocks_fini(&kv->blocks);
    baton_kv_windows_destroy(kv->windows);
    forget_layers(kv);
    free(kv->n_claims);
    free(kv);
}

int baton_kv_fd(const struct baton_kv *kv)
{
    return baton_reserve_fd(kv->reserve);
}

uint64_t baton_kv_clock(const struct baton_kv *kv)
{
    return kv->clock;
}

int baton_kv_n_blocks(const struct baton_kv *kv)
{
    return kv->blocks.n_blocks;
}

int baton_kv_n_free(const struct baton_kv *kv)
{
    return baton_kv_blocks_n_free(&kv->blocks) + baton_kv_growth_n_growable(kv->growth, false);
}

int baton_kv_n_held(const struct baton_kv *kv)
{
    return kv->blocks.n_blocks - kv->blocks.n_unbacked - baton_kv_blocks_n_free(&kv->blocks);
}

int baton_kv_n_cached(const struct baton_kv *kv)
{
    return kv->blocks.n_cached;
}

/* The bytes of blocks of all positions, and of windows, in all their layers. */
static size_t bytes_of_blocks(const struct baton_kv *kv, int n_blocks, int n_window_blocks)
{
    if (!kv->windows)
        return (size_t)n_blocks * kv->all_block_bytes;
    return (size_t)n_blocks * (kv->all_block_bytes - kv->window_block_bytes) +
           (size_t)n_window_blocks * kv->window_block_bytes;
}

struct baton_kv_memory baton_kv_memory(const struct baton_kv *kv)
{
    const struct baton_kv_blocks *blocks = &kv->blocks,
                                 *windows = kv->windows ? &kv->windows->blocks : NULL;
    size_t cap = bytes_of_blocks(kv, blocks->n_blocks, windows ? windows->n_blocks : 0);
    size_t unbacked = bytes_of_blocks(kv, blocks->n_unbacked, windows ? windows->n_unbacked : 0);
    return (struct baton_kv_memory){
        .cap_bytes = cap,
        .backed_bytes = cap - unbacked,
        .used_bytes = bytes_of_blocks(kv, baton_kv_n_held(kv), baton_kv_n_set_aside(kv)),
        .n_failures = baton_kv_growth_n_failures(kv->growth)};
}

void baton_kv_tick(struct baton_kv *kv, int64_t now_ns)
{
    baton_kv_growth_tick(kv->growth, now_ns);
}

void baton_kv_bound_cache(struct baton_kv *kv, int n_blocks)
{
    baton_kv_blocks_bound(&kv->blocks, n_blocks);
    if (kv->windows)
        baton_kv_windows_bound(kv->windows, n_blocks < kv->windows->blocks.n_blocks
                                                ? n_blocks
                                                : kv->windows->blocks.n_blocks);
}

/* Windows that could be set aside, as far as they are backed or may be. */
static int windows_left(const struct baton_kv *kv)
{
    const struct baton_kv_blocks *blocks = &kv->windows->blocks;
    return blocks->n_blocks - blocks->n_unbacked + baton_kv_growth_n_growable(kv->growth, true) -
           kv->windows->n_set_aside;
}

/* A sequence of n blocks needs share(n) window blocks. Until a whole window fits, the blocks that
 * are left bound the length of the sequence. */
int baton_kv_n_reservable(const struct baton_kv *kv)
{
    int n = baton_kv_n_free(kv), n_left = kv->windows ? windows_left(kv) : n;
    return kv->windows && n_left < baton_kv_windows_share(kv->windows, n) ? n_left : n;
}

int baton_kv_n_set_aside(const struct baton_kv *kv)
{
    return kv->windows ? kv->windows->n_set_aside : 0;
}

int baton_kv_n_holders(const struct baton_kv *kv, int block)
{
    return kv->blocks.blocks[block].n_holders;
}

int64_t baton_kv_oldest_cached_ns(const struct baton_kv *kv)
{
    return baton_kv_blocks_oldest_ns(&kv->blocks);
}

bool baton_kv_is_consistent(const struct baton_kv *kv)
{
    return baton_kv_blocks_are_consistent(&kv->blocks) &&
           (!kv->windows || baton_kv_windows_are_consistent(kv->windows));
}

int baton_kv_n_layers(const struct baton_kv *kv)
{
    return kv->n_layers;
}

const int *baton_kv_held_layers(const struct baton_kv *kv, int *n)
{
    *n = kv->n_held;
    return kv->held;
}

const int *baton_kv_layers_with(const struct baton_kv *kv, bool window, int *n)
{
    *n = kv->n_of[window];
    return kv->of[window];
}

bool baton_kv_has_window(const struct baton_kv *kv, int layer)
{
    return kv->layers[layer].is_windowed;
}

bool baton_kv_has_states(const struct baton_kv *kv)
{
    return kv->has_states;
}

int baton_kv_first_block(const struct baton_kv *kv, int layer, int n_tokens)
{
    return kv->layers[layer].is_windowed ? kv_first_kept(kv, n_tokens) : 0;
}

uint64_t baton_kv_context_bytes(const struct baton_kv *kv, int first_block, int n_tokens)
{
    uint64_t n_bytes = 0;
    for (int i = 0, end = baton_kv_blocks_for(n_tokens); i < kv->n_held; i++) {
        int first = baton_kv_first_block(kv, kv->held[i], n_tokens);
        first = first > first_block ? first : first_block;
        n_bytes += (uint64_t)(end - first) * kv->layers[kv->held[i]].block_bytes;
    }
    return n_bytes;
}

size_t baton_kv_block_bytes(const struct baton_kv *kv, int layer)
{
    return kv->layers[layer].block_bytes;
}

size_t baton_kv_all_block_bytes(const struct baton_kv *kv)
{
    return kv->all_block_bytes;
}

const void *baton_kv_layer(const struct baton_kv *kv, int layer)
{
    return kv->layers[layer].memory;
}

enum baton_kv_dtype baton_kv_element(const struct baton_kv *kv)
{
    return kv->dtype;
}

const char *baton_kv_layout_name(const struct baton_kv *kv)
{
    return kv->layout_name;
}

const char *baton_kv_dtype(const struct baton_kv *kv)
{
    return names[kv->dtype];
}

/* ---- the account ---- */

void baton_kv_account_begin(struct baton_kv *kv)
{
    memset(kv->n_claims, 0, (size_t)baton_kv_n_blocks(kv) * sizeof *kv->n_claims);
    kv->n_claimed_set_aside = 0;
}

/* The blocks of windows are only counted in total: baton_kv_is_consistent checks that sequences
 * hold no more of them than they have set aside. */
int baton_kv_account_claim(struct baton_kv *kv, const struct baton_seq *seq)
{
    int n_first = 0;
    for (int i = 0; i < seq->n_blocks; i++)
        n_first += !kv->n_claims[seq->blocks[i]]++;
    kv->n_claimed_set_aside += seq->n_set_aside;
    return n_first;
}

int baton_kv_account_n_faults(const struct baton_kv *kv)
{
    int n = !baton_kv_is_consistent(kv) + (kv->n_claimed_set_aside != baton_kv_n_set_aside(kv));
    for (int i = 0; i < baton_kv_n_blocks(kv); i++)
        n += kv->n_claims[i] != baton_kv_n_holders(kv, i);
    return n;
}
