#include "common/engine/kv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/engine/floats.h"

struct baton_kv {
    int n_blocks, n_free;
    int *free_blocks; /* a stack of n_free block numbers */
    enum baton_kv_dtype dtype;
    size_t block_bytes, layer_bytes;
    char *memory; /* [L][n_blocks][block_bytes] */
};

static const char *const names[BATON_N_KV_DTYPES] = {"f32", "f16"};

static enum baton_err choose_dtype(struct baton_kv *kv, const struct baton_model *model,
                                   const char *name, struct baton_why *why)
{
    if (!name || !strcmp(name, "auto"))
        name = strcmp(baton_model_dtype(model), "f32") != 0 ? "f16" : "f32";
    for (int i = 0; i < BATON_N_KV_DTYPES; i++)
        if (!strcmp(names[i], name)) {
            kv->dtype = (enum baton_kv_dtype)i;
            return BATON_OK;
        }
    return baton_fail(why, BATON_INVALID, "kv-dtype: \"%s\" is none of auto, f32, f16", name);
}

static enum baton_err allocate(struct baton_kv *kv, const struct baton_model_shape *shape)
{
    size_t n_bytes,
        head_bytes = baton_kv_head_elements(shape->head_dim) * baton_kv_element_bytes(kv->dtype);
    if (__builtin_mul_overflow(head_bytes, (size_t)shape->n_kv_heads, &kv->block_bytes) ||
        __builtin_mul_overflow(kv->block_bytes, (size_t)kv->n_blocks, &kv->layer_bytes) ||
        __builtin_mul_overflow(kv->layer_bytes, (size_t)shape->n_layers, &n_bytes))
        return BATON_NO_MEMORY;
    kv->free_blocks = calloc((size_t)kv->n_blocks, sizeof *kv->free_blocks);
    kv->memory = (char *)baton_floats_create(n_bytes / sizeof(float));
    return kv->free_blocks && kv->memory ? BATON_OK : BATON_NO_MEMORY;
}

static enum baton_err create(struct baton_kv *kv, const struct baton_model *model,
                             const char *dtype, int n_blocks, struct baton_why *why)
{
    enum baton_err err = choose_dtype(kv, model, dtype, why);
    if (err)
        return err;
    kv->n_blocks = n_blocks;
    if (allocate(kv, baton_model_shape(model)))
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: no memory for %d blocks of %d tokens",
                          n_blocks, BATON_KV_BLOCK_TOKENS);
    while (kv->n_free < n_blocks) { /* block 0 on top */
        kv->free_blocks[kv->n_free] = n_blocks - 1 - kv->n_free;
        kv->n_free++;
    }
    return BATON_OK;
}

enum baton_err baton_kv_create(const struct baton_model *model, const char *dtype, int n_blocks,
                               struct baton_kv **kv, struct baton_why *why)
{
    if (n_blocks < 1)
        return baton_fail(why, BATON_INVALID, "KV cache: needs at least one block, not %d",
                          n_blocks);
    struct baton_kv *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "KV cache: out of memory");
    enum baton_err err = create(made, model, dtype, n_blocks, why);
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
    return kv->memory + (size_t)layer * kv->layer_bytes +
           (size_t)seq->blocks[index] * kv->block_bytes;
}
