/* The choice of a model by its name: which of the models behind the gateway a request is for.
 *
 *     ?model=NAME in the query, else "model" in the body (in Ollama's API also "name",
 *     in that of adapters "base_model_name")
 *         a name of a model, an adapter, MODEL:ADAPTER, NAME:latest --> that model
 *         any other name -----> the model that takes any (--served-model-name '*'), else a 404
 *         none ---------------> the first model
 *
 * Ownership: borrows everything.
 * Threading: loop thread, except gw_model_given.
 * Errors:    404 model_not_found, which lists the names of all models.
 */
#ifndef BATON_GATEWAY_API_CHOOSE_MODEL_H
#define BATON_GATEWAY_API_CHOOSE_MODEL_H

#include "gateway/api/api.h"

/* The model of that name; NULL: there is none. */
struct gw_api *gw_model_named(const struct gw_api *api, const char *name);

/* The model that has this very name; NULL: none has, but a name may also be that of an adapter. */
struct gw_api *gw_model_listed(const struct gw_api *api, const char *name);
/* The same, if the model had the name at the gateway's start. Any thread may call it. */
struct gw_api *gw_model_given(const struct gw_api *api, const char *name);

/* The model that the request is for. NULL: it names none that is served, and the exchange was
 * answered. body may be NULL. With one model it is that one, whose endpoints judge names. */
struct gw_api *gw_model_of_request(struct gw_api *api, struct gw_exchange *exchange,
                                   const struct baton_json *body);

/* The models that a route about all of them tells of: the one that the request names in its query,
 * which is api then, or all. */
void gw_models_asked_for(struct gw_api *api, const struct gw_exchange *exchange,
                         struct gw_served *asked_for);

#endif
