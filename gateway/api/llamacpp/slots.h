/* GET /slots: the places of the decode workers' batches, as llama.cpp tells of its slots.
 *
 * Ownership: nothing is kept.
 * Threading: loop thread.
 * Errors:    503 without memory, and of ?fail_on_no_slot=1 when no place is free.
 */
#ifndef BATON_GATEWAY_API_LLAMACPP_SLOTS_H
#define BATON_GATEWAY_API_LLAMACPP_SLOTS_H

#include "gateway/api/api.h"

void gw_llamacpp_slots(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *unused);

#endif
