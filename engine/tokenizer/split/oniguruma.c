#include "engine/tokenizer/split/oniguruma.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdbool.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"

/* Unicode's White_Space. */
#define SPACE "\\p{Z}\\x{9}-\\x{d}\\x{85}"
/* Letters, marks, digits, connectors, alphabetic symbols, and Latin-1's small digits, by
 * Oniguruma's tables. */
#define WORD                                                                                       \
    "\\p{L}\\p{M}\\p{Nl}\\p{Nd}\\p{Pc}\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}\\x{24b6}-\\x{24e9}"     \
    "\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}"
#define BOUNDARY    "(?:(?<=[" WORD "])(?![" WORD "])|(?<![" WORD "])(?=[" WORD "]))"
#define NO_BOUNDARY "(?:(?<=[" WORD "])(?=[" WORD "])|(?<![" WORD "])(?![" WORD "]))"
#define HEX         "0-9A-Fa-f"

enum { MAX_GROUPS = 64, MAX_CLASSES = 8 };

struct rewriter {
    const char *in;
    size_t n, at;
    struct baton_buf *out;
    size_t groups[MAX_GROUPS]; /* where in out the open groups begin */
    int n_groups;
    size_t atom; /* where in out the last atom begins */
    struct baton_why *why;
};

static enum baton_err refuse(const struct rewriter *r, const char *what)
{
    return baton_fail(r->why, BATON_INVALID, "pattern \"%.80s\": %s is not supported", r->in, what);
}

static bool is_next(const struct rewriter *r, const char *text)
{
    size_t n = strlen(text);
    return r->n - r->at >= n && !memcmp(r->in + r->at, text, n);
}

static void copy(struct rewriter *r, size_t n)
{
    if (n > r->n - r->at)
        n = r->n - r->at;
    baton_buf_append(r->out, r->in + r->at, n);
    r->at += n;
}

static size_t character_bytes(const struct rewriter *r)
{
    size_t n = 1;
    while (r->at + n < r->n && baton_utf8_continues(r->in[r->at + n]))
        n++;
    return n;
}

/* Rewrites \p{Han} or \P{^Han}. Since 10.40, PCRE2 includes a script's extensions under its
 * name, and sc: excludes them. General categories, with names of one or two letters, have no
 * such prefix. */
static void rewrite_property(struct rewriter *r)
{
    const char *close = memchr(r->in + r->at, '}', r->n - r->at);
    size_t name = r->at + 3 + (r->at + 3 < r->n && r->in[r->at + 3] == '^');
    copy(r, name - r->at);
#if PCRE2_MAJOR > 10 || PCRE2_MINOR >= 40
    if (close && close > r->in + name + 2 && memcmp(r->in + name, "Any", 3) != 0)
        baton_buf_puts(r->out, "sc:");
#endif
    copy(r, close ? (size_t)(close + 1 - r->in) - r->at : 0);
}

/* Rewrites at a backslash. Inside a class, sets have no brackets of their own. */
static enum baton_err rewrite_escape(struct rewriter *r, bool in_class)
{
    static const struct {
        char letter;
        const char *alone, *inside;
    } sets[] = {{'s', "[" SPACE "]", SPACE}, {'S', "[^" SPACE "]", "\\S\\x{180e}"},
                {'w', "[" WORD "]", WORD},   {'W', "[^" WORD "]", NULL},
                {'h', "[" HEX "]", HEX},     {'H', "[^" HEX "]", NULL},
                {'b', BOUNDARY, "\\x{8}"},   {'B', NO_BOUNDARY, NULL}};
    char letter = r->at + 1 < r->n ? r->in[r->at + 1] : 0;
    if (!letter)
        return refuse(r, "a backslash at the end");
    for (size_t i = 0; i < BATON_N_OF(sets); i++)
        if (letter == sets[i].letter) {
            const char *text = in_class ? sets[i].inside : sets[i].alone;
            if (!text)
                return refuse(r, "\\W, \\H or \\B inside a class");
            baton_buf_puts(r->out, text);
            r->at += 2;
            return BATON_OK;
        }
    if ((letter == 'p' || letter == 'P') && r->at + 2 < r->n && r->in[r->at + 2] == '{') {
        rewrite_property(r);
        return BATON_OK;
    }
    r->at++;
    baton_buf_putc(r->out, '\\');
    copy(r, character_bytes(r));
    return BATON_OK;
}

static enum baton_err rewrite_class(struct rewriter *r, int depth);

/* Rewrites the members of a class up to its ] or an &&. A positive class among them becomes part of
 * it. */
static enum baton_err rewrite_members(struct rewriter *r, int depth)
{
    bool first = true;
    for (; r->at < r->n; first = false) {
        enum baton_err err = BATON_OK;
        if ((r->in[r->at] == ']' && !first) || is_next(r, "&&"))
            return BATON_OK;
        if (is_next(r, "[:") || is_next(r, "[^") || (r->in[r->at] == '[' && depth == MAX_CLASSES))
            return refuse(r, "such a class inside a class");
        if (r->in[r->at] == '\\') {
            err = rewrite_escape(r, true);
        } else if (r->in[r->at] == '[') {
            r->at++;
            err = rewrite_members(r, depth + 1);
            if (!err && !is_next(r, "]"))
                err = refuse(r, "such a class inside a class");
            r->at++;
        } else {
            if (r->in[r->at] == ']')
                baton_buf_putc(r->out, '\\');
            copy(r, character_bytes(r));
        }
        if (err)
            return err;
    }
    return refuse(r, "a class without an end");
}

