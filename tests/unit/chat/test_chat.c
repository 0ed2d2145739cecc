#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/chat/chat_parts.h"
#include "common/chat/chat_text.h"
#include "common/checkpoint/chat_template.h"
#include "tests/unit/chat/chat_templates.h"

/* A conversation is written "s:...|u:...|a:..." with one letter for each role. */
static struct baton_json *parse(const char *text)
{
    struct baton_buf buf;
    struct baton_json *messages = NULL;
    baton_buf_init(&buf, 1 << 20);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '[');
    while (*text) {
        size_t n = strcspn(text + 2, "|");
        baton_json_open(&out, NULL, '{');
        baton_json_put_string(&out, "role",
                              *text == 's'   ? "system"
                              : *text == 'u' ? "user"
                                             : "assistant");
        baton_json_put_text(&out, "content", text + 2, n);
        baton_json_close(&out, '}');
        text += 2 + n;
        text += *text == '|';
    }
    baton_json_close(&out, ']');
    assert_int_equal(baton_json_parse(baton_buf_text(&buf), buf.len, &messages, NULL), BATON_OK);
    baton_buf_fini(&buf);
    return messages;
}

static struct baton_chat *open_with_tools(const char *template, const char *tools,
                                          const char *override)
{
    struct baton_chat *chat = NULL;
    struct baton_why why = {.text = ""};
    struct baton_chat_template source = {.bos = strdup("<s>"), .eos = strdup("</s>")};
    source.jinja = template ? strdup(template) : NULL;
    source.n_jinja = template ? strlen(template) : 0;
    source.tools_jinja = tools ? strdup(tools) : NULL;
    source.n_tools_jinja = tools ? strlen(tools) : 0;
    if (baton_chat_create(&source, override, &chat, &why))
        fail_msg("%s", why.text);
    baton_chat_template_fini(&source);
    return chat;
}

static struct baton_chat *open_chat(const char *template, const char *override)
{
    return open_with_tools(template, NULL, override);
}

/* 13 February 2009 */
enum { NOW = 1234567890 };

static enum baton_err render(const struct baton_chat *chat, const char *messages,
                             struct baton_chat_text *text, struct baton_why *why)
{
    struct baton_json *conversation = parse(messages);
    struct baton_chat_input input = {.messages = conversation};
    baton_chat_text_init(text);
    enum baton_err err = baton_chat_render(chat, &input, NOW, text, why);
    baton_json_free(conversation);
    return err;
}

static void assert_renders(const struct baton_chat *chat, const char *messages,
                           const char *expected)
{
    struct baton_chat_text text;
    struct baton_why why = {.text = ""};
    if (render(chat, messages, &text, &why))
        fail_msg("%s: %s", messages, why.text);
    assert_string_equal(baton_buf_text(&text.bytes), expected);
    baton_chat_text_fini(&text);
}

/* input as a JSON object with the fields of a chat request. */
static enum baton_err render_request(const struct baton_chat *chat, const char *request,
                                     struct baton_chat_text *text, struct baton_why *why)
{
    struct baton_json *body = NULL;
    assert_int_equal(baton_json_parse(request, strlen(request), &body, NULL), BATON_OK);
    struct baton_chat_input input = {
        .messages = baton_json_get(body, "messages"),
        .tools = baton_json_get(body, "tools"),
        .documents = baton_json_get(body, "documents"),
        .kwargs = baton_json_get(body, "kwargs"),
        .reasoning_effort = baton_json_string(baton_json_get(body, "reasoning_effort"), NULL),
        .no_generation_prompt = baton_json_bool(baton_json_get(body, "closed")),
        .continues = baton_json_bool(baton_json_get(body, "continues"))};
    baton_chat_text_init(text);
    enum baton_err err = baton_chat_render(chat, &input, NOW, text, why);
    baton_json_free(body);
    return err;
}

