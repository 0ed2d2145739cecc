/* Methods of text, except for those that split it (split.c). */
#include <string.h>

#include <utf8proc.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

#define METHOD(name)                                                                               \
    static struct jinja_value name(struct jinja_run *run, struct jinja_value self,                 \
                                   const struct jinja_args *args)

/* ---- trimming and replacing ---- */

struct jinja_value jinja_strip(struct jinja_run *run, struct jinja_value self,
                               const struct jinja_args *args)
{
    return jinja_trim(run, jinja_str(run, self), jinja_string_arg(run, args, 0), JINJA_TRIM_BOTH);
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

/* Tests an argument that is a text or a tuple of texts. */
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

/* Returns the index of the character at which the argument is found; -1: nowhere. */
static int64_t find_argument(struct jinja_run *run, struct jinja_value self,
                             const struct jinja_args *args, bool last)
{
    const struct jinja_string *part = jinja_string_arg(run, args, 0);
    if (!part || !jinja_step_bytes(run, self.string->n)) {
        jinja_fail(run, "the argument must be text");
        return -1;
    }
    size_t found = last ? jinja_rfind(run, self.string, part, self.string->n)
                        : jinja_find(self.string, part, 0);
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
    /* Python counts an empty text at every position. */
    if (!part->n)
        return jinja_int((int64_t)jinja_count_chars(self.string) + 1);
    for (size_t at = 0; (at = jinja_find(self.string, part, at)) != SIZE_MAX; at += part->n)
        n++;
    return jinja_int(n);
}

/* ---- cases and kinds of characters ---- */

struct jinja_value jinja_upper(struct jinja_run *run, struct jinja_value self,
                               const struct jinja_args *args)
{
    (void)args;
    return jinja_change_case(run, jinja_str(run, self), JINJA_UPPER);
}

struct jinja_value jinja_lower(struct jinja_run *run, struct jinja_value self,
                               const struct jinja_args *args)
{
    (void)args;
    return jinja_change_case(run, jinja_str(run, self), JINJA_LOWER);
}

struct jinja_value jinja_capitalize(struct jinja_run *run, struct jinja_value self,
                                    const struct jinja_args *args)
{
    (void)args;
    return jinja_change_case(run, jinja_str(run, self), JINJA_CAPITALIZE);
}

METHOD(string_title)
{
    (void)args;
    return jinja_change_case(run, self.string, JINJA_TITLE);
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

bool jinja_is_letter_or_number(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((int32_t)c);
    return is_letter(c) || (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

/* True when there are characters, all of this kind. */
static struct jinja_value all_are(struct jinja_run *run, const struct jinja_string *string,
                                  bool (*is)(uint32_t c))
{
    for (size_t at = 0; at < string->n && jinja_step(run, 1);
         at += jinja_char_bytes(string->bytes + at, string->n - at))
        if (!is(jinja_code_point(string->bytes + at, string->n - at)))
            return jinja_bool(false);
    return jinja_bool(string->n != 0);
}

METHOD(string_isalpha)
{
    (void)args;
    return all_are(run, self.string, is_letter);
}

METHOD(string_isdigit)
{
    (void)args;
    return all_are(run, self.string, is_digit);
}

METHOD(string_isalnum)
{
    (void)args;
    return all_are(run, self.string, jinja_is_letter_or_number);
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

/* Puts the fill left and right times around the text. */
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

/* Returns the number of characters missing to the given width. */
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
    /* Python puts the odd blank on the left only when the width is odd. */
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
    {"strip", "chars", 0, jinja_strip},
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
    {"upper", "", 0, jinja_upper},
    {"lower", "", 0, jinja_lower},
    {"title", "", 0, string_title},
    {"capitalize", "", 0, jinja_capitalize},
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
