#include "gateway/api/responses/input_items.h"

#include <stdio.h>
#include <string.h>

#include "gateway/api/answer.h"
#include "gateway/api/listing.h"

enum { ID_BYTES = 160, DEFAULT_LIMIT = 20, MAX_LIMIT = 100 };

/* ---- items ---- */

struct making {
    struct baton_json *items;
    const char *response; /* whose id the items' ids end with */
    bool failed;
};

static void set(struct making *making, struct baton_json *object, const char *key,
                struct baton_json *value)
{
    making->failed |= !baton_json_set(object, key, value);
}

/* Adds an item of that type, and returns it. */
static struct baton_json *add(struct making *making, const char *prefix, const char *type)
{
    char id[ID_BYTES];
    const char *dash = strchr(making->response, '-');
    struct baton_json *item = baton_json_new_object();
    (void)snprintf(id, sizeof id, "%s_in%zu%s", prefix, baton_json_size(making->items),
                   dash ? dash : "");
    set(making, item, "id", baton_json_new_string(id));
    set(making, item, "type", baton_json_new_string(type));
    set(making, item, "status", baton_json_new_string("completed"));
    making->failed |= !baton_json_push(making->items, item);
    return item;
}

/* Returns an array of one part per text of the content. */
static struct baton_json *parts_of(struct making *making, const struct baton_json *content,
                                   const char *type)
{
    struct baton_json *parts = baton_json_new_array();
    bool is_text = baton_json_kind(content) == BATON_JSON_STRING;
    size_t n = is_text ? 1 : baton_json_size(content);
    for (size_t i = 0; i < n; i++) {
        const struct baton_json *text =
            is_text ? content : baton_json_get(baton_json_at(content, i), "text");
        struct baton_json *part = baton_json_new_object();
        set(making, part, "type", baton_json_new_string(type));
        set(making, part, "text",
            text ? baton_json_share(text) : baton_json_new_string("[not a text]"));
        making->failed |= !baton_json_push(parts, part);
    }
    return parts;
}

static void add_calls(struct making *making, const struct baton_json *calls)
{
    for (size_t i = 0; i < baton_json_size(calls); i++) {
        const struct baton_json *call = baton_json_at(calls, i);
        const struct baton_json *function = baton_json_get(call, "function");
        const struct baton_json *id = baton_json_get(call, "id");
        struct baton_json *item = add(making, "fc", "function_call");
        set(making, item, "call_id", id ? baton_json_share(id) : baton_json_new_string(""));
        set(making, item, "name", baton_json_share(baton_json_get(function, "name")));
        set(making, item, "arguments", baton_json_share(baton_json_get(function, "arguments")));
    }
}

static void add_output(struct making *making, const struct baton_json *message)
{
    const struct baton_json *id = baton_json_get(message, "tool_call_id");
    struct baton_json *item = add(making, "fco", "function_call_output");
    set(making, item, "call_id", id ? baton_json_share(id) : baton_json_new_string(""));
    set(making, item, "output", baton_json_share(baton_json_get(message, "content")));
}

static void add_message(struct making *making, const struct baton_json *message)
{
    const struct baton_json *role = baton_json_get(message, "role");
    const struct baton_json *content = baton_json_get(message, "content");
    const struct baton_json *reasoning = baton_json_get(message, "reasoning_content");
    bool is_answer = baton_json_is(role, "assistant");
    if (baton_json_is(role, "tool")) {
        add_output(making, message);
        return;
    }
    if (reasoning) {
        struct baton_json *item = add(making, "rs", "reasoning");
        set(making, item, "summary", baton_json_new_array());
        set(making, item, "content", parts_of(making, reasoning, "reasoning_text"));
    }
    if (baton_json_size(content) ||
        (content && !baton_json_is(content, "") && baton_json_kind(content) == BATON_JSON_STRING)) {
        struct baton_json *item = add(making, "msg", "message");
        set(making, item, "role", baton_json_share(role));
        set(making, item, "content",
            parts_of(making, content, is_answer ? "output_text" : "input_text"));
    }
    add_calls(making, baton_json_get(message, "tool_calls"));
}

struct baton_json *gw_input_items(const struct gw_stored_response *stored)
{
    struct making making = {.items = baton_json_new_array(), .response = stored->id};
    for (size_t i = 0; i + 1 < baton_json_size(stored->messages); i++)
        add_message(&making, baton_json_at(stored->messages, i));
    if (making.items && !making.failed)
        return making.items;
    baton_json_free(making.items);
    return NULL;
}

/* ---- a page ---- */

static const char *id_of(const void *items, size_t i)
{
    return baton_json_string(baton_json_get(baton_json_at(items, i), "id"), NULL);
}

static struct gw_listing listing_of(const struct baton_json *items)
{
    return (struct gw_listing){.items = items,
                               .n = baton_json_size(items),
                               .id_of = id_of,
                               .default_limit = DEFAULT_LIMIT,
                               .max_limit = MAX_LIMIT,
                               .after = "after"};
}

static void answer_page(struct gw_exchange *exchange, const struct gw_listing *page)
{
    struct gw_answer answer;
    gw_answer_open(&answer);
    baton_json_put_string(&answer.out, "object", "list");
    baton_json_open(&answer.out, "data", '[');
    for (size_t i = 0; i < page->n_page; i++)
        baton_json_put_value(&answer.out, NULL, baton_json_at(page->items, gw_listing_at(page, i)));
    baton_json_close(&answer.out, ']');
    gw_listing_put_edges(page, &answer.out);
    gw_answer_close(&answer, exchange, 200);
}

void gw_input_items_answer(struct gw_exchange *exchange, const struct baton_json *items)
{
    struct gw_listing page = listing_of(items);
    if (gw_listing_read(&page, exchange))
        answer_page(exchange, &page);
}

void gw_input_items_answer_all(struct gw_exchange *exchange, const struct baton_json *items)
{
    struct gw_listing page = listing_of(items);
    page.is_oldest_first = true;
    page.n_page = page.n;
    answer_page(exchange, &page);
}
