/* Reads typed fields of a JSON body and checks each against its range; keeps the first problem.
 *
 *     struct gw_fields fields = gw_fields(body);
 *     gw_field_int(&fields, "top_k", 0, UINT32_MAX, &top_k);
 *     gw_fields_refuse_unknown(&fields);
 *     if (fields.failed) ... fields.problem
 *
 * A field that is absent or null leaves its target unchanged, so the target holds the default. With
 * a schema the readers record their fields in it, also after a problem (body_schema.h).
 *
 * Ownership: values are borrowed from the body.
 * Threading: one owner at a time.
 * Errors:    problem names the field and the allowed range; after the first one readers do nothing.
 */
#ifndef BATON_GATEWAY_API_FIELDS_H
#define BATON_GATEWAY_API_FIELDS_H

#include "common/base/json.h"
#include "gateway/api/body_schema.h"

enum { GW_MAX_FIELDS = 192 };

struct gw_problem {
    int status; /* 400 unless said otherwise */
    char message[400];
    char param[64]; /* "" for none */
    const char *code;
    int64_t n_prompt_tokens, n_ctx; /* of a prompt that does not fit; 0: another problem */
};

/* The names and values by which clients of other servers express fields of ours. */
struct gw_dialect {
    const struct gw_alias {
        const char *name, *other; /* the field's own name; theirs */
    } * aliases;
    size_t n_aliases;
    const char *const *off_at_minus_one; /* integer fields for which -1 counts as absent */
    size_t n_off;
};

struct gw_fields {
    const struct baton_json *body;
    const struct gw_dialect *dialect; /* NULL: none */
    const char *known[GW_MAX_FIELDS];
    int n_known;
    struct gw_body_schema *schema; /* NULL: none is recorded */
    const char *within; /* the member of the body whose object this is; NULL: the body itself */
    char left_out[256]; /* paths within fields that have no effect: "messages[2].content[0], ..." */
    char left_out_of[32]; /* the field of the first of them */
    bool failed;
    struct gw_problem problem;
};

/* The fields of a body, which must be an object. */
struct gw_fields gw_fields(const struct baton_json *body);

/* Records a problem with a field (code such as "out_of_range"); the first one stays. If the message
 * begins with the field's name, the client gets it with the name that it wrote. */
void gw_fields_fail(struct gw_fields *fields, const char *param, const char *code, const char *fmt,
                    ...) BATON_PRINTF(4, 5);

/* The member, which is then known; NULL if it is absent or null, or after a problem. The dialect's
 * other names for it are known too; a field that is given twice is a problem. */
const struct baton_json *gw_field(struct gw_fields *fields, const char *name);

/* The kinds of a value, a union of GW_IS_...; 0: null. */
unsigned gw_field_kind(const struct baton_json *value);

/* The member, if it has one of the kinds (a union of GW_IS_...). wanted names the allowed values
 * for the message: "a string or an array of strings". "", [], {} and false of another kind count as
 * absent. */
const struct baton_json *gw_field_of(struct gw_fields *fields, const char *name, unsigned kinds,
                                     const char *wanted);
/* The index of the member among the words [n]; -1 if it is absent or after a problem. The words are
 * static. */
int gw_field_word(struct gw_fields *fields, const char *name, const char *const *words, size_t n);

/* The members of a field that is an object. gw_fields_leave ends them and reports a problem with
 * one of them as a problem with the field, named FIELD.MEMBER. Without the field, call both only to
 * record the schema. */
struct gw_fields gw_fields_enter(const struct gw_fields *fields, const char *name,
                                 const struct baton_json *object);
void gw_fields_leave(struct gw_fields *fields, const char *name, const struct gw_fields *members);

/* min <= value <= max. */
void gw_field_int(struct gw_fields *fields, const char *name, int64_t min, int64_t max,
                  int64_t *value);
/* min <= value <= max, or min < value with open_min; max may be INFINITY. */
void gw_field_real(struct gw_fields *fields, const char *name, double min, bool open_min,
                   double max, double *value);
/* true or false. */
void gw_field_bool(struct gw_fields *fields, const char *name, bool *value);

/* Records the path of a value within a known field that has no effect. Such values are listed, or
 * refused, like unknown fields. */
void gw_fields_leave_out(struct gw_fields *fields, const char *fmt, ...) BATON_PRINTF(2, 3);

/* Records the paths that others recorded. */
void gw_fields_leave_out_too(struct gw_fields *fields, const struct gw_fields *others);

/* Marks a field as optional in the schema, after a reader failed for its absence that the route
 * permits. */
void gw_field_may_be_absent(struct gw_fields *fields, const char *name);

/* An array of token ids 0..n_vocab-1, at most max_ids of them. Returns their number; 0 if
 * absent. */
size_t gw_field_ids(struct gw_fields *fields, const char *name, const struct baton_json *array,
                    int64_t n_vocab, size_t max_ids, uint32_t *ids);

/* A field of a sampler that Baton does not have: fails unless the value switches it off. The value
 * `off` does; if that is 0, negative numbers and false do too. there_are names the alternatives. */
void gw_field_off(struct gw_fields *fields, const char *name, double off, const char *there_are);

/* Fields that are not supported: fails on one of the names [n], unless its value requests nothing:
 * [], {}, "", "none", "auto", false, ["text"], {"type":"text"}. */
void gw_fields_refuse(struct gw_fields *fields, const char *const *names, size_t n);

/* Fails on a member that no reader has read, and on a body that is not an object. */
void gw_fields_refuse_unknown(struct gw_fields *fields);

/* Lists the members that no reader has read, separated by commas; "..." stands for those that do
 * not fit, '?' for characters that a header cannot carry. Returns the number of these members. */
size_t gw_fields_list_unknown(const struct gw_fields *fields, char *list, size_t cap);

#endif
