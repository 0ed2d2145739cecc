/* The inputs of a template, and the errors of one that fails. */
#include "common/base/array.h"
#include "tests/unit/gateway/chat/chat_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint/chat_template.h"
#include "tests/unit/gateway/chat/chat_templates.h"

TEST(a_template_that_fails_says_where)
{
    struct baton_chat *chat = chat_open("{{ bos_token }}\n{{ messages.x.y }}", "auto");
    struct baton_chat_text text;
    struct baton_why why;
    assert_int_equal(chat_render(chat, "u:A", &text, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "template fails: line 2: 'list object' has no attribute 'x'"));
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_conversation_without_messages_is_invalid)
{
    struct baton_chat *chat = chat_open(CHATML, "auto");
    struct baton_chat_text text;
    struct baton_why why;
    assert_int_equal(chat_render(chat, "", &text, &why), BATON_INVALID);
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

/* ---- what else a template is given ---- */

/* A template that writes each message's text, then what follows from it. */
#define EACH(more) "{% for m in messages %}{{ m.content or '' }}" more "{% endfor %}"

#define CALLS                                                                                      \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Q\"},{\"role\":\"assistant\",\"tool_calls\":" \
    "[{"                                                                                           \
    "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"b\\\": 1, "           \
    "\\\"a\\\": \\\"x\\\"}\"}}]}]}"

TEST(arguments_of_calls_are_maps_or_the_text_that_they_came_in)
{
    assert_chat_request(EACH("{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}"
                             "{% endfor %}"),
                        CALLS, "Q{\"b\": 1, \"a\": \"x\"}");
    assert_chat_request(EACH("{% for c in m.tool_calls %}{{ '>' + c.function.arguments }}"
                             "{% endfor %}"),
                        CALLS, "Q>{\"b\": 1, \"a\": \"x\"}");
    assert_chat_request(EACH("{% for c in m.tool_calls %}{{ m.content is none }}"
                             "<!-- {{ c.function.arguments | tojson }} -->{% endfor %}"),
                        CALLS, "QTrue<!-- {\"b\": 1, \"a\": \"x\"} -->");
}

TEST(content_in_parts_is_one_text_unless_the_template_loops_over_it)
{
    static const char request[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
        "{\"type\":\"text\",\"text\":\"b\"}]}]}";
    assert_chat_request("{{ messages[0].content }}", request, "ab");
    assert_chat_request("{% for m in messages %}{% for part in m['content'] %}<{{ part.text }}>"
                        "{% endfor %}{% endfor %}",
                        request, "<a><b>");
}

TEST(a_template_gets_tools_documents_and_variables)
{
    static const char template[] =
        "{{ tools[0].function.name }} {{ documents[0].title }} {{ enable_thinking }} "
        "{{ reasoning_effort }} {{ add_generation_prompt }}";
    assert_chat_request(
        template,
        "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":[{\"type\":"
        "\"function\",\"function\":{\"name\":\"f\"}}],\"documents\":[{\"title\":\"T\"}],"
        "\"kwargs\":{\"enable_thinking\":false},\"reasoning_effort\":\"low\"}",
        "f T False low True");
    assert_chat_request("{{ tools is none }} {{ documents is none }} {{ x is defined }} "
                        "{{ add_generation_prompt }}",
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"closed\":true}",
                        "True True False False");
}

TEST(an_effort_that_the_template_does_not_know_becomes_the_nearest_that_it_knows)
{
    static const char template[] =
        "{% if reasoning_effort is defined and reasoning_effort not in ['no_think', 'low', 'high'] "
        "%}{{ raise_exception('no') }}{% endif %}{{ reasoning_effort }}|{{ messages[0].content }}";
    static const char *const efforts[][2] = {{"none", "no_think|Q"}, {"minimal", "low|Q"},
                                             {"low", "low|Q"},       {"medium", "low|Q"},
                                             {"xhigh", "high|Q"},    {"wild", "|Q"}};
    for (size_t i = 0; i < sizeof efforts / sizeof *efforts; i++) {
        char request[160];
        (void)snprintf(request, sizeof request,
                       "{\"messages\":[{\"role\":\"user\",\"content\":\"Q\"}],"
                       "\"reasoning_effort\":\"%s\"}",
                       efforts[i][0]);
        assert_chat_request(template, request, efforts[i][1]);
    }
}

TEST(reasoning_that_a_template_always_opens_is_closed_where_nobody_wants_it)
{
    /* What the template writes behind its end; where it shows no reasoning, two line breaks. */
    static const char *const cases[][2] = {
        {"{{ messages[0].content + '<think>\n' }}", "Q<think>\n\n</think>\n\n"},
        {"{{ messages[0].content }}<think>", "Q<think></think>\n\n"},
        {"{% for m in messages %}{{ '<think>' + m.reasoning_content + '</think>\n' if "
         "m.reasoning_content }}{{ m.content }}{% endfor %}{{ '<think>\n' }}",
         "Q<think>\n\n</think>\n"},
        {"{{ messages[0].content }}[THINK]{# [/THINK] #}", "Q[THINK][/THINK]"},
        {"{{ messages[0].content + '<think>\n</think>\n\n' }}", "Q<think>\n</think>\n\n"},
        {"{{ messages[0].content }}{% if thinking %}<think>{% endif %}", "Q"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_chat_request(
            cases[i][0], "{\"messages\":[{\"role\":\"user\",\"content\":\"Q\"}],\"thinks\":false}",
            cases[i][1]);
}

TEST(the_developer_is_the_system_for_templates_that_do_not_know_one)
{
    static const char request[] =
        "{\"messages\":[{\"role\":\"developer\",\"content\":\"D\"}],\"closed\":true}";
    assert_chat_request(CHATML, request, "<|im_start|>system\nD<|im_end|>\n");
    assert_chat_request("{% for m in messages %}<{{ 'dev' if m.role == 'developer' else m.role }}>"
                        "{{ m.content }}{% endfor %}",
                        request, "<dev>D");
}

TEST(a_last_message_that_is_continued_is_not_closed)
{
    assert_chat_request(CHATML,
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"A\"},{\"role\":"
                        "\"assistant\",\"content\":\"Well, \"}],\"continues\":true}",
                        "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nWell, ");
    /* The end of the turn holds the word too. */
    assert_chat_request(CHATML,
                        "{\"messages\":[{\"role\":\"user\",\"content\":\"A\"},{\"role\":"
                        "\"assistant\",\"content\":\"end\"}],\"continues\":true}",
                        "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nend");
    assert_chat_request("{% for m in messages %}<{{ m.content | trim }}>{% endfor %}",
                        "{\"messages\":[{\"role\":\"assistant\",\"content\":\" Well, \"}],"
                        "\"continues\":true}",
                        "<Well,");
}

TEST(names_in_a_message_are_not_the_templates_text)
{
    struct baton_chat *chat =
        chat_open("{% for m in messages %}{% for k in m %}{{ k }},{% endfor %}"
                  "{% for c in m.tool_calls %}{% for k in c %}{{ k }},{% endfor %}"
                  "{% for k in c.function %}{{ k }},{% endfor %}{% endfor %}{% endfor %}",
                  "auto");
    struct baton_chat_text text;
    assert_ok(chat_render_request(chat,
                                  "{\"messages\":[{\"role\":\"user\",\"content\":\"\",\"<1>\":1,"
                                  "\"tool_calls\":[{\"<2>\":2,\"function\":{\"<3>\":3}}]}]}",
                                  &text, NULL));
    for (size_t i = 0; i < text.n_spans; i++)
        assert_null(memchr(text.bytes.data + text.spans[i].start, '<',
                           text.spans[i].end - text.spans[i].start));
    assert_non_null(strstr(baton_buf_text(&text.bytes), "<3>"));
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_template_for_tools_is_taken_when_there_are_tools)
{
    struct baton_chat *chat = chat_open_with_tools(
        EACH("") "plain", EACH("") "tools{{ tools[0].function.name }}", "auto");
    struct baton_chat_text text;
    assert_chat_renders(chat, "u:A", "Aplain");
    assert_ok(chat_render_request(chat,
                                  "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],"
                                  "\"tools\":[{\"type\":\"function\",\"function\":{"
                                  "\"name\":\"f\"}}]}",
                                  &text, NULL));
    assert_string_equal(baton_buf_text(&text.bytes), "toolsf");
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_template_for_tools_that_cannot_be_read_is_no_excuse_to_hide_tools)
{
    struct baton_chat *chat = chat_open_with_tools(EACH("") "plain", "{{ 1", "auto");
    struct baton_chat_text text;
    struct baton_why why = {.text = ""};
    assert_chat_renders(chat, "u:A", "Aplain");
    assert_int_equal(chat_render_request(chat,
                                         "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],"
                                         "\"tools\":[{\"type\":\"function\"}]}",
                                         &text, &why),
                     BATON_INVALID);
    assert_non_null(strstr(why.text, "template for tools cannot be read (line 1"));
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(the_end_of_a_turn_is_what_the_template_writes_behind_the_assistants_words)
{
    static const struct {
        const char *template, *end;
    } ends[] = {
        {CHATML, "<|im_end|>\n"},
        {LLAMA2, "</s>"}, /* behind a blank */
        {LLAMA3_1, "<|eot_id|>"},
        {GEMMA3, "<end_of_turn>\n"},
        {ZEPHYR, "</s>\n"},
        /* the last message is not closed: the next role ends it */
        {"{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}", "<|user|>More?"},
        {"{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}"
         "{{ '<|return|>' if loop.last else '<|end|>' }}{% endif %}{% endfor %}",
         "<|return|>"},
        {"{{ messages[0].content }}", ""},
        {"{{ raise_exception('no') }}", ""},
    };
    for (size_t i = 0; i < BATON_N_OF(ends); i++) {
        struct baton_chat *chat = chat_open(ends[i].template, "auto");
        assert_string_equal(chat->turn_end, ends[i].end);
        baton_chat_close(chat);
    }
}

/* ---- whose text it is ---- */

TEST(what_users_write_stays_apart_from_the_template)
{
    struct baton_chat *chat = chat_open("{{ '<' + messages[0].role + '>' + messages[0].content"
                                        ".upper().replace('B', '|') | trim + '</s>' }}",
                                        "auto");
    struct baton_chat_text text;
    assert_ok(chat_render(chat, "u: ab", &text, NULL));
    assert_string_equal(baton_buf_text(&text.bytes), "<user>A|</s>");
    assert_int_equal(text.n_spans, 2);
    assert_int_equal(text.spans[0].start, 0);
    assert_int_equal(text.spans[0].end, 6);
    assert_int_equal(text.spans[1].start, 7);
    assert_int_equal(text.spans[1].end, 12);
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(bounds_end_a_template_that_does_not_end)
{
    static const char *const endless[] = {
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s*2 %}{% endfor %}",
    };
    for (size_t i = 0; i < BATON_N_OF(endless); i++) {
        struct baton_chat *chat = chat_open(endless[i], "auto");
        struct baton_chat_text text;
        struct baton_why why;
        assert_int_equal(chat_render(chat, "u:A", &text, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "more than"));
        baton_chat_text_fini(&text);
        baton_chat_close(chat);
    }
}

/* ---- templates that are none ---- */

TEST(a_template_that_cannot_be_read_is_a_problem_that_says_why)
{
    static const char *const unreadable[] = {"{% if messages %}", CHATML "{% endif %}",
                                             CHATML "{% if 'a", "{% include 'x' %}", "\xff"};
    for (size_t i = 0; i < BATON_N_OF(unreadable); i++) {
        struct baton_chat *chat = chat_open(unreadable[i], "auto");
        assert_string_equal(baton_chat_source(chat), "model");
        assert_non_null(strstr(baton_chat_problem(chat), "cannot be read ("));
        assert_non_null(strstr(baton_chat_problem(chat), "--chat-template"));
        baton_chat_close(chat);
    }
}

TEST(a_model_without_a_template_says_so)
{
    struct baton_chat *chat = chat_open(NULL, "auto");
    assert_string_equal(baton_chat_source(chat), "none");
    assert_string_equal(baton_chat_problem(chat),
                        "this model has no chat template; the gateway's --chat-template can name "
                        "one: a file, or chatml, llama2, llama3, gemma, mistral-v1, mistral-v3, "
                        "mistral-tekken, mistral-v7, zephyr, phi3, phi4");
    baton_chat_close(chat);
}

TEST(a_name_goes_before_the_models_own_template)
{
    struct baton_chat *chat = chat_open(CHATML_WITH_DEFAULT, "zephyr");
    assert_chat_renders(chat, "u:A", "<|user|>\nA</s>\n<|assistant|>\n");
    baton_chat_close(chat);
}

TEST(a_name_of_no_template_is_refused_with_the_names_there_are)
{
    struct baton_chat_template source = {.jinja = strdup(CHATML)};
    struct baton_chat *chat = NULL;
    struct baton_why why;
    assert_int_equal(baton_chat_create(&source, "alpaca", &chat, &why), BATON_INVALID);
    assert_null(chat);
    assert_non_null(strstr(why.text, "\"alpaca\""));
    assert_non_null(strstr(why.text, "auto, chatml, llama2"));
    assert_int_equal(baton_chat_create(&source, "/no/such.jinja", &chat, &why), BATON_NOT_FOUND);
    baton_chat_template_fini(&source);
}
