#include "gateway/chat/turns.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "gateway/chat/content.h"

enum { TEXT_MAX_BYTES = 256 << 20 };

static const char *const role_names[] = {"system", "developer", "user", "assistant", "tool"};

static void turn_fini(struct baton_chat_turn *turn)
{
    baton_json_free(turn->content);
    baton_json_free(turn->calls);
    baton_json_free(turn->id);
    baton_json_free(turn->name);
}

void baton_chat_turns_fini(struct baton_chat_turns *turns)
{
    for (size_t i = 0; i < turns->n; i++)
        turn_fini(&turns->items[i]);
    free(turns->items);
    *turns = (struct baton_chat_turns){0};
}

struct baton_chat_turn *baton_chat_turns_last(struct baton_chat_turns *turns)
{
    return turns->n ? &turns->items[turns->n - 1] : NULL;
}

void baton_chat_turns_push(struct baton_chat_turns *turns, struct baton_chat_turn turn)
{
    if (turns->ok && !BATON_RESERVE(turns->items, turns->cap, turns->n + 1)) {
        turns->items[turns->n++] = turn;
        return;
    }
    turns->ok = false;
    turn_fini(&turn);
}

void baton_chat_turns_replace(struct baton_chat_turns *to, struct baton_chat_turns *from)
{
    from->ok = from->ok && to->ok;
    baton_chat_turns_fini(to);
    *to = *from;
    *from = (struct baton_chat_turns){0};
}

/* ---- text ---- */

/* Appends the text of a string or of all parts. */
static void put_words(struct baton_buf *text, const struct baton_json *content)
{
    size_t n = 0;
    const char *bytes = baton_json_string(content, &n);
    if (bytes)
        baton_buf_append(text, bytes, n);
    for (size_t i = 0; i < baton_json_size(content); i++) {
        bytes = baton_json_string(baton_json_get(baton_json_at(content, i), "text"), &n);
        if (bytes)
            baton_buf_append(text, bytes, n);
    }
}

static struct baton_json *take_text(struct baton_buf *text)
{
    struct baton_json *made =
        baton_buf_err(text) ? NULL : baton_json_new_text(baton_buf_text(text), text->len);
    baton_buf_fini(text);
    return made;
}

struct baton_json *baton_chat_words(const struct baton_json *content)
{
    struct baton_buf text;
    if (baton_json_kind(content) == BATON_JSON_STRING)
        return baton_json_share(content);
    baton_buf_init(&text, TEXT_MAX_BYTES);
    put_words(&text, content);
    return take_text(&text);
}

bool baton_chat_is_blank(const struct baton_json *content)
{
    size_t n = 0;
    bool is_blank = true;
    struct baton_json *words = baton_chat_words(content);
    const char *bytes = baton_json_string(words, &n);
    for (size_t i = 0; i < n && is_blank; i++)
        is_blank = strchr(" \t\r\n", bytes[i]) && bytes[i];
    baton_json_free(words);
    return is_blank;
}

void baton_chat_turn_join(struct baton_chat_turns *turns, struct baton_chat_turn *turn,
                          const struct baton_json *content)
{
    struct baton_buf text;
    baton_buf_init(&text, TEXT_MAX_BYTES);
    put_words(&text, turn->content);
    size_t n_before = text.len;
    if (n_before)
        baton_buf_puts(&text, "\n\n");
    put_words(&text, content);
    if (n_before && text.len == n_before + 2)
        text.len = n_before; /* nothing was added */
    baton_json_free(turn->content);
    turn->content = take_text(&text);
    turns->ok = turns->ok && turn->content;
}

/* ---- reading messages ---- */

static enum baton_chat_role role_of(const struct baton_json *message)
{
    for (size_t i = 0; i < BATON_N_OF(role_names); i++)
        if (baton_json_is(baton_json_get(message, "role"), role_names[i]))
            return (enum baton_chat_role)i;
    return BATON_CHAT_USER;
}

static struct baton_json *share_of(const struct baton_json *object, const char *key)
{
    const struct baton_json *member = baton_json_get(object, key);
    return baton_json_kind(member) == BATON_JSON_NULL ? NULL : baton_json_share(member);
}

static bool is_text(const struct baton_json *part)
{
    return baton_json_is(baton_json_get(part, "type"), "text") &&
           baton_json_kind(baton_json_get(part, "text")) == BATON_JSON_STRING;
}

/* Returns content with text for every part; NULL for null. */
static struct baton_json *content_of(const struct baton_json *message)
{
    const struct baton_json *content = baton_json_get(message, "content");
    bool are_texts = true;
    for (size_t i = 0; i < baton_json_size(content); i++)
        are_texts = are_texts && is_text(baton_json_at(content, i));
    if (are_texts || baton_json_kind(content) != BATON_JSON_ARRAY)
        return share_of(message, "content");
    struct baton_json *made = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(content); i++) {
        const struct baton_json *part = baton_json_at(content, i);
        if (!baton_json_push(made,
                             is_text(part) ? baton_json_share(part) : baton_chat_text_part(part))) {
            baton_json_free(made);
            return NULL;
        }
    }
    return made;
}

