#include "engine/tokenizer/normalize/normalize.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "common/base/utf8.h"
#include "engine/tokenizer/character.h"
#include "engine/tokenizer/growth.h"
#include "engine/tokenizer/normalize/charsmap.h"
#include "engine/tokenizer/normalize/unicode_form.h"
#include "engine/tokenizer/split/pattern.h"

struct step {
    enum baton_normalizer_kind kind;
    struct baton_pattern *pattern;
    struct baton_charsmap *charsmap;
    char *content;
    size_t n_content;
    bool left, right;
    struct baton_growth growth;
};

struct baton_normalizer {
    struct step steps[BATON_TOKENIZER_MAX_STEPS];
    int n_steps;
    struct baton_mapped_text texts[2]; /* a step reads one and writes the other */
};

/* ---- building ---- */

static enum baton_err make_step(const struct baton_normalizer_step *source, struct step *step,
                                struct baton_why *why)
{
    step->kind = source->kind;
    step->left = source->left;
    step->right = source->right;
    if (source->kind == BATON_NORMALIZER_REPLACE) {
        enum baton_err err = baton_pattern_create(&source->pattern, true,
                                                  BATON_PATTERN_WINDOW_BYTES, &step->pattern, why);
        if (err)
            return err;
    }
    if (source->kind == BATON_NORMALIZER_PRECOMPILED)
        return baton_charsmap_create(source->content.bytes, source->content.n, &step->charsmap,
                                     why);
    step->n_content = source->content.n;
    step->content = malloc(step->n_content + 1);
    if (!step->content)
        return baton_fail(why, BATON_NO_MEMORY, "the normalizer: out of memory");
    if (step->n_content)
        memcpy(step->content, source->content.bytes, step->n_content);
    return BATON_OK;
}

enum baton_err baton_normalizer_create(const struct baton_tokenizer_steps *steps,
                                       struct baton_normalizer **normalizer, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    *normalizer = NULL;
    if (!steps->n_normalizer)
        return BATON_OK;
    struct baton_normalizer *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "the normalizer: out of memory");
    for (int i = 0; i < 2; i++)
        baton_mapped_text_init(&made->texts[i]);
    while (made->n_steps < steps->n_normalizer && !err) {
        int i = made->n_steps++;
        err = make_step(&steps->normalizer[i], &made->steps[i], why);
    }
    baton_normalizer_begin(made);
    if (err)
        baton_normalizer_destroy(made);
    else
        *normalizer = made;
    return err;
}

void baton_normalizer_destroy(struct baton_normalizer *normalizer)
{
    if (!normalizer)
        return;
    for (int i = 0; i < normalizer->n_steps; i++) {
        baton_pattern_destroy(normalizer->steps[i].pattern);
        baton_charsmap_destroy(normalizer->steps[i].charsmap);
        free(normalizer->steps[i].content);
    }
    for (int i = 0; i < 2; i++)
        baton_mapped_text_fini(&normalizer->texts[i]);
    free(normalizer);
}

/* ---- steps: each appends the new text to out and reports whether it changed ---- */

static bool prepend(const struct step *step, const struct baton_text_view *text,
                    struct baton_mapped_text *out)
{
    if (!text->n)
        return false;
    baton_mapped_text_put(out, step->content, step->n_content, text, 0, 1);
    baton_mapped_text_copy(out, text, 0, text->n);
    return true;
}

static enum baton_err replace(const struct step *step, const struct baton_text_view *text,
                              struct baton_mapped_text *out, bool *changed, struct baton_why *why)
{
    struct baton_match match = {.found = false};
    size_t done = 0;
    /* A text that has become too long is not searched further. */
    while (!baton_buf_err(&out->text)) {
        enum baton_err err = baton_pattern_next(step->pattern, text->bytes, text->n, &match, why);
        if (err)
            return err;
        if (!match.found)
            break;
        baton_mapped_text_copy(out, text, done, match.start);
        /* A replacement for an empty match has the origin of the character after it. */
        size_t end = match.end > match.start ? match.end : match.start + 1;
        size_t from = match.start < text->n ? match.start : text->n - 1;
        if (text->n)
            baton_mapped_text_put(out, step->content, step->n_content, text, from,
                                  end < text->n ? end : text->n);
        done = match.end;
        *changed = true;
    }
    if (*changed)
        baton_mapped_text_copy(out, text, done, text->n);
    return BATON_OK;
}

