/* Converts a conversation's JSON to the values that templates expect. */
#include <string.h>

#include "gateway/chat/parts.h"

struct values {
    struct jinja_run *run;
    const struct baton_chat_jinja *template;
    bool parse_arguments;
    struct baton_chat_parsed *parsed;
};

static struct jinja_value key(struct values *values, const char *name)
{
    return jinja_text_value(values->run, name, strlen(name), true);
}

/* Makes a key from a name of the request. */
static struct jinja_value foreign_key(struct values *values, const char *name)
{
    return jinja_text_value(values->run, name, strlen(name), false);
}

/* ---- content ---- */

static size_t joined_bytes(const struct baton_json *parts)
{
    size_t total = 0;
    for (size_t i = 0; i < baton_json_size(parts); i++) {
        size_t n = 0;
        if (baton_json_string(baton_json_get(baton_json_at(parts, i), "text"), &n))
            total += n;
    }
    return total;
}

/* Joins the texts of all parts. */
static struct jinja_value joined(struct values *values, const struct baton_json *parts)
{
    size_t at = 0, total = joined_bytes(parts);
    struct jinja_value *room = jinja_items(values->run, total / sizeof *room + 1);
    char *bytes = (char *)room; /* aligned memory of the run's arena */
    if (!bytes)
        return jinja_undefined(NULL);
    for (size_t i = 0; i < baton_json_size(parts); i++) {
        size_t n = 0;
        const char *text = baton_json_string(baton_json_get(baton_json_at(parts, i), "text"), &n);
        if (text && n)
            memcpy(bytes + at, text, n);
        at += text ? n : 0;
    }
    return jinja_text_value(values->run, bytes, total, false);
}

/* Missing content becomes empty, except beside tool calls, where many templates test for it. */
static struct jinja_value content_value(struct values *values, const struct baton_json *message)
{
    const struct baton_json *content = baton_json_get(message, "content");
    enum baton_json_kind kind = baton_json_kind(content);
    if (kind == BATON_JSON_ARRAY && !values->template->takes_parts)
        return joined(values, content);
    bool has_calls = baton_json_size(baton_json_get(message, "tool_calls")) > 0;
    if (kind == BATON_JSON_NULL && (!has_calls || values->template->wants_content))
        return jinja_text_value(values->run, "", 0, true);
    return jinja_json_value(values->run, content);
}

/* ---- roles ---- */

/* Converts a role, one of a few words, which the template may join to a special token. */
static struct jinja_value role_value(struct values *values, const struct baton_json *role)
{
    const char *name = baton_json_string(role, NULL);
    if (name && !strcmp(name, "developer") && !values->template->knows_developer)
        name = "system";
    return name ? key(values, name) : jinja_none();
}

/* ---- tool calls ---- */

/* Parses arguments from JSON text to a map; keeps a text that is not a map. */
static struct jinja_value arguments_value(struct values *values, const struct baton_json *json)
{
    struct baton_json *tree = NULL;
    struct baton_chat_parsed *parsed = values->parsed;
    size_t n;
    const char *text = baton_json_string(json, &n);
    if (!text || !values->parse_arguments || parsed->n == BATON_CHAT_MAX_PARSED)
        return jinja_json_value(values->run, json);
    if (!n)
        return jinja_dict_value(jinja_dict_new(values->run));
    if (baton_json_parse(text, n, &tree, NULL))
        return jinja_json_value(values->run, json);
    parsed->trees[parsed->n++] = tree;
    if (baton_json_kind(tree) != BATON_JSON_OBJECT)
        return jinja_json_value(values->run, json);
    return jinja_json_value(values->run, tree);
}

static struct jinja_value function_value(struct values *values, const struct baton_json *function)
{
    struct jinja_dict *dict = jinja_dict_new(values->run);
    for (void *it = baton_json_first(function); it; it = baton_json_next(function, it)) {
        const char *name = baton_json_key(it);
        const struct baton_json *member = baton_json_member(it);
        jinja_dict_put(values->run, dict, foreign_key(values, name),
                       !strcmp(name, "arguments") ? arguments_value(values, member)
                                                  : jinja_json_value(values->run, member));
    }
    return jinja_dict_value(dict);
}

static struct jinja_value call_value(struct values *values, const struct baton_json *call)
{
    struct jinja_dict *dict = jinja_dict_new(values->run);
    for (void *it = baton_json_first(call); it; it = baton_json_next(call, it)) {
        const char *name = baton_json_key(it);
        const struct baton_json *member = baton_json_member(it);
        jinja_dict_put(values->run, dict, foreign_key(values, name),
                       !strcmp(name, "function") ? function_value(values, member)
                                                 : jinja_json_value(values->run, member));
    }
    return jinja_dict_value(dict);
}

