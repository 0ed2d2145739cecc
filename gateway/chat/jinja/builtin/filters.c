/* Filters of single values. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/chat/jinja/run/eval.h"
#include "gateway/chat/jinja/value/text.h"

#define FILTER(name)                                                                               \
    static struct jinja_value name(struct jinja_run *run, struct jinja_value self,                 \
                                   const struct jinja_args *args)

/* ---- text ---- */

FILTER(filter_string)
{
    (void)args;
    return jinja_string_value(jinja_str(run, self));
}

FILTER(filter_title)
{
    (void)args;
    return jinja_change_case(run, jinja_str(run, self), JINJA_WORDS);
}

FILTER(filter_replace)
{
    int64_t max = jinja_given(args, 2) && args->items[2].kind != JINJA_NONE
                      ? jinja_int_arg(run, args, 2, -1)
                      : -1;
    return jinja_replace(run, jinja_str(run, self), jinja_str(run, args->items[0]),
                         jinja_str(run, args->items[1]), max);
}

FILTER(filter_safe)
{
    (void)args;
    return jinja_safe(run, jinja_str(run, self));
}

FILTER(filter_escape)
{
    (void)args;
    return jinja_string_value(jinja_escape(run, jinja_str(run, self)));
}

FILTER(filter_format)
{
    return jinja_percent(run, jinja_str(run, self), args);
}

FILTER(filter_center)
{
    struct jinja_value text = jinja_string_value(jinja_str(run, self));
    struct jinja_value width = jinja_int(jinja_int_arg(run, args, 0, 80));
    const struct jinja_string name = {.bytes = "center", .n = 6};
    return jinja_call_builtin(run, jinja_find_builtin(jinja_string_methods, &name), text,
                              &(struct jinja_args){.items = &width, .n = 1});
}

FILTER(filter_wordcount)
{
    (void)args;
    const struct jinja_string *string = jinja_str(run, self);
    int64_t n = 0;
    bool inside = false;
    for (size_t at = 0; at < string->n && jinja_step(run, 1);
         at += jinja_char_bytes(string->bytes + at, string->n - at)) {
        uint32_t c = jinja_code_point(string->bytes + at, string->n - at);
        bool word = c == '_' || jinja_is_letter_or_number(c); /* \w of Python's re */
        n += word && !inside;
        inside = word;
    }
    return jinja_int(n);
}

/* ---- indent ---- */

/* Returns the indention of a further line: a text, or so many blanks. */
static const struct jinja_string *indention(struct jinja_run *run, const struct jinja_args *args)
{
    static const struct jinja_string blank = {.bytes = " ", .n = 1, .own = true};
    if (jinja_given(args, 0) && args->items[0].kind == JINJA_STRING)
        return args->items[0].string;
    struct jinja_value width = jinja_int(jinja_int_arg(run, args, 0, 4));
    struct jinja_value text = jinja_binary(run, '*', jinja_string_value(&blank), width);
    return text.kind == JINJA_STRING ? text.string : &blank;
}

/* Lines without text stay as they are, unless blank is true. */
FILTER(filter_indent)
{
    if (self.kind != JINJA_STRING)
        return self.kind == JINJA_UNDEFINED
                   ? jinja_fail_undefined(run, self)
                   : jinja_fail(run, "indent: needs text, not '%s'", jinja_type_name(self));
    const struct jinja_string *by = indention(run, args), *string = self.string;
    const struct jinja_string name = {.bytes = "splitlines", .n = 10};
    bool first = jinja_bool_arg(args, 1, false), blank = jinja_bool_arg(args, 2, false);
    struct jinja_text text = {0}, source = {0};
    jinja_text_put_string(run, &source, string);
    /* As in Jinja: splitlines alone would drop a final line break. */
    jinja_text_puts(run, &source, "\n");
    struct jinja_value lines =
        jinja_call_builtin(run, jinja_find_builtin(jinja_split_methods, &name),
                           jinja_text_end(run, &source), &(struct jinja_args){0});
    if (jinja_failed(run))
        return jinja_undefined(NULL);
    if (first)
        jinja_text_put_string(run, &text, by);
    for (size_t i = 0; i < lines.list->n && !jinja_failed(run); i++) {
        const struct jinja_string *line = lines.list->items[i].string;
        if (i)
            jinja_text_puts(run, &text, "\n");
        if (i && (blank || line->n))
            jinja_text_put_string(run, &text, by);
        jinja_text_put_string(run, &text, line);
    }
    return jinja_text_end(run, &text);
}

