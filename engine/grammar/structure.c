/* Reads structures: literal text, special tokens, schemas and patterns in sequence, as a choice or
 * repeated. The names are those of XGrammar's structural tags. */
#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/grammar.h"
#include "engine/grammar/language/any_text.h"
#include "engine/grammar/language/regex.h"
#include "engine/grammar/schema/internal.h"

enum { MAX_DEPTH = 32 };

static uint32_t read_format(struct baton_schema *s, const struct baton_json *format);

/* Reads the part under that keyword, or under that index of it. */
static uint32_t read_part(struct baton_schema *s, const struct baton_json *part,
                          const char *keyword, size_t index)
{
    char name[24];
    (void)snprintf(name, sizeof name, "%zu", index);
    size_t before = baton_schema_enter(s, keyword, index == SIZE_MAX ? NULL : name);
    uint32_t expr = read_format(s, part);
    baton_schema_leave(s, before);
    return expr;
}

static uint32_t read_member(struct baton_schema *s, const struct baton_json *format,
                            const char *keyword)
{
    return read_part(s, baton_json_get(format, keyword), keyword, SIZE_MAX);
}

/* Returns a member that must be a string. */
static const char *text_of(struct baton_schema *s, const struct baton_json *format,
                           const char *keyword, size_t *n)
{
    const char *text = baton_json_string(baton_json_get(format, keyword), n);
    if (!text)
        baton_schema_fail(s, "%s: must be a string", keyword);
    return text;
}

static bool flag_of(struct baton_schema *s, const struct baton_json *format, const char *keyword)
{
    const struct baton_json *value = baton_json_get(format, keyword);
    if (value && baton_json_kind(value) != BATON_JSON_BOOL)
        baton_schema_fail(s, "%s: must be true or false", keyword);
    return baton_json_bool(value);
}

static const struct baton_json *list_of(struct baton_schema *s, const struct baton_json *format,
                                        const char *keyword)
{
    const struct baton_json *list = baton_json_get(format, keyword);
    if (baton_json_kind(list) != BATON_JSON_ARRAY || !baton_json_size(list))
        baton_schema_fail(s, "%s: must be an array with one element or more", keyword);
    return list;
}

/* ---- the types ---- */

static uint32_t read_const_string(struct baton_schema *s, const struct baton_json *format)
{
    size_t n = 0;
    const char *text = text_of(s, format, "value", &n);
    return text ? baton_expr_bytes(s->exprs, text, n) : 0;
}

/* Reads a token, which a vocabulary may have as a special token or spell like other text. */
static uint32_t read_token(struct baton_schema *s, const struct baton_json *format)
{
    struct baton_exprs *x = s->exprs;
    size_t n = 0;
    const char *text = text_of(s, format, "token", &n);
    if (!text)
        return 0;
    uint32_t special = baton_expr_seq(x, baton_expr_byte(x, BATON_SPECIAL_MARK, BATON_SPECIAL_MARK),
                                      baton_expr_bytes(x, text, n));
    return baton_expr_alt(x, special, baton_expr_bytes(x, text, n));
}

static uint32_t read_schema(struct baton_schema *s, const struct baton_json *format)
{
    const struct baton_json *schema = baton_json_get(format, "json_schema");
    if (!schema)
        baton_schema_fail(s, "json_schema: must be a schema");
    size_t before = baton_schema_enter(s, "json_schema", NULL);
    uint32_t expr = baton_schema_root(s, schema);
    baton_schema_leave(s, before);
    return expr;
}

static uint32_t read_regex(struct baton_schema *s, const struct baton_json *format)
{
    static const struct baton_regex_options options = {0};
    struct baton_regex_length length;
    struct baton_why why = {""};
    uint32_t expr = 0;
    size_t n = 0;
    const char *text = text_of(s, format, "pattern", &n);
    enum baton_err err =
        text ? baton_regex_parse(s->exprs, text, n, &options, &expr, &length, &why) : BATON_OK;
    if (err == BATON_INVALID)
        baton_schema_fail(s, "pattern: %.160s", why.text);
    else if (err)
        s->err = s->err ? s->err : err;
    return expr;
}