static void assert_request(const char *template, const char *request, const char *expected)
{
    struct baton_chat *chat = open_chat(template, "auto");
    struct baton_chat_text text;
    struct baton_why why = {.text = ""};
    if (render_request(chat, request, &text, &why))
        fail_msg("%s", why.text);
    assert_string_equal(baton_buf_text(&text.bytes), expected);
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

/* ---- templates as models bring them ---- */

#define SYSTEM_AND_TURNS "s:Be.|u: Hi |a: Yo |u:More\n"
#define TURNS            "u: Hi |a: Yo |u:More\n"
#define DATES            "Cutting Knowledge Date: December 2023\nToday Date: "

/* with or without: what SYSTEM_AND_TURNS and TURNS give; NULL: they are refused. Each was checked
 * against the models' own templates, rendered by Jinja. */
static const struct golden {
    const char *template, *with, *without;
} goldens[] = {
    {CHATML,
     "<|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
     "<|im_start|>assistant\n Yo <|im_end|>\n<|im_start|>user\nMore\n<|im_end|>\n"
     "<|im_start|>assistant\n",
     "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n Yo <|im_end|>\n"
     "<|im_start|>user\nMore\n<|im_end|>\n<|im_start|>assistant\n"},
    {"{{ bos_token }}" CHATML,
     "<s><|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
     "<|im_start|>assistant\n Yo <|im_end|>\n<|im_start|>user\nMore\n<|im_end|>\n"
     "<|im_start|>assistant\n",
     "<s><|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n Yo <|im_end|>\n"
     "<|im_start|>user\nMore\n<|im_end|>\n<|im_start|>assistant\n"},
    {CHATML_WITH_DEFAULT,
     "<|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
     "<|im_start|>assistant\n Yo <|im_end|>\n<|im_start|>user\nMore\n<|im_end|>\n"
     "<|im_start|>assistant\n",
     "<|im_start|>system\nYou're a \"test\".<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
     "<|im_start|>assistant\n Yo <|im_end|>\n<|im_start|>user\nMore\n<|im_end|>\n"
     "<|im_start|>assistant\n"},
    {LLAMA2, "<s>[INST] <<SYS>>\nBe.\n<</SYS>>\n\n Hi [/INST] Yo </s><s>[INST] More [/INST]",
     "<s>[INST] Hi [/INST] Yo </s><s>[INST] More [/INST]"},
    {LLAMA2_WITH_LATER_SYSTEM,
     "<s>[INST] <<SYS>>\nBe.\n<</SYS>>\n\n Hi [/INST] Yo </s><s>[INST] More [/INST]",
     "<s>[INST] Hi [/INST] Yo </s><s>[INST] More [/INST]"},
    {LLAMA3,
     "<s><|start_header_id|>system<|end_header_id|>\n\nBe.<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nMore<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n",
     "<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nMore<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    {LLAMA3_1,
     "<s><|start_header_id|>system<|end_header_id|>\n\n" DATES "26 Jul 2024\n\nBe.<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nMore<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n",
     "<s><|start_header_id|>system<|end_header_id|>\n\n" DATES "26 Jul 2024\n\n<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nMore<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    {GEMMA, NULL,
     "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n"},
    {GEMMA3,
     "<s><start_of_turn>user\nBe.\n\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n",
     "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n"},
    {MISTRAL_OLD(""), NULL, "<s>[INST]  Hi  [/INST] Yo </s>[INST] More\n [/INST]"},
    {MISTRAL_OLD(" + ' '"), NULL, "<s>[INST]  Hi  [/INST] Yo </s> [INST] More\n [/INST]"},
    {MISTRAL_V1, "<s> [INST] Be.\n\n Hi  [/INST]  Yo </s> [INST] More\n [/INST]",
     "<s> [INST]  Hi  [/INST]  Yo </s> [INST] More\n [/INST]"},
    {MISTRAL_V3, "<s>[INST]  Hi [/INST] Yo</s>[INST] Be.\n\nMore\n[/INST]",
     "<s>[INST]  Hi [/INST] Yo</s>[INST] More\n[/INST]"},
    {MISTRAL_V3_NO_TRIM, "<s>[INST]  Hi [/INST]  Yo </s>[INST] Be.\n\nMore\n[/INST]",
     "<s>[INST]  Hi [/INST]  Yo </s>[INST] More\n[/INST]"},
    {MISTRAL_TEKKEN, "<s>[INST] Hi [/INST] Yo </s>[INST]Be.\n\nMore\n[/INST]",
     "<s>[INST] Hi [/INST] Yo </s>[INST]More\n[/INST]"},
    {MISTRAL_V7,
     "<s>[SYSTEM_PROMPT] Be.[/SYSTEM_PROMPT][INST]  Hi [/INST]  Yo </s>[INST] More\n[/INST]",
     "<s>[INST]  Hi [/INST]  Yo </s>[INST] More\n[/INST]"},
    {MISTRAL_V7_WITH_DEFAULT("'I\\'m\\na default'"),
     "<s>[SYSTEM_PROMPT]Be.[/SYSTEM_PROMPT][INST] Hi [/INST] Yo </s>[INST]More\n[/INST]",
     "<s>[SYSTEM_PROMPT]I'm\na default[/SYSTEM_PROMPT][INST] Hi [/INST] Yo </s>"
     "[INST]More\n[/INST]"},
    {ZEPHYR,
     "<|system|>\nBe.</s>\n<|user|>\n Hi </s>\n<|assistant|>\n Yo </s>\n<|user|>\nMore\n</s>\n"
     "<|assistant|>\n",
     "<|user|>\n Hi </s>\n<|assistant|>\n Yo </s>\n<|user|>\nMore\n</s>\n<|assistant|>\n"},
    {PHI3,
     "<s><|system|>\nBe.<|end|>\n<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n"
     "<|user|>\nMore\n<|end|>\n<|assistant|>\n",
     "<s><|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n"},
    {PHI3_BY_ROLE(""),
     "<|system|>\nBe.<|end|>\n<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n"
     "<|user|>\nMore\n<|end|>\n<|assistant|>\n",
     "<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n"},
    {PHI3_BY_ROLE(" and message['content']"),
     "<|system|>\nBe.<|end|>\n<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n"
     "<|user|>\nMore\n<|end|>\n<|assistant|>\n",
     "<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n"},
    {PHI3_FIRST,
     "<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n",
     "<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n"},
    {PHI4_MINI,
     "<|system|>Be.<|end|><|user|> Hi <|end|><|assistant|> Yo <|end|><|user|>More\n<|end|>"
     "<|assistant|>",
     "<|user|> Hi <|end|><|assistant|> Yo <|end|><|user|>More\n<|end|><|assistant|>"},
    {PHI4,
     "<|im_start|>system<|im_sep|>Be.<|im_end|><|im_start|>user<|im_sep|> Hi <|im_end|>"
     "<|im_start|>assistant<|im_sep|> Yo <|im_end|><|im_start|>user<|im_sep|>More\n<|im_end|>"
     "<|im_start|>assistant<|im_sep|>",
     "<|im_start|>user<|im_sep|> Hi <|im_end|><|im_start|>assistant<|im_sep|> Yo <|im_end|>"
     "<|im_start|>user<|im_sep|>More\n<|im_end|><|im_start|>assistant<|im_sep|>"},
    {PHI4_FIRST,
     "<|im_start|>system<|im_sep|>Be.<|im_end|><|im_start|>user<|im_sep|> Hi <|im_end|>"
     "<|im_start|>assistant<|im_sep|> Yo <|im_end|><|im_start|>user<|im_sep|>More\n<|im_end|>"
     "<|im_start|>assistant<|im_sep|>",
     "<|im_start|>user<|im_sep|> Hi <|im_end|><|im_start|>assistant<|im_sep|> Yo <|im_end|>"
     "<|im_start|>user<|im_sep|>More\n<|im_end|><|im_start|>assistant<|im_sep|>"},
};

static void check_golden(const struct baton_chat *chat, const char *messages, const char *expected)
{
    struct baton_chat_text text;
    struct baton_why why = {.text = ""};
    if (expected) {
        assert_renders(chat, messages, expected);
        return;
    }
    assert_int_equal(render(chat, messages, &text, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "this model's chat template"));
    baton_chat_text_fini(&text);
}

TEST(each_template_renders_as_its_model_expects)
{
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        struct baton_chat *chat = open_chat(goldens[i].template, "auto");
        assert_string_equal(baton_chat_source(chat), "model");
        assert_null(baton_chat_problem(chat));
        check_golden(chat, SYSTEM_AND_TURNS, goldens[i].with);
        check_golden(chat, TURNS, goldens[i].without);
        baton_chat_close(chat);
    }
}

