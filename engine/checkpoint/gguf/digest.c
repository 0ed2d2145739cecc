#include "engine/checkpoint/gguf/digest.h"

#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/tensor.h"

static bool begins(struct baton_gguf_text text, const char *with)
{
    return text.n >= strlen(with) && !memcmp(text.bytes, with, strlen(with));
}

static void add_number(struct baton_sha256 *sha, uint64_t number)
{
    baton_sha256_update(sha, &number, sizeof number);
}

/* Every part is preceded by its length, so that no two lists of parts have the same bytes. */
static void add_bytes(struct baton_sha256 *sha, const void *bytes, size_t n)
{
    add_number(sha, n);
    baton_sha256_update(sha, bytes, n);
}

static void add_entry(struct baton_sha256 *sha, const struct baton_gguf_entry *entry)
{
    add_bytes(sha, entry->key.bytes, entry->key.n);
    add_number(sha, entry->value.type);
    add_number(sha, entry->value.is_array);
    add_number(sha, entry->value.n);
    add_bytes(sha, entry->value.data, entry->value.n_bytes);
}

static void add_tensor(struct baton_sha256 *sha, const struct baton_tensor *tensor)
{
    add_bytes(sha, tensor->name, strlen(tensor->name));
    add_number(sha, tensor->block_type);
    add_bytes(sha, tensor->shape, (size_t)tensor->n_dims * sizeof tensor->shape[0]);
}

static int by_name(const void *a, const void *b)
{
    const struct baton_tensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Adds the tensors in the order of their names, whichever files they are in. */
static enum baton_err add_tensors(struct baton_sha256 *sha, const struct baton_gguf_model *model,
                                  struct baton_why *why)
{
    size_t n = 0;
    for (int i = 0; i < model->n_shards; i++)
        n += model->shards[i].file.n_tensors;
    const struct baton_tensor **tensors = calloc(n + 1, sizeof *tensors);
    if (!tensors)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", model->path);
    n = 0;
    for (int i = 0; i < model->n_shards; i++)
        for (size_t k = 0; k < model->shards[i].file.n_tensors; k++)
            tensors[n++] = &model->shards[i].file.tensors[k];
    qsort(tensors, n, sizeof *tensors, by_name);
    for (size_t i = 0; i < n; i++)
        add_tensor(sha, tensors[i]);
    free(tensors);
    return BATON_OK;
}

/* True for a key of the part. The tokenizer's part includes the architecture, which merges.c and
 * vocab.c read. */
static bool is_of(struct baton_gguf_text key, enum baton_model_part part)
{
    if (part == BATON_PART_TOKENIZER)
        return begins(key, "tokenizer.") || baton_gguf_text_is(key, "general.architecture");
    return !begins(key, "tokenizer.") && !begins(key, "split.");
}

enum baton_err baton_gguf_digest(const struct baton_gguf_model *model, enum baton_model_part part,
                                 char hex[BATON_SHA256_HEX], struct baton_why *why)
{
    const struct baton_gguf *metadata = baton_gguf_model_metadata(model);
    struct baton_sha256 *sha = baton_sha256_create();
    if (!sha)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", model->path);
    for (size_t i = 0; i < metadata->n_entries; i++) {
        const struct baton_gguf_entry *entry = &metadata->entries[i];
        if (is_of(entry->key, part))
            add_entry(sha, entry);
    }
    enum baton_err err = part == BATON_PART_TOKENIZER ? BATON_OK : add_tensors(sha, model, why);
    baton_sha256_final(sha, hex);
    return err;
}