static uint32_t read_grammar(struct baton_schema *s, const struct baton_json *format)
{
    struct baton_why why = {""};
    uint32_t expr = 0;
    size_t n = 0;
    const char *text = text_of(s, format, "grammar", &n);
    enum baton_err err = text ? baton_gbnf_parse(s->exprs, text, n, &expr, &why) : BATON_OK;
    if (err == BATON_INVALID)
        baton_schema_fail(s, "grammar: %.160s", why.text);
    else if (err)
        s->err = s->err ? s->err : err;
    return expr;
}

static uint32_t any_text(struct baton_schema *s, const struct baton_json *excludes,
                         const char *keyword)
{
    struct baton_why why = {""};
    uint32_t expr = 0;
    if (excludes && baton_json_kind(excludes) != BATON_JSON_ARRAY)
        baton_schema_fail(s, "%s: must be an array of strings", keyword);
    enum baton_err err = s->err ? s->err : baton_any_text(s->exprs, excludes, &expr, &why);
    if (err == BATON_INVALID)
        baton_schema_fail(s, "%s: %s", keyword, why.text);
    s->err = s->err ? s->err : err;
    return expr;
}

static uint32_t read_any_text(struct baton_schema *s, const struct baton_json *format)
{
    return any_text(s, baton_json_get(format, "excludes"), "excludes");
}

static uint32_t read_sequence(struct baton_schema *s, const struct baton_json *format)
{
    const struct baton_json *elements = list_of(s, format, "elements");
    uint32_t expr = baton_expr_empty(s->exprs);
    for (size_t i = baton_json_size(elements); i-- > 0 && !s->err;)
        expr =
            baton_expr_seq(s->exprs, read_part(s, baton_json_at(elements, i), "elements", i), expr);
    return expr;
}

/* Reads a list as a rule, so that it is built once however often it is used. */
static uint32_t choice_of(struct baton_schema *s, const struct baton_json *format,
                          const char *keyword)
{
    const struct baton_json *elements = list_of(s, format, keyword);
    uint32_t expr = baton_expr_never(s->exprs);
    for (size_t i = baton_json_size(elements); i-- > 0 && !s->err;)
        expr = baton_expr_alt(s->exprs, read_part(s, baton_json_at(elements, i), keyword, i), expr);
    uint32_t rule = baton_expr_rule_add(s->exprs, s->path);
    baton_expr_rule_set(s->exprs, rule, expr);
    return baton_expr_rule(s->exprs, rule);
}

static uint32_t read_or(struct baton_schema *s, const struct baton_json *format)
{
    return choice_of(s, format, "elements");
}

/* Reads the beginning or end of a tag: a text, one of several, or a format. */
static uint32_t read_bound(struct baton_schema *s, const struct baton_json *format,
                           const char *keyword)
{
    const struct baton_json *bound = baton_json_get(format, keyword);
    uint32_t expr = baton_expr_never(s->exprs);
    size_t n = 0;
    const char *text = baton_json_string(bound, &n);
    if (baton_json_kind(bound) == BATON_JSON_OBJECT)
        return read_member(s, format, keyword);
    if (text)
        return baton_expr_bytes(s->exprs, text, n);
    if (baton_json_kind(bound) != BATON_JSON_ARRAY || !baton_json_size(bound))
        baton_schema_fail(s, "%s: must be a string, an array of strings or a format", keyword);
    for (size_t i = baton_json_size(bound); i-- > 0 && !s->err;) {
        text = baton_json_string(baton_json_at(bound, i), &n);
        if (!text)
            baton_schema_fail(s, "%s: must be an array of strings", keyword);
        else
            expr = baton_expr_alt(s->exprs, baton_expr_bytes(s->exprs, text, n), expr);
    }
    return expr;
}

static uint32_t read_tag(struct baton_schema *s, const struct baton_json *format)
{
    uint32_t begin = read_bound(s, format, "begin");
    uint32_t content = s->err ? 0 : read_member(s, format, "content");
    uint32_t end = s->err ? 0 : read_bound(s, format, "end");
    return baton_expr_seq(s->exprs, begin, baton_expr_seq(s->exprs, content, end));
}

static uint32_t counted(struct baton_schema *s, const struct baton_json *format, uint32_t part,
                        uint32_t followed_by)
{
    bool at_least_one = flag_of(s, format, "at_least_one");
    uint32_t max = flag_of(s, format, "stop_after_first") ? 1 : BATON_NO_MAX;
    uint32_t all = baton_expr_repeat(s->exprs, part, at_least_one, max);
    /* After the one requested tag, the text ends. */
    return baton_expr_seq(s->exprs, all, max == 1 && at_least_one ? 0 : followed_by);
}

