#include "gateway/chat/probe.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/chat/rewrite.h"
#include "gateway/chat/witness.h"

enum { TALK_MAX_BYTES = 1 << 16, MAX_TALK = 16 };

struct probe {
    const struct baton_chat *chat;
    const struct baton_chat_jinja *template;
    const struct baton_json *tools; /* NULL: none */
    struct baton_chat_abilities abilities;
};

/* ---- conversations ----
 * A conversation is written as one letter for each message: s, d, u and a have a text; S, D, U, A
 * and T have two parts; c has a call, C two calls, x a text and a call; t is a tool's result; r is
 * a call with reasoning, R a text with reasoning; n is a text of a role that no template knows. */

#define STRANGER  "stranger1" /* as long as "developer" */
#define THOUGHT   "zmqthoughtqmz"
#define TOOL_NAME "look_up"

struct talk {
    struct baton_json_out out;
    int n_calls, n_results;
};

static const char *role_of(char letter)
{
    return strchr("sS", letter)   ? "system"
           : strchr("dD", letter) ? "developer"
           : strchr("uU", letter) ? "user"
           : strchr("tT", letter) ? "tool"
           : letter == 'n'        ? STRANGER
                                  : "assistant";
}

static void put_id(struct talk *talk, const char *key, int n)
{
    char id[32];
    (void)snprintf(id, sizeof id, "call_0123456789abc%02d", n);
    baton_json_put_string(&talk->out, key, id);
}

static void put_calls(struct talk *talk, int n)
{
    baton_json_open(&talk->out, "tool_calls", '[');
    for (int i = 0; i < n; i++) {
        baton_json_open(&talk->out, NULL, '{');
        put_id(talk, "id", talk->n_calls++);
        baton_json_put_string(&talk->out, "type", "function");
        baton_json_open(&talk->out, "function", '{');
        baton_json_put_string(&talk->out, "name", TOOL_NAME);
        baton_json_put_string(&talk->out, "arguments", "{\"key\": \"word\"}");
        baton_json_close(&talk->out, '}');
        baton_json_close(&talk->out, '}');
    }
    baton_json_close(&talk->out, ']');
}

static void put_parts(struct talk *talk)
{
    baton_json_open(&talk->out, "content", '[');
    for (int i = 0; i < 2; i++) {
        baton_json_open(&talk->out, NULL, '{');
        baton_json_put_string(&talk->out, "type", "text");
        baton_json_put_string(&talk->out, "text", "word");
        baton_json_close(&talk->out, '}');
    }
    baton_json_close(&talk->out, ']');
}

static void put_message(struct talk *talk, char letter)
{
    baton_json_open(&talk->out, NULL, '{');
    baton_json_put_string(&talk->out, "role", role_of(letter));
    if (strchr("SDUAT", letter))
        put_parts(talk);
    else if (strchr("cCr", letter))
        baton_json_put_null(&talk->out, "content");
    else
        baton_json_put_string(&talk->out, "content", "word");
    if (strchr("rR", letter))
        baton_json_put_string(&talk->out, "reasoning_content", THOUGHT);
    if (strchr("cCxr", letter))
        put_calls(talk, letter == 'C' ? 2 : 1);
    if (strchr("tT", letter))
        put_id(talk, "tool_call_id", talk->n_results++);
    baton_json_close(&talk->out, '}');
}

/* Returns the n messages, to be freed by the caller; NULL without memory. */
static struct baton_json *messages_of(const char *letters, size_t n)
{
    struct baton_buf buf;
    struct baton_json *messages = NULL;
    baton_buf_init(&buf, TALK_MAX_BYTES);
    struct talk talk = {.out = baton_json_out(&buf)};
    baton_json_open(&talk.out, NULL, '[');
    for (size_t i = 0; i < n; i++)
        put_message(&talk, letters[i]);
    baton_json_close(&talk.out, ']');
    if (!baton_buf_err(&buf))
        (void)!baton_json_parse(baton_buf_text(&buf), buf.len, &messages, NULL);
    baton_buf_fini(&buf);
    return messages;
}

/* ---- trying ---- */

static bool writes(const struct probe *probe, const char *letters, size_t n)
{
    bool is_whole = false;
    struct baton_json *messages = messages_of(letters, n);
    const struct baton_chat_input input = {.messages = messages, .tools = probe->tools};
    struct baton_chat_rewritten rewritten;
    if (messages) {
        is_whole = !baton_chat_rewrite(&probe->abilities, &input, &rewritten) &&
                   baton_chat_witness(probe->chat, probe->template, &rewritten.input).verdict ==
                       BATON_CHAT_WHOLE;
        baton_chat_rewritten_fini(&rewritten);
    }
    baton_json_free(messages);
    return is_whole;
}

