/* Whatever a file says, the tensors of an accepted one lie in it, aligned and apart; every value
 * can be read; and its metadata make a config or a reason. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#include "engine/checkpoint/gguf/config.h"
#include "engine/checkpoint/tensor.h"

static int by_data(const void *a, const void *b)
{
    const struct baton_tensor *x = a, *y = b;
    return (x->data > y->data) - (x->data < y->data);
}

static void check_apart(const struct baton_gguf *gguf, const uint8_t *data, size_t size)
{
    struct baton_tensor *tensors = malloc((gguf->n_tensors + 1) * sizeof *tensors);
    const uint8_t *next = data;
    check(tensors != NULL);
    memcpy(tensors, gguf->tensors, gguf->n_tensors * sizeof *tensors);
    qsort(tensors, gguf->n_tensors, sizeof *tensors, by_data);
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        check(tensors[i].data >= next &&
              tensors[i].n_bytes <= (size_t)(data + size - tensors[i].data));
        next = tensors[i].data + tensors[i].n_bytes;
    }
    free(tensors);
}

static void check_tensors(const struct baton_gguf *gguf)
{
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct baton_tensor *tensor = &gguf->tensors[i];
        size_t n = baton_block_bytes(tensor->block_type), n_values = 1;
        check(!i || strcmp(tensor[-1].name, tensor->name) < 0);
        check(baton_gguf_find_tensor(gguf, tensor->name) == tensor);
        check(tensor->n_dims >= 1 && tensor->n_dims <= 4 && tensor->name[0]);
        for (int k = 0; k < tensor->n_dims; k++)
            n_values *= (size_t)tensor->shape[k];
        check(tensor->n_bytes == n_values / baton_block_values(tensor->block_type) * n);
    }
}

static void read_values(const struct baton_gguf *gguf)
{
    struct baton_gguf_text text;
    double number;
    bool flag;
    for (size_t i = 0; i < gguf->n_entries; i++) {
        const struct baton_gguf_value *value = &gguf->entries[i].value;
        struct baton_gguf_texts texts = baton_gguf_texts(value);
        check(!i || memcmp(gguf->entries[i - 1].key.bytes, gguf->entries[i].key.bytes, 1) <= 0);
        while (baton_gguf_next(&texts, &text))
            check(text.n <= value->n_bytes);
        (void)baton_gguf_text(value, &text);
        (void)baton_gguf_flag(value, &flag);
        (void)baton_gguf_real(value, &number);
    }
}

FUZZ(data, size)
{
    struct baton_gguf_shard shard = {.mapping = {data, size}};
    const struct baton_gguf_model model = {.path = "fuzzed", .shards = &shard, .n_shards = 1};
    struct baton_model_config config;
    struct baton_why why = {.text = ""};
    if (baton_gguf_parse(data, size, &shard.file, &why)) {
        check(why.text[0]);
        return;
    }
    check_apart(&shard.file, data, size);
    check_tensors(&shard.file);
    read_values(&shard.file);
    if (baton_gguf_config_read(&model, &config, &why))
        check(why.text[0]);
    else
        check(config.model_type[0] && config.gguf_names);
    baton_gguf_fini(&shard.file);
}
