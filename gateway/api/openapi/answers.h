/* The objects in the JSON bodies of successful answers, for /openapi.json.
 *
 * Their writers are elsewhere (writer.c of each API, and each endpoint's own file), and so is the
 * type of each route (routes/answers.c). tests/e2e/test_openapi_answers.py holds real answers of
 * every route against them: no member may be missing or too many.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_API_OPENAPI_ANSWERS_H
#define BATON_GATEWAY_API_OPENAPI_ANSWERS_H

#include "common/base/json.h"

/* The type (types.h) of the elements of a body's field; "any" if there is no single one. */
const char *gw_element_type(const char *field);

/* Writes the schemas of the objects as members. */
void gw_answer_put_schemas(struct baton_json_out *out);

#endif
