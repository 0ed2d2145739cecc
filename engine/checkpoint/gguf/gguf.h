/* GGUF: metadata as keys with typed values, a list of tensors, then their bytes.
 *
 *     "GGUF" | u32 version (2, 3) | u64 tensors | u64 entries | entries | tensors | padding | data
 *     entry    text key | u32 type | value
 *     text     u64 n | n bytes
 *     array    u32 type of its items | u64 n | n items
 *     tensor   text name | u32 dimensions | u64 lengths, fastest first | u32 type | u64 offset
 *
 * Numbers are little-endian. Data begins at the next multiple of general.alignment, and offsets
 * count from there. A file is accepted when every count and length fits in it, its keys and its
 * tensors' names are unique, and tensors are aligned, whole and apart from each other.
 *
 * Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
 *
 * Ownership: keys, texts and data are borrowed from the bytes that were parsed; tensors' names
 *            belong to the parsed file.
 * Threading: immutable once parsed.
 * Errors:    CORRUPT, INVALID (a version or a type that is not supported) and LIMIT with the key or
 *            the tensor and the value; NO_MEMORY.
 */
#ifndef BATON_ENGINE_CHECKPOINT_GGUF_GGUF_H
#define BATON_ENGINE_CHECKPOINT_GGUF_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

/* The numbers are those of the file. */
enum baton_gguf_type {
    BATON_GGUF_U8,
    BATON_GGUF_I8,
    BATON_GGUF_U16,
    BATON_GGUF_I16,
    BATON_GGUF_U32,
    BATON_GGUF_I32,
    BATON_GGUF_F32,
    BATON_GGUF_BOOL,
    BATON_GGUF_TEXT,
    BATON_GGUF_ARRAY,
    BATON_GGUF_U64,
    BATON_GGUF_I64,
    BATON_GGUF_F64,
    BATON_N_GGUF_TYPES
};

/* A text does not end with a zero. */
struct baton_gguf_text {
    const char *bytes;
    size_t n;
};

struct baton_gguf_value {
    enum baton_gguf_type type; /* of the items, for an array; never ARRAY */
    bool is_array;
    uint64_t n;          /* items of an array; otherwise 1 */
    const uint8_t *data; /* the items, contiguous, at any alignment */
    size_t n_bytes;
};

struct baton_gguf_entry {
    struct baton_gguf_text key;
    struct baton_gguf_value value;
};

struct baton_tensor;

struct baton_gguf {
    struct baton_gguf_entry *entries; /* sorted by key */
    size_t n_entries;
    struct baton_tensor *tensors; /* tensor.h; sorted by name */
    size_t n_tensors;
    size_t n_listed; /* of these, so many are items of metadata, not of the file's own list */
    char *names;     /* the memory of the tensors' names */
};

/* Parses a file. bytes stays borrowed while the result is in use. */
enum baton_err baton_gguf_parse(const uint8_t *bytes, size_t n_bytes, struct baton_gguf *gguf,
                                struct baton_why *why) BATON_MUST_CHECK;
/* Frees entries, tensors and names, not the bytes. */
void baton_gguf_fini(struct baton_gguf *gguf);

/* Returns NULL when there is no such key. */
const struct baton_gguf_value *baton_gguf_find(const struct baton_gguf *gguf, const char *key);

/* Returns NULL when there is no such tensor. */
const struct baton_tensor *baton_gguf_find_tensor(const struct baton_gguf *gguf, const char *name);

/* Read the value as a number, a flag or a text; false for a value of another kind, an array or
 * NULL. A whole number of any type is an int64 if it fits, and also a real one. */
bool baton_gguf_int(const struct baton_gguf_value *value, int64_t *number);
bool baton_gguf_real(const struct baton_gguf_value *value, double *number);
bool baton_gguf_flag(const struct baton_gguf_value *value, bool *flag);
bool baton_gguf_text(const struct baton_gguf_value *value, struct baton_gguf_text *text);

bool baton_gguf_text_is(struct baton_gguf_text text, const char *wanted);

/* Returns the index-th item of an array of anything but texts. */
struct baton_gguf_value baton_gguf_item(const struct baton_gguf_value *array, uint64_t index);

/* An iterator over the texts of an array, in order: n_left of them are still to come. */
struct baton_gguf_texts {
    const uint8_t *next;
    uint64_t n_left;
};

/* Returns an empty iterator for a value that is not an array of texts. */
struct baton_gguf_texts baton_gguf_texts(const struct baton_gguf_value *array);
/* Returns false after the last text. */
bool baton_gguf_next(struct baton_gguf_texts *texts, struct baton_gguf_text *text);

#endif