/* Rewrites [a&&[^b]] to (?:(?=[^b])[a]): PCRE2 has no intersections, but a lookahead can test the
 * same character first. */
static enum baton_err rewrite_intersection(struct rewriter *r, size_t begin, int depth)
{
    struct baton_buf left;
    enum baton_err err = BATON_OK;
    baton_buf_init(&left, r->out->max_bytes);
    baton_buf_putc(r->out, ']');
    baton_buf_append(&left, r->out->data + begin, r->out->len - begin);
    r->out->len = begin;
    baton_buf_puts(r->out, "(?:");
    while (!err && is_next(r, "&&")) {
        r->at += 2;
        if (!is_next(r, "[")) {
            err = refuse(r, "an intersection without brackets");
            break;
        }
        baton_buf_puts(r->out, "(?=");
        err = rewrite_class(r, depth + 1);
        baton_buf_putc(r->out, ')');
    }
    if (!err && !is_next(r, "]"))
        err = refuse(r, "an intersection without brackets");
    baton_buf_append(r->out, baton_buf_text(&left), left.len);
    baton_buf_putc(r->out, ')');
    baton_buf_fini(&left);
    return err;
}

/* Rewrites at a [. */
static enum baton_err rewrite_class(struct rewriter *r, int depth)
{
    size_t begin = r->out->len;
    if (depth == MAX_CLASSES)
        return refuse(r, "a class within 8 classes");
    copy(r, is_next(r, "[^") ? 2 : 1);
    bool negated = r->out->len == begin + 2;
    enum baton_err err = rewrite_members(r, depth);
    if (!err && is_next(r, "&&"))
        err = negated ? refuse(r, "a negated intersection") : rewrite_intersection(r, begin, depth);
    else if (!err)
        baton_buf_putc(r->out, ']');
    r->at++;
    return err;
}

/* Rewrites at a {: an interval, or the character itself. A plus after an interval repeats it; in
 * PCRE2 it would be possessive, so the interval gets a group. */
static void rewrite_brace(struct rewriter *r)
{
    size_t end = r->at + 1;
    while (end < r->n && (isdigit((unsigned char)r->in[end]) || r->in[end] == ','))
        end++;
    bool is_interval = end > r->at + 1 && end < r->n && r->in[end] == '}';
    if (!is_interval) {
        r->atom = r->out->len;
        baton_buf_puts(r->out, "\\");
        copy(r, 1);
        return;
    }
    if (r->in[r->at + 1] == ',') { /* {,3} begins at 0 */
        baton_buf_puts(r->out, "{0");
        r->at++;
    }
    copy(r, end + 1 - r->at);
    if (!is_next(r, "+"))
        return;
    struct baton_buf atom;
    baton_buf_init(&atom, r->out->max_bytes);
    baton_buf_append(&atom, r->out->data + r->atom, r->out->len - r->atom);
    r->out->len = r->atom;
    baton_buf_printf(r->out, "(?:%s)", baton_buf_text(&atom));
    baton_buf_fini(&atom);
}

static enum baton_err rewrite_group(struct rewriter *r)
{
    if (r->in[r->at] == '(') {
        if (r->n_groups == MAX_GROUPS)
            return refuse(r, "more than 64 nested groups");
        r->groups[r->n_groups++] = r->out->len;
        r->atom = r->out->len;
        copy(r, is_next(r, "(?") ? 2 : 1); /* the ? is not a repetition */
    } else {
        r->atom = r->n_groups ? r->groups[--r->n_groups] : 0;
        copy(r, 1);
    }
    return BATON_OK;
}

static enum baton_err rewrite_next(struct rewriter *r)
{
    switch (r->in[r->at]) {
    case '(':
    case ')':
        return rewrite_group(r);
    case '{':
        rewrite_brace(r);
        return BATON_OK;
    case '?':
    case '*':
    case '+':
        copy(r, 1);
        return BATON_OK;
    case '\\':
        r->atom = r->out->len;
        return rewrite_escape(r, false);
    case '[':
        r->atom = r->out->len;
        return rewrite_class(r, 0);
    default:
        r->atom = r->out->len;
        copy(r, character_bytes(r));
        return BATON_OK;
    }
}

enum baton_err baton_oniguruma_to_pcre2(const char *pattern, size_t n, struct baton_buf *out,
                                        struct baton_why *why)
{
    struct rewriter r = {.in = pattern, .n = n, .out = out, .why = why};
    enum baton_err err = BATON_OK;
    while (r.at < r.n && !err && !baton_buf_err(out))
        err = rewrite_next(&r);
    if (!err && baton_buf_err(out))
        err = baton_fail(why, baton_buf_err(out), "pattern \"%.80s\": too long", pattern);
    return err;
}
