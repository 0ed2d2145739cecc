/* The model that a request names: one of the names that the gateway serves it under.
 *
 * Ownership: names are borrowed from the body.
 * Threading: loop thread.
 * Errors:    404 model_not_found, in fields->problem.
 */
#ifndef BATON_GATEWAY_API_PARAMS_MODEL_NAME_H
#define BATON_GATEWAY_API_PARAMS_MODEL_NAME_H

#include "gateway/api/api.h"

/* The field "model" of a body, which may name the served model only. */
void gw_model_name_read(const struct gw_api *api, struct gw_fields *fields);

/* That there is no model called name. */
void gw_model_name_refuse(const struct gw_api *api, const char *name, struct gw_problem *problem);

#endif
