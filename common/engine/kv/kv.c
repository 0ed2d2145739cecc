#include "common/engine/kv/kv.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/arch/kv_layout.h"
#include "common/engine/kv/kv_blocks.h"
#include "common/engine/system/reserve.h"

struct kv_layer {
    int from;           /* the layer whose K and V it reads: itself, or an earlier one */
    size_t block_bytes; /* 0: it holds none */
    char *memory;       /* [n_blocks][block_bytes], of the layer it reads */
};

struct baton_kv {
    struct baton_kv_blocks blocks;
    enum baton_kv_dtype dtype;
    size_t all_block_bytes;
    char layout_name[BATON_SHA256_HEX];
    struct baton_reserve *reserve;
    uint64_t clock;
    _Atomic uint64_t *stamps; /* [n_blocks] */
    int n_layers, n_held;
    struct kv_layer *layers; /* [L] */
    int *held;               /* [n_held], ascending */
};

static const char *const names[BATON_N_KV_DTYPES] = {"f32", "f16", "q8"};

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
    size_t head_bytes = baton_kv_head_bytes(dtype, layer->head_dim);
    return !__builtin_mul_overflow(head_bytes, (size_t)layer->n_kv_heads, bytes);
}

static enum baton_err describe(struct baton_kv *kv, const struct baton_kv_layout *layout,
                               const char *dtype, struct baton_why *why)
{
    const struct baton_spec *spec = layout->spec;
    enum baton_err err = choose_dtype(kv, layout, dtype, why);
    if (err)
        return err;
    kv->n_layers = spec->n_layers;
    kv->layers = calloc((size_t)spec->n_layers, sizeof *kv->layers);
    kv->held = calloc((size_t)spec->n_layers, sizeof *kv->held);
    if (!kv->layers || !kv->held)
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    for (int i = 0; i < spec->n_layers; i++) {
        struct kv_layer *layer = &kv->layers[i];
        layer->from = spec->layers[i].kv_from;
        if (layer->from != i)
            continue;
        kv->held[kv->n_held++] = i;
        if (kv->dtype == BATON_KV_Q8 && spec->layers[i].head_dim > BATON_KV_Q8_MAX_HEAD_DIM)
            return baton_fail(why, BATON_INVALID,
                              "kv-dtype: q8 is for heads of at most %d; layer %d has %d",
                              BATON_KV_Q8_MAX_HEAD_DIM, i, spec->layers[i].head_dim);
        if (!measure_layer(&spec->layers[i], kv->dtype, &layer->block_bytes) ||
            __builtin_add_overflow(kv->all_block_bytes, layer->block_bytes, &kv->all_block_bytes))
            return baton_fail(why, BATON_NO_MEMORY,
                              "KV cache: no memory holds a block of this model");
    }
    return BATON_OK;
}

static void forget_layers(struct baton_kv *kv)
{
    free(kv->layers);
    free(kv->held);
}

enum baton_err baton_kv_measure(struct baton_kv_layout layout, const char *dtype, size_t *bytes,
                                struct baton_why *why)
{
    struct baton_kv kv = {0};
    enum baton_err err = describe(&kv, &layout, dtype, why);
    if (!err)
        *bytes = kv.all_block_bytes;
    forget_layers(&kv);
    return err;
}

/* Layer behind layer; one that holds nothing reads the memory of an earlier one. */
static void divide(struct baton_kv *kv, char *memory, int n_blocks)
{
    for (int i = 0; i < kv->n_layers; i++) {
        struct kv_layer *layer = &kv->layers[i];
        layer->memory = layer->from == i ? memory : kv->layers[layer->from].memory;
        memory += layer->block_bytes * (size_t)n_blocks;
    }
}

