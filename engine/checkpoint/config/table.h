/* Fields of a JSON object as a table: a row names a key, its kind, its range and its place in a
 * struct.
 *
 * A key that is absent leaves its field as it is. null gives the field its neutral value, from the
 * table's struct `unsaid`: so a config says "no window" where its family has one.
 *
 * Ownership: tables are constants; the struct is the caller's.
 * Threading: pure.
 * Errors:    INVALID with the key, its value and the values that are accepted.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_TABLE_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/json.h"

enum { BATON_CONFIG_MAX_NAMES = 4, BATON_CONFIG_VALUE_BYTES = 48 };

enum baton_config_kind {
    BATON_CONFIG_SIZE,    /* int */
    BATON_CONFIG_PATTERN, /* int; a text such as LLLG, whose length counts, gives it too */
    BATON_CONFIG_REAL,    /* double */
    BATON_CONFIG_FLAG,    /* bool */
    BATON_CONFIG_TEXT     /* char [max] */
};

/* A key and its field. */
struct baton_config_row {
    const char *names[BATON_CONFIG_MAX_NAMES]; /* the first with a value counts */
    enum baton_config_kind kind;
    size_t at; /* of the field in the struct */
    double min,
        max; /* SIZE, PATTERN and REAL: what is accepted; TEXT: max is the bytes of the field */
    uint64_t feature; /* what *features gets where the value is not the neutral one; 0: nothing */
};

struct baton_config_table {
    const struct baton_config_row *rows;
    size_t n_rows;
    const void *unsaid; /* a struct of neutral values */
};

/* Reads the rows' keys of object into *fields. Messages name a key as prefix and key. *features
 * gains and loses the rows' bits. */
enum baton_err baton_config_read_table(const struct baton_config_table *table,
                                       const struct baton_json *object, const char *prefix,
                                       void *fields, uint64_t *features,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* Writes a value for a message, and cuts a long one. */
const char *baton_config_value(const struct baton_json *value, char text[BATON_CONFIG_VALUE_BYTES]);

/* Returns INVALID: "PREFIX NAME: must be RULE, not VALUE". */
enum baton_err baton_config_refuse(const char *prefix, const char *name,
                                   const struct baton_json *value, const char *rule,
                                   struct baton_why *why);

bool baton_config_is_whole(const struct baton_json *value, double min, double max);
bool baton_config_is_number(const struct baton_json *value, double min, double max);

#endif
