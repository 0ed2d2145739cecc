/* Methods of text, lists and maps. Those that would change a list or a map are there by name only:
 * the sandbox refuses them. */
#include <ctype.h>
#include <string.h>
#include <utf8proc.h>

#include "common/jinja/jinja_eval.h"
#include "common/jinja/jinja_text.h"

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

/* At runs of white space, at most max times; what is left over keeps its end. */
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
            while (n < start && ((unsigned char)left.bytes[start - n] & 0xc0) == 0x80)
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
    while (max-- != 0 && (found = jinja_rfind(string, by, end)) != SIZE_MAX && !jinja_failed(run)) {
        push(run, &parts, jinja_part(run, string, found + by->n, end - found - by->n));
        end = found;
    }
    push(run, &parts, jinja_part(run, string, 0, end));
    return reversed_list(run, &parts);
}

/* The bytes of the line break at p; 0: none. */
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
    size_t found = last ? jinja_rfind(string, by, string->n) : jinja_find(string, by, 0);
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

/* ---- trimming and replacing ---- */

METHOD(string_strip)
{
    return jinja_trim(run, self.string, jinja_string_arg(run, args, 0), JINJA_TRIM_BOTH);
}

METHOD(string_lstrip)
{
    return jinja_trim(run, self.string, jinja_string_arg(run, args, 0), JINJA_TRIM_START);
}

METHOD(string_rstrip)
{
    return jinja_trim(run, self.string, jinja_string_arg(run, args, 0), JINJA_TRIM_END);
}

METHOD(string_replace)
{
    const struct jinja_string *from = jinja_string_arg(run, args, 0);
    const struct jinja_string *to = jinja_string_arg(run, args, 1);
    int64_t max = jinja_int_arg(run, args, 2, -1);
    if (jinja_failed(run) || !from || !to)
        return jinja_fail(run, "replace() needs two texts");
    return jinja_replace(run, self.string, from, to, max);
}

static bool starts_with(const struct jinja_string *string, const struct jinja_string *part)
{
    return part->n <= string->n && !memcmp(string->bytes, part->bytes, part->n);
}

static bool ends_with(const struct jinja_string *string, const struct jinja_string *part)
{
    return part->n <= string->n &&
           !memcmp(string->bytes + string->n - part->n, part->bytes, part->n);
}

/* The argument is a text or a tuple of some. */
static struct jinja_value any_affix(struct jinja_run *run, struct jinja_value self,
                                    const struct jinja_args *args, const char *name,
                                    bool (*has)(const struct jinja_string *string,
                                                const struct jinja_string *part))
{
    struct jinja_value parts = args->items[0];
    struct jinja_list list = {.items = &parts, .n = 1};
    if (parts.kind == JINJA_TUPLE)
        list = *parts.list;
    for (size_t i = 0; i < list.n; i++) {
        if (list.items[i].kind != JINJA_STRING)
            return jinja_fail(run, "%s() needs text, not '%s'", name,
                              jinja_type_name(list.items[i]));
        if (has(self.string, list.items[i].string))
            return jinja_bool(true);
    }
    return jinja_bool(false);
}

METHOD(string_startswith)
{
    return any_affix(run, self, args, "startswith", starts_with);
}

METHOD(string_endswith)
{
    return any_affix(run, self, args, "endswith", ends_with);
}

METHOD(string_removeprefix)
{
    const struct jinja_string *part = jinja_string_arg(run, args, 0);
    if (!part || !starts_with(self.string, part))
        return part ? self : jinja_fail(run, "removeprefix() needs text");
    return jinja_part(run, self.string, part->n, self.string->n - part->n);
}

METHOD(string_removesuffix)
{
    const struct jinja_string *part = jinja_string_arg(run, args, 0);
    if (!part || !ends_with(self.string, part))
        return part ? self : jinja_fail(run, "removesuffix() needs text");
    return jinja_part(run, self.string, 0, self.string->n - part->n);
}

/* ---- searching ---- */