void baton_chat_turns_read(struct baton_chat_turns *turns, const struct baton_json *messages)
{
    *turns = (struct baton_chat_turns){.ok = true};
    for (size_t i = 0; i < baton_json_size(messages); i++) {
        const struct baton_json *message = baton_json_at(messages, i);
        struct baton_chat_turn turn = {.role = role_of(message), .given = message};
        turn.content = content_of(message);
        if (baton_json_size(baton_json_get(message, "tool_calls")))
            turn.calls = share_of(message, "tool_calls");
        if (turn.role == BATON_CHAT_TOOL) {
            turn.id = share_of(message, "tool_call_id");
            turn.name = share_of(message, "name");
        }
        baton_chat_turns_push(turns, turn);
    }
}

/* ---- writing messages ---- */

static struct baton_json *part_of(const struct baton_json *text)
{
    struct baton_json *part = baton_json_new_object(), *parts = baton_json_new_array();
    bool ok = baton_json_set(part, "type", baton_json_new_string("text")) &&
              baton_json_set(part, "text", baton_json_share(text));
    ok = baton_json_push(parts, part) && ok;
    if (ok)
        return parts;
    baton_json_free(parts);
    return NULL;
}

/* Returns the content in the shape that the template writes for the role. */
static struct baton_json *shaped(const struct baton_chat_turn *turn,
                                 const struct baton_chat_abilities *abilities)
{
    bool is_list = baton_json_kind(turn->content) == BATON_JSON_ARRAY;
    if (is_list && abilities->takes_parts[turn->role])
        return baton_json_share(turn->content);
    struct baton_json *words = baton_chat_words(turn->content);
    if (!words || !abilities->wants_a_part[turn->role])
        return words;
    struct baton_json *parts = part_of(words);
    baton_json_free(words);
    return parts;
}

/* Content is left out only beside calls, where many templates test for it. */
static bool put_content(struct baton_json *message, const struct baton_chat_turn *turn,
                        const struct baton_chat_abilities *abilities)
{
    if (turn->calls && !abilities->wants_content && baton_chat_is_blank(turn->content))
        return true;
    return baton_json_set(message, "content", shaped(turn, abilities));
}

/* Templates that use the name thinking accept it beside calls or content, not beside both. */
static bool put_thinking(struct baton_json *message, const struct baton_chat_turn *turn,
                         const struct baton_chat_abilities *abilities)
{
    const struct baton_json *reasoning = baton_json_get(turn->given, "reasoning_content");
    bool fits = !turn->calls || baton_chat_is_blank(turn->content);
    if (!abilities->names_thinking || !reasoning || baton_json_get(message, "thinking") || !fits)
        return true;
    return baton_json_set(message, "thinking", baton_json_share(reasoning));
}

/* Whether the member is one of those that the turn holds itself. */
static bool is_held(const struct baton_chat_turn *turn, const char *key)
{
    return !strcmp(key, "role") || !strcmp(key, "content") || !strcmp(key, "tool_calls") ||
           (turn->role == BATON_CHAT_TOOL &&
            (!strcmp(key, "tool_call_id") || !strcmp(key, "name")));
}

static bool put_given(struct baton_json *message, const struct baton_json *given,
                      const struct baton_chat_turn *turn)
{
    bool ok = true;
    for (void *it = baton_json_first(given); it && ok; it = baton_json_next(given, it))
        if (!is_held(turn, baton_json_key(it)))
            ok = baton_json_set(message, baton_json_key(it),
                                baton_json_share(baton_json_member(it)));
    return ok;
}

static bool put_share(struct baton_json *message, const char *key, const struct baton_json *value)
{
    return !value || baton_json_set(message, key, baton_json_share(value));
}

static bool is_known(const char *role)
{
    for (size_t i = 0; i < BATON_N_OF(role_names); i++)
        if (!strcmp(role_names[i], role))
            return true;
    return false;
}

/* The name of a role that is none of ours is the client's, if the template writes it. */
static const char *name_of(const struct baton_chat_turn *turn,
                           const struct baton_chat_abilities *abilities)
{
    const char *given = baton_json_string(baton_json_get(turn->given, "role"), NULL);
    bool is_other = turn->role == BATON_CHAT_USER && given && !is_known(given);
    return is_other && abilities->takes_any_role ? given : role_names[turn->role];
}

static struct baton_json *message_of(const struct baton_chat_turn *turn,
                                     const struct baton_chat_abilities *abilities)
{
    struct baton_json *message = baton_json_new_object();
    bool ok =
        baton_json_set(message, "role", baton_json_new_string(name_of(turn, abilities))) &&
        put_content(message, turn, abilities) && put_share(message, "tool_calls", turn->calls) &&
        put_share(message, "tool_call_id", turn->id) && put_share(message, "name", turn->name) &&
        put_given(message, turn->given, turn) && put_thinking(message, turn, abilities);
    if (ok)
        return message;
    baton_json_free(message);
    return NULL;
}

struct baton_json *baton_chat_turns_write(const struct baton_chat_turns *turns,
                                          const struct baton_chat_abilities *abilities)
{
    struct baton_json *messages = turns->ok ? baton_json_new_array() : NULL;
    for (size_t i = 0; i < turns->n && messages; i++)
        if (!baton_json_push(messages, message_of(&turns->items[i], abilities))) {
            baton_json_free(messages);
            return NULL;
        }
    return messages;
}
