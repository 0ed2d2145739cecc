/* Converts a conversation's JSON to the values of a template. */
#include <string.h>

#include "common/base/array.h"
#include "gateway/chat/parts.h"

static struct jinja_value own_text(struct jinja_run *run, const char *text)
{
    return jinja_text_value(run, text, strlen(text), true);
}

/* Makes a key from a name of the request. */
static struct jinja_value foreign_key(struct jinja_run *run, const char *name)
{
    return jinja_text_value(run, name, strlen(name), false);
}

/* Converts a role, one of a few words, which the template may join to a special token. */
static struct jinja_value role_value(struct jinja_run *run, const struct baton_json *role)
{
    const char *name = baton_json_string(role, NULL);
    return name ? own_text(run, name) : jinja_none();
}

/* Each message has a role and content, which may be none. */
static struct jinja_value message_value(struct jinja_run *run, const struct baton_json *message)
{
    struct jinja_dict *dict = jinja_dict_new(run);
    jinja_dict_put(run, dict, own_text(run, "role"),
                   role_value(run, baton_json_get(message, "role")));
    jinja_dict_put(run, dict, own_text(run, "content"),
                   jinja_json_value(run, baton_json_get(message, "content")));
    for (void *it = baton_json_first(message); it; it = baton_json_next(message, it)) {
        const char *name = baton_json_key(it);
        if (strcmp(name, "role") != 0 && strcmp(name, "content") != 0)
            jinja_dict_put(run, dict, foreign_key(run, name),
                           jinja_json_value(run, baton_json_member(it)));
    }
    return jinja_dict_value(dict);
}

static struct jinja_value messages_value(struct jinja_run *run, const struct baton_json *messages)
{
    size_t n = baton_json_size(messages);
    struct jinja_value *items = jinja_items(run, n);
    for (size_t i = 0; i < n && items; i++)
        items[i] = message_value(run, baton_json_at(messages, i));
    return jinja_list_value(run, JINJA_LIST, items, n);
}

static void set_text(struct jinja_run *run, const char *name, const char *text)
{
    baton_jinja_set(run, name, own_text(run, text ? text : ""));
}

/* The names of the switch in templates. */
static const char *const switches[] = {"enable_thinking", "thinking"};

bool baton_chat_wants_no_reasoning(const struct baton_chat_input *input)
{
    for (size_t i = 0; i < BATON_N_OF(switches); i++) {
        const struct baton_json *given = baton_json_get(input->kwargs, switches[i]);
        if (baton_json_kind(given) == BATON_JSON_BOOL)
            return !baton_json_bool(given);
    }
    return input->thinking == BATON_THINKING_OFF;
}

void baton_chat_set_values(struct jinja_run *run, const struct baton_chat *chat,
                           const struct baton_chat_input *input)
{
    /* First, so that kwargs cannot replace the variables below. */
    const struct baton_json *kwargs = input->kwargs;
    for (void *it = baton_json_first(kwargs); it; it = baton_json_next(kwargs, it))
        baton_jinja_set(run, baton_json_key(it), jinja_json_value(run, baton_json_member(it)));
    for (size_t i = 0; i < BATON_N_OF(switches) && input->thinking; i++)
        if (!baton_json_get(kwargs, switches[i]))
            baton_jinja_set(run, switches[i], jinja_bool(input->thinking == BATON_THINKING_ON));
    if (input->reasoning_effort)
        baton_jinja_set(
            run, "reasoning_effort",
            jinja_text_value(run, input->reasoning_effort, strlen(input->reasoning_effort), false));
    baton_jinja_set(run, "messages", messages_value(run, input->messages));
    baton_jinja_set(run, "tools", jinja_json_value(run, input->tools));
    baton_jinja_set(run, "documents", jinja_json_value(run, input->documents));
    baton_jinja_set(run, "add_generation_prompt",
                    jinja_bool(!input->no_generation_prompt && !input->continues));
    set_text(run, "bos_token", chat->bos);
    set_text(run, "eos_token", chat->eos);
}
