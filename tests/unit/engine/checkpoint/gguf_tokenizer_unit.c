#include "tests/unit/engine/checkpoint/gguf_tokenizer_unit.h"

#include "engine/checkpoint/gguf/tokenizer.h"

enum { MAX_BYTES = 16 << 20 };

const char *const byte_tokens[] = {"a",
                                   "b",
                                   "ab",
                                   "<think>",
                                   "<|im_end|>",
                                   "[PAD5]",
                                   "[PAD",
                                   "\xc4\xa0",
                                   "<s>",
                                   "\xc4\xa0"
                                   "a",
                                   NULL};
const char *const byte_merges[] = {"a b", "\xc4\xa0 a", NULL};

struct file begin_file(const char *model)
{
    struct file file = {.n = 1};
    baton_buf_init(&file.entries, MAX_BYTES);
    put_gguf_string(&file.entries, KEY "model", model);
    return file;
}

void put_text(struct file *file, const char *key, const char *text)
{
    put_gguf_string(&file->entries, key, text);
    file->n++;
}

void put_id(struct file *file, const char *key, uint32_t id)
{
    put_gguf_u32(&file->entries, key, id);
    file->n++;
}

void put_flag(struct file *file, const char *key, bool flag)
{
    put_gguf_entry(&file->entries, key, BATON_GGUF_BOOL, flag, 1);
    file->n++;
}

void put_texts(struct file *file, const char *key, const char *const *texts)
{
    uint64_t n = 0;
    while (texts[n])
        n++;
    put_gguf_array(&file->entries, key, BATON_GGUF_TEXT, n);
    for (uint64_t i = 0; i < n; i++)
        put_gguf_text(&file->entries, texts[i]);
    file->n++;
}

void put_types(struct file *file, const char *digits)
{
    put_gguf_array(&file->entries, KEY "token_type", BATON_GGUF_I32, strlen(digits));
    for (; *digits; digits++)
        put_number(&file->entries, (uint64_t)(*digits - '0'), 4);
    file->n++;
}

void put_scores(struct file *file, const float *scores, uint64_t n)
{
    put_gguf_array(&file->entries, KEY "scores", BATON_GGUF_F32, n);
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &scores[i], sizeof bits);
        put_number(&file->entries, bits, 4);
    }
    file->n++;
}

char *end_file(struct file *file, size_t *n)
{
    struct baton_buf whole;
    baton_buf_init(&whole, MAX_BYTES);
    put_gguf_head(&whole, 3, 0, file->n);
    baton_buf_append(&whole, file->entries.data, file->entries.len);
    put_gguf_data(&whole, 32, 0);
    assert_ok(baton_buf_err(&whole));
    baton_buf_fini(&file->entries);
    *n = whole.len;
    return baton_buf_take(&whole);
}

struct file begin_byte_file(const char *pre, const char *const *tokens)
{
    struct file file = begin_file("gpt2");
    put_text(&file, KEY "pre", pre);
    put_texts(&file, KEY "tokens", tokens);
    return file;
}

struct file byte_file(const char *pre)
{
    struct file file = begin_byte_file(pre, byte_tokens);
    put_texts(&file, KEY "merges", byte_merges);
    put_types(&file, "1114151131");
    return file;
}

enum baton_err read_tables(struct file *file, struct baton_tokenizer_tables **tables,
                           struct baton_why *why)
{
    struct baton_gguf gguf;
    size_t n;
    char *bytes = end_file(file, &n);
    struct baton_tokenizer_tables *read = calloc(1, sizeof *read);
    assert_non_null(read);
    read->unk_id = BATON_NO_TOKEN;
    (void)strcpy(read->file, "x.gguf");
    assert_ok(baton_gguf_parse((const uint8_t *)bytes, n, &gguf, why));
    enum baton_err err = baton_gguf_tokenizer_read(&gguf, read, why);
    baton_gguf_fini(&gguf);
    free(bytes);
    if (err)
        baton_tokenizer_tables_free(read);
    else
        *tables = read;
    return err;
}
