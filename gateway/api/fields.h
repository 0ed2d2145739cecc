/* Typed fields out of a JSON body, each checked against its range; the first problem is kept.
 *
 *     struct gw_fields fields = gw_fields(body);
 *     gw_field_int(&fields, "top_k", 0, UINT32_MAX, &top_k);
 *     gw_fields_refuse_unknown(&fields);
 *     if (fields.failed) ... fields.problem
 *
 * A field that is absent or null leaves its target alone, so the target holds the default.
 * With a schema the readers record in it what they ask for, also after a problem (body_schema.h).
 *
 * Ownership: borrowed from the body.
 * Threading: one owner at a time.
 * Errors:    problem names the field and the allowed range; after the first one readers do nothing.
 */
#ifndef BATON_GATEWAY_API_FIELDS_H
#define BATON_GATEWAY_API_FIELDS_H

#include "common/base/json.h"
#include "gateway/api/body_schema.h"

enum { GW_MAX_FIELDS = 128 };

struct gw_problem {
    int status; /* 400 unless said otherwise */
    char message[320];
    char param[64]; /* "" for none */
    const char *code;
};

/* How clients of other servers write what a field here means. */
struct gw_dialect {
    const struct gw_alias {
        const char *name, *other; /* the field's own name; theirs */
    } * aliases;
    size_t n_aliases;
    const char *const *off_at_minus_one; /* integers: -1 is as if they were absent */
    size_t n_off;
};

struct gw_fields {
    const struct baton_json *body;
    const struct gw_dialect *dialect; /* NULL: none */
    const char *known[GW_MAX_FIELDS];
    int n_known;
    struct gw_body_schema *schema; /* NULL: none is recorded */
    const char *within; /* the member of the body that this is an object of; NULL: the body */
    bool failed;
    struct gw_problem problem;
};

/* Of a body that must be an object. */
struct gw_fields gw_fields(const struct baton_json *body);

/* Records a problem with a field (code such as "out_of_range"); the first one stays. A message that
 * begins with the field's name is told with the name that the client wrote. */
void gw_fields_fail(struct gw_fields *fields, const char *param, const char *code, const char *fmt,
                    ...) BATON_PRINTF(4, 5);

/* The member, noted as known; NULL when absent, null, or a problem came before. The dialect's other
 * names of it are known too; given twice it is a problem. */
const struct baton_json *gw_field(struct gw_fields *fields, const char *name);

/* The member, if it is of one of the kinds (GW_IS_... together). wanted says for the message what
 * it must be: "a string or an array of strings". */
const struct baton_json *gw_field_of(struct gw_fields *fields, const char *name, unsigned kinds,
                                     const char *wanted);
/* The index of the word [n] that the member is; -1 when it is absent or after a problem. The words
 * are static. */
int gw_field_word(struct gw_fields *fields, const char *name, const char *const *words, size_t n);

/* The members of a field that is an object, which gw_fields_leave ends: a problem with one of them
 * is one with the field, told as FIELD.MEMBER. Without the field there is nothing to read, but for
 * the schema. */
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

/* Of a field that a reader missed, where the route goes without: its schema says so. */
void gw_field_may_be_absent(struct gw_fields *fields, const char *name);

/* An array of token ids 0..n_vocab-1, at most max_ids of them. Returns how many; 0 when absent. */
size_t gw_field_ids(struct gw_fields *fields, const char *name, const struct baton_json *array,
                    int64_t n_vocab, size_t max_ids, uint32_t *ids);

/* A field of a sampler that is not here: fails unless the value switches it off, which "off" does;
 * where that is 0, what is below it and false do too. there_are tells what to use. */
void gw_field_off(struct gw_fields *fields, const char *name, double off, const char *there_are);

/* Fields that are not supported: fails on one of the names [n], unless its value asks for nothing:
 * [], {}, "", "none", "auto", false, ["text"], {"type":"text"}. */
void gw_fields_refuse(struct gw_fields *fields, const char *const *names, size_t n);

/* Fails on a member that no reader asked for, and on a body that is no object. */
void gw_fields_refuse_unknown(struct gw_fields *fields);

/* The names of members that no reader asked for, between commas; "..." for those that do not fit.
 * Whatever a header cannot carry is a '?'. Returns how many they are. */
size_t gw_fields_list_unknown(const struct gw_fields *fields, char *list, size_t cap);

#endif
