/* What a response keeps from its body until its end: what its object says again, and the
 * conversation that the next response may go on from.
 *
 * Ownership: a turn belongs to the ask, then to the completion that is made of it.
 * Threading: loop thread.
 * Errors:    in fields->problem: another response that is not kept, a field of a wrong kind.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_TURN_H
#define BATON_GATEWAY_API_RESPONSES_TURN_H

#include "gateway/api/api.h"
#include "gateway/api/responses/store.h"

struct gw_turn {
    struct gw_owner owner;
    bool stores;
    struct baton_json *conversation; /* array of messages, without the instructions */
    struct baton_buf echo;           /* members of the response object that repeat the body */
    double temperature, top_p;
    uint32_t top_logprobs;
    int64_t max_output_tokens; /* 0: not said */

    /* The stream so far. */
    uint64_t n_events;
    bool item_is_open;
    struct baton_buf events; /* to be sent together */
};

/* Reads store, previous_response_id, input and what is said again. To be ended with gw_turn_close,
 * also after a problem. NULL: no memory, which is a problem of fields too. */
struct gw_turn *gw_turn_open(const struct gw_api *api, const struct gw_exchange *exchange,
                             struct gw_fields *fields);
/* Of a struct gw_turn; NULL is fine. */
void gw_turn_close(void *turn);

#endif