/* Reads text in which each trigger begins one of the tags. */
static uint32_t read_triggered(struct baton_schema *s, const struct baton_json *format)
{
    const struct baton_json *triggers = list_of(s, format, "triggers");
    uint32_t text = s->err ? 0 : any_text(s, triggers, "triggers");
    uint32_t tag = s->err ? 0 : choice_of(s, format, "tags");
    return counted(s, format, baton_expr_seq(s->exprs, text, tag), text);
}

static uint32_t read_separated(struct baton_schema *s, const struct baton_json *format)
{
    struct baton_exprs *x = s->exprs;
    size_t n = 0;
    const char *separator = text_of(s, format, "separator", &n);
    uint32_t tag = s->err ? 0 : choice_of(s, format, "tags");
    bool is_one = flag_of(s, format, "stop_after_first");
    bool at_least_one = flag_of(s, format, "at_least_one");
    if (s->err)
        return 0;
    uint32_t next = baton_expr_seq(x, baton_expr_bytes(x, separator, n), tag);
    uint32_t all = baton_expr_seq(x, tag, baton_expr_repeat(x, next, 0, is_one ? 0 : BATON_NO_MAX));
    return at_least_one ? all : baton_expr_maybe(x, all);
}

static uint32_t read_repeat(struct baton_schema *s, const struct baton_json *format)
{
    uint32_t min = baton_schema_count(s, format, "min", 0);
    uint32_t max = baton_schema_count(s, format, "max", BATON_NO_MAX);
    if (max < min)
        baton_schema_fail(s, "max: must not be below min");
    uint32_t content = s->err ? 0 : read_member(s, format, "content");
    return baton_expr_repeat(s->exprs, content, min, max);
}

static const struct {
    const char *name;
    uint32_t (*read)(struct baton_schema *s, const struct baton_json *format);
    const char *members[4];
} types[] = {
    {"const_string", read_const_string, {"value"}},
    {"token", read_token, {"token"}},
    {"json_schema", read_schema, {"json_schema"}},
    {"regex", read_regex, {"pattern"}},
    {"grammar", read_grammar, {"grammar"}},
    {"any_text", read_any_text, {"excludes"}},
    {"sequence", read_sequence, {"elements"}},
    {"or", read_or, {"elements"}},
    {"tag", read_tag, {"begin", "content", "end"}},
    {"triggered_tags", read_triggered, {"triggers", "tags", "at_least_one", "stop_after_first"}},
    {"tags_with_separator",
     read_separated,
     {"separator", "tags", "at_least_one", "stop_after_first"}},
    {"repeat", read_repeat, {"content", "min", "max"}},
};

static void check_members(struct baton_schema *s, const struct baton_json *format, size_t type)
{
    for (void *it = baton_json_first(format); it; it = baton_json_next(format, it)) {
        bool known = !strcmp(baton_json_key(it), "type");
        for (size_t i = 0; i < 4 && types[type].members[i]; i++)
            known |= !strcmp(types[type].members[i], baton_json_key(it));
        if (!known)
            baton_schema_unsupported(s, baton_json_key(it));
    }
}

static uint32_t read_format(struct baton_schema *s, const struct baton_json *format)
{
    const char *name = baton_json_string(baton_json_get(format, "type"), NULL);
    size_t i = 0, n = BATON_N_OF(types);
    if (s->depth >= MAX_DEPTH)
        baton_schema_fail(s, "formats are nested more than %d deep", MAX_DEPTH);
    while (name && i < n && strcmp(types[i].name, name) != 0)
        i++;
    if (!name || i == n)
        baton_schema_fail(
            s, "type: must be const_string, token, json_schema, regex, grammar, "
               "any_text, sequence, or, tag, triggered_tags, tags_with_separator or repeat");
    else
        check_members(s, format, i);
    if (s->err)
        return 0;
    s->depth++;
    uint32_t expr = types[i].read(s, format);
    s->depth--;
    return expr;
}

enum baton_err baton_structure_read(struct baton_exprs *exprs, const char *text, size_t n,
                                    struct baton_why *why)
{
    return baton_schema_read_with(exprs, text, n, read_format, why);
}
