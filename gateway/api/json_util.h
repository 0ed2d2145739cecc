/* JSON helpers for rewriting a body as a conversation in the form of OpenAI's chat.
 *
 * Ownership: a value that is set or pushed belongs to its object or array, also after a failure.
 * Threading: loop thread.
 * Errors:    lack of memory, in fields->problem.
 */
#ifndef BATON_GATEWAY_API_JSON_UTIL_H
#define BATON_GATEWAY_API_JSON_UTIL_H

#include "gateway/api/fields.h"

/* Both take ownership of the value. */
void gw_json_push(struct gw_fields *fields, struct baton_json *array, struct baton_json *value);
void gw_json_set(struct gw_fields *fields, struct baton_json *object, const char *key,
                 struct baton_json *value);

/* {"role":role} */
struct baton_json *gw_json_message(struct gw_fields *fields, const char *role);
/* {"type":"text","text":text} */
struct baton_json *gw_json_text(struct gw_fields *fields, const struct baton_json *text);
/* {"type":"function","function":{"name":name}}; *function, borrowed, is the inner object for
 * further members; NULL after a problem. */
struct baton_json *gw_json_function(struct gw_fields *fields, const struct baton_json *name,
                                    struct baton_json **function);

/* Sets those members of `from` in `to` that `to` lacks, except the one called `without` (NULL:
 * none). False: no memory. */
bool gw_json_add_members(struct baton_json *to, const struct baton_json *from, const char *without);

bool gw_json_is_string(const struct baton_json *json);
bool gw_json_is_object(const struct baton_json *json);
/* Whether the member "type" is this. */
bool gw_json_is_type(const struct baton_json *object, const char *type);

#endif
