/* Strings: lengths, patterns, formats; and the rules for any JSON value. */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/utf8.h"
#include "engine/grammar/language/intersect.h"
#include "engine/grammar/language/regex.h"
#include "engine/grammar/schema/internal.h"

#define DIGIT "[0-9]"
#define OCTET "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define IPV4  OCTET "(\\." OCTET "){3}"
#define HEX16 "[0-9a-fA-F]{1,4}"
#define IPV6                                                                                       \
    "((" HEX16 ":){7}" HEX16 "|(" HEX16 ":){1,7}:|(" HEX16 ":){1,6}:" HEX16 "|(" HEX16             \
    ":){1,5}(:" HEX16 "){1,2}|(" HEX16 ":){1,4}(:" HEX16 "){1,3}|(" HEX16 ":){1,3}(:" HEX16        \
    "){1,4}|(" HEX16 ":){1,2}(:" HEX16 "){1,5}|" HEX16 ":(:" HEX16 "){1,6}|:((:" HEX16             \
    "){1,7}|:)|((" HEX16 ":){6}|::(" HEX16 ":){0,5})" IPV4 ")"
#define LABEL "[a-zA-Z0-9](-?[a-zA-Z0-9]){0,31}" /* two hyphens in a row would mean Punycode */
#define PCHAR "([a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9a-fA-F]{2})" /* RFC 3986 */
#define YEAR  "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
#define LEAP4 "(0[48]|[2468][048]|[13579][26])"
#define LEAP  "([0-9]{2}" LEAP4 "|" LEAP4 "00)"
#define DATE                                                                                       \
    "(" YEAR "-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"      \
    "02-(0[1-9]|1[0-9]|2[0-8]))|" LEAP "-02-29)"
#define CLOCK "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?"
#define ZONE  "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"

/* RFC 3339, 5321, 1123, 4291, 3986, 9562 and ISO 8601, each restricted to what every validator
 * accepts: no leap seconds, no Punycode names, no quoted e-mail addresses. Lengths are bounded to
 * keep the automaton small. */
