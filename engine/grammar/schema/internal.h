/* The state that the parts of the JSON Schema reader share. Private to engine/grammar.
 *
 * Each subschema becomes one rule, labelled with its path, so references may be recursive. $ref
 * with neighbours, allOf, and anyOf beside other keywords are first written out as a schema without
 * them (merge.c).
 *
 * Ownership: baton_schema owns its lists and the schemas that it writes out.
 * Threading: one owner at a time.
 * Errors:    sticky in err, with the reason in why; afterwards every function returns an arbitrary
 *            expression.
 */
#ifndef BATON_ENGINE_GRAMMAR_SCHEMA_INTERNAL_H
#define BATON_ENGINE_GRAMMAR_SCHEMA_INTERNAL_H

#include "common/base/json.h"
#include "engine/grammar/language/expr.h"
#include "engine/grammar/language/regex.h"

enum {
    BATON_SCHEMA_MAX_DEPTH = 128,      /* schemas within schemas */
    BATON_SCHEMA_MAX_SCHEMAS = 8192,   /* read, including merged ones */
    BATON_SCHEMA_MAX_MERGED = 4 << 20, /* bytes written out plus values compared */
};

/* The strings that a string must not be; only a schema that is written out has this keyword. */
#define BATON_SCHEMA_EXCLUDES "x-baton-excludes"

enum baton_schema_type {
    BATON_TYPE_NULL = 1,
    BATON_TYPE_BOOL = 2,
    BATON_TYPE_INTEGER = 4,
    BATON_TYPE_FRACTION = 8, /* a number is this or an integer */
    BATON_TYPE_STRING = 16,
    BATON_TYPE_ARRAY = 32,
    BATON_TYPE_OBJECT = 64,
    BATON_TYPE_NUMBER = 12,
    BATON_TYPE_ALL = 127,
};

/* Rules that any schema may use, made at their first use. */
enum baton_schema_shared {
    BATON_SHARED_SPACE,
    BATON_SHARED_CHAR,
    BATON_SHARED_STRING,
    BATON_SHARED_NUMBER,
    BATON_SHARED_INTEGER,
    BATON_SHARED_VALUE,
    BATON_SHARED_ARRAY,
    BATON_SHARED_OBJECT,
    BATON_N_SHARED
};

struct baton_schema {
    struct baton_exprs *exprs;
    const struct baton_json *root;
    struct baton_why *why;
    enum baton_err err;
    char path[256]; /* of the current schema, from "#" */
    size_t n_path;
    int depth, n_schemas;
    size_t n_pattern_states; /* total of the patterns of property names */
    size_t n_meet_work;      /* of intersections */
    struct baton_schema_rule {
        const struct baton_json *schema;
        uint32_t rule;
    } * rules;
    size_t n_rules, cap_rules;
    struct baton_schema_made {
        const void *a, *b; /* the schemas it was made of */
        struct baton_json *tree;
    } * made;
    size_t n_made, cap_made, n_merged; /* n_merged: counts as BATON_SCHEMA_MAX_MERGED does */
    uint32_t shared[BATON_N_SHARED];   /* rules, plus one */
};

/* Parses the text and sets the rule "#" to what `read` makes of its root. Errors as
 * baton_schema_read. */
enum baton_err baton_schema_read_with(struct baton_exprs *exprs, const char *text, size_t n,
                                      uint32_t (*read)(struct baton_schema *s,
                                                       const struct baton_json *root),
                                      struct baton_why *why) BATON_MUST_CHECK;

/* Matches the values of a whole schema, the root of references in it. Several roots may share the
 * struct. */
uint32_t baton_schema_root(struct baton_schema *s, const struct baton_json *schema);

/* Fails with a problem of a keyword, after the path of the schema. */
void baton_schema_fail(struct baton_schema *s, const char *fmt, ...) BATON_PRINTF(2, 3);
/* Fails with a keyword, or a combination of them, that is valid but not supported. */
void baton_schema_unsupported(struct baton_schema *s, const char *keyword);

/* Appends a part to the path; leave takes the length that enter returned. */
size_t baton_schema_enter(struct baton_schema *s, const char *keyword, const char *name);
void baton_schema_leave(struct baton_schema *s, size_t n_path);