bool baton_kv_measure_pool(const struct baton_kv *kv, int n_blocks, size_t *stamps_at,
                           size_t *n_bytes)
{
    size_t n = (size_t)n_blocks;
    if (__builtin_mul_overflow(kv->all_block_bytes, n, stamps_at) ||
        __builtin_add_overflow(*stamps_at, sizeof *kv->stamps - 1, stamps_at))
        return false;
    *stamps_at -= *stamps_at % sizeof *kv->stamps;
    return !__builtin_add_overflow(*stamps_at, n * sizeof *kv->stamps, n_bytes);
}

static enum baton_err allocate(struct baton_kv *kv, int n_blocks, bool is_shared)
{
    size_t stamps_at, n_bytes;
    if (!baton_kv_measure_pool(kv, n_blocks, &stamps_at, &n_bytes))
        return BATON_NO_MEMORY;
    enum baton_err err = is_shared ? baton_reserve_create_shared(n_bytes, &kv->reserve)
                                   : baton_reserve_create(n_bytes, &kv->reserve);
    if (err)
        return err;
    char *memory = baton_reserve_memory(kv->reserve);
    kv->stamps = (_Atomic uint64_t *)(memory + stamps_at);
    divide(kv, memory, n_blocks);
    return baton_kv_blocks_init(&kv->blocks, n_blocks);
}

static enum baton_err create(struct baton_kv *kv, const struct baton_kv_layout *layout,
                             const char *dtype, int n_blocks, bool is_shared, struct baton_why *why)
{
    enum baton_err err = describe(kv, layout, dtype, why);
    if (err)
        return err;
    if (baton_kv_layout_digest(layout->spec, baton_kv_dtype(kv), BATON_KV_BLOCK_TOKENS,
                               kv->layout_name))
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    err = allocate(kv, n_blocks, is_shared);
    if (err == BATON_IO)
        return baton_fail(why, err, "KV cache: no memory to be had that others can map");
    if (err)
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: no memory for %d blocks of %d tokens",
                          n_blocks, BATON_KV_BLOCK_TOKENS);
    return BATON_OK;
}

static enum baton_err create_pool(struct baton_kv_layout layout, const char *dtype, int n_blocks,
                                  bool is_shared, struct baton_kv **kv, struct baton_why *why)
{
    if (n_blocks < 1)
        return baton_fail(why, BATON_INVALID, "KV cache: needs at least one block, not %d",
                          n_blocks);
    struct baton_kv *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    enum baton_err err = create(made, &layout, dtype, n_blocks, is_shared, why);
    if (err)
        baton_kv_destroy(made);
    else
        *kv = made;
    return err;
}

enum baton_err baton_kv_create(struct baton_kv_layout layout, const char *dtype, int n_blocks,
                               struct baton_kv **kv, struct baton_why *why)
{
    return create_pool(layout, dtype, n_blocks, false, kv, why);
}

enum baton_err baton_kv_create_shared(struct baton_kv_layout layout, const char *dtype,
                                      int n_blocks, struct baton_kv **kv, struct baton_why *why)
{
    return create_pool(layout, dtype, n_blocks, true, kv, why);
}

void baton_kv_destroy(struct baton_kv *kv)
{
    if (!kv)
        return;
    baton_reserve_destroy(kv->reserve);
    baton_kv_blocks_fini(&kv->blocks);
    forget_layers(kv);
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
    return baton_kv_blocks_n_free(&kv->blocks);
}

int baton_kv_n_cached(const struct baton_kv *kv)
{
    return kv->blocks.n_cached;
}

size_t baton_kv_unbacked_bytes(const struct baton_kv *kv)
{
    return baton_reserve_unbacked_bytes(kv->reserve);
}

void baton_kv_bound_cache(struct baton_kv *kv, int n_blocks)
{
    baton_kv_blocks_bound(&kv->blocks, n_blocks);
}

int baton_kv_n_holders(const struct baton_kv *kv, int block)
{
    return kv->blocks.blocks[block].n_holders;
}

int64_t baton_kv_oldest_cached_ns(const struct baton_kv *kv)
{
    const struct baton_kv_block *blocks = kv->blocks.blocks;
    return kv->blocks.n_cached ? blocks[blocks[kv->blocks.n_blocks].newer].cached_ns : 0;
}

