/* Objects. Members come in the order of the schema's properties, optional ones may be
 * left out, and others follow. A fixed order keeps the automaton linear in the properties. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/grammar/automaton/automaton.h"
#include "engine/grammar/schema/internal.h"

static uint32_t space(struct baton_schema *s)
{
    return baton_schema_shared(s, BATON_SHARED_SPACE);
}

uint32_t baton_schema_in_brackets(struct baton_schema *s, const char *open, uint32_t inside,
                                  const char *close)
{
    struct baton_exprs *x = s->exprs;
    uint32_t end = baton_expr_seq(x, space(s), baton_expr_text(x, close));
    return baton_expr_seq(x, baton_expr_text(x, open),
                          baton_expr_seq(x, space(s), baton_expr_seq(x, inside, end)));
}

uint32_t baton_schema_after_comma(struct baton_schema *s, uint32_t expr)
{
    struct baton_exprs *x = s->exprs;
    return baton_expr_seq(x, baton_expr_text(x, ","), baton_expr_seq(x, space(s), expr));
}

uint32_t baton_schema_less(uint32_t count, size_t n)
{
    return count == BATON_NO_MAX ? count : count > n ? (uint32_t)(count - n) : 0;
}

/* ---- objects ---- */

struct members {
    const struct baton_json *schema, *properties, *required;
    const struct baton_json *more; /* the schema of other members; NULL: any */
    bool has_more;
    const char **names; /* [n] in order: the properties, then other required members */
    size_t n;
    /* the schema of members whose name matches the pattern; NULL: none */
    const struct baton_json *of_pattern;
    const char *pattern;
    struct baton_automaton *names_of_pattern; /* matches the pattern */
    uint32_t other;                           /* one other member */
    uint32_t min, max;
};

static bool is_required(const struct members *m, const char *name)
{
    for (size_t i = 0; i < baton_json_size(m->required); i++) {
        const char *other = baton_json_string(baton_json_at(m->required, i), NULL);
        if (other && !strcmp(other, name))
            return true;
    }
    return false;
}

static void list_names(struct baton_schema *s, struct members *m)
{
    size_t n_most = baton_json_size(m->properties) + baton_json_size(m->required);
    m->names = calloc(n_most + 1, sizeof *m->names);
    if (!m->names) {
        s->err = BATON_NO_MEMORY;
        return;
    }
    for (void *it = baton_json_first(m->properties); it; it = baton_json_next(m->properties, it))
        m->names[m->n++] = baton_json_key(it);
    for (size_t i = 0; i < baton_json_size(m->required) && !s->err; i++) {
        const char *name = baton_json_string(baton_json_at(m->required, i), NULL);
        bool known = false;
        for (size_t j = 0; j < m->n && name; j++)
            known |= !strcmp(m->names[j], name);
        if (!name)
            baton_schema_fail(s, "required: must be an array of strings");
        else if (!known)
            m->names[m->n++] = name;
    }
}

static uint32_t name_text(struct baton_schema *s, const char *name)
{
    struct baton_buf buf;
    baton_buf_init(&buf, (size_t)1 << 20);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_put_string(&out, NULL, name);
    if (baton_buf_err(&buf))
        s->err = s->err ? s->err : baton_buf_err(&buf);
    uint32_t expr = s->err ? 0 : baton_expr_bytes(s->exprs, (const char *)buf.data, buf.len);
    baton_buf_fini(&buf);
    return expr;
}

static uint32_t with_value(struct baton_schema *s, uint32_t key, uint32_t value)
{
    struct baton_exprs *x = s->exprs;
    return baton_expr_seq(
        x, key, baton_expr_seq(x, baton_expr_text(x, ":"), baton_expr_seq(x, space(s), value)));
}

/* ---- names by a pattern ---- */

