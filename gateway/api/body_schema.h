/* The schema of a route's body, which its readers record: the fields as the document lists them.
 *
 * A route's endpoint is run once with an empty body, no exchange and api->schema. Its readers
 * (fields.h) then record each field with the very kinds, ranges and words that they check. So the
 * document cannot differ from what is served.
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
    char wanted[GW_FIELD_WANTED_BYTES]; /* what it must be, in words; "": the kinds tell */
    unsigned kinds;                     /* 0: any, or those of same_as */
    int64_t min_int, max_int;           /* of GW_IS_INT alone */
    double min, max;                    /* of GW_IS_NUMBER alone; max may be INFINITY */
    bool above_min;                     /* min itself is out of range */
    bool has_range, has_default;
    bool off_at_minus_one;        /* the integer -1 is as if it were absent */
    bool is_required, is_refused; /* refused: only values that ask for nothing are taken */
    bool has_off;                 /* refused, but for numbers that switch it off */
    double fallback, off;         /* what counts when it is absent; what switches it off */
    const char *const *words;     /* [n_words] the strings that it may be */
    size_t n_words;
};

struct gw_body_schema {
    struct gw_field_schema *fields;
    size_t n, cap;
    bool is_closed; /* other fields are refused */
    bool is_short;  /* for want of memory */
};

/* The field of that name, added if there is none; NULL without memory. within is "" for the
 * body. */
struct gw_field_schema *gw_body_schema_field(struct gw_body_schema *schema, const char *within,
                                             const char *name);

/* NULL when there is none. */
const struct gw_field_schema *gw_body_schema_find(const struct gw_body_schema *schema,
                                                  const char *within, const char *name);

void gw_body_schema_fini(struct gw_body_schema *schema);

#endif
