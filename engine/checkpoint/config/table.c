#include "engine/checkpoint/config/table.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const char *baton_config_value(const struct baton_json *value, char text[BATON_CONFIG_VALUE_BYTES])
{
    enum baton_json_kind kind = baton_json_kind(value);
    if (kind == BATON_JSON_BOOL)
        (void)snprintf(text, BATON_CONFIG_VALUE_BYTES, "%s",
                       baton_json_bool(value) ? "true" : "false");
    else if (kind == BATON_JSON_INT)
        (void)snprintf(text, BATON_CONFIG_VALUE_BYTES, "%" PRId64, baton_json_int(value));
    else if (kind == BATON_JSON_REAL)
        (void)snprintf(text, BATON_CONFIG_VALUE_BYTES, "%g", baton_json_number(value));
    else if (kind == BATON_JSON_STRING)
        (void)snprintf(text, BATON_CONFIG_VALUE_BYTES, "\"%.40s\"", baton_json_string(value, NULL));
    else
        (void)snprintf(text, BATON_CONFIG_VALUE_BYTES, "%s", baton_json_kind_name(kind));
    return text;
}

enum baton_err baton_config_refuse(const char *prefix, const char *name,
                                   const struct baton_json *value, const char *rule,
                                   struct baton_why *why)
{
    char text[BATON_CONFIG_VALUE_BYTES];
    return baton_fail(why, BATON_INVALID, "%s%s: must be %s, not %s", prefix, name, rule,
                      baton_config_value(value, text));
}

bool baton_config_is_whole(const struct baton_json *value, double min, double max)
{
    return baton_json_kind(value) == BATON_JSON_INT && (double)baton_json_int(value) >= min &&
           (double)baton_json_int(value) <= max;
}

bool baton_config_is_number(const struct baton_json *value, double min, double max)
{
    enum baton_json_kind kind = baton_json_kind(value);
    double number = baton_json_number(value);
    return (kind == BATON_JSON_INT || kind == BATON_JSON_REAL) && number >= min && number <= max;
}

/* Returns the number of layers that a text like LLLG repeats: all have a window but the last. 0: it
 * is no such text. */
static int pattern_of(const struct baton_json *value)
{
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    return text && n && n < INT_MAX && strspn(text, "L") == n - 1 && text[n - 1] == 'G' ? (int)n
                                                                                        : 0;
}

static bool fits(const struct baton_config_row *row, const struct baton_json *value)
{
    switch (row->kind) {
    case BATON_CONFIG_SIZE:
        return baton_config_is_whole(value, row->min, row->max);
    case BATON_CONFIG_PATTERN:
        return baton_config_is_whole(value, row->min, row->max) ||
               (pattern_of(value) && pattern_of(value) <= row->max);
    case BATON_CONFIG_REAL:
        return baton_config_is_number(value, row->min, row->max);
    case BATON_CONFIG_FLAG:
        return baton_json_kind(value) == BATON_JSON_BOOL;
    case BATON_CONFIG_TEXT:
        break;
    }
    return baton_json_kind(value) == BATON_JSON_STRING;
}

static enum baton_err refuse(const struct baton_config_row *row, const char *prefix,
                             const char *name, const struct baton_json *value,
                             struct baton_why *why)
{
    char rule[96] = "given as text";
    if (row->kind == BATON_CONFIG_SIZE)
        (void)snprintf(rule, sizeof rule, "a whole number in %.0f..%.0f", row->min, row->max);
    else if (row->kind == BATON_CONFIG_PATTERN)
        (void)snprintf(rule, sizeof rule, "a whole number in %.0f..%.0f, or a text like LLLG",
                       row->min, row->max);
    else if (row->kind == BATON_CONFIG_REAL)
        (void)snprintf(rule, sizeof rule, "a number in %g..%g", row->min, row->max);
    else if (row->kind == BATON_CONFIG_FLAG)
        (void)snprintf(rule, sizeof rule, "true or false");
    return baton_config_refuse(prefix, name, value, rule, why);
}

static size_t field_bytes(const struct baton_config_row *row)
{
    switch (row->kind) {
    case BATON_CONFIG_SIZE:
    case BATON_CONFIG_PATTERN:
        return sizeof(int);
    case BATON_CONFIG_REAL:
        return sizeof(double);
    case BATON_CONFIG_FLAG:
        return sizeof(bool);
    case BATON_CONFIG_TEXT:
        break;
    }
    return (size_t)row->max;
}

/* A text that is too long for the field is cut: every name with a meaning is shorter. */
static void store(const struct baton_config_row *row, const struct baton_json *value, void *field)
{
    int size = pattern_of(value) ? pattern_of(value) : (int)baton_json_int(value);
    double number = baton_json_number(value);
    bool flag = baton_json_bool(value);
    size_t n = 0;
    const char *text = baton_json_string(value, &n);
    if (row->kind == BATON_CONFIG_SIZE || row->kind == BATON_CONFIG_PATTERN)
        memcpy(field, &size, sizeof size);
    else if (row->kind == BATON_CONFIG_REAL)
        memcpy(field, &number, sizeof number);
    else if (row->kind == BATON_CONFIG_FLAG)
        memcpy(field, &flag, sizeof flag);
    else {
        /* memset first, because read_value compares whole fields. */
        memset(field, 0, (size_t)row->max);
        memcpy(field, text, n < (size_t)row->max ? n : (size_t)row->max - 1);
    }
}

static enum baton_err read_value(const struct baton_config_table *table,
                                 const struct baton_config_row *row, const char *name,
                                 const struct baton_json *value, const char *prefix, void *fields,
                                 uint64_t *features, struct baton_why *why)
{
    char *field = (char *)fields + row->at;
    const char *neutral = (const char *)table->unsaid + row->at;
    if (baton_json_kind(value) == BATON_JSON_NULL)
        memcpy(field, neutral, field_bytes(row));
    else if (fits(row, value))
        store(row, value, field);
    else
        return refuse(row, prefix, name, value, why);
    *features &= ~row->feature;
    if (memcmp(field, neutral, field_bytes(row)) != 0)
        *features |= row->feature;
    return BATON_OK;
}

/* Of several names, the first with a value counts, otherwise the first that is null. */
static const char *present_name(const struct baton_config_row *row, const struct baton_json *object)
{
    const char *found = NULL;
    for (int i = 0; i < BATON_CONFIG_MAX_NAMES && row->names[i]; i++) {
        const struct baton_json *value = baton_json_get(object, row->names[i]);
        if (baton_json_kind(value) != BATON_JSON_NULL)
            return row->names[i];
        if (value && !found)
            found = row->names[i];
    }
    return found;
}

enum baton_err baton_config_read_table(const struct baton_config_table *table,
                                       const struct baton_json *object, const char *prefix,
                                       void *fields, uint64_t *features, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (size_t i = 0; i < table->n_rows && !err; i++) {
        const char *name = present_name(&table->rows[i], object);
        if (name)
            err = read_value(table, &table->rows[i], name, baton_json_get(object, name), prefix,
                             fields, features, why);
    }
    return err;
}
