#include "bench/model/gguf_writer.h"

#include <stdio.h>
#include <string.h>

#include "engine/checkpoint/gguf/gguf.h"

enum { VERSION = 3, ALIGNMENT = 32, HEAD_MAX_BYTES = 1 << 28 };

static void put_u32(struct baton_buf *buf, uint32_t number)
{
    baton_buf_append(buf, &number, sizeof number);
}

static void put_u64(struct baton_buf *buf, uint64_t number)
{
    baton_buf_append(buf, &number, sizeof number);
}

static void put_text(struct baton_buf *buf, const char *text, size_t n_bytes)
{
    put_u64(buf, n_bytes);
    baton_buf_append(buf, text, n_bytes);
}

static void begin_key(struct bench_gguf *gguf, const char *prefix, const char *name,
                      enum baton_gguf_type type)
{
    size_t n_prefix = strlen(prefix), n_name = strlen(name);
    put_u64(&gguf->keys, n_prefix + n_name);
    baton_buf_append(&gguf->keys, prefix, n_prefix);
    baton_buf_append(&gguf->keys, name, n_name);
    put_u32(&gguf->keys, type);
    gguf->n_keys++;
}

void bench_gguf_init(struct bench_gguf *gguf, const char *architecture)
{
    *gguf = (struct bench_gguf){.n_keys = 0};
    baton_buf_init(&gguf->keys, HEAD_MAX_BYTES);
    baton_buf_init(&gguf->tensors, HEAD_MAX_BYTES);
    (void)snprintf(gguf->prefix, sizeof gguf->prefix, "%s.", architecture);
    bench_gguf_put_key_text(gguf, "general.architecture", architecture, strlen(architecture));
}

void bench_gguf_fini(struct bench_gguf *gguf)
{
    baton_buf_fini(&gguf->keys);
    baton_buf_fini(&gguf->tensors);
}

void bench_gguf_put_size(struct bench_gguf *gguf, const char *name, int size)
{
    begin_key(gguf, gguf->prefix, name, BATON_GGUF_U32);
    put_u32(&gguf->keys, (uint32_t)size);
}

void bench_gguf_put_number(struct bench_gguf *gguf, const char *name, double number)
{
    float rounded = (float)number;
    begin_key(gguf, gguf->prefix, name, BATON_GGUF_F32);
    baton_buf_append(&gguf->keys, &rounded, sizeof rounded);
}

void bench_gguf_put_flag(struct bench_gguf *gguf, const char *name, bool flag)
{
    begin_key(gguf, gguf->prefix, name, BATON_GGUF_BOOL);
    baton_buf_putc(&gguf->keys, flag);
}

void bench_gguf_put_word(struct bench_gguf *gguf, const char *name, const char *text)
{
    begin_key(gguf, gguf->prefix, name, BATON_GGUF_TEXT);
    put_text(&gguf->keys, text, strlen(text));
}

void bench_gguf_put_key_text(struct bench_gguf *gguf, const char *key, const char *text,
                             size_t n_bytes)
{
    begin_key(gguf, "", key, BATON_GGUF_TEXT);
    put_text(&gguf->keys, text, n_bytes);
}

void bench_gguf_put_key_id(struct bench_gguf *gguf, const char *key, uint32_t id)
{
    begin_key(gguf, "", key, BATON_GGUF_U32);
    put_u32(&gguf->keys, id);
}

void bench_gguf_put_key_flag(struct bench_gguf *gguf, const char *key, bool flag)
{
    begin_key(gguf, "", key, BATON_GGUF_BOOL);
    baton_buf_putc(&gguf->keys, flag);
}

static void begin_array(struct bench_gguf *gguf, const char *key, enum baton_gguf_type type,
                        uint64_t n)
{
    begin_key(gguf, "", key, BATON_GGUF_ARRAY);
    put_u32(&gguf->keys, type);
    put_u64(&gguf->keys, n);
}

void bench_gguf_begin_texts(struct bench_gguf *gguf, const char *key, uint64_t n)
{
    begin_array(gguf, key, BATON_GGUF_TEXT, n);
}

void bench_gguf_begin_numbers(struct bench_gguf *gguf, const char *key, uint64_t n)
{
    begin_array(gguf, key, BATON_GGUF_I32, n);
}

void bench_gguf_begin_flags(struct bench_gguf *gguf, const char *key, uint64_t n)
{
    begin_array(gguf, key, BATON_GGUF_BOOL, n);
}

void bench_gguf_put_bool(struct bench_gguf *gguf, bool flag)
{
    baton_buf_putc(&gguf->keys, flag);
}

void bench_gguf_put_text(struct bench_gguf *gguf, const char *text, size_t n_bytes)
{
    put_text(&gguf->keys, text, n_bytes);
}

void bench_gguf_put_int(struct bench_gguf *gguf, int32_t number)
{
    baton_buf_append(&gguf->keys, &number, sizeof number);
}

static uint32_t type_id(enum baton_block_type type)
{
    static const uint32_t ids[] = {
#define X(name, id, values, bytes) id,
        BATON_BLOCK_TYPES(X)
#undef X
    };
    return ids[type];
}

static uint64_t aligned(uint64_t n_bytes)
{
    return (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void bench_gguf_put_tensor(struct bench_gguf *gguf, const char *name, const int64_t *shape,
                           int n_dims, enum baton_block_type type)
{
    struct baton_buf *buf = &gguf->tensors;
    uint64_t n_elements = 1;
    /* ggml counts no outer dimension of 1 (ggml_n_dims). */
    for (; n_dims > 1 && *shape == 1; n_dims--)
        shape++;
    put_text(buf, name, strlen(name));
    put_u32(buf, (uint32_t)n_dims);
    /* GGUF lists the fastest dimension first. */
    for (int i = n_dims - 1; i >= 0; i--) {
        put_u64(buf, (uint64_t)shape[i]);
        n_elements *= (uint64_t)shape[i];
    }
    put_u32(buf, type_id(type));
    put_u64(buf, gguf->n_data_bytes);
    gguf->n_tensors++;
    gguf->n_data_bytes += aligned(n_elements / baton_block_values(type) * baton_block_bytes(type));
}

bool bench_gguf_write_padding(FILE *file, uint64_t n_bytes)
{
    static const char zeros[ALIGNMENT];
    size_t n = (size_t)(aligned(n_bytes) - n_bytes);
    return fwrite(zeros, 1, n, file) == n;
}

static bool write_buf(const struct baton_buf *buf, FILE *file)
{
    return fwrite(baton_buf_text(buf), 1, buf->len, file) == buf->len;
}

enum baton_err bench_gguf_write_head(const struct bench_gguf *gguf, FILE *file)
{
    enum baton_err err =
        baton_buf_err(&gguf->keys) ? baton_buf_err(&gguf->keys) : baton_buf_err(&gguf->tensors);
    struct baton_buf start;
    if (err)
        return err;
    baton_buf_init(&start, ALIGNMENT);
    baton_buf_puts(&start, "GGUF");
    put_u32(&start, VERSION);
    put_u64(&start, gguf->n_tensors);
    put_u64(&start, gguf->n_keys);
    uint64_t n_bytes = start.len + gguf->keys.len + gguf->tensors.len;
    bool written = !baton_buf_err(&start) && write_buf(&start, file) &&
                   write_buf(&gguf->keys, file) && write_buf(&gguf->tensors, file) &&
                   bench_gguf_write_padding(file, n_bytes);
    baton_buf_fini(&start);
    return written ? BATON_OK : BATON_IO;
}
