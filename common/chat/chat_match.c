/* Which shape a model's template has, decided on its canonical source. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"
#include "common/chat/chat_canonical.h"
#include "common/chat/chat_shape.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
enum { MAX_DEPTH = 32 };

/* Marks of templates that do more than any shape says: they write reasoning into the conversation,
 * or spell out a BOS that we would have to leave out of the comparison. */
static const char *const never[] = {"<think>", "</think>", "'<s>", "<|begin_of_text|>", "<bos>"};

static const char print_bos[] = "{{bos_token}}";

void baton_chat_style_fini(struct baton_chat_style *style)
{
    free(style->default_system);
    *style = (struct baton_chat_style){0};
}

const struct baton_chat_shape *baton_chat_shape_named(const char *family)
{
    for (const struct baton_chat_shape *shape = baton_chat_shapes; shape->family; shape++)
        if (!strcmp(shape->family, family))
            return shape;
    return NULL;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

static bool has_all(const char *source, const struct baton_chat_shape *shape)
{
    for (size_t i = 0; i < COUNT(shape->needs) && shape->needs[i]; i++)
        if (!strstr(source, shape->needs[i]))
            return false;
    return true;
}

static bool has_any(const char *source, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n && parts[i]; i++)
        if (strstr(source, parts[i]))
            return true;
    return false;
}

/* Whether BOS comes first, where the template says so in a way that we can read. */
static bool read_bos(const char *source, bool *bos)
{
    static const char llama3[] = "{%if loop.index0==0%}{%set content=bos_token+content%}{%endif%}";
    size_t n = count(source, "bos_token");
    *bos = n == 1;
    return !n || (n == 1 && (strstr(source, print_bos) || strstr(source, llama3)));
}

/* ---- what is printed ---- */

/* How deep in blocks a place of the source is, and which of those blocks a plain conversation does
 * not enter, or enters with nothing left to print but what the shape has. */
struct place {
    bool aside[MAX_DEPTH];
    size_t depth;
    bool after_else;
};

static bool begins(const char *at, const char *text)
{
    return !strncmp(at, text, strlen(text));
}

/* Behind the tag that at is on; NULL when it does not end. */
static const char *tag_end(const char *at)
{
    bool quoted = false;
    for (at += 2; *at; at++) {
        if (*at == '\'')
            quoted = !quoted;
        else if (quoted)
            at += *at == '\\' && at[1];
        else if (begins(at, "}}") || begins(at, "%}"))
            return at + 2;
    }
    return NULL;
}

static bool is_part(const char *const *texts, size_t n_texts, const char *at, size_t n)
{
    for (size_t i = 0; i < n_texts && texts[i]; i++)
        if (memmem(texts[i], strlen(texts[i]), at, n))
            return true;
    return false;
}

static bool is_default(const struct baton_chat_shape *shape, const char *at)
{
    for (size_t i = 0; i < COUNT(shape->default_from) && shape->default_from[i]; i++) {
        const char *print = strstr(shape->default_from[i], "{{");
        if (print && begins(at, print))
            return true;
    }
    return false;
}

static bool may_print(const struct baton_chat_shape *shape, const struct place *place,
                      const char *at, size_t n)
{
    return (place->depth && place->aside[place->depth - 1]) || begins(at, "{{raise_exception(") ||
           (!place->depth && begins(at, print_bos)) ||
           (place->after_else && begins(at, "{{eos_token}}{%endif%}")) ||
           is_part(shape->needs, COUNT(shape->needs), at, n) ||
           is_part(shape->may, COUNT(shape->may), at, n) || is_default(shape, at);
}

/* Tools, and messages that are made of parts. */
static bool leads_aside(const char *at, size_t n)
{
    return memmem(at, n, "tool", 4) || memmem(at, n, " is string", 10) || begins(at, "{%macro ");
}