bool baton_kv_is_consistent(const struct baton_kv *kv)
{
    return baton_kv_blocks_are_consistent(&kv->blocks);
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

enum baton_err baton_seq_init(struct baton_seq *seq, struct baton_kv *kv, int n_tokens)
{
    return baton_seq_init_shared(seq, kv, n_tokens, NULL, 0);
}

/* Before any block is allocated: an allocation could evict a block that the sequence shares. */
static void acquire_registered(struct baton_seq *seq, const struct baton_block_hash *hashes,
                               int n_hashes)
{
    for (int i = 0, block; i < n_hashes; i++) {
        block = baton_kv_blocks_acquire(&seq->kv->blocks, &hashes[i]);
        if (block == BATON_KV_NO_BLOCK)
            return;
        seq->blocks[seq->n_blocks++] = block;
        seq->n_shared++;
    }
}

/* Readers in other processes must see the stamp before anything that is written to the block from
 * now on: the fence orders it before the hand-over to the thread that writes. */
static int take_block(struct baton_kv *kv)
{
    int block = baton_kv_blocks_allocate(&kv->blocks);
    atomic_store_explicit(&kv->stamps[block], ++kv->clock, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    return block;
}

enum baton_err baton_seq_init_shared(struct baton_seq *seq, struct baton_kv *kv, int n_tokens,
                                     const struct baton_block_hash *hashes, int n_hashes)
{
    if (n_hashes < 0 || n_tokens <= (int64_t)n_hashes * BATON_KV_BLOCK_TOKENS)
        return BATON_INVALID;
    int n_blocks = n_tokens / BATON_KV_BLOCK_TOKENS + (n_tokens % BATON_KV_BLOCK_TOKENS != 0);
    if (n_blocks > kv->blocks.n_blocks)
        return BATON_LIMIT;
    struct baton_seq made = {.kv = kv, .blocks = calloc((size_t)n_blocks, sizeof *made.blocks)};
    if (!made.blocks)
        return BATON_NO_MEMORY;
    acquire_registered(&made, hashes, n_hashes);
    if (n_blocks - made.n_shared > baton_kv_n_free(kv)) {
        baton_seq_fini(&made);
        return BATON_LIMIT;
    }
    while (made.n_blocks < n_blocks)
        made.blocks[made.n_blocks++] = take_block(kv);
    made.n_tokens = made.n_shared * BATON_KV_BLOCK_TOKENS;
    *seq = made;
    return BATON_OK;
}

void baton_seq_register(struct baton_seq *seq, int first, const struct baton_block_hash *hashes,
                        int n)
{
    assert(first >= 0 && n >= 0 && n <= seq->n_blocks - first);
    for (int i = 0; i < n; i++)
        baton_kv_blocks_register(&seq->kv->blocks, seq->blocks[first + i], &hashes[i]);
}

/* From the last on: of blocks that are kept, those that need the others before them go first. */
void baton_seq_shorten(struct baton_seq *seq, int n_blocks)
{
    while (seq->n_blocks > n_blocks)
        baton_kv_blocks_release(&seq->kv->blocks, seq->blocks[--seq->n_blocks]);
    if (seq->n_shared > n_blocks)
        seq->n_shared = n_blocks;
    if (seq->n_tokens > n_blocks * BATON_KV_BLOCK_TOKENS)
        seq->n_tokens = n_blocks * BATON_KV_BLOCK_TOKENS;
}

void baton_seq_fini(struct baton_seq *seq)
{
    baton_seq_shorten(seq, 0);
    free(seq->blocks);
    *seq = (struct baton_seq){0};
}

void *baton_seq_block(const struct baton_seq *seq, int layer, int index)
{
    const struct kv_layer *at = &seq->kv->layers[layer];
    assert(index >= 0 && index < seq->n_blocks && at->from == layer);
    return at->memory + (size_t)seq->blocks[index] * at->block_bytes;
}
