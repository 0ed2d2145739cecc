#include "engine/tokenizer/normalize/unicode_form.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/tokenizer/character.h"

struct range {
    uint32_t first, last;
};

/* Characters that no form changes and that never join the character before them. */
static const struct range inert_in_all[] = {
    {0, 0x7f},
    {0x3400, 0x4dbf}, /* Han */
    {0x4e00, 0x9fff},
};
/* More of them, for NFC and NFKC. */
static const struct range inert_composed[] = {
    {0x400, 0x482},                     /* Cyrillic */
    {0x48a, 0x52f},   {0x3041, 0x3096}, /* Hiragana */
    {0x30a1, 0x30fa},                   /* Katakana */
    {0xac00, 0xd7a3},                   /* Hangul */
};
/* More of them, for NFC. */
static const struct range inert_nfc[] = {
    {0x80, 0x2ff},                        /* Latin */
    {0x2010, 0x2027},                     /* punctuation */
    {0x3001, 0x3003},   {0xff01, 0xff60}, /* full width */
    {0x1f300, 0x1faff},                   /* pictures */
};

static bool is_in(uint32_t c, const struct range *ranges, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

#define IS_IN(c, ranges) is_in(c, ranges, BATON_N_OF(ranges))

static bool is_inert(struct baton_unicode_form form, uint32_t c)
{
    if (c < 0x80 || IS_IN(c, inert_in_all))
        return true;
    if (form.composes && IS_IN(c, inert_composed))
        return true;
    return form.composes && !form.compat && IS_IN(c, inert_nfc);
}

/* Returns the first character at or after start that is inert, or is not, as wanted. */
static size_t find(struct baton_unicode_form form, const struct baton_text_view *text, size_t start,
                   bool inert)
{
    while (start < text->n) {
        size_t n;
        if (is_inert(form, baton_utf8_at(text->bytes + start, &n)) == inert)
            return start;
        start += n;
    }
    return text->n;
}

/* True when c neither moves before nor joins the character before it: only marks and the second and
 * third letters of a Hangul syllable do. */
static bool begins_cluster(uint32_t c)
{
    return !baton_character_is_mark(c) && (c < 0x1160 || c > 0x11ff);
}

/* Returns the end of the cluster that begins at from. */
static size_t cluster_end(const struct baton_text_view *text, size_t from)
{
    size_t n;
    (void)baton_utf8_at(text->bytes + from, &n);
    for (from += n; from < text->n; from += n)
        if (begins_cluster(baton_utf8_at(text->bytes + from, &n)))
            break;
    return from;
}

/* Appends the form of bytes from .. to - 1. Characters on both sides of these borders must not
 * join. Returns true when the form differs. */
static bool apply_part(struct baton_unicode_form form, const struct baton_text_view *text,
                       size_t from, size_t to, struct baton_mapped_text *out)
{
    utf8proc_uint8_t *made = NULL;
    const utf8proc_uint8_t *bytes = (const utf8proc_uint8_t *)text->bytes + from;
    unsigned options = UTF8PROC_STABLE;
    options |= form.composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    options |= form.compat ? UTF8PROC_COMPAT : 0;
    utf8proc_ssize_t n =
        utf8proc_map(bytes, (utf8proc_ssize_t)(to - from), &made, (utf8proc_option_t)options);
    if (n < 0) {
        out->text.err = BATON_NO_MEMORY;
        return true;
    }
    bool differs = (size_t)n != to - from || memcmp(made, bytes, to - from) != 0;
    if (differs)
        baton_mapped_text_put(out, (const char *)made, (size_t)n, text, from, to);
    else
        baton_mapped_text_copy(out, text, from, to);
    free(made);
    return differs;
}

/* Does the same, cluster by cluster where origins are kept: utf8proc reports none within a call. */
static bool apply_run(struct baton_unicode_form form, const struct baton_text_view *text,
                      size_t from, size_t to, struct baton_mapped_text *out)
{
    bool differs = false;
    if (!out->keeps_origins)
        return apply_part(form, text, from, to, out);
    for (size_t end; from < to; from = end) {
        end = cluster_end(text, from);
        differs |= apply_part(form, text, from, end < to ? end : to, out);
    }
    return differs;
}

bool baton_unicode_form_apply(struct baton_unicode_form form, const struct baton_text_view *text,
                              struct baton_mapped_text *out)
{
    size_t done = 0, at = find(form, text, 0, false);
    bool differs = false;
    while (at < text->n) {
        /* Characters after the inert one may join it. */
        size_t from = at > done ? baton_utf8_before(text->bytes, at) : at;
        size_t to = find(form, text, at, true);
        baton_mapped_text_copy(out, text, done, from);
        differs |= apply_run(form, text, from, to, out);
        done = to;
        at = find(form, text, to, false);
    }
    if (differs)
        baton_mapped_text_copy(out, text, done, text->n);
    else
        baton_mapped_text_reset(out, out->keeps_origins);
    return differs;
}
