/* The schema of a route's body, which its readers record: the fields as /openapi.json lists them.
 *
 * A route's endpoint is run once with an empty body, no exchange and api->schema. Its readers
 * (fields.h) then record each field with the same kinds, ranges and words that they check. So the
 * document cannot differ from the behaviour.
 *
 * Ownership: a schema owns its fields; words are static.
 * Threading: one owner at a time.
 * Errors:    without memory is_short is set, and a field is missing.
 */
#ifndef BATON_GATEWAY_API_BODY_SCHEMA_H
#define BATON_GATEWAY_API_BODY_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GW_FIELD_NAME_BYTES = 64, GW_FIELD_WANTED_BYTES = 128 };

/* Kinds of values; a field may have several. */
enum {
    GW_IS_BOOL = 1,
    GW_IS_INT = 2,
    GW_IS_NUMBER = 4,
    GW_IS_STRING = 8,
    GW_IS_ARRAY = 16,
    GW_IS_OBJECT = 32
};

struct gw_field_schema {
    char name[GW_FIELD_NAME_BYTES],
        within[GW_FIELD_NAME_BYTES];    /* the object it is in; "": the body */
    char same_as[GW_FIELD_NAME_BYTES];  /* another name of this field; "": none */
    char wanted[GW_FIELD_WANTED_BYTES]; /* its allowed values in words; "": the kinds suffice */
    unsigned kinds;                     /* 0: any, or those of same_as */
    int64_t min_int, max_int;           /* the range of GW_IS_INT alone */
    double min, max;                    /* the range of GW_IS_NUMBER alone; max may be INFINITY */
    bool above_min;                     /* min itself is out of range */
    bool has_range, has_default;
    bool off_at_minus_one;        /* the integer -1 counts as absent */
    bool is_required, is_refused; /* refused: only values that request nothing are accepted */
    bool has_off;                 /* refused, except for numbers that switch it off */
    double fallback, off;         /* the default; the value that switches it off */
    const char *const *words;     /* [n_words] the strings that it may be */
    size_t n_words;
};

struct gw_body_schema {
    struct gw_field_schema *fields;
    size_t n, cap;
    bool is_closed; /* other fields are errors */
    bool is_short;  /* a field is missing for lack of memory */
};

/* The field of that name, added if there is none; NULL without memory. within is "" for the
 * body. */
struct gw_field_schema *gw_body_schema_field(struct gw_body_schema *schema, const char *within,
                                             const char *name);

/* The field of that name; NULL: none. */
const struct gw_field_schema *gw_body_schema_find(const struct gw_body_schema *schema,
                                                  const char *within, const char *name);

void gw_body_schema_fini(struct gw_body_schema *schema);

#endif
