/* The administration of LoRA adapters: vLLM's routes to load and to drop one on every worker, and
 * llama.cpp's list with the scales of requests that name none.
 *
 *     operator --POST /v1/load_lora_adapter--> LoadAdapter to each worker, AdapterLists back
 *                                              all have it: 200; one failed: dropped again, 400
 *     a worker that joins later gets the adapters that were loaded in this way
 *
 * Ownership: the gateway owns it; the fleet and the defaults are borrowed.
 * Threading: loop thread.
 * Errors:    answered to the client.
 */
#ifndef BATON_GATEWAY_API_ADAPTERS_LORA_H
#define BATON_GATEWAY_API_ADAPTERS_LORA_H

#include "gateway/api/params/adapters.h"

/* NULL without memory. */
struct gw_lora *gw_lora_create(struct gw_fleet *fleet);
/* NULL is harmless. */
void gw_lora_destroy(struct gw_lora *lora);

/* A worker's answer to an order; a worker that is gone, which counts as one that needs no order. */
void gw_lora_handle(struct gw_lora *lora, const struct gw_worker *worker,
                    const Baton__V1__AdapterList *list);
void gw_lora_worker_lost(struct gw_lora *lora, const struct gw_worker *worker);

/* Ends orders that take too long, and gives loaded adapters to workers that joined. */
void gw_lora_tick(struct gw_lora *lora, int64_t now_ns);

/* The endpoints. */
void gw_lora_load(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_lora_drop(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *body);
void gw_lora_list(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *none);
void gw_lora_set_defaults(struct gw_api *api, struct gw_exchange *exchange,
                          const struct baton_json *body);

#endif
