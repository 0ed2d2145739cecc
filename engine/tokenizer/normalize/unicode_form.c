#include "engine/tokenizer/normalize/unicode_form.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <utf8proc.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/tokenizer/character.h"

enum { PART_BYTES = 16 << 10 };

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

/* The characters of a part while its form is made. */
struct characters {
    utf8proc_int32_t *all, *sorted;
    size_t n, cap, sorted_cap;
};

static unsigned combining_class(utf8proc_int32_t c)
{
    return (unsigned)utf8proc_get_property(c)->combining_class;
}

static bool decompose(const struct baton_text_view *text, size_t from, size_t to,
                      utf8proc_option_t options, struct characters *made)
{
    enum { MOST = 32 }; /* no character decomposes into more than 18 */
    for (size_t n; from < to; from += n) {
        int boundary = 0;
        utf8proc_int32_t c = (utf8proc_int32_t)baton_utf8_at(text->bytes + from, &n);
        if (BATON_RESERVE(made->all, made->cap, made->n + MOST))
            return false;
        utf8proc_ssize_t n_made =
            utf8proc_decompose_char(c, made->all + made->n, MOST, options, &boundary);
        if (n_made < 0 || n_made > MOST)
            return false;
        made->n += (size_t)n_made;
    }
    return true;
}

/* Orders marks from .. to - 1 by their classes; those of one class keep their order. */
static bool sort(struct characters *made, size_t from, size_t to)
{
    size_t begins[257] = {0}, n = to - from;
    if (BATON_RESERVE(made->sorted, made->sorted_cap, n))
        return false;
    for (size_t i = from; i < to; i++)
        begins[combining_class(made->all[i]) + 1]++;
    for (size_t i = 0; i < 256; i++)
        begins[i + 1] += begins[i];
    for (size_t i = from; i < to; i++)
        made->sorted[begins[combining_class(made->all[i])]++] = made->all[i];
    memcpy(made->all + from, made->sorted, n * sizeof *made->all);
    return true;
}

/* Puts marks in canonical order. utf8proc_map exchanges neighbours, which takes minutes for 1 MiB
 * of marks; this takes time in proportion to them. */
static bool order(struct characters *made)
{
    for (size_t from = 0, to; from < made->n; from = to) {
        bool is_sorted = true;
        unsigned last = combining_class(made->all[from]), next;
        for (to = from + 1; last && to < made->n && (next = combining_class(made->all[to])); to++) {
            is_sorted = is_sorted && last <= next;
            last = next;
        }
        if (!is_sorted && !sort(made, from, to))
            return false;
    }
    return true;
}

/* Makes the form of bytes from .. to - 1 in made->all as UTF-8; returns its length, -1 without
 * memory. */
static ssize_t make_form(struct baton_unicode_form form, const struct baton_text_view *text,
                         size_t from, size_t to, struct characters *made)
{
    unsigned options = UTF8PROC_STABLE;
    options |= form.composes ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
    options |= form.compat ? UTF8PROC_COMPAT : 0;
    if (!decompose(text, from, to, (utf8proc_option_t)options, made) || !order(made) ||
        BATON_RESERVE(made->all, made->cap, made->n + 1)) /* for the end's zero */
        return -1;
    return utf8proc_reencode(made->all, (utf8proc_ssize_t)made->n, (utf8proc_option_t)options);
}

/* Appends the form of bytes from .. to - 1. Characters on both sides of these borders must not
 * join. Returns true when the form differs. */
static bool apply_part(struct baton_unicode_form form, const struct baton_text_view *text,
                       size_t from, size_t to, struct baton_mapped_text *out)
{
    struct characters made = {.n = 0};
    ssize_t n = make_form(form, text, from, to, &made);
    bool differs =
        n < 0 || (size_t)n != to - from || memcmp(made.all, text->bytes + from, to - from) != 0;
    if (n < 0)
        out->text.err = BATON_NO_MEMORY;
    else if (differs)
        baton_mapped_text_put(out, (const char *)made.all, (size_t)n, text, from, to);
    else
        baton_mapped_text_copy(out, text, from, to);
    free(made.all);
    free(made.sorted);
    return differs;
}

/* Does the same in parts of whole clusters: of one each where origins are kept, as utf8proc reports
 * none within a call, else of some, so that the characters of a long text need little memory. */
static bool apply_run(struct baton_unicode_form form, const struct baton_text_view *text,
                      size_t from, size_t to, struct baton_mapped_text *out)
{
    size_t part_bytes = out->keeps_origins ? 1 : PART_BYTES;
    bool differs = false;
    for (size_t end; from < to && !out->text.err; from = end) {
        for (end = from; end < to && end - from < part_bytes;)
            end = cluster_end(text, end);
        end = end < to ? end : to;
        differs |= apply_part(form, text, from, end, out);
    }
    return differs;
}

bool baton_unicode_form_apply(struct baton_unicode_form form, const struct baton_text_view *text,
                              struct baton_mapped_text *out)
{
    size_t done = 0, at = find(form, text, 0, false);
    bool differs = false;
    while (at < text->n && !out->text.err) {
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