static struct jinja_value calls_value(struct values *values, const struct baton_json *calls)
{
    size_t n = baton_json_size(calls);
    struct jinja_value *items = jinja_items(values->run, n);
    for (size_t i = 0; i < n && items; i++)
        items[i] = call_value(values, baton_json_at(calls, i));
    return jinja_list_value(values->run, JINJA_LIST, items, n);
}

/* ---- messages ---- */

/* Templates that use the name thinking accept it beside calls or content, not beside both. */
static bool wants_thinking(const struct values *values, const struct baton_json *message)
{
    size_t n = 0;
    const struct baton_json *content = baton_json_get(message, "content");
    (void)baton_json_string(content, &n);
    return values->template->knows_thinking && !baton_json_get(message, "thinking") &&
           (!(n || baton_json_size(content)) ||
            !baton_json_size(baton_json_get(message, "tool_calls")));
}

static struct jinja_value message_value(struct values *values, const struct baton_json *message)
{
    struct jinja_dict *dict = jinja_dict_new(values->run);
    jinja_dict_put(values->run, dict, key(values, "role"),
                   role_value(values, baton_json_get(message, "role")));
    jinja_dict_put(values->run, dict, key(values, "content"), content_value(values, message));
    for (void *it = baton_json_first(message); it; it = baton_json_next(message, it)) {
        const char *name = baton_json_key(it);
        const struct baton_json *member = baton_json_member(it);
        if (!strcmp(name, "tool_calls") && baton_json_size(member))
            jinja_dict_put(values->run, dict, foreign_key(values, name),
                           calls_value(values, member));
        else if (strcmp(name, "role") != 0 && strcmp(name, "content") != 0 &&
                 strcmp(name, "tool_calls") != 0)
            jinja_dict_put(values->run, dict, foreign_key(values, name),
                           jinja_json_value(values->run, member));
        if (!strcmp(name, "reasoning_content") && wants_thinking(values, message))
            jinja_dict_put(values->run, dict, key(values, "thinking"),
                           jinja_json_value(values->run, member));
    }
    return jinja_dict_value(dict);
}

static struct jinja_value messages_value(struct values *values, const struct baton_json *messages)
{
    size_t n = baton_json_size(messages);
    struct jinja_value *items = jinja_items(values->run, n);
    for (size_t i = 0; i < n && items; i++)
        items[i] = message_value(values, baton_json_at(messages, i));
    return jinja_list_value(values->run, JINJA_LIST, items, n);
}

/* ---- variables ---- */

static void set_text(struct jinja_run *run, const char *name, const char *text)
{
    if (!text)
        text = "";
    baton_jinja_set(run, name, jinja_text_value(run, text, strlen(text), true));
}

void baton_chat_set_values(struct jinja_run *run, const struct baton_chat *chat,
                           const struct baton_chat_jinja *template,
                           const struct baton_chat_input *input, bool parse_arguments,
                           struct baton_chat_parsed *parsed)
{
    struct values values = {
        .run = run, .template = template, .parse_arguments = parse_arguments, .parsed = parsed};
    /* First, so that kwargs cannot replace the variables below. */
    const struct baton_json *kwargs = input->kwargs;
    for (void *it = baton_json_first(kwargs); it; it = baton_json_next(kwargs, it))
        baton_jinja_set(run, baton_json_key(it), jinja_json_value(run, baton_json_member(it)));
    if (input->reasoning_effort)
        baton_jinja_set(
            run, "reasoning_effort",
            jinja_text_value(run, input->reasoning_effort, strlen(input->reasoning_effort), false));
    baton_jinja_set(run, "messages", messages_value(&values, input->messages));
    baton_jinja_set(run, "tools", jinja_json_value(run, input->tools));
    baton_jinja_set(run, "documents", jinja_json_value(run, input->documents));
    baton_jinja_set(run, "add_generation_prompt",
                    jinja_bool(!input->no_generation_prompt && !input->continues));
    set_text(run, "bos_token", chat->bos);
    set_text(run, "eos_token", chat->eos);
}

void baton_chat_parsed_free(struct baton_chat_parsed *parsed)
{
    while (parsed->n)
        baton_json_free(parsed->trees[--parsed->n]);
}
