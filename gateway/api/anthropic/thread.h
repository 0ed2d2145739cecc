/* Threads of Anthropic's SDK: conversations that are kept here, so that a turn sends only its new
 * messages. They are kept as responses are (responses/store.h), under the id of their last message.
 *
 *     {"thread":{"type":"create"}, ...}                                  the whole conversation
 *     {"thread":{"type":"continue","previous_message_id":"msg-..."}}     messages behind it
 *
 * A thread that is gone is a 404 `thread_not_found`, after which the SDK creates it again. Every
 * message of a thread may be continued, and more than once.
 *
 * Ownership: options.own of the completion is a thread, which owns its contents.
 * Threading: loop thread.
 * Errors:    in fields->problem.
 */
#ifndef BATON_GATEWAY_API_ANTHROPIC_THREAD_H
#define BATON_GATEWAY_API_ANTHROPIC_THREAD_H

#include "gateway/api/completion/writer.h"

struct gw_thread {
    struct gw_owner owner;
    struct baton_json *kept; /* an object with messages, system, tools; NULL: it is not kept */
    struct baton_buf blocks; /* of the answer so far: JSON objects with commas between */
    struct baton_buf text;   /* of the open block */
};

/* Reads the field "thread" and returns the body of the whole conversation without it, which the
 * caller frees; NULL after a problem. */
struct baton_json *gw_thread_begin(struct gw_thread *thread, const struct gw_api *api,
                                   const struct gw_exchange *exchange, struct gw_fields *fields);

/* Keeps the conversation with its answer, under the id of the answer. */
void gw_thread_keep(const struct gw_choice *choice);

/* Forgets the answer so far. */
void gw_thread_restart(struct gw_choice *choice);

/* Frees the contents of a struct gw_thread. */
void gw_thread_fini(void *thread);

#endif