static bool matches(const struct members *m, const char *name)
{
    uint32_t at = baton_automaton_start(m->names_of_pattern);
    for (; *name; name++)
        at = baton_automaton_step(m->names_of_pattern, at, (uint8_t)*name);
    return baton_automaton_accepts(m->names_of_pattern, at);
}

/* Reads patternProperties with one pattern: two might match the same name, and that would have to
 * be decided. */
static void read_pattern(struct baton_schema *s, struct members *m)
{
    const struct baton_json *patterns = baton_json_get(m->schema, "patternProperties");
    void *first = baton_json_first(patterns);
    if (patterns && baton_json_kind(patterns) != BATON_JSON_OBJECT)
        baton_schema_fail(s, "patternProperties: must be an object");
    if (baton_json_size(patterns) > 1)
        baton_schema_unsupported(s, "patternProperties with several patterns");
    if (first && baton_json_get(m->schema, "propertyNames"))
        baton_schema_unsupported(s, "patternProperties beside propertyNames");
    if (first && baton_json_kind(m->more) == BATON_JSON_OBJECT)
        baton_schema_unsupported(s, "patternProperties beside a schema as additionalProperties");
    m->pattern = first && !s->err ? baton_json_key(first) : NULL;
    m->of_pattern = m->pattern ? baton_json_member(first) : NULL;
}

/* Refuses a pattern that matches a listed property: the member could come twice, with different
 * values. */
static void check_pattern(struct baton_schema *s, struct members *m, struct baton_network **network)
{
    static const struct baton_regex_options options = {.search = true};
    /* An automaton of its own, because the pattern is only tested on names here. */
    struct baton_exprs exprs = {0};
    struct baton_regex_length length;
    struct baton_why why = {""};
    uint32_t expr = 0, rule = baton_expr_rule_add(&exprs, "");
    enum baton_err err =
        baton_regex_parse(&exprs, m->pattern, strlen(m->pattern), &options, &expr, &length, &why);
    baton_expr_rule_set(&exprs, rule, expr);
    err = err ? err : baton_network_create(&exprs, network, &why);
    baton_exprs_fini(&exprs);
    s->n_pattern_states += err ? 0 : (*network)->n_states;
    if (err == BATON_LIMIT || s->n_pattern_states > BATON_MAX_STATES) {
        baton_schema_fail(s, "patternProperties: the patterns take more than %d states",
                          BATON_MAX_STATES);
        return;
    }
    if (err == BATON_INVALID)
        baton_schema_fail(s, "patternProperties: %.160s", why.text);
    else if (!err && !(m->names_of_pattern = baton_automaton_create(*network)))
        err = BATON_NO_MEMORY;
    s->err = s->err ? s->err : err;
    for (void *it = baton_json_first(m->properties); it && !s->err;
         it = baton_json_next(m->properties, it))
        if (matches(m, baton_json_key(it)))
            baton_schema_unsupported(s, "patternProperties beside a property that they match");
}

static uint32_t member_named(struct baton_schema *s, const struct members *m, const char *name)
{
    const struct baton_json *own = baton_json_get(m->properties, name);
    uint32_t value;
    if (own)
        value = baton_schema_value(s, own, "properties", name);
    else if (m->pattern && matches(m, name))
        value = baton_schema_value(s, m->of_pattern, "patternProperties", m->pattern);
    else if (!m->pattern && (m->has_more || !m->properties))
        value = baton_schema_value(s, m->more, "additionalProperties", NULL);
    else
        value = baton_expr_never(s->exprs);
    return with_value(s, name_text(s, name), value);
}

/* ---- names that are not listed ---- */

/* Matches the rest of a name, with its quote, that begins with the n bytes at start and is none of
 * the names. Bytes from 0x80 on are as in the names. */
