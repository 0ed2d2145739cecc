/* Whatever a file says, the tensors of an accepted one lie in it, aligned and apart; every value can
 * be read; and its metadata make a config or a reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/checkpoint/gguf_config.h"
#include "common/checkpoint/tensor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
    if (!holds)
        abort();
}

static void check_tensors(const struct baton_gguf *gguf, const uint8_t *data, size_t size)
{
    const uint8_t *next = data;
    for (size_t i = 0; i < gguf->n_tensors; i++) {
        const struct baton_tensor *tensor = &gguf->tensors[i];
        size_t n = baton_block_bytes(tensor->block_type), n_values = 1;
        check(tensor->data >= next && tensor->n_bytes <= (size_t)(data + size - tensor->data));
        check(tensor->n_dims >= 1 && tensor->n_dims <= 4 && tensor->name[0]);
        for (int k = 0; k < tensor->n_dims; k++)
            n_values *= (size_t)tensor->shape[k];
        check(tensor->n_bytes == n_values / baton_block_values(tensor->block_type) * n);
        next = tensor->data + tensor->n_bytes;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct baton_gguf_shard shard = {.mapping = {data, size}};
    const struct baton_gguf_model model = {.path = "fuzzed", .shards = &shard, .n_shards = 1};
    struct baton_model_config config;
    struct baton_why why = {.text = ""};
    if (baton_gguf_parse(data, size, &shard.file, &why)) {
        check(why.text[0]);
        return 0;
    }
    check_tensors(&shard.file, data, size);
    read_values(&shard.file);
    if (baton_gguf_config_read(&model, &config, &why))
        check(why.text[0]);
    else
        check(config.model_type[0] && config.gguf_names);
    baton_gguf_fini(&shard.file);
    return 0;
}
