/* What a response keeps from its body until its end: what its object says again, and the
 * conversation that the next response may go on from.
 *
 * Ownership: a turn is the own of a completion's options; it owns what it holds.
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
    struct baton_json *tools;        /* as the client gave them; NULL: none */
    struct baton_buf echo;           /* members of the response object that repeat the body */
    double temperature, top_p;
    uint32_t top_logprobs;
    int64_t max_output_tokens; /* 0: not said */

    /* The stream so far. */
    uint64_t n_events;
    struct baton_buf events; /* to be sent together */

    /* The output so far (items.h). */
    struct baton_buf items;             /* JSON objects with commas between */
    struct baton_json *calls;           /* of the answer, as messages have them; NULL: none */
    bool lost_call;                     /* without memory: not all are in calls */
    size_t text_begin, reasoning_begin; /* of the open item, in what the choice gathers */
    size_t first_logprob;               /* of the open item */
};

struct gw_turn_event {
    struct baton_buf data;
    struct baton_json_out out;
    const char *name;
};

/* Reads store, previous_response_id, input and what is said again. To be ended with gw_turn_fini,
 * also after a problem. */
void gw_turn_init(struct gw_turn *turn, const struct gw_api *api,
                  const struct gw_exchange *exchange, struct gw_fields *fields);
/* Of a struct gw_turn. */
void gw_turn_fini(void *turn);

/* Forgets the output so far. */
void gw_turn_restart(struct gw_turn *turn);

/* Opens an event with its type and number; its members go to event->out until it is ended. */
void gw_turn_event_begin(struct gw_turn_event *event, struct gw_turn *turn, const char *name);
void gw_turn_event_end(struct gw_turn_event *event, struct gw_turn *turn);

#endif
