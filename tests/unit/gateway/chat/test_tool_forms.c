/* Calls that a template writes into the prompt are read back as the same calls: for each form. */
#include "common/base/array.h"
#include "tests/unit/gateway/chat/chat_unit.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/gateway/chat/tool_templates.h"
#include "tests/unit/gateway/chat/toolcall/pieces.h"

#define ARGUMENTS                                                                                  \
    "{\"city\":\"Troms\u00f8 "                                                                     \
    "\\\"N\\\"\",\"days\":3,\"zip\":\"0123\",\"deep\":{\"a\":[true,null,-1.5],"                    \
    "\"b\":{}},\"code\":\"if a < b:\\n    print('x')\",\"dry\":false}"

#define NOW                                                                                        \
    ",{\"id\":\"f1b2c3d4e\",\"type\":\"function\",\"function\":{\"name\":\"now\",\"arguments\":"   \
    "{}}}"
#define REQUEST(more)                                                                              \
    "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"parameters\":{"       \
    "\"type\":"                                                                                    \
    "\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"zip\":{\"type\":\"string\"},"     \
    "\"days\":{"                                                                                   \
    "\"type\":\"integer\"},\"deep\":{\"type\":\"object\"},\"dry\":{\"type\":\"boolean\"}}}}},{"    \
    "\"type\":\"function\",\"function\":{\"name\":\"now\"}}],"                                     \
    "\"messages\":[{\"role\":\"user\",\"content\":\"How is "                                       \
    "it?\"},{\"role\":\"assistant\",\"tool_calls\":["                                              \
    "{\"id\":\"a1b2c3d4e\",\"type\":\"function\",\"function\":{\"name\":\"weather\","              \
    "\"arguments\":" ARGUMENTS "}}" more "]}]}"

#define FIRST_CALL "«weather(" ARGUMENTS ")»"

/* The request's body, opened at its assistant's turn: the text so far and all of it. */
struct turn {
    struct baton_json *body;
    struct baton_answer_form form;
    struct baton_chat_text prompt, whole;
};

static void render(const struct baton_chat *chat, const struct baton_chat_input *input,
                   struct baton_chat_text *text)
{
    struct baton_why why = {.text = ""};
    baton_chat_text_init(text);
    if (baton_chat_render(chat, input, CHAT_NOW, text, &why))
        fail_msg("%s", why.text);
}

/* The first message alone is the prompt. */
static void open_turn(struct baton_chat *chat, const char *text, struct turn *turn)
{
    struct baton_json *first = baton_json_new_array();
    assert_ok(baton_json_parse(text, strlen(text), &turn->body, NULL));
    const struct baton_json *messages = baton_json_get(turn->body, "messages");
    const struct baton_json *tools = baton_json_get(turn->body, "tools");
    assert_true(baton_json_push(first, baton_json_share(baton_json_at(messages, 0))));
    const struct baton_chat_input asked = {.messages = first, .tools = tools};
    const struct baton_chat_input answered = {
        .messages = messages, .tools = tools, .no_generation_prompt = true};
    render(chat, &asked, &turn->prompt);
    render(chat, &answered, &turn->whole);
    turn->form = baton_chat_form(chat, &asked, &turn->prompt);
    baton_json_free(first);
}

static void close_turn(struct turn *turn)
{
    baton_chat_text_fini(&turn->prompt);
    baton_chat_text_fini(&turn->whole);
    baton_json_free(turn->body);
}

/* The text that the template writes behind the prompt, without the end of the turn. */
static char *answer_of(const struct turn *turn)
{
    static const char *const ends[] = {"</s>", "<|return|>", "<|call|>"};
    const char *prompt = baton_buf_text(&turn->prompt.bytes);
    const char *whole = baton_buf_text(&turn->whole.bytes);
    assert_memory_equal(prompt, whole, strlen(prompt));
    char *answer = strdup(whole + strlen(prompt));
    assert_non_null(answer);
    for (size_t i = 0; i < BATON_N_OF(ends); i++) {
        size_t n = strlen(answer), n_end = strlen(ends[i]);
        if (n >= n_end && !strcmp(answer + n - n_end, ends[i]))
            answer[n - n_end] = 0;
    }
    return answer;
}

static void check_turn(const char *template, const char *form, const char *text, const char *want)
{
    struct baton_chat *chat = chat_open(template, "auto");
    struct turn turn;
    open_turn(chat, text, &turn);
    assert_non_null(turn.form.tools);
    assert_string_equal(turn.form.tools->name, form);
    char *answer = answer_of(&turn);
    check_pieces(&turn.form, answer, want);
    free(answer);
    close_turn(&turn);
    baton_chat_close(chat);
}

