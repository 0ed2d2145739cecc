#include "engine/tokenizer/normalize/charsmap.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "common/base/utf8.h"

/* Hugging Face's library looks up graphemes of fewer bytes as a whole. */
enum { MAX_BYTES = 64 << 20, WHOLE_GRAPHEME_BYTES = 6 };

struct baton_charsmap {
    uint8_t *bytes;
    size_t n_units;
    const char *texts; /* valid UTF-8 with zeros between */
    size_t n_texts;
};

static uint32_t unit_at(const struct baton_charsmap *map, size_t i)
{
    const uint8_t *b = map->bytes + 4 + 4 * i;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static enum baton_err decode(struct baton_charsmap *map, const char *base64, size_t n,
                             size_t *n_bytes, struct baton_why *why)
{
    if (n > MAX_BYTES || n % 4)
        return baton_fail(why, BATON_INVALID, "precompiled_charsmap: must be base64");
    map->bytes = malloc(n / 4 * 3 + 1);
    if (!map->bytes)
        return baton_fail(why, BATON_NO_MEMORY, "precompiled_charsmap: out of memory");
    int length = EVP_DecodeBlock(map->bytes, (const unsigned char *)base64, (int)n);
    if (length < 0)
        return baton_fail(why, BATON_INVALID, "precompiled_charsmap: must be base64");
    *n_bytes = (size_t)length;
    for (size_t i = n; i && base64[i - 1] == '=' && *n_bytes; i--)
        --*n_bytes;
    return BATON_OK;
}

static enum baton_err check(struct baton_charsmap *map, size_t n, struct baton_why *why)
{
    size_t n_trie = n >= 4 ? (size_t)map->bytes[0] | (size_t)map->bytes[1] << 8 |
                                 (size_t)map->bytes[2] << 16 | (size_t)map->bytes[3] << 24
                           : 0;
    if (n < 8 || !n_trie || n_trie % 4 || n_trie > n - 4)
        return baton_fail(why, BATON_INVALID,
                          "precompiled_charsmap: its sizes do not match its length");
    map->n_units = n_trie / 4;
    map->texts = (const char *)map->bytes + 4 + n_trie;
    map->n_texts = n - 4 - n_trie;
    if (!baton_utf8_valid(map->texts, map->n_texts))
        return baton_fail(why, BATON_INVALID, "precompiled_charsmap: its texts are not UTF-8");
    return BATON_OK;
}

enum baton_err baton_charsmap_create(const char *base64, size_t n, struct baton_charsmap **map,
                                     struct baton_why *why)
{
    size_t n_bytes = 0;
    struct baton_charsmap *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "precompiled_charsmap: out of memory");
    enum baton_err err = decode(made, base64, n, &n_bytes, why);
    if (!err)
        err = check(made, n_bytes, why);
    if (err)
        baton_charsmap_destroy(made);
    else
        *map = made;
    return err;
}

void baton_charsmap_destroy(struct baton_charsmap *map)
{
    if (!map)
        return;
    free(map->bytes);
    free(map);
}

/* The fields of a unit in darts-clone's format. */
static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

static bool has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t label_of(uint32_t unit)
{
    return unit & (1u << 31 | 0xff);
}

/* Returns the text of the shortest key that matches the n bytes, which is the key that the library
 * takes; NULL when there is none. */
static const char *look_up(const struct baton_charsmap *map, const char *bytes, size_t n)
{
    size_t node = offset_of(unit_at(map, 0));
    for (size_t i = 0; i < n && bytes[i]; i++) {
        node ^= (unsigned char)bytes[i];
        /* The file is not trusted: every index is checked, here and below. */
        if (node >= map->n_units)
            return NULL;
        uint32_t unit = unit_at(map, node);
        if (label_of(unit) != (unsigned char)bytes[i])
            return NULL;
        node ^= offset_of(unit);
        if (!has_leaf(unit))
            continue;
        size_t at = node < map->n_units ? unit_at(map, node) & INT32_MAX : map->n_texts;
        /* An offset inside a character is no text. */
        return at < map->n_texts && !baton_utf8_continues(map->texts[at]) ? map->texts + at : NULL;
    }
    return NULL;
}

static bool put_mapped(const struct baton_charsmap *map, const struct baton_text_view *text,
                       size_t from, size_t to, struct baton_mapped_text *out)
{
    const char *found = look_up(map, text->bytes + from, to - from);
    if (!found)
        return false;
    size_t n_left = map->n_texts - (size_t)(found - map->texts);
    baton_mapped_text_put(out, found, strnlen(found, n_left), text, from, to);
    return true;
}

/* Returns the end of the grapheme cluster that begins at from (UAX 29). */
static size_t grapheme_end(const struct baton_text_view *text, size_t from)
{
    utf8proc_int32_t state = 0;
    size_t n;
    uint32_t c = baton_utf8_at(text->bytes + from, &n);
    for (from += n; from < text->n; from += n) {
        uint32_t next = baton_utf8_at(text->bytes + from, &n);
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)c, (utf8proc_int32_t)next, &state))
            break;
        c = next;
    }
    return from;
}

void baton_charsmap_apply(const struct baton_charsmap *map, const struct baton_text_view *text,
                          struct baton_mapped_text *out)
{
    for (size_t at = 0, end; at < text->n && !baton_buf_err(&out->text); at = end) {
        end = grapheme_end(text, at);
        if (end - at < WHOLE_GRAPHEME_BYTES && put_mapped(map, text, at, end, out))
            continue;
        for (size_t n; at < end && !baton_buf_err(&out->text); at += n) {
            (void)baton_utf8_at(text->bytes + at, &n);
            if (!put_mapped(map, text, at, at + n, out))
                baton_mapped_text_copy(out, text, at, at + n);
        }
    }
}