static uint32_t other_rest(struct baton_schema *s, const struct members *m, const char *start,
                           size_t n)
{
    struct baton_exprs *x = s->exprs;
    struct baton_chars free_chars = {0};
    char longer[260];
    uint32_t expr = baton_expr_never(x);
    bool is_taken = false;
    baton_chars_add(&free_chars, 0, BATON_LAST_CHAR);
    for (size_t i = 0; i < m->n; i++) {
        const char *name = m->names[i];
        if (strncmp(name, start, n) != 0)
            continue;
        uint8_t next = (uint8_t)name[n];
        is_taken |= !next;
        /* After a multi-byte character, all non-ASCII characters are excluded: few names begin
         * so. */
        if (next >= 0x80) {
            baton_chars_remove(&free_chars, 0x80, BATON_LAST_CHAR);
            continue;
        }
        if (!next || !baton_chars_has(&free_chars, next) || n + 2 > sizeof longer)
            continue;
        baton_chars_remove(&free_chars, next, next);
        memcpy(longer, start, n);
        longer[n] = (char)next;
        struct baton_chars one = {.n = 1, .ranges = {{next, next}}};
        uint32_t rest = other_rest(s, m, longer, n + 1);
        expr = baton_expr_alt(x, baton_expr_seq(x, baton_expr_json_chars(x, &one), rest), expr);
    }
    struct baton_chars all = {.n = 1, .ranges = {{0, BATON_LAST_CHAR}}};
    uint32_t any = baton_expr_repeat(x, baton_expr_json_chars(x, &all), 0, BATON_NO_MAX);
    uint32_t quote = baton_expr_text(x, "\"");
    expr = baton_expr_alt(
        x, baton_expr_seq(x, baton_expr_json_chars(x, &free_chars), baton_expr_seq(x, any, quote)),
        expr);
    return is_taken ? expr : baton_expr_alt(x, quote, expr);
}

static uint32_t member_of_pattern(struct baton_schema *s, const struct members *m)
{
    struct baton_regex_length length;
    uint32_t name =
        baton_schema_pattern(s, m->pattern, strlen(m->pattern), "patternProperties", &length);
    return with_value(s, name,
                      baton_schema_value(s, m->of_pattern, "patternProperties", m->pattern));
}

static uint32_t other_name(struct baton_schema *s, const struct members *m)
{
    const struct baton_json *names = baton_json_get(m->schema, "propertyNames");
    if (names && m->n)
        baton_schema_unsupported(s, "propertyNames beside properties or required");
    if (names) {
        const struct baton_json *flat = baton_schema_flat(s, names);
        if (baton_json_kind(flat) != BATON_JSON_OBJECT ||
            baton_schema_types(s, flat) != BATON_TYPE_STRING)
            baton_schema_unsupported(s, "propertyNames that is no schema of strings");
        return baton_schema_value(s, flat, "propertyNames", NULL);
    }
    if (!m->n)
        return baton_schema_shared(s, BATON_SHARED_STRING);
    for (size_t i = 0; i < m->n; i++)
        if (strlen(m->names[i]) > 256)
            baton_schema_unsupported(s, "additionalProperties beside a name of over 256 bytes");
    return s->err
               ? 0
               : baton_expr_seq(s->exprs, baton_expr_text(s->exprs, "\""), other_rest(s, m, "", 0));
}

/* ---- members in order ---- */

/* Matches the others, at most and at least so many, after a comma each; the first without one when
 * is_first. */
static uint32_t others(struct baton_schema *s, const struct members *m, bool is_first)
{
    struct baton_exprs *x = s->exprs;
    uint32_t min = baton_schema_less(m->min, m->n), max = baton_schema_less(m->max, m->n);
    if (!m->has_more || !max)
        return min ? baton_expr_never(x) : baton_expr_empty(x);
    if (!is_first)
        return baton_expr_repeat(x, baton_schema_after_comma(s, m->other), min, max);
    uint32_t rest = baton_expr_repeat(x, baton_schema_after_comma(s, m->other),
                                      baton_schema_less(min, 1), baton_schema_less(max, 1));
    uint32_t some = baton_expr_seq(x, m->other, rest);
    return min ? some : baton_expr_maybe(x, some);
}

