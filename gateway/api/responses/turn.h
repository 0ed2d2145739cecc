/* The state of a response from its body to its end: the echoed members of its body, and the
 * conversation from which the next response may continue, also as one of OpenAI's conversations.
 *
 * Ownership: options.own of the completion is a turn, which owns its contents.
 * Threading: loop thread.
 * Errors:    in fields->problem: a previous response that is not stored, a field of a wrong kind.
 */
#ifndef BATON_GATEWAY_API_RESPONSES_TURN_H
#define BATON_GATEWAY_API_RESPONSES_TURN_H

#include "gateway/api/api.h"
#include "gateway/api/responses/conversation.h"

struct gw_turn {
    struct gw_owner owner;
    bool stores, is_background;      /* background: it goes on without its client */
    struct baton_json *conversation; /* array of messages, without the instructions */
    char conversation_id[GW_CONVERSATION_ID_BYTES]; /* of OpenAI's conversation; "": none */
    struct baton_json *new_items;                   /* that the input adds to it; NULL: none */
    struct baton_json *tools;                       /* as the client gave them; NULL: none */
    struct baton_buf echo; /* members of the response object that repeat the body */
    double temperature, top_p;
    uint32_t top_logprobs;
    int64_t max_output_tokens; /* 0: not given */

    /* The stream so far. */
    uint64_t n_events;
    struct baton_buf events; /* waiting to be sent together */
    bool has_failed;         /* an error ended the stream: no event follows */

    /* The output so far (items.h). */
    struct baton_buf items;             /* JSON objects with commas between */
    struct baton_json *calls;           /* the answer's calls in the form of messages; NULL: none */
    bool lost_call;                     /* a call is missing in calls for lack of memory */
    size_t text_begin, reasoning_begin; /* where the open item begins in the choice's buffers */
    size_t first_logprob;               /* the open item's first logprob */
};

struct gw_turn_event {
    struct baton_buf data;
    struct baton_json_out out;
    const char *name;
};

/* Reads store, previous_response_id, input and the echoed members. Call gw_turn_fini at the end,
 * also after a problem. */
void gw_turn_init(struct gw_turn *turn, const struct gw_api *api,
                  const struct gw_exchange *exchange, struct gw_fields *fields);
/* Frees the contents of a struct gw_turn. */
void gw_turn_fini(void *turn);

/* Forgets the output so far. */
void gw_turn_restart(struct gw_turn *turn);

/* Opens an event with its type and number; its members go to event->out until it is ended. */
void gw_turn_event_begin(struct gw_turn_event *event, struct gw_turn *turn, const char *name);
void gw_turn_event_end(struct gw_turn_event *event, struct gw_turn *turn);

#endif