static bool strip(const struct step *step, const struct baton_text_view *text,
                  struct baton_mapped_text *out)
{
    size_t from = 0, to = text->n, n;
    while (step->left && from < to &&
           baton_character_is_space(baton_utf8_at(text->bytes + from, &n)))
        from += n;
    while (step->right && to > from) {
        size_t before = baton_utf8_before(text->bytes, to);
        if (!baton_character_is_space(baton_utf8_at(text->bytes + before, NULL)))
            break;
        to = before;
    }
    baton_mapped_text_copy(out, text, from, to);
    return to - from < text->n;
}

/* Writes a character's lower case, which for most is itself. Returns the number of characters: 2
 * for U+0130, otherwise 1. */
static int lower(uint32_t c, uint32_t made[2])
{
    made[0] = c == 0x130 ? 'i' : (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    made[1] = 0x307;
    return c == 0x130 ? 2 : 1;
}

/* Applies NMT: drops control characters, and turns more than Unicode's white space into a space. */
static int nmt(uint32_t c, uint32_t made[2])
{
    made[0] = c;
    if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
        c == 0x9f)
        return 0;
    if (c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
        c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd)
        made[0] = ' ';
    return 1;
}

static int drop_mark(uint32_t c, uint32_t made[2])
{
    made[0] = c;
    return baton_character_is_mark(c) ? 0 : 1;
}

static int drop_nonspacing(uint32_t c, uint32_t made[2])
{
    made[0] = c;
    return utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_MN ? 0 : 1;
}

/* The categories of BERT's control characters: Cc, Cf, Cs, Co. */
static bool is_control(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
           category == UTF8PROC_CATEGORY_CS || category == UTF8PROC_CATEGORY_CO;
}

static int clean(uint32_t c, uint32_t made[2])
{
    bool is_space = c == '\t' || c == '\n' || c == '\r' || baton_character_is_space(c);
    made[0] = is_space ? ' ' : c;
    return c == '\t' || c == '\n' || c == '\r' || !(!c || c == 0xfffd || is_control(c));
}

/* Chinese characters by BERT's ranges: CJK's unified ideographs, their extensions A to E, and the
 * compatibility ideographs. */
