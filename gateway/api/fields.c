#include "gateway/api/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The member's value; NULL when it is absent or null. */
static const struct baton_json *given(const struct gw_fields *fields, const char *name)
{
    const struct baton_json *value = baton_json_get(fields->body, name);
    return baton_json_kind(value) == BATON_JSON_NULL ? NULL : value;
}

/* The next of the dialect's other names for a field, at *i or behind it; NULL after the last. */
static const char *next_alias(const struct gw_fields *fields, const char *name, size_t *i)
{
    const struct gw_dialect *dialect = fields->dialect;
    while (dialect && *i < dialect->n_aliases) {
        const struct gw_alias *alias = &dialect->aliases[(*i)++];
        if (!strcmp(alias->name, name))
            return alias->other;
    }
    return NULL;
}

static const char *as_written(const struct gw_fields *fields, const char *name)
{
    const char *alias;
    for (size_t i = 0; !given(fields, name) && (alias = next_alias(fields, name, &i));)
        if (given(fields, alias))
            return alias;
    return name;
}

/* ---- recording the schema ---- */

/* NULL unless a schema is being recorded. */
static struct gw_field_schema *schema_of(const struct gw_fields *fields, const char *name)
{
    return fields->schema
               ? gw_body_schema_field(fields->schema, fields->within ? fields->within : "", name)
               : NULL;
}

static void record_name(const struct gw_fields *fields, const char *name)
{
    const struct gw_dialect *dialect = fields->dialect;
    const char *alias;
    struct gw_field_schema *schema = schema_of(fields, name);
    for (size_t i = 0; schema && dialect && i < dialect->n_off; i++)
        schema->off_at_minus_one |= !strcmp(dialect->off_at_minus_one[i], name);
    for (size_t i = 0; schema && (alias = next_alias(fields, name, &i));)
        if ((schema = schema_of(fields, alias)) != NULL)
            (void)snprintf(schema->same_as, sizeof schema->same_as, "%s", name);
}

static struct gw_field_schema *record_kinds(const struct gw_fields *fields, const char *name,
                                            unsigned kinds, const char *wanted)
{
    struct gw_field_schema *schema = schema_of(fields, name);
    if (schema) {
        schema->kinds = kinds;
        (void)snprintf(schema->wanted, sizeof schema->wanted, "%s", wanted);
    }
    return schema;
}

static void record_int(const struct gw_fields *fields, const char *name, int64_t min, int64_t max,
                       int64_t fallback)
{
    struct gw_field_schema *schema = record_kinds(fields, name, GW_IS_INT, "");
    if (!schema)
        return;
    schema->has_range = true;
    schema->min_int = min;
    schema->max_int = max;
    schema->fallback = (double)fallback;
    schema->has_default = fallback >= min && fallback <= max;
}

static void record_real(const struct gw_fields *fields, const char *name, double min, bool open_min,
                        double max, double fallback)
{
    struct gw_field_schema *schema = record_kinds(fields, name, GW_IS_NUMBER, "");
    if (!schema)
        return;
    schema->has_range = true;
    schema->min = min;
    schema->max = max;
    schema->above_min = open_min;
    schema->fallback = fallback;
    schema->has_default = fallback >= min && fallback <= max && (!open_min || fallback > min);
}

/* ---- problems ---- */

void gw_fields_fail(struct gw_fields *fields, const char *param, const char *code, const char *fmt,
                    ...)
{
    char text[sizeof fields->problem.message];
    const char *written = as_written(fields, param);
    size_t n = strlen(param);
    va_list args;
    /* Before the first problem hides later ones: a recording run has an empty body, so its first
     * missing field fails, but the schema needs all of them. */
    struct gw_field_schema *schema =
        strcmp(code, "missing_field") ? NULL : schema_of(fields, param);
    if (schema)
        schema->is_required = true;
    if (fields->failed)
        return;
    fields->failed = true;
    fields->problem.status = 400;
    fields->problem.code = code;
    (void)snprintf(fields->problem.param, sizeof fields->problem.param, "%s", written);
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    bool begins = written != param && !strncmp(text, param, n);
    (void)snprintf(fields->problem.message, sizeof fields->problem.message, "%s%s",
                   begins ? written : "", text + (begins ? n : 0));
}

struct gw_fields gw_fields(const struct baton_json *body)
{
    struct gw_fields fields = {.body = body};
    if (baton_json_kind(body) != BATON_JSON_OBJECT)
        gw_fields_fail(&fields, "", "invalid_json", "the body must be a JSON object, not %s",
                       baton_json_kind_name(baton_json_kind(body)));
    return fields;
}

