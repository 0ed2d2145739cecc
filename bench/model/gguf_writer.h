/* Writes a GGUF file of version 3 front to back: descriptions of its metadata and tensors, then the
 * tensors' bytes.
 *
 *     "GGUF", u32 version, u64 tensors, u64 keys
 *     keys       text name, u32 type, value
 *     tensors    text name, u32 dimensions, u64 each (the fastest first), u32 type, u64 offset
 *     data       of each tensor in that order, each from a multiple of 32 bytes on
 *
 * A text is its u64 length and its bytes; all numbers are little-endian.
 *
 * Ownership: texts are copied; fini frees them.
 * Threading: none; one owner at a time.
 * Errors:    a failure of the head's memory stays until write_head returns it; IO: errno has the
 *            reason.
 *
 * Source: ggml's docs/gguf.md.
 */
#ifndef BATON_BENCH_MODEL_GGUF_WRITER_H
#define BATON_BENCH_MODEL_GGUF_WRITER_H

#include <stdint.h>
#include <stdio.h>

#include "common/base/buf.h"
#include "engine/checkpoint/weights/blocks.h"

struct bench_gguf {
    struct baton_buf keys, tensors;
    uint64_t n_keys, n_tensors;
    uint64_t n_data_bytes; /* of the tensors so far */
    char prefix[32];       /* "llama.": prefix of the names of put_size and put_number */
};

/* architecture is a short word, general.architecture of the file. */
void bench_gguf_init(struct bench_gguf *gguf, const char *architecture);
void bench_gguf_fini(struct bench_gguf *gguf);

/* Write a key of the architecture: u32, f32, bool or text. */
void bench_gguf_put_size(struct bench_gguf *gguf, const char *name, int size);
void bench_gguf_put_number(struct bench_gguf *gguf, const char *name, double number);
void bench_gguf_put_flag(struct bench_gguf *gguf, const char *name, bool flag);
void bench_gguf_put_word(struct bench_gguf *gguf, const char *name, const char *text);

/* Write any key: a text, a u32, a bool. */
void bench_gguf_put_key_text(struct bench_gguf *gguf, const char *key, const char *text,
                             size_t n_bytes);
void bench_gguf_put_key_id(struct bench_gguf *gguf, const char *key, uint32_t id);
void bench_gguf_put_key_flag(struct bench_gguf *gguf, const char *key, bool flag);

/* Begin an array of n texts, i32 or bools. n items follow, each by one of the three functions after
 * these. */
void bench_gguf_begin_texts(struct bench_gguf *gguf, const char *key, uint64_t n);
void bench_gguf_begin_numbers(struct bench_gguf *gguf, const char *key, uint64_t n);
void bench_gguf_begin_flags(struct bench_gguf *gguf, const char *key, uint64_t n);
void bench_gguf_put_bool(struct bench_gguf *gguf, bool flag);
void bench_gguf_put_text(struct bench_gguf *gguf, const char *text, size_t n_bytes);
void bench_gguf_put_int(struct bench_gguf *gguf, int32_t number);

/* Describes a tensor. shape [n_dims] has the slowest dimension first, and its leading 1s are
 * dropped; the fastest is a multiple of the type's block. */
void bench_gguf_put_tensor(struct bench_gguf *gguf, const char *name, const int64_t *shape,
                           int n_dims, enum baton_block_type type);

/* Writes everything before the data. IO, LIMIT, NO_MEMORY. */
enum baton_err bench_gguf_write_head(const struct bench_gguf *gguf, FILE *file) BATON_MUST_CHECK;
/* Writes zeros up to the begin of the next tensor, after one of n_bytes. */
bool bench_gguf_write_padding(FILE *file, uint64_t n_bytes);

#endif