/* ---- numbers ---- */

/* Writes the text without white space around it, zero-terminated; false when it is too long for a
 * number. An underscore between digits is left out, as in Python. */
static bool number_text(struct jinja_run *run, const struct jinja_string *string, char out[64])
{
    struct jinja_value trimmed = jinja_trim(run, string, NULL, JINJA_TRIM_BOTH);
    size_t n = 0;
    if (trimmed.kind != JINJA_STRING)
        return false;
    for (size_t i = 0; i < trimmed.string->n; i++) {
        char c = trimmed.string->bytes[i], before = i ? trimmed.string->bytes[i - 1] : '_';
        bool between = c == '_' && isalnum((unsigned char)before) && i + 1 < trimmed.string->n &&
                       isalnum((unsigned char)trimmed.string->bytes[i + 1]);
        if (n == 63 || !c || isspace((unsigned char)c))
            return false;
        if (!between)
            out[n++] = c;
    }
    out[n] = 0;
    return n != 0;
}

static bool parse_real(const char *text, double *value)
{
    char *end;
    const char *digits = text + strspn(text, "+-");
    if (digits - text > 1 || strspn(digits, "0123456789.eE+-infatyINFATY") != strlen(digits))
        return false;
    *value = strtod(text, &end);
    return !*end && end != text;
}

/* Parses an integer. A base of 0 reads the base from the prefix. */
static bool parse_int(const char *text, int base, int64_t *value)
{
    char *end;
    const char *digits = text + strspn(text, "+-");
    if (digits - text > 1 || !isalnum((unsigned char)*digits))
        return false;
    /* Only some versions of glibc read 0b in base 2: no result may depend on that. */
    if (base == 2 && (!strncmp(digits, "0b", 2) || !strncmp(digits, "0B", 2)))
        return false;
    errno = 0;
    *value = strtoll(text, &end, base);
    return !*end && errno != ERANGE;
}

static bool real_to_int(double real, int64_t *value)
{
    /* Just within int64, because a double cannot hold its limits exactly. */
    if (!(real > -9.2e18 && real < 9.2e18))
        return false;
    *value = (int64_t)real;
    return true;
}

FILTER(filter_int)
{
    struct jinja_value fallback = jinja_given(args, 0) ? args->items[0] : jinja_int(0);
    int base = (int)jinja_int_arg(run, args, 1, 10);
    char text[64];
    int64_t value;
    double real;
    if (self.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, self);
    if (base < 0 || base == 1 || base > 36)
        return jinja_fail(run, "int: the base must be 0 or 2 to 36");
    if (self.kind == JINJA_STRING && number_text(run, self.string, text)) {
        if (parse_int(text, base, &value))
            return jinja_int(value);
        if (parse_real(text, &real) && real_to_int(real, &value))
            return jinja_int(value);
        return fallback;
    }
    if (!jinja_is_number(self))
        return fallback;
    if (self.kind != JINJA_FLOAT)
        return jinja_int(jinja_as_int(self));
    return real_to_int(self.real, &value) ? jinja_int(value) : fallback;
}

FILTER(filter_float)
{
    struct jinja_value fallback = jinja_given(args, 0) ? args->items[0] : jinja_real(0);
    char text[64];
    double real;
    if (self.kind == JINJA_UNDEFINED)
        return jinja_fail_undefined(run, self);
    if (jinja_is_number(self))
        return jinja_real(jinja_as_real(self));
    if (self.kind == JINJA_STRING && number_text(run, self.string, text) && parse_real(text, &real))
        return jinja_real(real);
    return fallback;
}

FILTER(filter_abs)
{
    (void)args;
    if (self.kind == JINJA_FLOAT)
        return jinja_real(fabs(self.real));
    if (!jinja_is_number(self))
        return jinja_fail(run, "abs: '%s' is not a number", jinja_type_name(self));
    return jinja_as_int(self) < 0 ? jinja_unary(run, '-', self) : jinja_int(jinja_as_int(self));
}

/* "common" is Python's round: to the nearest decimal, ties to even. */
static struct jinja_value round_common(double value, int64_t precision, bool was_int)
{
    char text[400];
    if (precision < 0 || !isfinite(value)) {
        double unit = pow(10, (double)-precision);
        return was_int ? jinja_int((int64_t)(nearbyint(value / unit) * unit))
                       : jinja_real(nearbyint(value / unit) * unit);
    }
    if (was_int)
        return jinja_int((int64_t)value);
    (void)snprintf(text, sizeof text, "%.*f", (int)(precision > 30 ? 30 : precision), value);
    return jinja_real(strtod(text, NULL));
}

