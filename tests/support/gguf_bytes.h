/* GGUF files written by tests, right or wrong, piece by piece. */
#ifndef BATON_TESTS_SUPPORT_GGUF_BYTES_H
#define BATON_TESTS_SUPPORT_GGUF_BYTES_H

#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "engine/checkpoint/gguf/gguf.h"

static inline void put_number(struct baton_buf *out, uint64_t number, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        baton_buf_putc(out, (char)(number >> 8 * i));
}

static inline void put_gguf_text(struct baton_buf *out, const char *text)
{
    put_number(out, strlen(text), 8);
    baton_buf_puts(out, text);
}

static inline void put_gguf_head(struct baton_buf *out, uint32_t version, uint64_t n_tensors,
                                 uint64_t n_entries)
{
    baton_buf_puts(out, "GGUF");
    put_number(out, version, 4);
    put_number(out, n_tensors, 8);
    put_number(out, n_entries, 8);
}

/* A whole number of n_bytes in a type of that size. */
static inline void put_gguf_entry(struct baton_buf *out, const char *key, uint32_t type,
                                  uint64_t number, size_t n_bytes)
{
    put_gguf_text(out, key);
    put_number(out, type, 4);
    put_number(out, number, n_bytes);
}

static inline void put_gguf_u32(struct baton_buf *out, const char *key, uint32_t number)
{
    put_gguf_entry(out, key, BATON_GGUF_U32, number, 4);
}

static inline void put_gguf_f32(struct baton_buf *out, const char *key, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_gguf_entry(out, key, BATON_GGUF_F32, bits, 4);
}

static inline void put_gguf_string(struct baton_buf *out, const char *key, const char *text)
{
    put_gguf_text(out, key);
    put_number(out, BATON_GGUF_TEXT, 4);
    put_gguf_text(out, text);
}

/* The head of an array, whose items follow. */
static inline void put_gguf_array(struct baton_buf *out, const char *key, uint32_t type, uint64_t n)
{
    put_gguf_text(out, key);
    put_number(out, BATON_GGUF_ARRAY, 4);
    put_number(out, type, 4);
    put_number(out, n, 8);
}

/* Lengths the fastest first; a length of 0 is none. */
static inline void put_gguf_tensor(struct baton_buf *out, const char *name, uint64_t fastest,
                                   uint64_t next, uint32_t type, uint64_t offset)
{
    put_gguf_text(out, name);
    put_number(out, next ? 2 : 1, 4);
    put_number(out, fastest, 8);
    if (next)
        put_number(out, next, 8);
    put_number(out, type, 4);
    put_number(out, offset, 8);
}

/* Up to the next multiple of alignment, and n_bytes of data. */
static inline void put_gguf_data(struct baton_buf *out, size_t alignment, size_t n_bytes)
{
    while (out->len % alignment)
        baton_buf_putc(out, 0);
    for (size_t i = 0; i < n_bytes; i++)
        baton_buf_putc(out, (char)i);
}

#endif