/* True when the template writes each of the conversations, which blanks separate. */
static bool writes_all(const struct probe *probe, const char *talks)
{
    while (*talks) {
        size_t n = strcspn(talks, " ");
        if (!writes(probe, talks, n))
            return false;
        talks += n + (talks[n] == ' ');
    }
    return true;
}

/* Keeps the ability, a member of probe->abilities, if the template then writes the
 * conversations. */
static void try(struct probe *probe, bool *ability, const char *talks)
{
    *ability = true;
    *ability = writes_all(probe, talks);
}

/* Sets those of the n flags with which the template writes the conversations, as few as possible of
 * the later ones; none if nothing helps. */
static bool try_flags(struct probe *probe, bool *const *flags, size_t n, const char *talks)
{
    for (unsigned choice = 0; choice < 1U << n; choice++) {
        for (size_t i = 0; i < n; i++)
            *flags[i] = choice >> i & 1;
        if (writes_all(probe, talks))
            return true;
    }
    for (size_t i = 0; i < n; i++)
        *flags[i] = false;
    return false;
}

/* Renders a conversation as a request is rendered; with raw as it is. False: the template fails. */
static bool render(const struct probe *probe, const char *letters, const struct baton_json *tools,
                   bool raw, struct baton_chat_text *text)
{
    struct baton_json *messages = messages_of(letters, strlen(letters));
    const struct baton_chat_input input = {.messages = messages, .tools = tools};
    struct baton_chat_rewritten rewritten = {0};
    bool ok = messages && !baton_chat_rewrite(&probe->abilities, &input, &rewritten) &&
              !baton_chat_run(probe->chat, probe->template, raw ? &input : &rewritten.input, 0,
                              text, NULL, NULL);
    baton_chat_rewritten_fini(&rewritten);
    baton_json_free(messages);
    return ok;
}

/* ---- the abilities ---- */

/* Counts how often the words are in what the template writes; -1: it fails. */
static int count_words(const struct probe *probe, const char *letters,
                       const struct baton_json *tools, const char *const words[2])
{
    struct baton_chat_text text;
    int n = -1;
    baton_chat_text_init(&text);
    if (render(probe, letters, tools, false, &text)) {
        n = 0;
        for (size_t i = 0; i < 2; i++)
            for (const char *met = baton_buf_text(&text.bytes); (met = strstr(met, words[i]));
                 met++)
                n++;
    }
    baton_chat_text_fini(&text);
    return n;
}

/* A template that prints a list of parts as a list does not take them. */
static void find_parts(struct probe *probe, enum baton_chat_role role, const char *talks)
{
    static const char *const names[] = {"'type'", "\"type\""};
    char talk[MAX_TALK] = "";
    bool *takes = &probe->abilities.takes_parts[role];
    (void)snprintf(talk, sizeof talk, "%.*s", (int)strcspn(talks, " "), talks);
    int n_joined = count_words(probe, talk, probe->tools, names);
    try(probe, takes, talks);
    *takes = *takes && count_words(probe, talk, probe->tools, names) <= n_joined;
}

static void find_turns(struct probe *probe)
{
    struct baton_chat_abilities *abilities = &probe->abilities;
    bool *const shapes[] = {&abilities->wants_a_part[BATON_CHAT_USER],
                            &abilities->wants_a_part[BATON_CHAT_ASSISTANT],
                            &abilities->wants_system, &abilities->wants_tools};
    (void)try_flags(probe, shapes, BATON_N_OF(shapes), "u uau");
    try(probe, &abilities->takes_leading_assistant, "au auau");
    try(probe, &abilities->takes_user_pairs, "uu uuau uauu");
    try(probe, &abilities->takes_assistant_pairs, "uaa uaau");
    find_parts(probe, BATON_CHAT_USER, "U UaU");
    find_parts(probe, BATON_CHAT_ASSISTANT, "uA uAu");
}

/* Counts how often the template prints that something is missing; -1: it fails. */
static int count_nulls(const struct probe *probe, const char *letters,
                       const struct baton_json *tools)
{
    static const char *const nulls[] = {"None", "null"};
    return count_words(probe, letters, tools, nulls);
}

/* An empty text is better where null is printed, or where null makes the template fail. */
static void find_wants_content(struct probe *probe)
{
    probe->abilities.wants_content = false;
    int n_null = count_nulls(probe, "uct", probe->tools);
    probe->abilities.wants_content = true;
    int n_empty = count_nulls(probe, "uct", probe->tools);
    probe->abilities.wants_content = n_empty >= 0 && (n_null < 0 || n_null > n_empty);
}

