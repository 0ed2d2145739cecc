/* A JSON Schema on its way to expressions; what the parts of the reader share. Private to
 * engine/grammar.
 *
 * Each subschema becomes a rule, labelled with its path, once: so references may be recursive. What
 * $ref with neighbours, allOf and anyOf beside other keywords mean is written out first as a schema
 * without them (merge.c).
 *
 * Ownership: baton_schema owns what it notes and the schemas that it writes out.
 * Threading: one owner at a time.
 * Errors:    sticky in err, with the reason in why; then every function returns any expression.
 */
#ifndef BATON_ENGINE_GRAMMAR_SCHEMA_PARTS_H
#define BATON_ENGINE_GRAMMAR_SCHEMA_PARTS_H

#include "common/base/json.h"
#include "engine/grammar/language/expr.h"
#include "engine/grammar/language/regex.h"

enum {
    BATON_SCHEMA_MAX_DEPTH = 128,      /* of schemas in schemas */
    BATON_SCHEMA_MAX_SCHEMAS = 8192,   /* looked at, those that were merged included */
    BATON_SCHEMA_MAX_MERGED = 4 << 20, /* bytes that are written out, values that are compared */
};

enum baton_schema_type {
    BATON_TYPE_NULL = 1,
    BATON_TYPE_BOOL = 2,
    BATON_TYPE_INTEGER = 4,
    BATON_TYPE_FRACTION = 8, /* a number: this or an integer */
    BATON_TYPE_STRING = 16,
    BATON_TYPE_ARRAY = 32,
    BATON_TYPE_OBJECT = 64,
    BATON_TYPE_NUMBER = 12,
    BATON_TYPE_ALL = 127,
};

/* Rules that any schema may use, made when they are. */
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
    char path[256]; /* of the schema that is looked at, from "#" */
    size_t n_path;
    int depth, n_schemas;
    size_t n_pattern_states; /* of patterns that names were looked for in, together */
    struct baton_schema_rule {
        const struct baton_json *schema;
        uint32_t rule;
    } * rules;
    size_t n_rules, cap_rules;
    struct baton_schema_made {
        const void *a, *b; /* made of these */
        struct baton_json *tree;
    } * made;
    size_t n_made, cap_made, n_merged; /* n_merged: as BATON_SCHEMA_MAX_MERGED counts */
    uint32_t shared[BATON_N_SHARED];   /* rules, plus one */
};

/* The values of a whole schema, which references in it are into. Several may share what the struct
 * notes. */
uint32_t baton_schema_root(struct baton_schema *s, const struct baton_json *schema);
void baton_schema_fini(struct baton_schema *s);

/* The problem with a keyword, after the path of the schema. */
void baton_schema_fail(struct baton_schema *s, const char *fmt, ...) BATON_PRINTF(2, 3);
/* A keyword, or a mixture of them, that is valid and not supported. */
void baton_schema_unsupported(struct baton_schema *s, const char *keyword);

/* The path becomes that of a part; leave takes the length that enter returned. */
size_t baton_schema_enter(struct baton_schema *s, const char *keyword, const char *name);
void baton_schema_leave(struct baton_schema *s, size_t n_path);

/* The values of a subschema. NULL: any. keyword and name are its path, name may be NULL. */
uint32_t baton_schema_value(struct baton_schema *s, const struct baton_json *schema,
                            const char *keyword, const char *name);
uint32_t baton_schema_shared(struct baton_schema *s, enum baton_schema_shared which);

/* ---- keywords.c ---- */

/* Fails at a keyword that is not supported. */
void baton_schema_check_keywords(struct baton_schema *s, const struct baton_json *schema);
/* Fails at a keyword of one type beside listed values, which are named by their keyword. */
void baton_schema_check_beside(struct baton_schema *s, const struct baton_json *schema,
                               const char *name);
/* Whether it says nothing of what is valid. */
bool baton_schema_is_annotation(const char *keyword);
/* Whether it lists its values: enum or const. */
bool baton_schema_has_values(const struct baton_json *schema);
/* The types that a schema leaves: as it says, or as its keywords suggest. */
int baton_schema_types(struct baton_schema *s, const struct baton_json *schema);
int baton_schema_type_of(const struct baton_json *value);

/* ---- schema.c ---- */

/* A keyword's number of 0 to a million; fallback when it is absent. */
uint32_t baton_schema_count(struct baton_schema *s, const struct baton_json *schema,
                            const char *keyword, uint32_t fallback);

/* A JSON value as text, written the shortest way. */
uint32_t baton_schema_literal(struct baton_schema *s, const struct baton_json *value);

/* ---- merge.c ---- */

/* A schema that was written out of a and b, or NULL; keep takes one from the text in buf. The same
 * a and b give the same schema again, so that recursion ends. */
const struct baton_json *baton_schema_find_made(const struct baton_schema *s, const void *a,
                                                const void *b);
const struct baton_json *baton_schema_keep(struct baton_schema *s, const void *a, const void *b,
                                           struct baton_buf *buf);
/* The schema without $ref and allOf at its top: itself, or one that is written out. */
const struct baton_json *baton_schema_flat(struct baton_schema *s, const struct baton_json *schema);
/* What is valid by both. */
const struct baton_json *baton_schema_both(struct baton_schema *s, const struct baton_json *a,
                                           const struct baton_json *b);
/* Without one keyword, which must be a literal of one place in the program. */
const struct baton_json *baton_schema_without(struct baton_schema *s,
                                              const struct baton_json *schema, const char *keyword);
bool baton_schema_equal(const struct baton_json *a, const struct baton_json *b);

/* ---- rewrite.c ---- */

/* The schema with other keywords for some that mean the same: itself where it has none of them. */
const struct baton_json *baton_schema_rewritten(struct baton_schema *s,
                                                const struct baton_json *schema);

/* ---- of one type each ---- */

/* A string that matches the pattern of that keyword; length tells how long it is. */
uint32_t baton_schema_pattern(struct baton_schema *s, const char *pattern, size_t n,
                              const char *keyword, struct baton_regex_length *length);

uint32_t baton_schema_string(struct baton_schema *s, const struct baton_json *schema);
uint32_t baton_schema_integer(struct baton_schema *s, const struct baton_json *schema);
uint32_t baton_schema_number(struct baton_schema *s, const struct baton_json *schema);
uint32_t baton_schema_array(struct baton_schema *s, const struct baton_json *schema);
uint32_t baton_schema_object(struct baton_schema *s, const struct baton_json *schema);

#endif
