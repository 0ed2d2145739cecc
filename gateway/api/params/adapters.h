/* The adapters that a request names: as its model, or in a list with scales.
 *
 *     "model": "ADAPTER" | "MODEL:ADAPTER"          vLLM's habit, and that of OpenAI's fine-tunes
 *     "lora": [{"id": 0, "scale": 0.5}, ..]         llama.cpp's; ids are those of
 *             [{"name": "ADAPTER", "scale": 1}]     GET /lora-adapters, names those of models
 *
 * Ownership: everything is borrowed.
 * Threading: loop thread.
 * Errors:    gw_fields_fail with the field.
 */
#ifndef BATON_GATEWAY_API_PARAMS_ADAPTERS_H
#define BATON_GATEWAY_API_PARAMS_ADAPTERS_H

#include "gateway/api/api.h"

/* The adapters of requests that name none, as POST /lora-adapters sets them. */
struct gw_adapter_defaults {
    int n;
    struct {
        char name[BATON_MAX_ADAPTER_NAME + 1];
        float scale;
    } list[BATON_MAX_BLENDED];
};

/* Whether the name is an adapter's, alone or behind a name of the model; it is then the only one of
 * uses. uses NULL: only the answer is wanted. */
bool gw_adapters_named(const struct gw_api *api, const char *name, struct baton_adapter_uses *uses);

/* The same for a field that holds an adapter's name, which SGLang and TGI have. */
void gw_adapters_read_name(const struct gw_api *api, struct gw_fields *fields, const char *field,
                           struct baton_adapter_uses *uses);

/* Reads one {"id" or "name", "scale"} of a field. adapter is NULL after a problem. */
struct gw_adapter_scale {
    const struct gw_adapter *adapter;
    double scale;
};
void gw_adapters_read_member(const struct gw_api *api, struct gw_fields *fields, const char *field,
                             const struct baton_json *value, struct gw_adapter_scale *read);

/* Reads "lora", which replaces uses unless it is empty. Without it, and without an adapter in uses,
 * those of POST /lora-adapters apply. */
void gw_adapters_read(const struct gw_api *api, struct gw_fields *fields,
                      struct baton_adapter_uses *uses);

#endif