/* Builds from the last member to the first. behind: what may follow when a member came before;
 * first: what may come when none did. Each is a rule, so that it is built once. */
static uint32_t in_a_row(struct baton_schema *s, const struct members *m)
{
    struct baton_exprs *x = s->exprs;
    uint32_t behind = others(s, m, false), first = others(s, m, true);
    /* What follows a member is known only when built from the end. */
    for (size_t i = m->n; i-- > 0 && !s->err;) {
        uint32_t own = baton_expr_rule_add(x, s->path);
        uint32_t rest = baton_expr_rule_add(x, s->path);
        baton_expr_rule_set(x, own, member_named(s, m, m->names[i]));
        baton_expr_rule_set(x, rest, behind);
        uint32_t member = baton_expr_rule(x, own), follows = baton_expr_rule(x, rest);
        uint32_t here = baton_expr_seq(x, member, follows);
        uint32_t later = baton_expr_seq(x, baton_schema_after_comma(s, member), follows);
        bool required = is_required(m, m->names[i]);
        first = required ? here : baton_expr_alt(x, here, first);
        behind = required ? later : baton_expr_alt(x, later, follows);
    }
    return first;
}

/* Refuses counts beside optional members, which the automaton does not count. */
static void check_counts(struct baton_schema *s, const struct members *m)
{
    size_t n_required = 0;
    for (size_t i = 0; i < m->n; i++)
        n_required += is_required(m, m->names[i]);
    if (m->min > n_required && m->n > n_required)
        baton_schema_unsupported(s, "minProperties beside properties that are not required");
    if (m->max != BATON_NO_MAX && m->n > n_required && (m->has_more || m->max < m->n))
        baton_schema_unsupported(s, "maxProperties beside properties that are not required");
}

uint32_t baton_schema_object(struct baton_schema *s, const struct baton_json *schema)
{
    struct members m = {.schema = schema,
                        .properties = baton_json_get(schema, "properties"),
                        .required = baton_json_get(schema, "required"),
                        .more = baton_json_get(schema, "additionalProperties"),
                        .min = baton_schema_count(s, schema, "minProperties", 0),
                        .max = baton_schema_count(s, schema, "maxProperties", BATON_NO_MAX)};
    if ((m.properties && baton_json_kind(m.properties) != BATON_JSON_OBJECT) ||
        (m.required && baton_json_kind(m.required) != BATON_JSON_ARRAY))
        baton_schema_fail(s, "properties must be an object, required an array");
    bool never = baton_json_kind(m.more) == BATON_JSON_BOOL && !baton_json_bool(m.more);
    read_pattern(s, &m);
    struct baton_network *network = NULL;
    if (m.pattern)
        check_pattern(s, &m, &network);
    m.has_more = m.pattern || (!never && (m.more || !m.properties));
    list_names(s, &m);
    if (!s->err)
        check_counts(s, &m);
    if (!s->err && !m.n && !m.more && !baton_json_get(schema, "propertyNames") && !m.min &&
        m.max == BATON_NO_MAX && !m.properties && !m.pattern) {
        free(m.names);
        return baton_schema_shared(s, BATON_SHARED_OBJECT);
    }
    if (!s->err && m.pattern)
        m.other = member_of_pattern(s, &m);
    else if (!s->err && m.has_more)
        m.other = with_value(s, other_name(s, &m),
                             baton_schema_value(s, m.more, "additionalProperties", NULL));
    uint32_t expr = s->err ? 0 : in_a_row(s, &m);
    free(m.names);
    baton_automaton_destroy(m.names_of_pattern);
    baton_network_destroy(network);
    bool too_few = m.max < m.n && m.max != BATON_NO_MAX; /* all are required */
    return too_few ? baton_expr_never(s->exprs) : baton_schema_in_brackets(s, "{", expr, "}");
}
