/* Adapts system messages to templates that refuse them. Most templates accept one, as the first
 * message; agents send several, and more during a conversation. A message that a template would
 * refuse or drop is joined to the first one or, later, given to the user's turn at its place. The
 * text before it stays unchanged, so that prefix caches still match. */
#include <string.h>

#include "gateway/chat/parts.h"

/* ---- probing a template ---- */

#define SYSTEM(text)    "{\"role\":\"system\",\"content\":\"" text "\"}"
#define USER(text)      "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ASSISTANT(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"

/* True when the rendered conversation contains both texts. */
static bool writes(const struct baton_chat *chat, const struct baton_chat_jinja *template,
                   const char *conversation, const char *first, const char *second)
{
    struct baton_json *messages = NULL;
    struct baton_chat_text text;
    bool is_there = false;
    baton_chat_text_init(&text);
    if (!baton_json_parse(conversation, strlen(conversation), &messages, NULL)) {
        const struct baton_chat_input input = {.messages = messages};
        is_there = !baton_chat_run(chat, template, &input, 0, &text) &&
                   strstr(baton_buf_text(&text.bytes), first) &&
                   strstr(baton_buf_text(&text.bytes), second);
    }
    baton_json_free(messages);
    baton_chat_text_fini(&text);
    return is_there;
}

void baton_chat_find_systems(const struct baton_chat *chat, struct baton_chat_jinja *template)
{
    if (!template->jinja)
        return;
    template->takes_systems =
        writes(chat, template, "[" SYSTEM("Say ten.") "," SYSTEM("Say six.") "," USER("Go.") "]",
               "Say ten.", "Say six.");
    /* Accepting one somewhere is not enough: some templates accept one only after the first
     * turn. */
    template->takes_later_systems =
        writes(chat, template, "[" USER("Begin.") "," SYSTEM("Say six.") "]", "Begin.",
               "Say six.") &&
        writes(chat, template,
               "[" SYSTEM("Say ten.") "," USER("Begin.") "," ASSISTANT("Ten.") "," SYSTEM(
                   "Say six.") "," USER("Go.") "]",
               "Say six.", "Go.");
}

/* ---- adapting a conversation ---- */

static bool has_role(const struct baton_json *message, const char *role)
{
    return baton_json_is(baton_json_get(message, "role"), role);
}

static bool is_system(const struct baton_json *message)
{
    return has_role(message, "system") || has_role(message, "developer");
}

/* The messages made so far. The last one is still open; NULL before the first. */
struct settling {
    struct baton_json *messages, *open;
    struct baton_json *parts; /* the content of the open one, after something joined it */
    bool is_made; /* the open one holds a system message, so the user's next text joins it */
    bool ok;
};

static void begin(struct settling *settling, struct baton_json *message, bool is_made)
{
    if (settling->open)
        settling->ok = baton_json_push(settling->messages, settling->open) && settling->ok;
    settling->open = message;
    settling->parts = NULL;
    /* Adjacent user messages would be refused by templates that demand alternating roles. */
    settling->is_made = is_made;
    settling->ok = settling->ok && message;
}

static bool push_text(struct baton_json *parts, struct baton_json *text)
{
    struct baton_json *part = baton_json_new_object();
    bool ok = baton_json_set(part, "type", baton_json_new_string("text"));
    ok = baton_json_set(part, "text", text) && ok;
    return baton_json_push(parts, part) && ok;
}

/* Appends a string or a list of parts, as parts. */
static bool push_content(struct baton_json *parts, const struct baton_json *content)
{
    bool ok = true;
    if (baton_json_kind(content) == BATON_JSON_STRING)
        return push_text(parts, baton_json_share(content));
    for (size_t i = 0; i < baton_json_size(content) && ok; i++)
        ok = baton_json_push(parts, baton_json_share(baton_json_at(content, i)));
    return ok;
}

static struct baton_json *with_content(const struct baton_json *message, const char *role,
                                       struct baton_json *content)
{
    struct baton_json *made = baton_json_new_object();
    bool ok = baton_json_set(made, "role",
                             role ? baton_json_new_string(role)
                                  : baton_json_share(baton_json_get(message, "role")));
    ok = baton_json_set(made, "content", content) && ok;
    for (void *it = baton_json_first(message); it && ok; it = baton_json_next(message, it))
        if (!baton_json_get(made, baton_json_key(it)))
            ok = baton_json_set(made, baton_json_key(it), baton_json_share(baton_json_member(it)));
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

/* Turns the open message's content into parts, so that more text can be added. */
static bool open_parts(struct settling *settling)
{
    struct baton_json *parts = baton_json_new_array();
    bool ok = push_content(parts, baton_json_get(settling->open, "content"));
    struct baton_json *made = with_content(settling->open, NULL, parts);
    baton_json_free(settling->open);
    settling->open = made;
    settling->parts = made ? parts : NULL;
    return ok && made;
}

/* Adds the message's text to the open one as a new paragraph. */
static void join(struct settling *settling, const struct baton_json *message)
{
    if (!settling->parts)
        settling->ok = open_parts(settling) && settling->ok;
    settling->ok = settling->ok && push_text(settling->parts, baton_json_new_string("\n\n")) &&
                   push_content(settling->parts, baton_json_get(message, "content"));
}

static void settle(struct settling *settling, const struct baton_json *message, bool joins_systems,
                   bool is_later)
{
    bool after_user = settling->open && has_role(settling->open, "user");
    if (!is_system(message)) {
        if (settling->is_made && has_role(message, "user"))
            join(settling, message);
        else
            begin(settling, baton_json_share(message), false);
    } else if (!is_later) {
        if (settling->open && joins_systems)
            join(settling, message);
        else
            begin(settling, baton_json_share(message), false);
    } else if (after_user) {
        join(settling, message);
        settling->is_made = true;
    } else {
        struct baton_json *content = baton_json_share(baton_json_get(message, "content"));
        begin(settling, with_content(NULL, "user", content), true);
    }
}

/* Counts the system messages at the beginning. */
static size_t count_head(const struct baton_json *messages)
{
    size_t n = 0;
    while (n < baton_json_size(messages) && is_system(baton_json_at(messages, n)))
        n++;
    return n;
}

static bool has_later(const struct baton_json *messages, size_t from)
{
    for (size_t i = from; i < baton_json_size(messages); i++)
        if (is_system(baton_json_at(messages, i)))
            return true;
    return false;
}

enum baton_err baton_chat_settle_systems(const struct baton_chat_jinja *template,
                                         const struct baton_json *messages,
                                         struct baton_json **settled)
{
    size_t n = baton_json_size(messages), n_head = count_head(messages);
    bool joins = n_head > 1 && !template->takes_systems;
    bool moves = !template->takes_later_systems && has_later(messages, n_head);
    struct settling settling = {.ok = true};
    *settled = NULL;
    if (!joins && !moves)
        return BATON_OK;
    settling.messages = baton_json_new_array();
    for (size_t i = 0; i < n && settling.ok; i++) {
        const struct baton_json *message = baton_json_at(messages, i);
        if (i >= n_head && !moves)
            begin(&settling, baton_json_share(message), false);
        else
            settle(&settling, message, joins, i >= n_head);
    }
    if (settling.open)
        settling.ok = baton_json_push(settling.messages, settling.open) && settling.ok;
    if (settling.ok)
        *settled = settling.messages;
    else
        baton_json_free(settling.messages);
    return settling.ok ? BATON_OK : BATON_NO_MEMORY;
}