FILTER(filter_round)
{
    int64_t precision = jinja_int_arg(run, args, 0, 0);
    const struct jinja_string *method = jinja_string_arg(run, args, 1);
    if (!jinja_is_number(self) || precision > 300 || precision < -300)
        return jinja_fail(run, "round: '%s' is not a number", jinja_type_name(self));
    double value = jinja_as_real(self), unit = pow(10, (double)precision);
    if (!method || jinja_string_is(method, "common"))
        return round_common(value, precision, self.kind != JINJA_FLOAT);
    if (jinja_string_is(method, "ceil"))
        return jinja_real(ceil(value * unit) / unit);
    if (jinja_string_is(method, "floor"))
        return jinja_real(floor(value * unit) / unit);
    return jinja_fail(run, "round: method must be common, ceil or floor");
}

/* ---- any value ---- */

FILTER(filter_default)
{
    bool falls_back =
        jinja_bool_arg(args, 1, false) ? !jinja_truth(self) : self.kind == JINJA_UNDEFINED;
    if (!falls_back)
        return self;
    return jinja_given(args, 0) ? args->items[0] : jinja_text_value(run, "", 0, true);
}

FILTER(filter_length)
{
    (void)args;
    return jinja_int((int64_t)jinja_length(run, self));
}

FILTER(filter_attr)
{
    const struct jinja_string *name = jinja_string_arg(run, args, 0);
    if (!name)
        return jinja_fail(run, "attr: needs a name");
    /* attr reads attributes, never items, as in Jinja. */
    if (self.kind == JINJA_DICT && !jinja_find_builtin(jinja_dict_methods, name))
        return jinja_missing(run, self, args->items[0]);
    return jinja_attribute(run, self, name);
}

static void read_separators(struct jinja_run *run, struct jinja_value value,
                            struct jinja_json_style *style)
{
    struct jinja_list pair = jinja_elements(run, value);
    if (pair.n != 2 || pair.items[0].kind != JINJA_STRING || pair.items[1].kind != JINJA_STRING) {
        jinja_fail(run, "tojson: separators must be two texts");
        return;
    }
    style->item_separator = pair.items[0].string;
    style->key_separator = pair.items[1].string;
}

FILTER(filter_tojson)
{
    struct jinja_json_style style = {.ascii = jinja_bool_arg(args, 0, false),
                                     .sort_keys = jinja_bool_arg(args, 3, false)};
    if (jinja_given(args, 1) && args->items[1].kind != JINJA_NONE) {
        style.indented = true;
        style.indent = indention(run, &(struct jinja_args){.items = &args->items[1], .n = 1});
    }
    if (jinja_given(args, 2) && args->items[2].kind != JINJA_NONE)
        read_separators(run, args->items[2], &style);
    return jinja_failed(run) ? jinja_undefined(NULL) : jinja_to_json(run, self, &style);
}

const struct jinja_builtin jinja_filters[] = {
    {"string", "", 0, filter_string},
    {"upper", "", 0, jinja_upper},
    {"lower", "", 0, jinja_lower},
    {"title", "", 0, filter_title},
    {"capitalize", "", 0, jinja_capitalize},
    {"trim", "chars", 0, jinja_strip},
    {"replace", "old new count", 2, filter_replace},
    {"safe", "", 0, filter_safe},
    {"escape", "", 0, filter_escape},
    {"e", "", 0, filter_escape},
    {"format", NULL, 0, filter_format},
    {"center", "width", 0, filter_center},
    {"wordcount", "", 0, filter_wordcount},
    {"indent", "width first blank", 0, filter_indent},
    {"int", "default base", 0, filter_int},
    {"float", "default", 0, filter_float},
    {"abs", "", 0, filter_abs},
    {"round", "precision method", 0, filter_round},
    {"default", "default_value boolean", 0, filter_default},
    {"d", "default_value boolean", 0, filter_default},
    {"length", "", 0, filter_length},
    {"count", "", 0, filter_length},
    {"attr", "name", 1, filter_attr},
    {"tojson", "ensure_ascii indent separators sort_keys", 0, filter_tojson},
    {NULL, NULL, 0, NULL},
};