/* ---- what templates do in rare cases ---- */

static void check_one(const char *template, const char *messages, const char *expected)
{
    struct baton_chat *chat = open_chat(template, "auto");
    check_golden(chat, messages, expected);
    baton_chat_close(chat);
}

TEST(a_system_message_that_comes_later_is_treated_as_the_template_does)
{
    check_one(LLAMA2, "u:A|s:B|u:C", "<s>[INST] A [/INST]<s>[INST] C [/INST]");
    check_one(LLAMA2_WITH_LATER_SYSTEM, "u:A|s: B |u:C",
              "<s>[INST] A [/INST]<<SYS>>\nB\n<</SYS>>\n\n<s>[INST] C [/INST]");
    check_one(GEMMA, "u:A|s:B",
              "<s><start_of_turn>user\nA<end_of_turn>\n<start_of_turn>system\nB<end_of_turn>\n"
              "<start_of_turn>model\n");
    check_one(MISTRAL_V1, "s:Z|u:A|s:B|u:C", NULL);
    check_one(MISTRAL_V7, "u:A|s:B", "<s>[INST] A[/INST][SYSTEM_PROMPT] B[/SYSTEM_PROMPT]");
    check_one(CHATML_WITH_DEFAULT, "s:A|s:B",
              "<|im_start|>system\nA<|im_end|>\n<|im_start|>system\nB<|im_end|>\n"
              "<|im_start|>assistant\n");
}

