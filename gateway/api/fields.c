#include "gateway/api/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gw_fields_fail(struct gw_fields *fields, const char *param, const char *code, const char *fmt,
                    ...)
{
    va_list args;
    if (fields->failed)
        return;
    fields->failed = true;
    fields->problem.status = 400;
    fields->problem.code = code;
    (void)snprintf(fields->problem.param, sizeof fields->problem.param, "%s", param);
    va_start(args, fmt);
    (void)vsnprintf(fields->problem.message, sizeof fields->problem.message, fmt, args);
    va_end(args);
}

struct gw_fields gw_fields(const struct baton_json *body)
{
    struct gw_fields fields = {.body = body};
    if (baton_json_kind(body) != BATON_JSON_OBJECT)
        gw_fields_fail(&fields, "", "invalid_json", "the body must be a JSON object, not %s",
                       baton_json_kind_name(baton_json_kind(body)));
    return fields;
}

const struct baton_json *gw_field(struct gw_fields *fields, const char *name)
{
    if (fields->failed || fields->n_known == GW_MAX_FIELDS)
        return NULL;
    fields->known[fields->n_known++] = name;
    const struct baton_json *value = baton_json_get(fields->body, name);
    return baton_json_kind(value) == BATON_JSON_NULL ? NULL : value;
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

void gw_fields_refuse_unknown(struct gw_fields *fields)
{
    for (void *it = fields->failed ? NULL : baton_json_first(fields->body); it;
         it = baton_json_next(fields->body, it)) {
        const char *key = baton_json_key(it);
        int i = 0;
        while (i < fields->n_known && strcmp(fields->known[i], key) != 0)
            i++;
        if (i == fields->n_known)
            gw_fields_fail(fields, key, "unknown_field", "%.64s: unknown field", key);
    }
}
