#include "common/engine/kv.h"

#include <assert.h>
#include <stdlib.h>

#include "common/engine/floats.h"

struct baton_kv {
    int n_blocks, n_free;
    int *free_blocks; /* a stack of n_free block numbers */
    size_t block_floats, layer_floats;
    float *memory; /* [L][n_blocks][block_floats] */
};

static enum baton_err allocate(struct baton_kv *kv, const struct baton_model_shape *shape)
{
    size_t n;
    kv->block_floats =
        (size_t)2 * BATON_KV_BLOCK_TOKENS * (size_t)shape->n_kv_heads * (size_t)shape->head_dim;
    if (__builtin_mul_overflow(kv->block_floats, (size_t)kv->n_blocks, &kv->layer_floats) ||
        __builtin_mul_overflow(kv->layer_floats, (size_t)shape->n_layers, &n))
        return BATON_NO_MEMORY;
    kv->free_blocks = calloc((size_t)kv->n_blocks, sizeof *kv->free_blocks);
    kv->memory = baton_floats_create(n);
    return kv->free_blocks && kv->memory ? BATON_OK : BATON_NO_MEMORY;
}

enum baton_err baton_kv_create(const struct baton_model *model, int n_blocks, struct baton_kv **kv,
                               struct baton_why *why)
{
    if (n_blocks < 1)
        return baton_fail(why, BATON_INVALID, "KV cache: needs at least one block, not %d",
                          n_blocks);
    struct baton_kv *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    made->n_blocks = n_blocks;
    if (allocate(made, baton_model_shape(model))) {
        baton_kv_destroy(made);
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: no memory for %d blocks of %d tokens",
                          n_blocks, BATON_KV_BLOCK_TOKENS);
    }
    while (made->n_free < n_blocks) { /* block 0 on top */
        made->free_blocks[made->n_free] = n_blocks - 1 - made->n_free;
        made->n_free++;
    }
    *kv = made;
    return BATON_OK;
}

void baton_kv_destroy(struct baton_kv *kv)
{
    if (!kv)
        return;
    free(kv->memory);
    free(kv->free_blocks);
    free(kv);
}

int baton_kv_n_blocks(const struct baton_kv *kv)
{
    return kv->n_blocks;
}

int baton_kv_n_free(const struct baton_kv *kv)
{
    return kv->n_free;
}

size_t baton_kv_block_bytes(const struct baton_kv *kv)
{
    return kv->block_floats * sizeof(float);
}

const float *baton_kv_layer(const struct baton_kv *kv, int layer)
{
    return kv->memory + (size_t)layer * kv->layer_floats;
}

const char *baton_kv_dtype(const struct baton_kv *kv)
{
    (void)kv;
    return "f32";
}

enum baton_err baton_seq_init(struct baton_seq *seq, struct baton_kv *kv, int n_tokens)
{
    if (n_tokens < 1)
        return BATON_INVALID;
    int n_blocks = n_tokens / BATON_KV_BLOCK_TOKENS + (n_tokens % BATON_KV_BLOCK_TOKENS != 0);
    if (n_blocks > kv->n_free)
        return BATON_LIMIT;
    int *blocks = calloc((size_t)n_blocks, sizeof *blocks);
    if (!blocks)
        return BATON_NO_MEMORY;
    for (int i = 0; i < n_blocks; i++)
        blocks[i] = kv->free_blocks[--kv->n_free];
    *seq = (struct baton_seq){.kv = kv, .blocks = blocks, .n_blocks = n_blocks};
    return BATON_OK;
}

void baton_seq_fini(struct baton_seq *seq)
{
    for (int i = seq->n_blocks - 1; i >= 0; i--)
        seq->kv->free_blocks[seq->kv->n_free++] = seq->blocks[i];
    free(seq->blocks);
    *seq = (struct baton_seq){0};
}

void *baton_seq_block(const struct baton_seq *seq, int layer, int index)
{
    const struct baton_kv *kv = seq->kv;
    assert(index >= 0 && index < seq->n_blocks);
    return kv->memory + (size_t)layer * kv->layer_floats +
           (size_t)seq->blocks[index] * kv->block_floats;
}