static void know(struct gw_fields *fields, const char *name)
{
    if (fields->n_known < GW_MAX_FIELDS)
        fields->known[fields->n_known++] = name;
}

/* Whether the client switches the field off with -1, as other servers' clients do. */
static bool is_off(const struct gw_fields *fields, const char *name, const struct baton_json *value)
{
    const struct gw_dialect *dialect = fields->dialect;
    int64_t number;
    if (!dialect || !baton_json_whole(value, &number) || number != -1)
        return false;
    for (size_t i = 0; i < dialect->n_off; i++)
        if (!strcmp(dialect->off_at_minus_one[i], name))
            return true;
    return false;
}

const struct baton_json *gw_field(struct gw_fields *fields, const char *name)
{
    const char *alias;
    record_name(fields, name);
    if (fields->failed)
        return NULL;
    know(fields, name);
    const struct baton_json *value = given(fields, name);
    for (size_t i = 0; (alias = next_alias(fields, name, &i));) {
        const struct baton_json *other = given(fields, alias);
        know(fields, alias);
        if (value && other)
            gw_fields_fail(fields, alias, "invalid_value",
                           "%s: is another name of %s, which is given too; give one of them", alias,
                           name);
        value = value ? value : other;
    }
    return fields->failed || is_off(fields, name, value) ? NULL : value;
}

static void wrong_kind(struct gw_fields *fields, const char *name, const char *wanted,
                       const struct baton_json *value)
{
    gw_fields_fail(fields, name, "invalid_type", "%s: must be %s, not %s", name, wanted,
                   baton_json_kind_name(baton_json_kind(value)));
}

unsigned gw_field_kind(const struct baton_json *value)
{
    int64_t number;
    switch (baton_json_kind(value)) {
    case BATON_JSON_BOOL:
        return GW_IS_BOOL;
    case BATON_JSON_INT:
        return GW_IS_INT | GW_IS_NUMBER;
    case BATON_JSON_REAL:
        return baton_json_whole(value, &number) ? GW_IS_INT | GW_IS_NUMBER : GW_IS_NUMBER;
    case BATON_JSON_STRING:
        return GW_IS_STRING;
    case BATON_JSON_ARRAY:
        return GW_IS_ARRAY;
    case BATON_JSON_OBJECT:
        return GW_IS_OBJECT;
    default:
        return 0;
    }
}

/* Clients that send every field write an empty value of any kind where they ask for nothing. */
static bool is_empty(const struct baton_json *value)
{
    switch (baton_json_kind(value)) {
    case BATON_JSON_ARRAY:
    case BATON_JSON_OBJECT:
        return !baton_json_size(value);
    case BATON_JSON_STRING:
        return baton_json_is(value, "");
    case BATON_JSON_BOOL:
        return !baton_json_bool(value);
    default:
        return false;
    }
}

const struct baton_json *gw_field_of(struct gw_fields *fields, const char *name, unsigned kinds,
                                     const char *wanted)
{
    const struct baton_json *member = gw_field(fields, name);
    (void)record_kinds(fields, name, kinds, wanted);
    if (!member || (gw_field_kind(member) & kinds))
        return member;
    if (!is_empty(member))
        wrong_kind(fields, name, wanted, member);
    return NULL;
}

/* "a", "b" or "c" */
static void list_words(const char *const *words, size_t n, char *list, size_t cap)
{
    size_t len = 0;
    for (size_t i = 0; i < n && len < cap; i++)
        len += (size_t)snprintf(list + len, cap - len, "%s\"%s\"",
                                !i           ? ""
                                : i + 1 == n ? " or "
                                             : ", ",
                                words[i]);
}

int gw_field_word(struct gw_fields *fields, const char *name, const char *const *words, size_t n)
{
    char list[200];
    const struct baton_json *member = gw_field(fields, name);
    struct gw_field_schema *schema = record_kinds(fields, name, GW_IS_STRING, "");
    if (schema) {
        schema->words = words;
        schema->n_words = n;
    }
    for (size_t i = 0; member && i < n; i++)
        if (baton_json_is(member, words[i]))
            return (int)i;
    list_words(words, n, list, sizeof list);
    if (member)
        gw_fields_fail(fields, name, "invalid_value", "%s: must be %s", name, list);
    return -1;
}

struct gw_fields gw_fields_enter(const struct gw_fields *fields, const char *name,
                                 const struct baton_json *object)
{
    struct gw_fields members = {.body = object, .schema = fields->schema, .within = name};
    return members;
}

