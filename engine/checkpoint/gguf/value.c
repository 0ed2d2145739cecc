/* Values of a GGUF file's metadata (gguf.h). */
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/gguf/reader.h"

const struct baton_gguf_value *baton_gguf_find(const struct baton_gguf *gguf, const char *key)
{
    const struct baton_gguf_entry wanted = {.key = {key, strlen(key)}};
    const struct baton_gguf_entry *found = bsearch(&wanted, gguf->entries, gguf->n_entries,
                                                   sizeof gguf->entries[0], baton_gguf_by_key);
    return found ? &found->value : NULL;
}

static uint64_t bits_of(const struct baton_gguf_value *value)
{
    /* Every type is at most 8 bytes wide; bits of a wider number than the type are 0. */
    return gguf_number_at(value->data, value->n_bytes);
}

static bool is_one(const struct baton_gguf_value *value, enum baton_gguf_type type)
{
    return value && !value->is_array && value->type == type;
}

bool baton_gguf_int(const struct baton_gguf_value *value, int64_t *number)
{
    if (!value || value->is_array)
        return false;
    uint64_t bits = bits_of(value);
    switch (value->type) {
    case BATON_GGUF_I8:
        *number = (int8_t)bits;
        return true;
    case BATON_GGUF_I16:
        *number = (int16_t)bits;
        return true;
    case BATON_GGUF_I32:
        *number = (int32_t)bits;
        return true;
    case BATON_GGUF_U8:
    case BATON_GGUF_U16:
    case BATON_GGUF_U32:
    case BATON_GGUF_I64:
        *number = (int64_t)bits;
        return true;
    case BATON_GGUF_U64:
        *number = (int64_t)bits;
        return bits <= INT64_MAX;
    default:
        return false;
    }
}

bool baton_gguf_real(const struct baton_gguf_value *value, double *number)
{
    int64_t whole;
    float single;
    if (is_one(value, BATON_GGUF_F32)) {
        uint32_t bits = (uint32_t)bits_of(value);
        memcpy(&single, &bits, sizeof single);
        *number = (double)single;
        return true;
    }
    if (is_one(value, BATON_GGUF_F64)) {
        uint64_t bits = bits_of(value);
        memcpy(number, &bits, sizeof *number);
        return true;
    }
    if (!baton_gguf_int(value, &whole))
        return false;
    *number = (double)whole;
    return true;
}

bool baton_gguf_flag(const struct baton_gguf_value *value, bool *flag)
{
    if (!is_one(value, BATON_GGUF_BOOL))
        return false;
    *flag = value->data[0] != 0;
    return true;
}

bool baton_gguf_text(const struct baton_gguf_value *value, struct baton_gguf_text *text)
{
    struct baton_gguf_texts texts = {.n_left = 1};
    if (!is_one(value, BATON_GGUF_TEXT))
        return false;
    texts.next = value->data;
    return baton_gguf_next(&texts, text);
}

bool baton_gguf_text_is(struct baton_gguf_text text, const char *wanted)
{
    return text.n == strlen(wanted) && !memcmp(text.bytes, wanted, text.n);
}

struct baton_gguf_value baton_gguf_item(const struct baton_gguf_value *array, uint64_t index)
{
    size_t n_bytes = array->n_bytes / (size_t)array->n;
    return (struct baton_gguf_value){.type = array->type,
                                     .n = 1,
                                     .data = array->data + (size_t)index * n_bytes,
                                     .n_bytes = n_bytes};
}

struct baton_gguf_texts baton_gguf_texts(const struct baton_gguf_value *array)
{
    if (!array || !array->is_array || array->type != BATON_GGUF_TEXT)
        return (struct baton_gguf_texts){.n_left = 0};
    return (struct baton_gguf_texts){.next = array->data, .n_left = array->n};
}

/* Needs no bound checks: gguf.c checked the lengths when it parsed the file. */
bool baton_gguf_next(struct baton_gguf_texts *texts, struct baton_gguf_text *text)
{
    if (!texts->n_left)
        return false;
    uint64_t n = gguf_number_at(texts->next, sizeof n);
    texts->next += sizeof n;
    *text = (struct baton_gguf_text){(const char *)texts->next, (size_t)n};
    texts->next += n;
    texts->n_left--;
    return true;
}