TEST(calls_that_a_template_writes_are_read_back)
{
    for (size_t i = 0; i < N_TOOL_TEMPLATES; i++) {
        bool has_one = !strcmp(tool_templates[i].form, "llama3");
        check_turn(tool_templates[i].template, tool_templates[i].form,
                   has_one ? REQUEST("") : REQUEST(NOW),
                   has_one ? FIRST_CALL : FIRST_CALL "«now({})»");
    }
}

TEST(every_form_has_a_template_here)
{
    for (size_t i = 0; i < baton_n_tool_formats; i++) {
        const struct baton_tool_format *format = &baton_tool_formats[i];
        size_t n = 0;
        for (size_t t = 0; t < N_TOOL_TEMPLATES; t++)
            n += !strcmp(tool_templates[t].form, format->name);
        assert_int_equal(n, 1);
    }
}

TEST(text_before_calls_stays)
{
    static const char said[] =
        "{\"tools\":[{}],\"messages\":[{\"role\":\"user\",\"content\":\"Q\"},{\"role\":"
        "\"assistant\","
        "\"content\":\"See <here>.\",\"tool_calls\":[{\"id\":\"a1b2c3d4e\",\"type\":\"function\","
        "\"function\":{\"name\":\"now\",\"arguments\":{\"a\":\"b\"}}}]}]}";
    for (size_t i = 0; i < N_TOOL_TEMPLATES; i++) {
        const char *form = tool_templates[i].form;
        /* Calls are all of the text of some; in channels text is the last. */
        if (!strcmp(form, "llama3") || !strcmp(form, "pythonic") || !strcmp(form, "harmony"))
            continue;
        check_turn(tool_templates[i].template, form, said, "See <here>.«now({\"a\":\"b\"})»");
    }
}

TEST(channels_hold_reasoning_and_text)
{
    check_turn(HARMONY, "harmony",
               "{\"tools\":[{}],\"messages\":[{\"role\":\"user\",\"content\":\"Q\"},{\"role\":"
               "\"assistant\",\"thinking\":\"Hm.\",\"content\":\"Yes.\"}]}",
               "‹Hm.›Yes.");
}

/* A conversation whose content is null beside its call, as clients send it back. */
#define ITS_CALLS "{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}{% endfor %}"
#define CALLED(more)                                                                               \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Q\"},{\"role\":\"assistant\",\"content\":"    \
    "null," more                                                                                   \
    "\"tool_calls\":[{\"id\":\"a1b2c3d4e\",\"type\":\"function\",\"function\":{\"name\":\"now\","  \
    "\"arguments\":\"{}\"}}]}],\"closed\":true}"

TEST(content_beside_calls_is_null_only_where_the_template_can_use_it)
{
    assert_chat_request(
        "{% for m in messages %}{{ 'x' if 'y' in m.content }}{{ m.role }}{{ m.content }}" ITS_CALLS
        "{% endfor %}",
        CALLED(""), "userQassistant{}");
    assert_chat_request("{% for m in messages %}[{{ m.content }}]" ITS_CALLS "{% endfor %}",
                        CALLED(""), "[Q][]{}");
    assert_chat_request("{% for m in messages %}[{{ m.content | tojson }}]" ITS_CALLS
                        "{% endfor %}",
                        CALLED(""), "[\"Q\"][\"\"]{}");
    assert_chat_request("{% for m in messages %}{% if m.content is not none %}[{{ m.content }}]"
                        "{% endif %}" ITS_CALLS "{% endfor %}",
                        CALLED(""), "[Q]{}");
}

TEST(reasoning_goes_back_by_the_name_that_the_template_has)
{
    static const char thinking[] =
        "{% for m in messages %}{{ m.thinking }}{{ m.content }}" ITS_CALLS "{% endfor %}";
    assert_chat_request(thinking, CALLED("\"reasoning_content\":\"Hm.\","), "QHm.{}");
    assert_chat_request(thinking, CALLED("\"thinking\":\"Ha.\",\"reasoning_content\":\"Hm.\","),
                        "QHa.{}");
    assert_chat_request("{% for m in messages %}{{ m.content }}{{ m.reasoning_content }}"
                        "{{ m.thinking is defined }}" ITS_CALLS "{% endfor %}",
                        CALLED("\"reasoning_content\":\"Hm.\","), "QFalseHm.False{}");
}