void gw_fields_leave(struct gw_fields *fields, const char *name, const struct gw_fields *members)
{
    if (!members->failed)
        return;
    /* "unknown_field" would blame the field, which is known: only its member is not. */
    const char *code = members->problem.code;
    gw_fields_fail(fields, name, strcmp(code, "unknown_field") ? code : "invalid_value", "%s.%s",
                   name, members->problem.message);
}

void gw_field_int(struct gw_fields *fields, const char *name, int64_t min, int64_t max,
                  int64_t *value)
{
    char wanted[80];
    const struct baton_json *member = gw_field(fields, name);
    record_int(fields, name, min, max, *value);
    if (!member)
        return;
    (void)snprintf(wanted, sizeof wanted, "an integer from %" PRId64 " to %" PRId64, min, max);
    int64_t given = 0;
    double number = baton_json_number(member);
    bool is_whole = baton_json_whole(member, &given);
    if (!is_whole && (baton_json_kind(member) != BATON_JSON_REAL || fabs(number) < 0x1p63))
        wrong_kind(fields, name, wanted, member);
    else if (!is_whole)
        gw_fields_fail(fields, name, "out_of_range", "%s: must be %s, not %g", name, wanted,
                       number);
    else if (given < min || given > max)
        gw_fields_fail(fields, name, "out_of_range", "%s: must be %s, not %" PRId64, name, wanted,
                       given);
    else
        *value = given;
}

void gw_field_real(struct gw_fields *fields, const char *name, double min, bool open_min,
                   double max, double *value)
{
    char wanted[80];
    const struct baton_json *member = gw_field(fields, name);
    record_real(fields, name, min, open_min, max, *value);
    if (!member)
        return;
    int n = snprintf(wanted, sizeof wanted, "a number %s %g", open_min ? "above" : "from", min);
    if (isfinite(max))
        (void)snprintf(wanted + n, sizeof wanted - (size_t)n, " up to %g", max);
    enum baton_json_kind kind = baton_json_kind(member);
    double given = baton_json_number(member);
    if (kind != BATON_JSON_INT && kind != BATON_JSON_REAL)
        wrong_kind(fields, name, wanted, member);
    else if (given < min || given > max || (open_min && given <= min))
        gw_fields_fail(fields, name, "out_of_range", "%s: must be %s, not %g", name, wanted, given);
    else
        *value = given;
}

void gw_field_bool(struct gw_fields *fields, const char *name, bool *value)
{
    const struct baton_json *member = gw_field(fields, name);
    struct gw_field_schema *schema = record_kinds(fields, name, GW_IS_BOOL, "");
    if (schema) {
        schema->has_default = true;
        schema->fallback = *value;
    }
    if (!member)
        return;
    if (baton_json_kind(member) != BATON_JSON_BOOL)
        wrong_kind(fields, name, "true or false", member);
    else
        *value = baton_json_bool(member);
}

void gw_field_may_be_absent(struct gw_fields *fields, const char *name)
{
    struct gw_field_schema *schema = schema_of(fields, name);
    if (schema)
        schema->is_required = false;
}

size_t gw_field_ids(struct gw_fields *fields, const char *name, const struct baton_json *array,
                    int64_t n_vocab, size_t max_ids, uint32_t *ids)
{
    size_t n = baton_json_size(array);
    if (fields->failed || !array)
        return 0;
    if (baton_json_kind(array) != BATON_JSON_ARRAY) {
        wrong_kind(fields, name, "an array of token ids", array);
        return 0;
    }
    if (n > max_ids) {
        gw_fields_fail(fields, name, "out_of_range", "%s: must hold at most %zu token ids, not %zu",
                       name, max_ids, n);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct baton_json *element = baton_json_at(array, i);
        int64_t id;
        if (!baton_json_whole(element, &id) || id < 0 || id >= n_vocab) {
            gw_fields_fail(fields, name, "out_of_range",
                           "%s[%zu]: must be a token id from 0 to %" PRId64, name, i, n_vocab - 1);
            return 0;
        }
        ids[i] = (uint32_t)id;
    }
    return n;
}

static bool asks_for_nothing(const struct baton_json *value)
{
    size_t n = baton_json_size(value);
    switch (baton_json_kind(value)) {
    case BATON_JSON_ARRAY:
        return !n || (n == 1 && baton_json_is(baton_json_at(value, 0), "text"));
    case BATON_JSON_OBJECT:
        return !n || (n == 1 && baton_json_is(baton_json_get(value, "type"), "text"));
    case BATON_JSON_STRING:
        return baton_json_is(value, "") || baton_json_is(value, "none") ||
               baton_json_is(value, "auto");
    case BATON_JSON_BOOL:
        return !baton_json_bool(value);
    default:
        return false;
    }
}