TEST(roles_in_an_order_that_the_template_refuses_are_invalid)
{
    static const char *const strict[] = {LLAMA2,     GEMMA,      GEMMA3,        MISTRAL_OLD(""),
                                         MISTRAL_V1, MISTRAL_V3, MISTRAL_TEKKEN};
    for (size_t i = 0; i < sizeof strict / sizeof *strict; i++) {
        check_one(strict[i], "a:A", NULL);
        check_one(strict[i], "u:A|u:B", NULL);
        check_one(strict[i], "u:A|a:B|a:C", NULL);
    }
    check_one(CHATML, "a:A|a:B",
              "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n"
              "<|im_start|>assistant\n");
}

TEST(a_refusal_tells_the_templates_own_words)
{
    struct baton_chat *chat = open_chat(GEMMA3, "auto");
    struct baton_chat_text text;
    struct baton_why why;
    assert_int_equal(render(chat, "s:S|u:A|u:B", &text, &why), BATON_INVALID);
    assert_string_equal(
        why.text, "this model's chat template refuses the conversation: roles must alternate");
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_template_that_fails_says_where)
{
    struct baton_chat *chat = open_chat("{{ bos_token }}\n{{ messages.x.y }}", "auto");
    struct baton_chat_text text;
    struct baton_why why;
    assert_int_equal(render(chat, "u:A", &text, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "template fails: line 2: 'list object' has no attribute 'x'"));
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_conversation_without_messages_is_invalid)
{
    struct baton_chat *chat = open_chat(CHATML, "auto");
    struct baton_chat_text text;
    struct baton_why why;
    assert_int_equal(render(chat, "", &text, &why), BATON_INVALID);
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_system_message_waits_for_a_last_message_that_is_the_users)
{
    check_one(MISTRAL_V3, "s:S|u:A|a:B", "<s>[INST] A[/INST] B</s>");
    check_one(MISTRAL_V3, "s:S", "<s>");
    check_one(GEMMA3, "s:S", "<s><start_of_turn>model\n");
}

TEST(trimming_removes_what_python_calls_white_space)
{
    check_one(MISTRAL_V3, "u:A|a:\xe3\x80\x80\x1c\xc2\x85 B\xc2\xa0\xe2\x80\xaf\t",
              "<s>[INST] A[/INST] B</s>");
    check_one(MISTRAL_V3,
              "u:A|a:\xe2\x80\x8b"
              "B\xe1\xa0\x8e",
              "<s>[INST] A[/INST] \xe2\x80\x8b"
              "B\xe1\xa0\x8e</s>");
    check_one(MISTRAL_V3, "u:A|a:\xc2\xa0 \n", "<s>[INST] A[/INST] </s>");
}