/* False when blocks lie deeper than any known template's, or end where none began. */
static bool enter(struct place *place, const char *at, size_t n)
{
    bool opens = begins(at, "{%if") || begins(at, "{%for") || begins(at, "{%macro ");
    if (opens && place->depth == MAX_DEPTH)
        return false;
    if (opens) {
        place->aside[place->depth] = place->depth && place->aside[place->depth - 1];
        place->depth++;
    }
    if (place->depth && (opens || begins(at, "{%elif")))
        place->aside[place->depth - 1] |= leads_aside(at, n);
    if (begins(at, "{%endif") || begins(at, "{%endfor") || begins(at, "{%endmacro")) {
        if (!place->depth)
            return false;
        place->depth--;
    }
    place->after_else = begins(at, "{%else%}");
    return true;
}

static bool prints_nothing_else(const char *source, const struct baton_chat_shape *shape)
{
    struct place place = {.depth = 0};
    const char *end;
    for (const char *at = source; *at; at = end) {
        bool prints = begins(at, "{{");
        end = prints || begins(at, "{%") ? tag_end(at) : NULL;
        if (!end)
            return false;
        size_t n = (size_t)(end - at);
        if (prints ? !may_print(shape, &place, at, n) : !enter(&place, at, n))
            return false;
    }
    return !place.depth;
}

/* ---- a system text of the template's own ---- */

static char *unescaped(const char *text, size_t n)
{
    char *copy = malloc(n + 1);
    size_t length = 0;
    if (!copy)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        i += text[i] == '\\' && i + 1 < n;
        copy[length++] = text[i];
    }
    copy[length] = 0;
    return copy;
}

/* The bytes of a string from at to the text stop; SIZE_MAX when the string ends before. */
static size_t string_length(const char *at, const char *stop)
{
    for (size_t i = 0; at[i]; i++) {
        if (!strncmp(at + i, stop, strlen(stop)))
            return i;
        if (at[i] == '\'')
            break;
        i += at[i] == '\\' && at[i + 1];
    }
    return SIZE_MAX;
}

/* False when the template has a system text of its own that cannot be told apart. */
static bool find_default(const char *source, const struct baton_chat_shape *shape,
                         const char **text, size_t *n)
{
    *text = shape->default_system;
    *n = *text ? strlen(*text) : 0;
    for (size_t i = 0; i < COUNT(shape->default_from) && shape->default_from[i]; i++) {
        const char *at = strstr(source, shape->default_from[i]);
        if (!at)
            continue;
        *text = at + strlen(shape->default_from[i]);
        *n = string_length(*text, shape->default_to);
        return *n != SIZE_MAX;
    }
    return true;
}

static bool has_shape(const char *source, const struct baton_chat_shape *shape,
                      struct baton_chat_style *style, const char **text, size_t *n)
{
    *style = (struct baton_chat_style){.today = strstr(source, "strftime_now('%d %b %Y')")};
    return has_all(source, shape) && !has_any(source, shape->refuses, COUNT(shape->refuses)) &&
           (shape->places_bos ||
            (read_bos(source, &style->bos) && prints_nothing_else(source, shape))) &&
           find_default(source, shape, text, n);
}

static enum baton_err match(const char *source, const struct baton_chat_shape **shape,
                            struct baton_chat_style *style, struct baton_why *why)
{
    const char *text = NULL;
    size_t n = 0;
    const struct baton_chat_shape *found = baton_chat_shapes;
    struct baton_chat_style read = {0};
    if (has_any(source, never, COUNT(never)))
        found = NULL;
    while (found && found->family && !has_shape(source, found, &read, &text, &n))
        found++;
    if (!found || !found->family) {
        *shape = NULL;
        return BATON_OK;
    }
    if (text && !(read.default_system = unescaped(text, n)))
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    *shape = found;
    *style = read;
    return BATON_OK;
}

enum baton_err baton_chat_match(const char *source, size_t n, const struct baton_chat_shape **shape,
                                struct baton_chat_style *style, struct baton_why *why)
{
    struct baton_buf canonical;
    *shape = NULL;
    if (memchr(source, 0, n)) /* the search below would stop there */
        return BATON_OK;
    baton_buf_init(&canonical, SIZE_MAX / 4);
    baton_chat_canonical(source, n, &canonical);
    enum baton_err err = baton_buf_err(&canonical);
    if (err)
        err = baton_fail(why, err, "no room for a chat template of %zu bytes", n);
    else
        err = match(baton_buf_text(&canonical), shape, style, why);
    baton_buf_fini(&canonical);
    return err;
}
