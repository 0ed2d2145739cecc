/* The types of values, in a short notation that is written as JSON schemas.
 *
 *     string, integer, number, boolean, object, any, null
 *     [T]        an array of T
 *     T|U        either
 *     Name       a component of /openapi.json
 *
 * Members of an object: "id:string choices:[Choice] usage?:Usage"; a ? stands for one that may be
 * absent.
 *
 * Pure. The notation comes from tables of this program: a fault in it shows as an invalid document.
 */
#ifndef BATON_GATEWAY_API_OPENAPI_TYPES_H
#define BATON_GATEWAY_API_OPENAPI_TYPES_H

#include "common/base/json.h"

/* Writes the schema of a type as the member `key`. */
void gw_type_put(struct baton_json_out *out, const char *key, const char *type);

/* Writes the schema of an object with these members as the member `key`. */
void gw_type_put_members(struct baton_json_out *out, const char *key, const char *members);

#endif