TEST(an_empty_first_question_leaves_llama2s_system_text_trimmed)
{
    check_one(LLAMA2, "s: S |u: \n", "<s>[INST] <<SYS>>\n S \n<</SYS>> [/INST]");
    check_one(LLAMA2, "u: ", "<s>[INST]  [/INST]");
}

TEST(phi35_skips_an_empty_system_message)
{
    check_one(PHI3_BY_ROLE(" and message['content']"), "s:|u:A",
              "<|user|>\nA<|end|>\n<|assistant|>\n");
    check_one(PHI3_BY_ROLE(""), "s:|u:A",
              "<|system|>\n<|end|>\n<|user|>\nA<|end|>\n<|assistant|>\n");
}

TEST(a_template_that_asks_for_the_date_gets_todays)
{
    char expected[32];
    struct baton_chat *chat = open_chat(LLAMA3_2, "auto");
    struct baton_chat_text text;
    struct baton_why why;
    time_t now = NOW;
    assert_true(strftime(expected, sizeof expected, "Today Date: %d %b %Y\n", localtime(&now)) > 0);
    assert_int_equal(render(chat, "u:A", &text, &why), BATON_OK);
    assert_non_null(strstr(baton_buf_text(&text.bytes), expected));
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

/* ---- what else a template is given ---- */

#define CALLS                                                                                      \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"Q\"},{\"role\":\"assistant\",\"tool_calls\":" \
    "[{"                                                                                           \
    "\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"b\\\": 1, "           \
    "\\\"a\\\": \\\"x\\\"}\"}}]}]}"

TEST(arguments_of_calls_are_maps_or_the_text_that_they_came_in)
{
    assert_request("{{ messages[1].tool_calls[0].function.arguments | tojson }}", CALLS,
                   "{\"b\": 1, \"a\": \"x\"}");
    assert_request("{{ '>' + messages[1].tool_calls[0].function.arguments }}", CALLS,
                   ">{\"b\": 1, \"a\": \"x\"}");
    assert_request("{{ messages[1].content is none }}", CALLS, "True");
}

TEST(content_in_parts_is_one_text_unless_the_template_loops_over_it)
{
    static const char request[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
        "{\"type\":\"text\",\"text\":\"b\"}]}]}";
    assert_request("{{ messages[0].content }}", request, "ab");
    assert_request("{% for part in messages[0]['content'] %}<{{ part.text }}>{% endfor %}", request,
                   "<a><b>");
}

TEST(a_template_gets_tools_documents_and_variables)
{
    static const char template[] =
        "{{ tools[0].function.name }} {{ documents[0].title }} {{ enable_thinking }} "
        "{{ reasoning_effort }} {{ add_generation_prompt }}";
    assert_request(template,
                   "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"tools\":[{\"type\":"
                   "\"function\",\"function\":{\"name\":\"f\"}}],\"documents\":[{\"title\":\"T\"}],"
                   "\"kwargs\":{\"enable_thinking\":false},\"reasoning_effort\":\"low\"}",
                   "f T False low True");
    assert_request("{{ tools is none }} {{ documents is none }} {{ x is defined }} "
                   "{{ add_generation_prompt }}",
                   "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],\"closed\":true}",
                   "True True False False");
}

TEST(the_developer_is_the_system_for_templates_that_do_not_know_one)
{
    static const char request[] =
        "{\"messages\":[{\"role\":\"developer\",\"content\":\"D\"}],\"closed\":true}";
    assert_request(CHATML, request, "<|im_start|>system\nD<|im_end|>\n");
    assert_request(CHATML "{# developer #}", request, "<|im_start|>developer\nD<|im_end|>\n");
}

TEST(a_last_message_that_is_continued_is_not_closed)
{
    assert_request(CHATML,
                   "{\"messages\":[{\"role\":\"user\",\"content\":\"A\"},{\"role\":"
                   "\"assistant\",\"content\":\"Well, \"}],\"continues\":true}",
                   "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nWell, ");
    /* The end of the turn holds the word too. */
    assert_request(CHATML,
                   "{\"messages\":[{\"role\":\"user\",\"content\":\"A\"},{\"role\":"
                   "\"assistant\",\"content\":\"end\"}],\"continues\":true}",
                   "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nend");
    assert_request("{% for m in messages %}<{{ m.content | trim }}>{% endfor %}",
                   "{\"messages\":[{\"role\":\"assistant\",\"content\":\" Well, \"}],"
                   "\"continues\":true}",
                   "<Well,");
}

TEST(names_in_a_message_are_not_the_templates_text)
{
    struct baton_chat *chat =
        open_chat("{% for m in messages %}{% for k in m %}{{ k }},{% endfor %}"
                  "{% for c in m.tool_calls %}{% for k in c %}{{ k }},{% endfor %}"
                  "{% for k in c.function %}{{ k }},{% endfor %}{% endfor %}{% endfor %}",
                  "auto");
    struct baton_chat_text text;
    assert_int_equal(render_request(chat,
                                    "{\"messages\":[{\"role\":\"user\",\"content\":\"\",\"<1>\":1,"
                                    "\"tool_calls\":[{\"<2>\":2,\"function\":{\"<3>\":3}}]}]}",
                                    &text, NULL),
                     BATON_OK);
    for (size_t i = 0; i < text.n_spans; i++)
        assert_null(memchr(text.bytes.data + text.spans[i].start, '<',
                           text.spans[i].end - text.spans[i].start));
    assert_non_null(strstr(baton_buf_text(&text.bytes), "<3>"));
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_template_for_tools_is_taken_when_there_are_tools)
{
    struct baton_chat *chat = open_with_tools("plain", "tools", "auto");
    struct baton_chat_text text;
    assert_renders(chat, "u:A", "plain");
    assert_int_equal(render_request(chat,
                                    "{\"messages\":[{\"role\":\"user\",\"content\":\"\"}],"
                                    "\"tools\":[{\"type\":\"function\"}]}",
                                    &text, NULL),
                     BATON_OK);
    assert_string_equal(baton_buf_text(&text.bytes), "tools");
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_template_for_tools_that_cannot_be_read_is_no_excuse_to_hide_tools)
{
    struct baton_chat *chat = open_with_tools("plain", "{{ 1", "auto");
    struct baton_chat_text text;
    struct baton_why why = {.text = ""};
    assert_renders(chat, "u:A", "plain");
    assert_int_equal(render_request(chat,
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
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct baton_chat *chat = open_chat(ends[i].template, "auto");
        assert_string_equal(chat->turn_end, ends[i].end);
        baton_chat_close(chat);
    }
}

/* ---- whose text it is ---- */

TEST(what_users_write_stays_apart_from_the_template)
{
    struct baton_chat *chat = open_chat("{{ '<' + messages[0].role + '>' + messages[0].content"
                                        ".upper().replace('B', '|') | trim + '</s>' }}",
                                        "auto");
    struct baton_chat_text text;
    assert_int_equal(render(chat, "u: ab", &text, NULL), BATON_OK);
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
    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        struct baton_chat *chat = open_chat(endless[i], "auto");
        struct baton_chat_text text;
        struct baton_why why;
        assert_int_equal(render(chat, "u:A", &text, &why), BATON_INVALID);
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
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++) {
        struct baton_chat *chat = open_chat(unreadable[i], "auto");
        assert_string_equal(baton_chat_source(chat), "model");
        assert_non_null(strstr(baton_chat_problem(chat), "cannot be read ("));
        assert_non_null(strstr(baton_chat_problem(chat), "--chat-template"));
        baton_chat_close(chat);
    }
}

TEST(a_model_without_a_template_says_so)
{
    struct baton_chat *chat = open_chat(NULL, "auto");
    assert_string_equal(baton_chat_source(chat), "none");
    assert_string_equal(baton_chat_problem(chat),
                        "this model has no chat template; the gateway's --chat-template can name "
                        "one: a file, or chatml, llama2, llama3, gemma, mistral-v1, mistral-v3, "
                        "mistral-tekken, mistral-v7, zephyr, phi3, phi4");
    baton_chat_close(chat);
}

/* ---- built-in templates ---- */

/* Of each built-in template: the same as a model's own that it stands for, but for BOS. */
TEST(a_built_in_template_renders_as_the_models_that_it_is_named_for)
{
    static const struct {
        const char *name, *template, *bos;
    } pairs[] = {
        {"chatml", CHATML, ""},
        {"llama2", LLAMA2, ""},
        {"llama3", LLAMA3, ""},
        {"gemma", GEMMA, ""},
        {"mistral-v1", MISTRAL_V1, ""},
        {"mistral-v3", MISTRAL_V3, ""},
        {"mistral-tekken", MISTRAL_TEKKEN, ""},
        {"mistral-v7", MISTRAL_V7, ""},
        {"zephyr", ZEPHYR, ""},
        {"phi3", PHI3, "<s>"},
        {"phi4", PHI4, ""},
    };
    static const char *const talks[] = {SYSTEM_AND_TURNS,  TURNS, "u:A|a:B",    "u:A|u:B",
                                        "s:S|u:A|s:T|u:B", "s:S", "s: S |u: \n"};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct baton_chat *builtin = open_chat(NULL, pairs[i].name);
        struct baton_chat *own = open_chat(pairs[i].template, "auto");
        assert_string_equal(baton_chat_source(builtin), pairs[i].name);
        for (size_t k = 0; k < sizeof talks / sizeof *talks; k++) {
            struct baton_chat_text a, b;
            enum baton_err err = render(builtin, talks[k], &a, NULL);
            assert_int_equal(err, render(own, talks[k], &b, NULL));
            const char *expected = baton_buf_text(&b.bytes);
            if (!err)
                assert_string_equal(baton_buf_text(&a.bytes), expected + strlen(pairs[i].bos));
            baton_chat_text_fini(&a);
            baton_chat_text_fini(&b);
        }
        baton_chat_close(builtin);
        baton_chat_close(own);
    }
}

TEST(a_name_goes_before_the_models_own_template)
{
    struct baton_chat *chat = open_chat(CHATML_WITH_DEFAULT, "zephyr");
    assert_renders(chat, "u:A", "<|user|>\nA</s>\n<|assistant|>\n");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_template_renders_as_its_model_expects),
        cmocka_unit_test(a_system_message_that_comes_later_is_treated_as_the_template_does),
        cmocka_unit_test(roles_in_an_order_that_the_template_refuses_are_invalid),
        cmocka_unit_test(a_refusal_tells_the_templates_own_words),
        cmocka_unit_test(a_template_that_fails_says_where),
        cmocka_unit_test(a_conversation_without_messages_is_invalid),
        cmocka_unit_test(a_system_message_waits_for_a_last_message_that_is_the_users),
        cmocka_unit_test(trimming_removes_what_python_calls_white_space),
        cmocka_unit_test(an_empty_first_question_leaves_llama2s_system_text_trimmed),
        cmocka_unit_test(phi35_skips_an_empty_system_message),
        cmocka_unit_test(a_template_that_asks_for_the_date_gets_todays),
        cmocka_unit_test(arguments_of_calls_are_maps_or_the_text_that_they_came_in),
        cmocka_unit_test(content_in_parts_is_one_text_unless_the_template_loops_over_it),
        cmocka_unit_test(a_template_gets_tools_documents_and_variables),
        cmocka_unit_test(the_developer_is_the_system_for_templates_that_do_not_know_one),
        cmocka_unit_test(a_last_message_that_is_continued_is_not_closed),
        cmocka_unit_test(names_in_a_message_are_not_the_templates_text),
        cmocka_unit_test(a_template_for_tools_is_taken_when_there_are_tools),
        cmocka_unit_test(a_template_for_tools_that_cannot_be_read_is_no_excuse_to_hide_tools),
        cmocka_unit_test(the_end_of_a_turn_is_what_the_template_writes_behind_the_assistants_words),
        cmocka_unit_test(what_users_write_stays_apart_from_the_template),
        cmocka_unit_test(bounds_end_a_template_that_does_not_end),
        cmocka_unit_test(a_template_that_cannot_be_read_is_a_problem_that_says_why),
        cmocka_unit_test(a_model_without_a_template_says_so),
        cmocka_unit_test(a_built_in_template_renders_as_the_models_that_it_is_named_for),
        cmocka_unit_test(a_name_goes_before_the_models_own_template),
        cmocka_unit_test(a_name_of_no_template_is_refused_with_the_names_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