static void find_calls(struct probe *probe)
{
    struct baton_chat_abilities *abilities = &probe->abilities;
    bool *const forms[] = {
        &abilities->wants_short_ids, &abilities->wants_content, &abilities->wants_text_arguments,
        &abilities->wants_a_part[BATON_CHAT_TOOL], &abilities->takes_user_after_result};
    try(probe, &abilities->takes_orphans, "ut utau");
    abilities->takes_calls = true;
    abilities->takes_calls = try_flags(probe, forms, 4, "uct uctau uctctauctau");
    if (!abilities->takes_calls)
        return;
    find_wants_content(probe);
    for (abilities->parallel = BATON_CHAT_CALLS_TOGETHER; abilities->parallel;
         abilities->parallel--)
        if (writes_all(probe, "uCtt uCttau"))
            break;
    for (abilities->beside = BATON_CHAT_BESIDE_TOGETHER; abilities->beside; abilities->beside--)
        if (writes_all(probe, "uxt uxtau uxtxtauxtau"))
            break;
    try(probe, &abilities->takes_user_after_result, "uctu uctuau");
    try(probe, &abilities->takes_unanswered, "uc ucu ucau");
    try(probe, &abilities->takes_orphans, "ut utau");
    find_parts(probe, BATON_CHAT_TOOL, "ucT ucTau");
}

/* Finds whether the template knows the role, instead of copying the name of any role: models that
 * were not trained for developers have better seen a system message. */
static bool knows_developer(const struct probe *probe)
{
    struct baton_chat_text developer, stranger;
    baton_chat_text_init(&developer);
    baton_chat_text_init(&stranger);
    bool ok = render(probe, "du", probe->tools, true, &developer);
    bool any = render(probe, "nu", probe->tools, true, &stranger);
    char *at = any ? stranger.bytes.data : NULL;
    while (at && (at = strstr(at, STRANGER)))
        memcpy(at, "developer", strlen(STRANGER));
    bool knows = ok && (!any || strcmp(baton_buf_text(&developer.bytes),
                                       baton_buf_text(&stranger.bytes)) != 0);
    baton_chat_text_fini(&developer);
    baton_chat_text_fini(&stranger);
    return knows;
}

static void find_systems(struct probe *probe)
{
    struct baton_chat_abilities *abilities = &probe->abilities;
    bool *takes = abilities->takes_system;
    bool *const shape[] = {&abilities->wants_a_part[BATON_CHAT_SYSTEM]};
    takes[BATON_CHAT_USER] = true;
    takes[BATON_CHAT_USER] = try_flags(probe, shape, 1, "su suau");
    if (!takes[BATON_CHAT_USER])
        return;
    try(probe, &takes[BATON_CHAT_SYSTEM], "s");
    try(probe, &takes[BATON_CHAT_ASSISTANT], "sua suaua");
    try(probe, &takes[BATON_CHAT_TOOL], "suct suauct");
    try(probe, &abilities->takes_systems, "ssu ssuau");
    try(probe, &abilities->takes_later_systems, "us suasu");
    find_parts(probe, BATON_CHAT_SYSTEM, "Su Suau");
    abilities->wants_a_part[BATON_CHAT_DEVELOPER] = abilities->wants_a_part[BATON_CHAT_SYSTEM];
    if (knows_developer(probe))
        try(probe, &abilities->takes_developer, "du duau sdu uadu");
    if (abilities->takes_developer)
        find_parts(probe, BATON_CHAT_DEVELOPER, "Du Duau");
}

/* Finds whether the template writes the names of other roles, such as vLLM's clients make up. */
static void find_other_roles(struct probe *probe)
{
    static const char *const names[2] = {STRANGER, STRANGER};
    bool *takes = &probe->abilities.takes_any_role;
    try(probe, takes, "nu uan nuau");
    *takes = *takes && count_words(probe, "nu", probe->tools, names) > 0;
}

static bool shows_thought(const struct probe *probe, const char *letters)
{
    struct baton_chat_text text;
    baton_chat_text_init(&text);
    bool shows = render(probe, letters, probe->tools, false, &text) &&
                 strstr(baton_buf_text(&text.bytes), THOUGHT);
    baton_chat_text_fini(&text);
    return shows;
}

static void find_thinking(struct probe *probe)
{
    bool *names = &probe->abilities.names_thinking;
    if (shows_thought(probe, "urt") || shows_thought(probe, "uR"))
        return;
    *names = true;
    *names = shows_thought(probe, "urt") || shows_thought(probe, "uR");
}

/* ---- tools ---- */

