#include "gateway/api/anthropic/thread.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "gateway/api/json_util.h"
#include "gateway/api/responses/store.h"

enum { BLOCKS_MAX_BYTES = 64 << 20 };

static const char wanted[] = "an object with the type create or continue";

/* The members of a body that belong to the thread. */
static const char *const of_thread[] = {"system", "tools"};

void gw_thread_fini(void *arg)
{
    struct gw_thread *thread = arg;
    baton_json_free(thread->kept);
    baton_buf_fini(&thread->blocks);
    baton_buf_fini(&thread->text);
    *thread = (struct gw_thread){0};
}

void gw_thread_restart(struct gw_choice *choice)
{
    struct gw_thread *thread = choice->completion->options.own;
    baton_buf_reset(&thread->blocks);
    baton_buf_reset(&thread->text);
}

/* ---- the beginning ---- */

static void add_messages(struct gw_fields *fields, struct baton_json *all,
                         const struct baton_json *messages)
{
    for (size_t i = 0; i < baton_json_size(messages); i++)
        gw_json_push(fields, all, baton_json_share(baton_json_at(messages, i)));
}

/* Finds the conversation of the message that is continued; NULL after a problem. */
static const struct baton_json *find(const struct gw_thread *thread, const struct gw_api *api,
                                     struct gw_fields *fields, const struct baton_json *given)
{
    const struct baton_json *id = baton_json_get(given, "previous_message_id");
    const char *text = baton_json_string(id, NULL);
    if (!text) {
        gw_fields_fail(fields, "thread", "invalid_value",
                       "thread.previous_message_id: must be a string");
        return NULL;
    }
    const struct gw_stored_response *stored =
        gw_response_is_thread(text) ? gw_response_store_get(api->responses, &thread->owner, text)
                                    : NULL;
    if (!stored && !fields->failed) {
        gw_fields_fail(fields, "thread", "thread_not_found",
                       "thread: message \"%.140s\" is not kept: it is too old, was evicted, or "
                       "belongs to another API key; send the whole conversation",
                       text);
        fields->problem.status = 404;
    }
    return stored ? baton_json_at(stored->messages, 0) : NULL;
}

/* Makes the conversation so far: that of the thread and the body's messages. */
static void take(struct gw_thread *thread, struct gw_fields *fields,
                 const struct baton_json *before)
{
    struct baton_json *messages = baton_json_new_array();
    add_messages(fields, messages, baton_json_get(before, "messages"));
    add_messages(fields, messages, baton_json_get(fields->body, "messages"));
    thread->kept = baton_json_new_object();
    gw_json_set(fields, thread->kept, "messages", messages);
    for (size_t i = 0; i < BATON_N_OF(of_thread); i++) {
        const struct baton_json *given = baton_json_get(fields->body, of_thread[i]);
        const struct baton_json *member = before ? baton_json_get(before, of_thread[i]) : given;
        if (before && given)
            gw_fields_fail(fields, of_thread[i], "thread_fingerprint_mismatch",
                           "%s: is that of the thread, and cannot be given again", of_thread[i]);
        if (member)
            gw_json_set(fields, thread->kept, of_thread[i], baton_json_share(member));
    }
}

static void read_thread(struct gw_thread *thread, const struct gw_api *api,
                        struct gw_fields *fields, const struct baton_json *given)
{
    bool continues = gw_json_is_type(given, "continue");
    if (!continues && !gw_json_is_type(given, "create")) {
        gw_fields_fail(fields, "thread", "invalid_value", "thread: must be %s", wanted);
    } else if (!gw_response_store_is_on(api->responses)) {
        gw_fields_fail(fields, "thread", "thread_unsupported_request",
                       "thread: is not supported, because no responses are stored here; send the "
                       "whole conversation");
    } else {
        const struct baton_json *before = continues ? find(thread, api, fields, given) : NULL;
        if (!fields->failed)
            take(thread, fields, before);
    }
}

struct baton_json *gw_thread_begin(struct gw_thread *thread, const struct gw_api *api,
                                   const struct gw_exchange *exchange, struct gw_fields *fields)
{
    const struct baton_json *given = gw_field_of(fields, "thread", GW_IS_OBJECT, wanted);
    struct baton_json *made = baton_json_new_object();
    *thread = (struct gw_thread){0};
    baton_buf_init(&thread->blocks, BLOCKS_MAX_BYTES);
    baton_buf_init(&thread->text, BLOCKS_MAX_BYTES);
    if (exchange)
        thread->owner = gw_access_owner(api->access, exchange);
    if (given)
        read_thread(thread, api, fields, given);
    bool ok = (!thread->kept || gw_json_add_members(made, thread->kept, NULL)) &&
              gw_json_add_members(made, fields->body, "thread");
    if (!ok)
        gw_fields_fail(fields, "", "out_of_memory", "no memory for the request");
    if (!fields->failed)
        return made;
    baton_json_free(made);
    gw_thread_fini(thread);
    return NULL;
}

/* ---- the end ---- */

/* Returns the conversation with its answer, in the list that the store keeps; NULL without
 * memory. */
static struct baton_json *with_answer(const struct gw_thread *thread)
{
    struct baton_json *list = baton_json_new_array(), *message = baton_json_new_object();
    struct baton_json *content = NULL, *messages = baton_json_new_array();
    const struct baton_json *before = baton_json_get(thread->kept, "messages");
    struct baton_json *conversation = baton_json_new_object();
    struct baton_buf text;
    baton_buf_init(&text, BLOCKS_MAX_BYTES + 2);
    baton_buf_puts(&text, "[");
    baton_buf_append(&text, baton_buf_text(&thread->blocks), thread->blocks.len);
    baton_buf_puts(&text, "]");
    bool ok = !baton_buf_err(&text) && !baton_json_parse(text.data, text.len, &content, NULL);
    for (size_t i = 0; ok && i < baton_json_size(before); i++)
        ok = baton_json_push(messages, baton_json_share(baton_json_at(before, i)));
    ok = baton_json_set(message, "role", baton_json_new_string("assistant")) && ok;
    ok = baton_json_set(message, "content", content) && ok;
    ok = baton_json_push(messages, message) && ok;
    ok = baton_json_set(conversation, "messages", messages) && ok;
    ok = gw_json_add_members(conversation, thread->kept, NULL) && ok;
    ok = baton_json_push(list, conversation) && ok;
    baton_buf_fini(&text);
    if (ok)
        return list;
    baton_json_free(list);
    return NULL;
}

void gw_thread_keep(const struct gw_choice *choice)
{
    const struct gw_thread *thread = choice->completion->options.own;
    char id[GW_ANSWER_ID_BYTES];
    struct baton_buf none;
    if (!thread->kept)
        return;
    baton_buf_init(&none, 1);
    struct baton_json *list = with_answer(thread);
    enum baton_err err =
        list ? gw_response_store_put(choice->completion->api->responses, &thread->owner,
                                     gw_choice_id(choice, "msg", id), &none, list, baton_now_ns())
             : BATON_NO_MEMORY;
    baton_buf_fini(&none);
    if (err) /* its next turn is a 404, and the client sends the whole conversation */
        baton_log(BATON_LOG_WARN, "thread_not_kept",
                  BATON_REQUEST(choice->request->id, choice->request->tag),
                  BATON_S("reason", baton_err_text(err)));
}
