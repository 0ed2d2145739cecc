/* Where later prompts part from a prompt: whatever comes next, the last border before the place is
 * near it. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/checkpoint/chat_template.h"
#include "gateway/chat/chat.h"

enum { PLENTY = 1 << 20, NEAR = 2 };

#define SHAPES "tests/unit/gateway/chat/jinja/templates/"

/* It drops the reasoning of earlier turns, and opens that of the next one. */
static const char drops_reasoning[] =
    "{%- set ns = namespace(last=0) %}{%- for m in messages %}{%- if m.role == 'user' %}"
    "{%- set ns.last = loop.index0 %}{%- endif %}{%- endfor %}"
    "{%- if tools %}"
    "{{- '<|endoftext|>system\\n' + tools|tojson + '<|endoftext|>\\n' }}{%- endif %}"
    "{%- for m in messages %}{{- '<|endoftext|>' + m.role + '\\n' }}"
    "{%- set c = m.content %}"
    "{%- if m.role == 'assistant' and loop.index0 < ns.last and '</think>' in c %}"
    "{%- set c = c.split('</think>')[-1] %}{%- endif %}"
    "{{- c + '<|endoftext|>\\n' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|endoftext|>assistant\\n<think>\\n' }}{%- endif %}";

static struct baton_tokenizer *tale;

SETUP(set_up)
{
    assert_ok(baton_tokenizer_open("models/tale", &tale, NULL));
}

TEARDOWN(tear_down)
{
    baton_tokenizer_close(tale);
}

static struct baton_chat *open_chat(const char *name)
{
    struct baton_chat *chat = NULL;
    bool is_own = !strcmp(name, "drops reasoning");
    struct baton_chat_template source = {.bos = strdup("<|endoftext|>"),
                                         .eos = strdup("<|endoftext|>")};
    source.jinja = is_own ? strdup(drops_reasoning) : NULL;
    source.n_jinja = is_own ? strlen(drops_reasoning) : 0;
    assert_ok(baton_chat_create(&source, is_own ? "auto" : name, &chat, NULL));
    baton_chat_template_fini(&source);
    return chat;
}

struct prompt {
    struct baton_tokens tokens;
    struct baton_chat_borders borders;
};

static struct prompt encode(const struct baton_chat *chat, const char *messages, bool has_tools)
{
    static const char tool[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"look\",\"description\":\"Looks around.\","
        "\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]";
    struct baton_json *parsed = NULL, *tools = NULL;
    struct prompt prompt = {0};
    struct baton_why why = {""};
    char text[4096];
    (void)snprintf(text, sizeof text, "[%s]", messages);
    assert_ok(baton_json_parse(text, strlen(text), &parsed, NULL));
    assert_ok(baton_json_parse(tool, strlen(tool), &tools, NULL));
    const struct baton_chat_input input = {.messages = parsed, .tools = has_tools ? tools : NULL};
    if (baton_chat_encode(chat, tale, &input, PLENTY, &prompt.tokens, NULL, &prompt.borders, &why))
        fail_msg("%s", why.text);
    baton_json_free(parsed);
    baton_json_free(tools);
    for (int i = 0; i < prompt.borders.n; i++)
        assert_in_range(prompt.borders.at[i], i ? prompt.borders.at[i - 1] + 1 : 1,
                        prompt.tokens.n);
    return prompt;
}

static void assert_border_where_they_part(const char *name, struct prompt *first,
                                          struct prompt *second)
{
    size_t n = 0, border = 0;
    while (n < first->tokens.n && n < second->tokens.n &&
           first->tokens.ids[n] == second->tokens.ids[n])
        n++;
    for (int i = 0; i < first->borders.n; i++)
        if (first->borders.at[i] <= n)
            border = first->borders.at[i];
    if (n - border > NEAR)
        fail_msg("%s: they part at %zu of %zu, the border before is %zu", name, n, first->tokens.n,
                 border);
    baton_tokens_fini(&first->tokens);
    baton_tokens_fini(&second->tokens);
}

#define SYSTEM       "{\"role\":\"system\",\"content\":\"Tell tales of the old forest.\"}"
#define USER(text)   "{\"role\":\"user\",\"content\":\"" text "\"}"
#define ANSWER(text) "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define TALK                                                                                       \
    SYSTEM "," USER("Who was it?") "," ANSWER("<think>A fox?</think>A fox.") "," USER("And then?")
#define CALL                                                                                       \
    "{\"role\":\"assistant\",\"content\":\"<think>I look.</think>\",\"tool_calls\":[{\"id\":"      \
    "\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]}"
#define RESULT "{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"A tree.\"}"

static const struct {
    const char *what, *first, *second;
    bool has_tools;
} cases[] = {
    {"the next turn", TALK, TALK "," ANSWER("It ran away.") "," USER("Far?"), false},
    {"the next turn after reasoning", TALK,
     TALK "," ANSWER("<think>Away?</think>It ran.") "," USER("Far?"), false},
    {"another last message", TALK,
     SYSTEM "," USER("Who was it?") "," ANSWER("<think>A fox?</think>A fox.") "," USER("Why so?"),
     false},
    {"another user", SYSTEM "," USER("Once upon a time?"), SYSTEM "," USER("Is it dark?"), false},
    {"another user with the tools", SYSTEM "," USER("Once upon a time?"),
     SYSTEM "," USER("Is it dark?"), true},
    {"another user with tools alone", USER("Once upon a time?"), USER("Is it dark?"), true},
    {"the next turn with tools", TALK, TALK "," ANSWER("It ran away.") "," USER("Far?"), true},
    {"a turn after a result", TALK "," CALL "," RESULT,
     TALK "," CALL "," RESULT "," ANSWER("A tree.") "," USER("Far?"), true},
    {"another call in the same turn", TALK "," CALL "," RESULT,
     TALK "," CALL "," RESULT "," CALL "," RESULT, true},
    {"a second message", USER("Who was it?"),
     USER("Who was it?") "," ANSWER("A fox.") "," USER("?"), false},
    {"an answer that is continued", TALK "," ANSWER("It ran"),
     TALK "," ANSWER("It ran") "," USER("Far?"), false},
};

TEST(a_border_is_where_the_next_prompt_parts_from_this_one)
{
    static const char *const names[] = {"chatml",
                                        "llama3",
                                        "gemma",
                                        "mistral-v7",
                                        "zephyr",
                                        "phi4",
                                        "mistral-tekken",
                                        "llama2",
                                        "drops reasoning",
                                        SHAPES "reasons_and_replies.jinja",
                                        SHAPES "tools_before_the_last_question.jinja",
                                        SHAPES "dates_and_indented_tools.jinja",
                                        SHAPES "types_by_macros.jinja"};
    for (size_t i = 0; i < BATON_N_OF(names); i++) {
        struct baton_chat *chat = open_chat(names[i]);
        for (size_t k = 0; k < BATON_N_OF(cases); k++) {
            char name[128];
            (void)snprintf(name, sizeof name, "%s, %s", names[i], cases[k].what);
            struct prompt first = encode(chat, cases[k].first, cases[k].has_tools),
                          second = encode(chat, cases[k].second, cases[k].has_tools);
            assert_border_where_they_part(name, &first, &second);
        }
        baton_chat_close(chat);
    }
}

EACH_TEST(set_up, tear_down)
