/* GET /slots: the slots of the decode workers' batches in llama.cpp's form.
 *
 * Ownership: keeps nothing.
 * Threading: loop thread.
 * Errors:    503 without memory, and with ?fail_on_no_slot=1 if no slot is free.
 */
#ifndef BATON_GATEWAY_API_LLAMACPP_SLOTS_H
#define BATON_GATEWAY_API_LLAMACPP_SLOTS_H

#include "gateway/api/api.h"

void gw_llamacpp_slots(struct gw_api *api, struct gw_exchange *exchange,
                       const struct baton_json *unused);

#endif