static const struct {
    const char *name, *pattern;
} formats[] = {
    {"date", "^" DATE "$"},
    {"time", "^" CLOCK ZONE "$"},
    {"date-time", "^" DATE "T" CLOCK ZONE "$"},
    {"duration",
     "^P([0-9]{1,4}W|([0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|[0-9]{1,4}"
     "D)"
     "(T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))?|"
     "T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
    {"email",
     "^[a-zA-Z0-9_+~-]{1,20}(\\.[a-zA-Z0-9_+~-]{1,20}){0,2}@" LABEL "(\\." LABEL "){0,2}\\."
     "[a-zA-Z]{2,24}$"},
    {"hostname", "^" LABEL "(\\." LABEL "){0,2}$"},
    {"ipv4", "^" IPV4 "$"},
    {"ipv6", "^" IPV6 "$"},
    {"uri",
     "^[a-zA-Z][a-zA-Z0-9+.-]{0,20}:(//" LABEL "(\\." LABEL "){0,3}(:[1-9][0-9]{0,3})?"
     "(/" PCHAR "*)*|" PCHAR "+(/" PCHAR "*)*)(\\?(" PCHAR "|[/?])*)?(#(" PCHAR "|[/?])*)?$"},
};

/* The standard's other formats; any other name is an annotation. */
static const char *const unsupported[] = {"regex",         "idn-email",    "idn-hostname",
                                          "uri-reference", "iri",          "iri-reference",
                                          "uri-template",  "json-pointer", "relative-json-pointer"};

static const char *pattern_of(struct baton_schema *s, const char *format)
{
    for (size_t i = 0; i < BATON_N_OF(formats); i++)
        if (!strcmp(formats[i].name, format))
            return formats[i].pattern;
    for (size_t i = 0; i < BATON_N_OF(unsupported); i++)
        if (!strcmp(unsupported[i], format))
            baton_schema_fail(s,
                              "format: %s is not supported; date, time, date-time, duration, "
                              "uuid, email, hostname, ipv4, ipv6 and uri are",
                              format);
    return NULL;
}

static uint32_t quoted(struct baton_exprs *x, uint32_t expr)
{
    uint32_t quote = baton_expr_byte(x, '"', '"');
    return baton_expr_seq(x, quote, baton_expr_seq(x, expr, quote));
}

static uint32_t unquoted(struct baton_schema *s, const char *pattern, size_t n, const char *keyword,
                         struct baton_regex_length *length)
{
    static const struct baton_regex_options options = {.in_json = true, .search = true};
    struct baton_why why = {""};
    uint32_t expr = 0;
    enum baton_err err = baton_regex_parse(s->exprs, pattern, n, &options, &expr, length, &why);
    if (err == BATON_INVALID)
        baton_schema_fail(s, "%s: %.160s", keyword, why.text);
    else if (err)
        s->err = err;
    return expr;
}

uint32_t baton_schema_pattern(struct baton_schema *s, const char *pattern, size_t n,
                              const char *keyword, struct baton_regex_length *length)
{
    return quoted(s->exprs, unquoted(s, pattern, n, keyword, length));
}

/* Patterns with look-aheads that zod writes beside a format, each with one that means the same of a
 * text of the format; "": all texts of the format match. */
static const struct {
    const char *pattern, *same;
} known_patterns[] = {
    {"^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]"
     "\\d+"
     ")?S)?)?)$",
     ""},
    {"^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[-0-9a-zA-"
     "Z]{0,61}[0-9a-zA-Z])?)*\\.?$",
     ""},
    {"^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+"
     "[A-Za-z]{2,}$",
     "^([A-Za-z0-9_'+-]+\\.)*[A-Za-z0-9_'+-]*[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9-]*\\.)+"
     "[A-Za-z]{2,}$"},
};

/* Returns the pattern itself, or one without look-aheads. */
static const char *readable(const char *pattern)
{
    for (size_t i = 0; i < BATON_N_OF(known_patterns); i++)
        if (!strcmp(known_patterns[i].pattern, pattern))
            return known_patterns[i].same;
    return pattern;
}

/* The conditions on one string, each an expression without its quotes. */
struct conditions {
    struct baton_part parts[BATON_MAX_PARTS];
    size_t n;
    struct baton_regex_length length; /* of texts that match all of them, at most */
    const char *names;                /* for the message that they cannot be combined */
};

static void add(struct baton_schema *s, struct conditions *c, uint32_t expr,
                struct baton_regex_length length)
{
    if (c->n == BATON_MAX_PARTS) {
        baton_schema_fail(s, "more than %d patterns for a string", BATON_MAX_PARTS - 1);
        return;
    }
    c->parts[c->n++] = (struct baton_part){.expr = expr};
    c->length.min = length.min > c->length.min ? length.min : c->length.min;
    c->length.max = length.max < c->length.max ? length.max : c->length.max;
}

static void add_pattern(struct baton_schema *s, struct conditions *c, const char *pattern, size_t n,
                        const char *keyword)
{
    struct baton_regex_length length = {0};
    uint32_t expr = unquoted(s, pattern, n, keyword, &length);
    if (!s->err)
        add(s, c, expr, length);
}

/* Matches one string as patterns spell it. */
static uint32_t spelled(struct baton_schema *s, const char *text, size_t n)
{
    uint32_t expr = baton_expr_empty(s->exprs);
    size_t skip;
    for (int n_char; n && (n_char = baton_utf8_next(text, n, &skip)) > 0;
         text += n_char, n -= (size_t)n_char) {
        struct baton_chars one = {0};
        uint32_t c = baton_utf8_decode(text, (size_t)n_char);
        baton_chars_add(&one, c, c);
        expr = baton_expr_seq(s->exprs, expr, baton_expr_json_chars(s->exprs, &one));
    }
    return expr;
}

static void add_patterns(struct baton_schema *s, struct conditions *c,
                         const struct baton_json *given, bool has_format)
{
    bool is_list = baton_json_kind(given) == BATON_JSON_ARRAY;
    for (size_t i = 0; i < (is_list ? baton_json_size(given) : given != NULL) && !s->err; i++) {
        size_t n = 0;
        const char *text = baton_json_string(is_list ? baton_json_at(given, i) : given, &n);
        if (!text)
            baton_schema_fail(s, "pattern: must be a string");
        else if (!has_format || readable(text) == text)
            add_pattern(s, c, text, n, "pattern");
        else if (*readable(text))
            add_pattern(s, c, readable(text), strlen(readable(text)), "pattern");
    }
}

/* Excludes listed strings, in the spelling of patterns, which is the only one left beside them. */
static void add_excluded(struct baton_schema *s, struct conditions *c,
                         const struct baton_json *excluded)
{
    static const struct baton_regex_length any = {0, BATON_NO_MAX};
    uint32_t none = baton_expr_never(s->exprs);
    for (size_t i = 0; i < baton_json_size(excluded) && !s->err; i++) {
        size_t n = 0;
        const char *text = baton_json_string(baton_json_at(excluded, i), &n);
        none = baton_expr_alt(s->exprs, spelled(s, text ? text : "", n), none);
    }
    if (!baton_json_size(excluded) || s->err)
        return;
    if (!c->n)
        add_pattern(s, c, "", 0, "pattern");
    add(s, c, none, any);
    if (!s->err)
        c->parts[c->n - 1].is_excluded = true;
    c->names = "not beside these keywords";
}

/* Lengths are a condition of their own, unless the others imply them. */
static void add_lengths(struct baton_schema *s, const struct baton_json *schema,
                        struct conditions *c)
{
    uint32_t min = baton_schema_count(s, schema, "minLength", 0);
    uint32_t max = baton_schema_count(s, schema, "maxLength", BATON_NO_MAX);
    struct baton_regex_length length = {min, max};
    if (s->err || (c->length.min >= min && c->length.max <= max))
        return;
    c->names = c->length.min < min
                   ? "minLength beside a pattern or format that allows other lengths"
                   : "maxLength beside a pattern or format that allows other lengths";
    add(s, c, baton_expr_repeat(s->exprs, baton_schema_shared(s, BATON_SHARED_CHAR), min, max),
        length);
}

static uint32_t all_of(struct baton_schema *s, const struct conditions *c)
{
    uint32_t expr = c->parts[0].expr;
    if (s->err)
        return 0;
    enum baton_err err =
        c->n == 1 ? BATON_OK
                  : baton_expr_intersect(s->exprs, c->parts, c->n, s->path, &s->n_meet_work, &expr);
    if (err == BATON_NO_MEMORY || s->exprs->err)
        s->err = s->exprs->err ? s->exprs->err : err;
    else if (err)
        baton_schema_unsupported(s, c->names);
    return quoted(s->exprs, expr);
}

static uint32_t by_length(struct baton_schema *s, const struct baton_json *schema)
{
    uint32_t min = baton_schema_count(s, schema, "minLength", 0);
    uint32_t max = baton_schema_count(s, schema, "maxLength", BATON_NO_MAX);
    if (!min && max == BATON_NO_MAX)
        return baton_schema_shared(s, BATON_SHARED_STRING);
    uint32_t one = baton_schema_shared(s, BATON_SHARED_CHAR);
    return quoted(s->exprs, baton_expr_repeat(s->exprs, one, min, max));
}

uint32_t baton_schema_string(struct baton_schema *s, const struct baton_json *schema)
{
    const struct baton_json *pattern = baton_json_get(schema, "pattern");
    const struct baton_json *format = baton_json_get(schema, "format");
    const char *name = baton_json_string(format, NULL);
    struct conditions c = {.length.max = BATON_NO_MAX, .names = "pattern beside these keywords"};
    if (format && !name)
        baton_schema_fail(s, "format: must be a string");
    const char *of_format = name && !s->err ? pattern_of(s, name) : NULL;
    if (of_format)
        add_pattern(s, &c, of_format, strlen(of_format), "format");
    add_patterns(s, &c, pattern, of_format != NULL);
    add_excluded(s, &c, baton_json_get(schema, BATON_SCHEMA_EXCLUDES));
    if (s->err)
        return 0;
    if (!c.n)
        return by_length(s, schema);
    add_lengths(s, schema, &c);
    return all_of(s, &c);
}

/* ---- shared rules ---- */

static uint32_t regex(struct baton_schema *s, const char *pattern)
{
    static const struct baton_regex_options options = {0};
    struct baton_regex_length length;
    uint32_t expr = 0;
    enum baton_err err =
        baton_regex_parse(s->exprs, pattern, strlen(pattern), &options, &expr, &length, s->why);
    s->err = s->err ? s->err : err;
    return expr;
}

/* A character of a string: itself, or escaped in any form; no half of a surrogate pair. */
#define JSON_CHAR                                                                                  \
    "([^\"\\\\\\x00-\\x1f]|\\\\([\"\\\\/bfnrt]|u([0-9abcefABCEF][0-9a-fA-F]{3}|[dD][0-7]"          \
    "[0-9a-fA-F]{2}|[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2})))"

static uint32_t list_of(struct baton_schema *s, const char *open, uint32_t item, const char *close)
{
    struct baton_exprs *x = s->exprs;
    uint32_t space = baton_schema_shared(s, BATON_SHARED_SPACE);
    uint32_t next = baton_expr_seq(x, baton_expr_text(x, ","), baton_expr_seq(x, space, item));
    uint32_t items = baton_expr_seq(x, item, baton_expr_repeat(x, next, 0, BATON_NO_MAX));
    uint32_t rest =
        baton_expr_seq(x, space,
                       baton_expr_seq(x, baton_expr_maybe(x, items),
                                      baton_expr_seq(x, space, baton_expr_text(x, close))));
    return baton_expr_seq(x, baton_expr_text(x, open), rest);
}

static uint32_t any_value(struct baton_schema *s)
{
    struct baton_exprs *x = s->exprs;
    static const enum baton_schema_shared parts[] = {BATON_SHARED_OBJECT, BATON_SHARED_ARRAY,
                                                     BATON_SHARED_STRING, BATON_SHARED_NUMBER};
    uint32_t expr = regex(s, "true|false|null");
    for (size_t i = 0; i < BATON_N_OF(parts); i++)
        expr = baton_expr_alt(x, baton_schema_shared(s, parts[i]), expr);
    return expr;
}

static uint32_t any_object(struct baton_schema *s)
{
    struct baton_exprs *x = s->exprs;
    uint32_t value = baton_expr_seq(x, baton_schema_shared(s, BATON_SHARED_SPACE),
                                    baton_schema_shared(s, BATON_SHARED_VALUE));
    uint32_t member = baton_expr_seq(x, baton_schema_shared(s, BATON_SHARED_STRING),
                                     baton_expr_seq(x, baton_expr_text(x, ":"), value));
    return list_of(s, "{", member, "}");
}

static uint32_t make_shared(struct baton_schema *s, enum baton_schema_shared which)
{
    switch (which) {
    case BATON_SHARED_SPACE: /* bounded, because a model might write spaces forever */
        return regex(s, "( |\n[ \t]{0,20})?");
    case BATON_SHARED_CHAR:
        return regex(s, JSON_CHAR);
    case BATON_SHARED_STRING:
        return regex(s, "\"" JSON_CHAR "*\"");
    /* Bounded as in number.c; two digits of exponent keep a double finite. */
    case BATON_SHARED_NUMBER:
        return regex(s,
                     "-?(0|[1-9]" DIGIT "{0,17})(\\." DIGIT "{1,16})?([eE][+-]?" DIGIT "{1,2})?");
    case BATON_SHARED_INTEGER:
        return regex(s, "-?(0|[1-9]" DIGIT "{0,17})");
    case BATON_SHARED_VALUE:
        return any_value(s);
    case BATON_SHARED_ARRAY:
        return list_of(s, "[", baton_schema_shared(s, BATON_SHARED_VALUE), "]");
    default:
        return any_object(s);
    }
}

uint32_t baton_schema_shared(struct baton_schema *s, enum baton_schema_shared which)
{
    static const char *const labels[] = {"white space", "a character", "a string", "a number",
                                         "an integer",  "a value",     "an array", "an object"};
    if (!s->shared[which]) {
        uint32_t rule = baton_expr_rule_add(s->exprs, labels[which]);
        s->shared[which] = rule + 1;
        baton_expr_rule_set(s->exprs, rule, make_shared(s, which));
    }
    return baton_expr_rule(s->exprs, s->shared[which] - 1);
}