void gw_fields_refuse(struct gw_fields *fields, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct baton_json *value = gw_field(fields, names[i]);
        struct gw_field_schema *schema = schema_of(fields, names[i]);
        if (schema)
            schema->is_refused = true;
        if (value && !asks_for_nothing(value))
            gw_fields_fail(fields, names[i], "unsupported_field", "%s: is not supported", names[i]);
    }
}

static bool switches_off(const struct baton_json *value, double off)
{
    double given = baton_json_number(value);
    switch (baton_json_kind(value)) {
    case BATON_JSON_INT:
    case BATON_JSON_REAL:
        return given == off || (off == 0 && given < 0);
    case BATON_JSON_BOOL:
        return off == 0 && !baton_json_bool(value);
    default:
        return false;
    }
}

void gw_field_off(struct gw_fields *fields, const char *name, double off, const char *there_are)
{
    const struct baton_json *value = gw_field(fields, name);
    struct gw_field_schema *schema = schema_of(fields, name);
    if (schema) {
        schema->is_refused = schema->has_off = true;
        schema->off = off;
    }
    if (value && !switches_off(value, off))
        gw_fields_fail(fields, name, "unsupported_field",
                       "%s: only %g, which switches it off, is supported; use %s", name, off,
                       there_are);
}

static bool is_known(const struct gw_fields *fields, const char *key)
{
    for (int i = 0; i < fields->n_known; i++)
        if (!strcmp(fields->known[i], key))
            return true;
    return false;
}

void gw_fields_leave_out(struct gw_fields *fields, const char *fmt, ...)
{
    char path[96];
    va_list args;
    size_t n = strlen(fields->left_out);
    va_start(args, fmt);
    (void)vsnprintf(path, sizeof path, fmt, args);
    va_end(args);
    if (!n)
        (void)snprintf(fields->left_out_of, sizeof fields->left_out_of, "%.*s",
                       (int)strcspn(path, "[."), path);
    if (n + strlen(path) + sizeof ", ..., " < sizeof fields->left_out)
        (void)snprintf(fields->left_out + n, sizeof fields->left_out - n, "%s%s", n ? ", " : "",
                       path);
    else if (n < 5 || strcmp(fields->left_out + n - 5, ", ...") != 0)
        (void)snprintf(fields->left_out + n, sizeof fields->left_out - n, ", ...");
}

void gw_fields_leave_out_too(struct gw_fields *fields, const struct gw_fields *others)
{
    memcpy(fields->left_out, others->left_out, sizeof fields->left_out);
    memcpy(fields->left_out_of, others->left_out_of, sizeof fields->left_out_of);
}

void gw_fields_refuse_unknown(struct gw_fields *fields)
{
    if (fields->schema && !fields->within)
        fields->schema->is_closed = true;
    for (void *it = fields->failed ? NULL : baton_json_first(fields->body); it;
         it = baton_json_next(fields->body, it)) {
        const char *key = baton_json_key(it);
        if (!is_known(fields, key))
            gw_fields_fail(fields, key, "unknown_field", "%.64s: unknown field", key);
    }
    if (*fields->left_out)
        gw_fields_fail(fields, fields->left_out_of, "unsupported_field", "%s: is not supported",
                       fields->left_out);
}

/* Appends a name to the list. False: the name and a following ", ..." do not fit. */
static bool append(char *list, size_t cap, const char *name)
{
    static const char more[] = ", ...";
    if (!*name)
        name = "?";
    size_t n = strlen(list), n_name = strlen(name);
    if (n + 2 + n_name + sizeof more > cap)
        return false;
    n += (size_t)snprintf(list + n, cap - n, "%s%s", n ? ", " : "", name);
    for (char *c = list + n - n_name; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == ',')
            *c = '?';
    return true;
}

size_t gw_fields_list_unknown(const struct gw_fields *fields, char *list, size_t cap)
{
    size_t n = 0;
    bool fits = true;
    list[0] = '\0';
    for (void *it = baton_json_first(fields->body); it; it = baton_json_next(fields->body, it)) {
        if (is_known(fields, baton_json_key(it)))
            continue;
        n++;
        fits = fits && append(list, cap, baton_json_key(it));
    }
    for (const char *at = fields->left_out; *at && fits; n++) {
        char path[96];
        (void)snprintf(path, sizeof path, "%.*s", (int)strcspn(at, ","), at);
        fits = append(list, cap, path);
        at += strlen(path);
        at += strspn(at, ", ");
    }
    if (!fits)
        (void)snprintf(list + strlen(list), cap - strlen(list), "%s...", *list ? ", " : "");
    return n;
}
