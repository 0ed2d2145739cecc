/* The values that a template computes with.
 *
 * A value is a kind and its content. Lists, maps and text never change after they are made. Text
 * carries the origin of each byte: own (the template's) or foreign.
 *
 * Ownership: everything lives in the run's arena, or is borrowed from the JSON it was made of.
 * Threading: that of the run.
 * Errors:    sticky in the run (run/run.h): after a failure every function returns undefined.
 */
#ifndef BATON_GATEWAY_CHAT_JINJA_VALUE_VALUE_H
#define BATON_GATEWAY_CHAT_JINJA_VALUE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/json.h"

struct jinja_run;

enum jinja_kind {
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOL,
    JINJA_INT,
    JINJA_FLOAT,
    JINJA_STRING,
    JINJA_LIST,
    JINJA_TUPLE,
    JINJA_RANGE,    /* a list that prints as range(a, b) */
    JINJA_VIEW,     /* a list: the result of items(), keys() and values() */
    JINJA_ITERATOR, /* a list that is read once: the result of map, select and others */
    JINJA_DICT,
    JINJA_NAMESPACE,
    JINJA_LOOP,
    JINJA_FUNCTION,
    JINJA_ABSENT /* a missing argument; never a value of the template */
};

/* UTF-8. marks[i] is nonzero when byte i is the template's own; marks NULL: all bytes are as
 * `own`. */
struct jinja_string {
    const char *bytes;
    const uint8_t *marks;
    size_t n;
    bool own;
    bool safe; /* marked by the filter "safe": + escapes text that is added to it */
};

/* The reason of an undefined value. Its message is written only when needed, because templates
 * often test whether something is defined. */
struct jinja_absence {
    const char *type; /* the type without such an attribute or key; NULL: a missing variable */
    struct jinja_string name;
};

struct jinja_value {
    enum jinja_kind kind;
    bool has_absence; /* UNDEFINED: absence holds the reason instead of why */
    union {
        const char *why; /* UNDEFINED: the reason for messages; may be NULL */
        const struct jinja_absence *absence;
        bool boolean;
        int64_t integer;
        double real;
        const struct jinja_string *string;
        const struct jinja_list *list;
        struct jinja_iterator *iterator;
        const struct jinja_dict *dict;
        struct jinja_namespace *space;
        struct jinja_loop *loop;
        const struct jinja_function *function;
    };
};

struct jinja_list {
    const struct jinja_value *items;
    size_t n;
    const char *name;          /* VIEW: "dict_items", ... */
    int64_t start, stop, step; /* RANGE */
};

struct jinja_iterator {
    const struct jinja_list *list;
    size_t at;
};

struct jinja_entry {
    struct jinja_value key, value;
    uint64_t hash; /* of the key */
};

/* A map in the order of insertion. */
struct jinja_dict {
    struct jinja_entry *entries;
    size_t n, cap;
    uint32_t *slots; /* [n_slots] an entry's index + 1 by its key's hash; NULL in a small map */
    size_t n_slots;
};

/* ---- construction ---- */

static inline struct jinja_value jinja_undefined(const char *why)
{
    return (struct jinja_value){.kind = JINJA_UNDEFINED, .why = why};
}

static inline struct jinja_value jinja_none(void)
{
    return (struct jinja_value){.kind = JINJA_NONE};
}

static inline struct jinja_value jinja_bool(bool value)
{
    return (struct jinja_value){.kind = JINJA_BOOL, .boolean = value};
}

static inline struct jinja_value jinja_int(int64_t value)
{
    return (struct jinja_value){.kind = JINJA_INT, .integer = value};
}

static inline struct jinja_value jinja_real(double value)
{
    return (struct jinja_value){.kind = JINJA_FLOAT, .real = value};
}

/* Makes a text. The n bytes are borrowed. */
struct jinja_value jinja_text_value(struct jinja_run *run, const char *bytes, size_t n, bool own);
static inline struct jinja_value jinja_string_value(const struct jinja_string *string)
{
    return (struct jinja_value){.kind = JINJA_STRING, .string = string};
}

/* Makes a LIST, TUPLE, VIEW or ITERATOR, which borrows the n items. */
struct jinja_value jinja_list_value(struct jinja_run *run, enum jinja_kind kind,
                                    const struct jinja_value *items, size_t n);
struct jinja_value *jinja_items(struct jinja_run *run, size_t n);

struct jinja_dict *jinja_dict_new(struct jinja_run *run);
/* Adds a key, or replaces its value. A list or a map as a key fails. */
void jinja_dict_put(struct jinja_run *run, struct jinja_dict *dict, struct jinja_value key,
                    struct jinja_value value);
static inline struct jinja_value jinja_dict_value(const struct jinja_dict *dict)
{
    return (struct jinja_value){.kind = JINJA_DICT, .dict = dict};
}

/* Converts JSON, whose texts become foreign and stay borrowed. NULL becomes none. */
struct jinja_value jinja_json_value(struct jinja_run *run, const struct baton_json *json);

/* Fails with the reason of an undefined value; returns undefined. */
struct jinja_value jinja_fail_undefined(struct jinja_run *run, struct jinja_value value);

/* ---- queries ---- */

/* Returns the value of a key; NULL when there is none. */
const struct jinja_value *jinja_dict_find(struct jinja_run *run, const struct jinja_dict *dict,
                                          struct jinja_value key);

static inline bool jinja_is_number(struct jinja_value value)
{
    return value.kind == JINJA_INT || value.kind == JINJA_FLOAT || value.kind == JINJA_BOOL;
}

/* True for LIST, TUPLE, RANGE and VIEW: value.list is set. */
static inline bool jinja_is_listed(struct jinja_value value)
{
    return value.kind >= JINJA_LIST && value.kind <= JINJA_VIEW;
}

static inline bool jinja_is_container(struct jinja_value value)
{
    return jinja_is_listed(value) || value.kind == JINJA_DICT;
}

/* Convert BOOL and INT to an integer, numbers to a double. */
int64_t jinja_as_int(struct jinja_value value);
double jinja_as_real(struct jinja_value value);

bool jinja_truth(struct jinja_value value);
bool jinja_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
/* Returns -1, 0 or 1; fails for two values without an order. */
int jinja_compare(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
/* Returns Python's name of the type: "str", "dict", ... */
const char *jinja_type_name(struct jinja_value value);

/* Returns the number of elements; fails with the type when it has no length. */
size_t jinja_length(struct jinja_run *run, struct jinja_value value);

/* Returns the elements that a loop over the value visits: elements, keys of a map, characters of
 * text; none of undefined. An iterator is read to its end. Fails for other values. */
struct jinja_list jinja_elements(struct jinja_run *run, struct jinja_value value);

#endif
