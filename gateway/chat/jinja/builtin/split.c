/* Methods that split text. */
#include <string.h>

#include "common/base/utf8.h"
#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

#define METHOD(name)                                                                               \
    static struct jinja_value name(struct jinja_run *run, struct jinja_value self,                 \
                                   const struct jinja_args *args)

/* ---- lists that grow ---- */

struct growing {
    struct jinja_value *items;
    size_t n, cap;
};

static void push(struct jinja_run *run, struct growing *list, struct jinja_value value)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 8;
        /* The old items stay in the arena until the run ends. */
        struct jinja_value *items = jinja_items(run, cap);
        if (!items)
            return;
        if (list->n)
            memcpy(items, list->items, list->n * sizeof *items);
        list->items = items;
        list->cap = cap;
    }
    list->items[list->n++] = value;
}

static struct jinja_value reversed_list(struct jinja_run *run, struct growing *list)
{
    for (size_t i = 0; i < list->n / 2; i++) {
        struct jinja_value item = list->items[i];
        list->items[i] = list->items[list->n - 1 - i];
        list->items[list->n - 1 - i] = item;
    }
    return jinja_list_value(run, JINJA_LIST, list->items, list->n);
}

/* ---- splitting ---- */

/* Splits at runs of white space, at most max times; the rest keeps its inner white space. */
static struct jinja_value split_words(struct jinja_run *run, const struct jinja_string *string,
                                      int64_t max)
{
    struct growing words = {0};
    size_t at = 0, n;
    while (!jinja_failed(run)) {
        while (at < string->n && (n = jinja_space_bytes(string->bytes + at, string->n - at)))
            at += n;
        if (at == string->n)
            break;
        size_t start = at;
        if (max-- == 0) {
            struct jinja_string left = {.bytes = string->bytes + at, .n = string->n - at};
            push(run, &words, jinja_part(run, string, at, jinja_trimmed_bytes(&left)));
            break;
        }
        while (at < string->n && !jinja_space_bytes(string->bytes + at, string->n - at))
            at += jinja_char_bytes(string->bytes + at, string->n - at);
        push(run, &words, jinja_part(run, string, start, at - start));
    }
    return jinja_list_value(run, JINJA_LIST, words.items, words.n);
}

METHOD(string_split)
{
    const struct jinja_string *string = self.string, *by = jinja_string_arg(run, args, 0);
    int64_t max = jinja_int_arg(run, args, 1, -1);
    struct growing parts = {0};
    size_t at = 0, found;
    if (!jinja_step_bytes(run, string->n))
        return jinja_undefined(NULL);
    if (!by)
        return split_words(run, string, max);
    if (!by->n)
        return jinja_fail(run, "empty separator");
    while (max-- != 0 && (found = jinja_find(string, by, at)) != SIZE_MAX && !jinja_failed(run)) {
        push(run, &parts, jinja_part(run, string, at, found - at));
        at = found + by->n;
    }
    push(run, &parts, jinja_part(run, string, at, string->n - at));
    return jinja_list_value(run, JINJA_LIST, parts.items, parts.n);
}

static struct jinja_value rsplit_words(struct jinja_run *run, const struct jinja_string *string,
                                       int64_t max)
{
    struct growing words = {0};
    struct jinja_string left = *string;
    while (!jinja_failed(run) && (left.n = jinja_trimmed_bytes(&left))) {
        size_t start = left.n;
        if (max-- == 0) {
            push(run, &words, jinja_trim(run, &left, NULL, JINJA_TRIM_START));
            break;
        }
        while (start) {
            size_t n = 1;
            while (n < start && baton_utf8_continues(left.bytes[start - n]))
                n++;
            if (jinja_space_bytes(left.bytes + start - n, n))
                break;
            start -= n;
        }
        push(run, &words, jinja_part(run, &left, start, left.n - start));
        left.n = start;
    }
    return reversed_list(run, &words);
}

METHOD(string_rsplit)
{
    const struct jinja_string *string = self.string, *by = jinja_string_arg(run, args, 0);
    int64_t max = jinja_int_arg(run, args, 1, -1);
    struct growing parts = {0};
    size_t end = string->n, found;
    if (!jinja_step_bytes(run, string->n))
        return jinja_undefined(NULL);
    if (!by)
        return rsplit_words(run, string, max);
    if (!by->n)
        return jinja_fail(run, "empty separator");
    while (max-- != 0 && (found = jinja_rfind(run, string, by, end)) != SIZE_MAX &&
           !jinja_failed(run)) {
        push(run, &parts, jinja_part(run, string, found + by->n, end - found - by->n));
        end = found;
    }
    push(run, &parts, jinja_part(run, string, 0, end));
    return reversed_list(run, &parts);
}

/* Returns the bytes of the line break at p; 0 when there is none. The breaks are those of Python's
 * str.splitlines. */
static size_t line_break(const char *p, size_t n)
{
    if (n > 1 && p[0] == '\r' && p[1] == '\n')
        return 2;
    if (*p == '\n' || *p == '\r' || *p == '\v' || *p == '\f' || (*p >= 0x1c && *p <= 0x1e))
        return 1;
    uint32_t c = jinja_code_point(p, n);
    return c == 0x85 || c == 0x2028 || c == 0x2029 ? jinja_char_bytes(p, n) : 0;
}

METHOD(string_splitlines)
{
    const struct jinja_string *string = self.string;
    bool keep = jinja_bool_arg(args, 0, false);
    struct growing lines = {0};
    size_t start = 0, at = 0;
    while (at < string->n && jinja_step(run, 1)) {
        size_t n = line_break(string->bytes + at, string->n - at);
        if (n) {
            push(run, &lines, jinja_part(run, string, start, at - start + (keep ? n : 0)));
            start = at + n;
        }
        at += n ? n : jinja_char_bytes(string->bytes + at, string->n - at);
    }
    if (start < string->n)
        push(run, &lines, jinja_part(run, string, start, string->n - start));
    return jinja_list_value(run, JINJA_LIST, lines.items, lines.n);
}

static struct jinja_value partition(struct jinja_run *run, const struct jinja_string *string,
                                    const struct jinja_string *by, bool last)
{
    struct jinja_value *items = jinja_items(run, 3);
    if (jinja_failed(run) || !by || !by->n)
        return jinja_fail(run, "empty separator");
    size_t found = last ? jinja_rfind(run, string, by, string->n) : jinja_find(string, by, 0);
    if (found == SIZE_MAX) {
        items[0] = items[1] = items[2] = jinja_part(run, string, 0, 0);
        items[last ? 2 : 0] = jinja_string_value(string);
    } else {
        items[0] = jinja_part(run, string, 0, found);
        items[1] = jinja_part(run, string, found, by->n);
        items[2] = jinja_part(run, string, found + by->n, string->n - found - by->n);
    }
    return jinja_list_value(run, JINJA_TUPLE, items, 3);
}

METHOD(string_partition)
{
    return partition(run, self.string, jinja_string_arg(run, args, 0), false);
}

METHOD(string_rpartition)
{
    return partition(run, self.string, jinja_string_arg(run, args, 0), true);
}

const struct jinja_builtin jinja_split_methods[] = {
    {"split", "sep maxsplit", 0, string_split},       {"rsplit", "sep maxsplit", 0, string_rsplit},
    {"splitlines", "keepends", 0, string_splitlines}, {"partition", "sep", 1, string_partition},
    {"rpartition", "sep", 1, string_rpartition},      {NULL, NULL, 0, NULL},
};
