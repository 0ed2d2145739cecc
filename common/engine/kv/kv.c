#include "common/engine/kv/kv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/engine/kv/kv_blocks.h"
#include "common/engine/system/reserve.h"

struct baton_kv {
    struct baton_kv_blocks blocks;
    enum baton_kv_dtype dtype;
    size_t block_bytes, layer_bytes;
    struct baton_reserve *reserve;
    char *memory; /* [L][n_blocks][block_bytes] */
};

static const char *const names[BATON_N_KV_DTYPES] = {"f32", "f16"};

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
    return baton_fail(why, BATON_INVALID, "kv-dtype: \"%s\" is none of auto, f32, f16", name);
}

static enum baton_err describe(struct baton_kv *kv, const struct baton_kv_layout *layout,
                               const char *dtype, struct baton_why *why)
{
    enum baton_err err = choose_dtype(kv, layout, dtype, why);
    if (err)
        return err;
    size_t n_elements = baton_kv_head_elements(layout->head_dim);
    if (__builtin_mul_overflow(n_elements * baton_kv_element_bytes(kv->dtype),
                               (size_t)layout->n_kv_heads, &kv->block_bytes))
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: no memory holds a block of this model");
    return BATON_OK;
}

enum baton_err baton_kv_measure(struct baton_kv_layout layout, const char *dtype, size_t *bytes,
                                struct baton_why *why)
{
    struct baton_kv kv = {0};
    size_t n_layers = (size_t)layout.n_layers, n_bytes;
    enum baton_err err = describe(&kv, &layout, dtype, why);
    if (err)
        return err;
    if (__builtin_mul_overflow(kv.block_bytes, n_layers, &n_bytes))
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: no memory holds a block of this model");
    *bytes = n_bytes;
    return BATON_OK;
}

static enum baton_err allocate(struct baton_kv *kv, int n_layers, int n_blocks)
{
    size_t n_bytes;
    if (__builtin_mul_overflow(kv->block_bytes, (size_t)n_blocks, &kv->layer_bytes) ||
        __builtin_mul_overflow(kv->layer_bytes, (size_t)n_layers, &n_bytes))
        return BATON_NO_MEMORY;
    enum baton_err err = baton_reserve_create(n_bytes, &kv->reserve);
    if (err)
        return err;
    kv->memory = baton_reserve_memory(kv->reserve);
    return baton_kv_blocks_init(&kv->blocks, n_blocks);
}

static enum baton_err create(struct baton_kv *kv, const struct baton_kv_layout *layout,
                             const char *dtype, int n_blocks, struct baton_why *why)
{
    enum baton_err err = describe(kv, layout, dtype, why);
    if (err)
        return err;
    if (allocate(kv, layout->n_layers, n_blocks))
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: no memory for %d blocks of %d tokens",
                          n_blocks, BATON_KV_BLOCK_TOKENS);
    return BATON_OK;
}

enum baton_err baton_kv_create(struct baton_kv_layout layout, const char *dtype, int n_blocks,
                               struct baton_kv **kv, struct baton_why *why)
{
    if (n_blocks < 1)
        return baton_fail(why, BATON_INVALID, "KV cache: needs at least one block, not %d",
                          n_blocks);
    struct baton_kv *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    enum baton_err err = create(made, &layout, dtype, n_blocks, why);
    if (err)
        baton_kv_destroy(made);
    else
        *kv = made;
    return err;
}

void baton_kv_destroy(struct baton_kv *kv)
{
    if (!kv)
        return;
    baton_reserve_destroy(kv->reserve);
    baton_kv_blocks_fini(&kv->blocks);
    free(kv);
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

void baton_kv_bound_cache(struct baton_kv *kv, int n_blocks)
{
    baton_kv_blocks_bound(&kv->blocks, n_blocks);
}

bool baton_kv_is_consistent(const struct baton_kv *kv)
{
    return baton_kv_blocks_are_consistent(&kv->blocks);
}

size_t baton_kv_block_bytes(const struct baton_kv *kv)
{
    return kv->block_bytes;
}

const void *baton_kv_layer(const struct baton_kv *kv, int layer)
{
    return kv->memory + (size_t)layer * kv->layer_bytes;
}

enum baton_kv_dtype baton_kv_element(const struct baton_kv *kv)
{
    return kv->dtype;
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
        made.blocks[made.n_blocks++] = baton_kv_blocks_allocate(&kv->blocks);
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
void baton_seq_fini(struct baton_seq *seq)
{
    for (int i = seq->n_blocks - 1; i >= 0; i--)
        baton_kv_blocks_release(&seq->kv->blocks, seq->blocks[i]);
    free(seq->blocks);
    *seq = (struct baton_seq){0};
}

void *baton_seq_block(const struct baton_seq *seq, int layer, int index)
{
    const struct baton_kv *kv = seq->kv;
    assert(index >= 0 && index < seq->n_blocks);
    return kv->memory + (size_t)layer * kv->layer_bytes +
           (size_t)seq->blocks[index] * kv->block_bytes;
}