static bool is_cjk(uint32_t c)
{
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
           (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
           (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

static bool space_cjk(const struct baton_text_view *text, struct baton_mapped_text *out)
{
    bool changed = false;
    for (size_t at = 0, n; at < text->n; at += n) {
        bool spaces = is_cjk(baton_utf8_at(text->bytes + at, &n));
        if (spaces)
            baton_mapped_text_put(out, " ", 1, text, at, at + n);
        baton_mapped_text_copy(out, text, at, at + n);
        if (spaces)
            baton_mapped_text_put(out, " ", 1, text, at, at + n);
        changed |= spaces;
    }
    return changed;
}

/* Replaces each character by the characters that of returns. */
static bool map_characters(const struct baton_text_view *text, struct baton_mapped_text *out,
                           int (*of)(uint32_t c, uint32_t made[2]))
{
    bool changed = false;
    for (size_t at = 0, n; at < text->n; at += n) {
        uint32_t made[2], c = baton_utf8_at(text->bytes + at, &n);
        int n_made = of(c, made);
        changed |= n_made != 1 || made[0] != c;
        for (int i = 0; i < n_made; i++) {
            char bytes[4];
            baton_mapped_text_put(out, bytes, baton_utf8_encode(made[i], bytes), text, at, at + n);
        }
    }
    return changed;
}

static bool apply_form(enum baton_normalizer_kind kind, const struct baton_text_view *text,
                       struct baton_mapped_text *out)
{
    struct baton_unicode_form form = {
        .composes = kind == BATON_NORMALIZER_NFC || kind == BATON_NORMALIZER_NFKC,
        .compat = kind == BATON_NORMALIZER_NFKC || kind == BATON_NORMALIZER_NFKD};
    return baton_unicode_form_apply(form, text, out);
}

static enum baton_err apply(const struct step *step, const struct baton_text_view *text,
                            struct baton_mapped_text *out, bool *changed, struct baton_why *why)
{
    *changed = false;
    switch (step->kind) {
    case BATON_NORMALIZER_PREPEND:
        *changed = prepend(step, text, out);
        return BATON_OK;
    case BATON_NORMALIZER_REPLACE:
        return replace(step, text, out, changed, why);
    case BATON_NORMALIZER_STRIP:
        *changed = strip(step, text, out);
        return BATON_OK;
    case BATON_NORMALIZER_PRECOMPILED:
        baton_charsmap_apply(step->charsmap, text, out);
        *changed = true;
        return BATON_OK;
    case BATON_NORMALIZER_LOWERCASE:
        *changed = map_characters(text, out, lower);
        return BATON_OK;
    case BATON_NORMALIZER_STRIP_ACCENTS:
        *changed = map_characters(text, out, drop_mark);
        return BATON_OK;
    case BATON_NORMALIZER_CLEAN:
        *changed = map_characters(text, out, clean);
        return BATON_OK;
    case BATON_NORMALIZER_SPACE_CJK:
        *changed = space_cjk(text, out);
        return BATON_OK;
    case BATON_NORMALIZER_STRIP_NONSPACING:
        *changed = map_characters(text, out, drop_nonspacing);
        return BATON_OK;
    case BATON_NORMALIZER_NMT:
        *changed = map_characters(text, out, nmt);
        return BATON_OK;
    default:
        *changed = apply_form(step->kind, text, out);
        return BATON_OK;
    }
}

void baton_normalizer_begin(struct baton_normalizer *normalizer)
{
    for (int i = 0; normalizer && i < normalizer->n_steps; i++)
        baton_growth_begin(&normalizer->steps[i].growth);
}

static enum baton_err fail_text(const struct baton_buf *text, struct baton_why *why)
{
    if (baton_buf_err(text) == BATON_LIMIT)
        return baton_fail(why, BATON_INVALID,
                          "the tokenizer's normalizer makes more than %d times the text of it",
                          BATON_GROWTH_TIMES);
    return baton_fail(why, baton_buf_err(text), "normalizing a text: out of memory");
}

enum baton_err baton_normalizer_run(struct baton_normalizer *normalizer,
                                    const struct baton_text_view *text, bool keeps_origins,
                                    struct baton_text_view *normalized, struct baton_why *why)
{
    struct baton_text_view now = *text;
    int next = 0;
    for (int i = 0; normalizer && i < normalizer->n_steps; i++) {
        struct step *step = &normalizer->steps[i];
        struct baton_mapped_text *out = &normalizer->texts[next];
        bool changed;
        baton_mapped_text_reset(out, keeps_origins);
        baton_growth_allow(&step->growth, text->n);
        baton_growth_bound(&step->growth, &out->text);
        enum baton_err err = apply(step, &now, out, &changed, why);
        if (!err && baton_buf_err(&out->text))
            err = fail_text(&out->text, why);
        if (err)
            return err;
        baton_growth_take(&step->growth, &out->text);
        /* An unchanged text costs no copy: the next step reads the same one. */
        if (changed) {
            now = baton_mapped_text_view(out, text->base);
            next = 1 - next;
        }
    }
    *normalized = now;
    return BATON_OK;
}