#define TOOL(members)                                                                              \
    "[{\"type\":\"function\",\"function\":{\"name\":\"" TOOL_NAME "\"" members "}}]"
#define DESCRIPTION ",\"description\":\"Looks up.\""
#define BARE_PARAMETERS                                                                            \
    ",\"parameters\":{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"}}}"
#define PARAMETERS                                                                                 \
    ",\"parameters\":{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\","           \
    "\"description\":\"A key.\"}},\"required\":[\"key\"]}"

static struct baton_json *parse(const char *text)
{
    struct baton_json *json = NULL;
    (void)!baton_json_parse(text, strlen(text), &json, NULL);
    return json;
}

static int count_missing(const struct probe *probe, const char *tool)
{
    struct baton_json *tools = parse(tool);
    int n = count_nulls(probe, "u", tools);
    baton_json_free(tools);
    return n;
}

/* Tools may lack descriptions and parameters. Templates that read them fail, or print
 * None. */
static void find_tools(struct probe *probe)
{
    static const char *const poor[] = {TOOL(""), TOOL(DESCRIPTION), TOOL(PARAMETERS),
                                       TOOL(DESCRIPTION BARE_PARAMETERS)};
    bool wants = false;
    int n = count_missing(probe, TOOL(DESCRIPTION PARAMETERS));
    for (size_t i = 0; i < BATON_N_OF(poor) && n >= 0; i++) {
        int n_poor = count_missing(probe, poor[i]);
        wants = wants || n_poor < 0 || n_poor > n;
    }
    probe->abilities.wants_whole_tools = wants;
}

/* False for a template that fails with whatever it gets; more probes would only take time. */
static bool runs(const struct probe *probe)
{
    struct baton_chat_text text;
    baton_chat_text_init(&text);
    struct baton_json *none = baton_json_new_array();
    bool runs = render(probe, "u", probe->tools, true, &text) ||
                render(probe, "u", none, true, &text) ||
                render(probe, "U", probe->tools, true, &text) ||
                render(probe, "su", probe->tools, true, &text);
    baton_json_free(none);
    baton_chat_text_fini(&text);
    return runs;
}

/* True when prompts do not have the tools' names. A template that fails shows neither. */
static bool hides_tools(const struct probe *probe)
{
    static const char *const words[2] = {TOOL_NAME, TOOL_NAME};
    int n = count_words(probe, "u", probe->tools, words);
    int n_after_system = count_words(probe, "su", probe->tools, words);
    return n <= 0 && n_after_system <= 0 && n + n_after_system > -2;
}

struct baton_chat_abilities baton_chat_probe(const struct baton_chat *chat,
                                             const struct baton_chat_jinja *template,
                                             bool has_tools)
{
    struct baton_json *tools = has_tools ? parse(TOOL(DESCRIPTION PARAMETERS)) : NULL;
    struct probe probe = {.chat = chat, .template = template, .tools = tools};
    if (runs(&probe)) {
        find_turns(&probe);
        find_calls(&probe);
        find_systems(&probe);
        find_other_roles(&probe);
        find_thinking(&probe);
        if (has_tools)
            find_tools(&probe);
    }
    bool is_told = has_tools && hides_tools(&probe);
    baton_json_free(tools);
    if (!is_told)
        return probe.abilities;
    struct baton_chat_abilities abilities = baton_chat_probe(chat, template, false);
    abilities.told_form = template->tool_format;
    return abilities;
}

/* ---- reasoning ---- */

/* Returns what stands behind the thought of a rendered message; NULL: the thought is not shown. */
static const char *behind_thought(const struct probe *probe, const char *end,
                                  struct baton_chat_text *text)
{
    const char *at = render(probe, "uR", NULL, false, text)
                         ? strstr(baton_buf_text(&text->bytes), THOUGHT)
                         : NULL;
    at = at ? strstr(at, end) : NULL;
    return at ? at + strlen(end) : NULL;
}

void baton_chat_find_behind(const struct baton_chat *chat, struct baton_chat_jinja *template)
{
    const struct baton_reasoning_format *format = template->reasoning_format;
    const struct probe probe = {
        .chat = chat, .template = template, .abilities = template->abilities[false]};
    struct baton_chat_text text;
    if (!format || format->has_channels)
        return;
    baton_chat_text_init(&text);
    const char *behind = behind_thought(&probe, format->end, &text);
    if (!behind)
        behind = format->behind ? format->behind : "";
    (void)snprintf(template->behind_reasoning, sizeof template->behind_reasoning, "%.*s",
                   (int)strspn(behind, "\n"), behind);
    baton_chat_text_fini(&text);
}