/* The character at which the argument is found; -1: nowhere. */
static int64_t find_argument(struct jinja_run *run, struct jinja_value self,
                             const struct jinja_args *args, bool last)
{
    const struct jinja_string *part = jinja_string_arg(run, args, 0);
    if (!part || !jinja_step_bytes(run, self.string->n)) {
        jinja_fail(run, "a text is looked for in a text");
        return -1;
    }
    size_t found =
        last ? jinja_rfind(self.string, part, self.string->n) : jinja_find(self.string, part, 0);
    struct jinja_string before = {.bytes = self.string->bytes, .n = found};
    return found == SIZE_MAX ? -1 : (int64_t)jinja_count_chars(&before);
}

METHOD(string_find)
{
    return jinja_int(find_argument(run, self, args, false));
}

METHOD(string_rfind)
{
    return jinja_int(find_argument(run, self, args, true));
}

METHOD(string_index)
{
    int64_t at = find_argument(run, self, args, false);
    return at < 0 ? jinja_fail(run, "substring not found") : jinja_int(at);
}

METHOD(string_count)
{
    const struct jinja_string *part = jinja_string_arg(run, args, 0);
    int64_t n = 0;
    if (!part || !jinja_step_bytes(run, self.string->n))
        return jinja_fail(run, "count() needs text");
    if (!part->n)
        return jinja_int((int64_t)jinja_count_chars(self.string) + 1);
    for (size_t at = 0; (at = jinja_find(self.string, part, at)) != SIZE_MAX; at += part->n)
        n++;
    return jinja_int(n);
}

/* ---- cases and kinds of characters ---- */

METHOD(string_upper)
{
    (void)args;
    return jinja_change_case(run, self.string, JINJA_UPPER);
}

METHOD(string_lower)
{
    (void)args;
    return jinja_change_case(run, self.string, JINJA_LOWER);
}

METHOD(string_title)
{
    (void)args;
    return jinja_change_case(run, self.string, JINJA_TITLE);
}

METHOD(string_capitalize)
{
    (void)args;
    return jinja_change_case(run, self.string, JINJA_CAPITALIZE);
}

METHOD(string_swapcase)
{
    (void)args;
    return jinja_change_case(run, self.string, JINJA_SWAPCASE);
}

