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

void gw_fields_fail(struct gw_fields *fields, const char *param, const char *code, const char *fmt,
                    ...)
{
    char text[sizeof fields->problem.message];
    const char *written = as_written(fields, param);
    size_t n = strlen(param);
    va_list args;
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

/* Of a field that its client switches off as other servers do. */
static bool is_off(const struct gw_fields *fields, const char *name, const struct baton_json *value)
{
    const struct gw_dialect *dialect = fields->dialect;
    if (!dialect || baton_json_kind(value) != BATON_JSON_INT || baton_json_int(value) != -1)
        return false;
    for (size_t i = 0; i < dialect->n_off; i++)
        if (!strcmp(dialect->off_at_minus_one[i], name))
            return true;
    return false;
}

const struct baton_json *gw_field(struct gw_fields *fields, const char *name)
{
    const char *alias;
    if (fields->failed)
        return NULL;
    know(fields, name);
    const struct baton_json *value = given(fields, name);
    for (size_t i = 0; (alias = next_alias(fields, name, &i));) {
        const struct baton_json *other = given(fields, alias);
        know(fields, alias);
        if (value && other)
            gw_fields_fail(fields, alias, "invalid_value",
                           "%s: means %s, which is given already; give one of them", alias, name);
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

void gw_field_int(struct gw_fields *fields, const char *name, int64_t min, int64_t max,
                  int64_t *value)
{
    char wanted[80];
    const struct baton_json *member = gw_field(fields, name);
    if (!member)
        return;
    (void)snprintf(wanted, sizeof wanted, "an integer from %" PRId64 " to %" PRId64, min, max);
    int64_t given = baton_json_int(member);
    if (baton_json_kind(member) != BATON_JSON_INT)
        wrong_kind(fields, name, wanted, member);
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
    if (!member)
        return;
    if (baton_json_kind(member) != BATON_JSON_BOOL)
        wrong_kind(fields, name, "true or false", member);
    else
        *value = baton_json_bool(member);
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
        int64_t id = baton_json_int(element);
        if (baton_json_kind(element) != BATON_JSON_INT || id < 0 || id >= n_vocab) {
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
        if (value && !asks_for_nothing(value))
            gw_fields_fail(fields, names[i], "unsupported_field", "%s: is not supported", names[i]);
    }
}

static bool is_known(const struct gw_fields *fields, const char *key)
{
    for (int i = 0; i < fields->n_known; i++)
        if (!strcmp(fields->known[i], key))
            return true;
    return false;
}

void gw_fields_refuse_unknown(struct gw_fields *fields)
{
    for (void *it = fields->failed ? NULL : baton_json_first(fields->body); it;
         it = baton_json_next(fields->body, it)) {
        const char *key = baton_json_key(it);
        if (!is_known(fields, key))
            gw_fields_fail(fields, key, "unknown_field", "%.64s: unknown field", key);
    }
}

/* Appends a name to the list. False: it does not fit, with what would still have to be said. */
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
    if (!fits)
        (void)snprintf(list + strlen(list), cap - strlen(list), "%s...", *list ? ", " : "");
    return n;
}