/* Matches the values of a subschema. NULL: any. keyword and name are its path; name may be NULL. */
uint32_t baton_schema_value(struct baton_schema *s, const struct baton_json *schema,
                            const char *keyword, const char *name);
uint32_t baton_schema_shared(struct baton_schema *s, enum baton_schema_shared which);

/* ---- keywords.c ---- */

/* Fails at an unsupported keyword. */
void baton_schema_check_keywords(struct baton_schema *s, const struct baton_json *schema);
/* Fails at a keyword for one type beside listed values; name is the keyword of these. */
void baton_schema_check_beside(struct baton_schema *s, const struct baton_json *schema,
                               const char *name);
/* True when the keyword does not constrain values. */
bool baton_schema_is_annotation(const char *keyword);
/* True when the schema lists its values: enum or const. */
bool baton_schema_has_values(const struct baton_json *schema);
/* Returns the types that a schema allows: those of type, or those its keywords suggest. */
int baton_schema_types(struct baton_schema *s, const struct baton_json *schema);
int baton_schema_type_of(const struct baton_json *value);

/* ---- schema.c ---- */

/* Returns a keyword's number of 0 to a million; fallback when it is absent. */
uint32_t baton_schema_count(struct baton_schema *s, const struct baton_json *schema,
                            const char *keyword, uint32_t fallback);

/* Matches a JSON value as text, in its shortest form. */
uint32_t baton_schema_literal(struct baton_schema *s, const struct baton_json *value);

/* ---- merge.c ---- */

/* find_made returns the schema that was written out of a and b, or NULL; keep parses and adds one
 * from the text in buf. The same a and b give the same schema, so that recursion ends. */
const struct baton_json *baton_schema_find_made(const struct baton_schema *s, const void *a,
                                                const void *b);
const struct baton_json *baton_schema_keep(struct baton_schema *s, const void *a, const void *b,
                                           struct baton_buf *buf);
/* Returns the schema without $ref and allOf at its top: itself, or one that is written out. */
const struct baton_json *baton_schema_flat(struct baton_schema *s, const struct baton_json *schema);
/* Returns the conjunction of two schemas. */
const struct baton_json *baton_schema_both(struct baton_schema *s, const struct baton_json *a,
                                           const struct baton_json *b);
/* Returns the schema without one keyword, which must be one literal in the program, because its
 * address is the key. */
const struct baton_json *baton_schema_without(struct baton_schema *s,
                                              const struct baton_json *schema, const char *keyword);
bool baton_schema_equal(const struct baton_json *a, const struct baton_json *b);

/* ---- rewrite.c ---- */

/* Returns the schema with some keywords replaced by equivalent ones; itself when it has none of
 * them. */
const struct baton_json *baton_schema_rewritten(struct baton_schema *s,
                                                const struct baton_json *schema);

/* ---- object.c ---- */

/* Matches what is inside between two brackets, with white space. */
uint32_t baton_schema_in_brackets(struct baton_schema *s, const char *open, uint32_t inside,
                                  const char *close);
/* Matches a comma, white space, and the expression. */
uint32_t baton_schema_after_comma(struct baton_schema *s, uint32_t expr);
/* Returns a count without n, at least 0; no maximum stays none. */
uint32_t baton_schema_less(uint32_t count, size_t n);

/* ---- one type each ---- */

/* Matches a string that matches the keyword's pattern. *length receives the lengths of its
 * matches. */
uint32_t baton_schema_pattern(struct baton_schema *s, const char *pattern, size_t n,
                              const char *keyword, struct baton_regex_length *length);

uint32_t baton_schema_string(struct baton_schema *s, const struct baton_json *schema);
uint32_t baton_schema_integer(struct baton_schema *s, const struct baton_json *schema);
uint32_t baton_schema_number(struct baton_schema *s, const struct baton_json *schema);
/* Matches the numbers of expr that are multiples of multipleOf; expr itself without it. */
uint32_t baton_schema_multiples(struct baton_schema *s, const struct baton_json *schema,
                                uint32_t expr);
uint32_t baton_schema_array(struct baton_schema *s, const struct baton_json *schema);
uint32_t baton_schema_object(struct baton_schema *s, const struct baton_json *schema);

#endif