static bool is_letter(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((int32_t)c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

static bool is_digit(uint32_t c)
{
    return utf8proc_category((int32_t)c) == UTF8PROC_CATEGORY_ND;
}

static bool is_letter_or_number(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((int32_t)c);
    return is_letter(c) || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

/* Whether there are characters, all of this kind. */
static struct jinja_value all_are(const struct jinja_string *string, bool (*is)(uint32_t c))
{
    for (size_t at = 0; at < string->n; at += jinja_char_bytes(string->bytes + at, string->n - at))
        if (!is(jinja_code_point(string->bytes + at, string->n - at)))
            return jinja_bool(false);
    return jinja_bool(string->n != 0);
}

METHOD(string_isalpha)
{
    (void)run;
    (void)args;
    return all_are(self.string, is_letter);
}

METHOD(string_isdigit)
{
    (void)run;
    (void)args;
    return all_are(self.string, is_digit);
}

METHOD(string_isalnum)
{
    (void)run;
    (void)args;
    return all_are(self.string, is_letter_or_number);
}

METHOD(string_isspace)
{
    (void)run;
    (void)args;
    struct jinja_value left = jinja_trim(run, self.string, NULL, JINJA_TRIM_BOTH);
    return jinja_bool(self.string->n && !jinja_truth(left));
}

METHOD(string_isupper)
{
    (void)args;
    return jinja_call_builtin(
        run, jinja_find_builtin(jinja_tests, &(struct jinja_string){.bytes = "upper", .n = 5}),
        self, &(struct jinja_args){0});
}

METHOD(string_islower)
{
    (void)args;
    return jinja_call_builtin(
        run, jinja_find_builtin(jinja_tests, &(struct jinja_string){.bytes = "lower", .n = 5}),
        self, &(struct jinja_args){0});
}

/* ---- building ---- */

METHOD(string_join)
{
    struct jinja_text text = {0};
    struct jinja_list list = jinja_elements(run, args->items[0]);
    for (size_t i = 0; i < list.n && !jinja_failed(run); i++) {
        if (list.items[i].kind != JINJA_STRING)
            return jinja_fail(run, "join() needs texts, not '%s'", jinja_type_name(list.items[i]));
        if (i)
            jinja_text_put_string(run, &text, self.string);
        jinja_text_put_string(run, &text, list.items[i].string);
    }
    return jinja_text_end(run, &text);
}

METHOD(string_format)
{
    return jinja_braces(run, self.string, args);
}

/* Between left and right times the fill. */
static struct jinja_value padded(struct jinja_run *run, const struct jinja_string *string,
                                 const struct jinja_string *fill, size_t left, size_t right)
{
    static const struct jinja_string space = {.bytes = " ", .n = 1, .own = true};
    struct jinja_text text = {0};
    while (left-- && !jinja_failed(run))
        jinja_text_put_string(run, &text, fill ? fill : &space);
    jinja_text_put_string(run, &text, string);
    while (right-- && !jinja_failed(run))
        jinja_text_put_string(run, &text, fill ? fill : &space);
    return jinja_text_end(run, &text);
}

/* How many characters are missing to the width that was given. */
static size_t missing(struct jinja_run *run, const struct jinja_string *string,
                      const struct jinja_args *args)
{
    int64_t width = jinja_int_arg(run, args, 0, 0);
    int64_t n = width - (int64_t)jinja_count_chars(string);
    return n > 0 && jinja_step(run, (size_t)n) ? (size_t)n : 0;
}

METHOD(string_ljust)
{
    return padded(run, self.string, jinja_string_arg(run, args, 1), 0,
                  missing(run, self.string, args));
}

METHOD(string_rjust)
{
    return padded(run, self.string, jinja_string_arg(run, args, 1), missing(run, self.string, args),
                  0);
}

METHOD(string_center)
{
    size_t n = missing(run, self.string, args);
    bool odd_width = jinja_int_arg(run, args, 0, 0) & 1;
    size_t left = n / 2 + (n & 1 && odd_width);
    return padded(run, self.string, jinja_string_arg(run, args, 1), left, n - left);
}

METHOD(string_zfill)
{
    static const struct jinja_string zero = {.bytes = "0", .n = 1, .own = true};
    struct jinja_text text = {0};
    size_t n = missing(run, self.string, args);
    size_t sign = self.string->n && strchr("+-", self.string->bytes[0]) && self.string->bytes[0];
    jinja_text_put_part(run, &text, self.string, 0, sign);
    while (n-- && !jinja_failed(run))
        jinja_text_put_string(run, &text, &zero);
    jinja_text_put_part(run, &text, self.string, sign, self.string->n - sign);
    return jinja_text_end(run, &text);
}

const struct jinja_builtin jinja_string_methods[] = {
    {"split", "sep maxsplit", 0, string_split},
    {"rsplit", "sep maxsplit", 0, string_rsplit},
    {"splitlines", "keepends", 0, string_splitlines},
    {"partition", "sep", 1, string_partition},
    {"rpartition", "sep", 1, string_rpartition},
    {"strip", "chars", 0, string_strip},
    {"lstrip", "chars", 0, string_lstrip},
    {"rstrip", "chars", 0, string_rstrip},
    {"replace", "old new count", 2, string_replace},
    {"startswith", "prefix", 1, string_startswith},
    {"endswith", "suffix", 1, string_endswith},
    {"removeprefix", "prefix", 1, string_removeprefix},
    {"removesuffix", "suffix", 1, string_removesuffix},
    {"find", "sub", 1, string_find},
    {"rfind", "sub", 1, string_rfind},
    {"index", "sub", 1, string_index},
    {"count", "sub", 1, string_count},
    {"upper", "", 0, string_upper},
    {"lower", "", 0, string_lower},
    {"title", "", 0, string_title},
    {"capitalize", "", 0, string_capitalize},
    {"swapcase", "", 0, string_swapcase},
    {"isalpha", "", 0, string_isalpha},
    {"isdigit", "", 0, string_isdigit},
    {"isnumeric", "", 0, string_isdigit},
    {"isdecimal", "", 0, string_isdigit},
    {"isalnum", "", 0, string_isalnum},
    {"isspace", "", 0, string_isspace},
    {"isupper", "", 0, string_isupper},
    {"islower", "", 0, string_islower},
    {"join", "iterable", 1, string_join},
    {"format", NULL, 0, string_format},
    {"ljust", "width fillchar", 1, string_ljust},
    {"rjust", "width fillchar", 1, string_rjust},
    {"center", "width fillchar", 1, string_center},
    {"zfill", "width", 1, string_zfill},
    {NULL, NULL, 0, NULL},
};

/* ---- maps ---- */

enum dict_part { KEYS, VALUES, ITEMS };

static struct jinja_value dict_view(struct jinja_run *run, const struct jinja_dict *dict,
                                    enum dict_part part)
{
    static const char *const names[] = {"dict_keys", "dict_values", "dict_items"};
    struct jinja_value *items = jinja_items(run, dict->n);
    struct jinja_list *list = jinja_alloc(run, 1, sizeof *list);
    for (size_t i = 0; i < dict->n && !jinja_failed(run); i++) {
        struct jinja_value *pair = part == ITEMS ? jinja_items(run, 2) : NULL;
        if (pair) {
            pair[0] = dict->entries[i].key;
            pair[1] = dict->entries[i].value;
            items[i] = jinja_list_value(run, JINJA_TUPLE, pair, 2);
        } else if (part != ITEMS) {
            items[i] = part == KEYS ? dict->entries[i].key : dict->entries[i].value;
        }
    }
    if (jinja_failed(run))
        return jinja_undefined(NULL);
    *list = (struct jinja_list){.items = items, .n = dict->n, .name = names[part]};
    return (struct jinja_value){.kind = JINJA_VIEW, .list = list};
}

METHOD(dict_keys)
{
    (void)args;
    return dict_view(run, self.dict, KEYS);
}

METHOD(dict_values)
{
    (void)args;
    return dict_view(run, self.dict, VALUES);
}

METHOD(dict_items)
{
    (void)args;
    return dict_view(run, self.dict, ITEMS);
}

METHOD(dict_get)
{
    const struct jinja_value *found = jinja_dict_find(run, self.dict, args->items[0]);
    if (found)
        return *found;
    return jinja_given(args, 1) ? args->items[1] : jinja_none();
}

METHOD(dict_copy)
{
    (void)run;
    (void)args;
    return self;
}

const struct jinja_builtin jinja_dict_methods[] = {
    {"items", "", 0, dict_items},   {"get", "key default", 1, dict_get}, {"keys", "", 0, dict_keys},
    {"values", "", 0, dict_values}, {"copy", "", 0, dict_copy},          {NULL, NULL, 0, NULL},
};

/* ---- lists and tuples ---- */

METHOD(list_index)
{
    for (size_t i = 0; i < self.list->n && !jinja_failed(run); i++)
        if (jinja_equal(run, self.list->items[i], args->items[0]))
            return jinja_int((int64_t)i);
    return jinja_fail(run, "the value is not in the list");
}

METHOD(list_count)
{
    int64_t n = 0;
    for (size_t i = 0; i < self.list->n && !jinja_failed(run); i++)
        n += jinja_equal(run, self.list->items[i], args->items[0]);
    return jinja_int(n);
}

METHOD(list_copy)
{
    (void)run;
    (void)args;
    return self;
}

const struct jinja_builtin jinja_list_methods[] = {
    {"index", "value", 1, list_index},
    {"count", "value", 1, list_count},
    {"copy", "", 0, list_copy},
    {NULL, NULL, 0, NULL},
};

/* ---- finding ---- */

static bool is_one_of(const struct jinja_string *name, const char *const *names)
{
    for (; *names; names++)
        if (jinja_string_is(name, *names))
            return true;
    return false;
}

const struct jinja_builtin *jinja_find_method(struct jinja_value of,
                                              const struct jinja_string *name, bool *unsafe)
{
    static const char *const list_changes[] = {"append", "clear",   "extend", "insert", "pop",
                                               "remove", "reverse", "sort",   NULL};
    static const char *const dict_changes[] = {"clear",      "pop",    "popitem",
                                               "setdefault", "update", NULL};
    switch (of.kind) {
    case JINJA_STRING:
        return jinja_find_builtin(jinja_string_methods, name);
    case JINJA_LIST:
        *unsafe = is_one_of(name, list_changes);
        return jinja_find_builtin(jinja_list_methods, name);
    case JINJA_TUPLE:
    case JINJA_RANGE:
        return jinja_string_is(name, "copy") ? NULL : jinja_find_builtin(jinja_list_methods, name);
    case JINJA_DICT:
        *unsafe = is_one_of(name, dict_changes);
        return jinja_find_builtin(jinja_dict_methods, name);
    default:
        return NULL;
    }
}
