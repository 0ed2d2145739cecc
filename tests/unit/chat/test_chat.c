#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/chat/chat_parts.h"
#include "common/chat/chat_text.h"
#include "common/checkpoint/chat_template.h"
#include "tests/unit/chat/chat_templates.h"

/* A conversation is written "s:...|u:...|a:..." with one letter for each role. */
enum { MAX_MESSAGES = 8 };

struct conversation {
    struct baton_chat_message messages[MAX_MESSAGES];
    size_t n;
};

static struct conversation parse(const char *text)
{
    struct conversation conversation = {0};
    while (*text) {
        struct baton_chat_message *message = &conversation.messages[conversation.n++];
        message->role = *text == 's'   ? BATON_ROLE_SYSTEM
                        : *text == 'u' ? BATON_ROLE_USER
                                       : BATON_ROLE_ASSISTANT;
        message->content = text + 2;
        message->n_bytes = strcspn(message->content, "|");
        text = message->content + message->n_bytes;
        text += *text == '|';
    }
    return conversation;
}

static struct baton_chat *open_chat(const char *template, const char *override)
{
    struct baton_chat *chat = NULL;
    struct baton_why why = {.text = ""};
    struct baton_chat_template source = {.bos = strdup("<s>"), .eos = strdup("</s>")};
    source.jinja = template ? strdup(template) : NULL;
    source.n_jinja = template ? strlen(template) : 0;
    if (baton_chat_create(&source, override, &chat, &why))
        fail_msg("%s", why.text);
    baton_chat_template_fini(&source);
    return chat;
}

static enum baton_err render(const struct baton_chat *chat, const char *messages,
                             struct baton_chat_text *text, struct baton_why *why)
{
    struct conversation conversation = parse(messages);
    struct baton_chat_marks marks = {.bos = chat->bos, .eos = chat->eos};
    baton_chat_text_init(text);
    return baton_chat_render(chat->shape, &chat->style, &marks, conversation.messages,
                             conversation.n, text, why);
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

/* ---- every shape ---- */

#define SYSTEM_AND_TURNS "s:Be.|u: Hi |a: Yo |u:More\n"
#define TURNS            "u: Hi |a: Yo |u:More\n"
#define DATES            "Cutting Knowledge Date: December 2023\nToday Date: "

/* with or without: what SYSTEM_AND_TURNS and TURNS give; NULL: they are refused. Each was checked
 * against the models' own templates, rendered by Jinja. */
static const struct golden {
    const char *template, *family, *with, *without;
} goldens[] = {
    {CHATML, "chatml",
     "<|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
     "<|im_start|>assistant\n Yo <|im_end|>\n<|im_start|>user\nMore\n<|im_end|>\n"
     "<|im_start|>assistant\n",
     "<|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n Yo <|im_end|>\n"
     "<|im_start|>user\nMore\n<|im_end|>\n<|im_start|>assistant\n"},
    {"{{ bos_token }}" CHATML, "chatml",
     "<s><|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
     "<|im_start|>assistant\n Yo <|im_end|>\n<|im_start|>user\nMore\n<|im_end|>\n"
     "<|im_start|>assistant\n",
     "<s><|im_start|>user\n Hi <|im_end|>\n<|im_start|>assistant\n Yo <|im_end|>\n"
     "<|im_start|>user\nMore\n<|im_end|>\n<|im_start|>assistant\n"},
    {CHATML_WITH_DEFAULT, "chatml",
     "<|im_start|>system\nBe.<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
     "<|im_start|>assistant\n Yo <|im_end|>\n<|im_start|>user\nMore\n<|im_end|>\n"
     "<|im_start|>assistant\n",
     "<|im_start|>system\nYou're a \"test\".<|im_end|>\n<|im_start|>user\n Hi <|im_end|>\n"
     "<|im_start|>assistant\n Yo <|im_end|>\n<|im_start|>user\nMore\n<|im_end|>\n"
     "<|im_start|>assistant\n"},
    {LLAMA2, "llama2",
     "<s>[INST] <<SYS>>\nBe.\n<</SYS>>\n\n Hi [/INST] Yo </s><s>[INST] More [/INST]",
     "<s>[INST] Hi [/INST] Yo </s><s>[INST] More [/INST]"},
    {LLAMA2_WITH_LATER_SYSTEM, "llama2",
     "<s>[INST] <<SYS>>\nBe.\n<</SYS>>\n\n Hi [/INST] Yo </s><s>[INST] More [/INST]",
     "<s>[INST] Hi [/INST] Yo </s><s>[INST] More [/INST]"},
    {LLAMA3, "llama3",
     "<s><|start_header_id|>system<|end_header_id|>\n\nBe.<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nMore<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n",
     "<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\nYo<|eot_id|>"
     "<|start_header_id|>user<|end_header_id|>\n\nMore<|eot_id|>"
     "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    {LLAMA3_1, "llama3",
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
    {GEMMA, "gemma", NULL,
     "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n"},
    {GEMMA3, "gemma",
     "<s><start_of_turn>user\nBe.\n\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n",
     "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n"},
    {MISTRAL_OLD(""), "mistral-v1", NULL, "<s>[INST]  Hi  [/INST] Yo </s>[INST] More\n [/INST]"},
    {MISTRAL_OLD(" + ' '"), "mistral-v1", NULL,
     "<s>[INST]  Hi  [/INST] Yo </s> [INST] More\n [/INST]"},
    {MISTRAL_V1, "mistral-v1", "<s> [INST] Be.\n\n Hi  [/INST]  Yo </s> [INST] More\n [/INST]",
     "<s> [INST]  Hi  [/INST]  Yo </s> [INST] More\n [/INST]"},
    {MISTRAL_V3, "mistral-v3", "<s>[INST]  Hi [/INST] Yo</s>[INST] Be.\n\nMore\n[/INST]",
     "<s>[INST]  Hi [/INST] Yo</s>[INST] More\n[/INST]"},
    {MISTRAL_V3_NO_TRIM, "mistral-v3", "<s>[INST]  Hi [/INST]  Yo </s>[INST] Be.\n\nMore\n[/INST]",
     "<s>[INST]  Hi [/INST]  Yo </s>[INST] More\n[/INST]"},
    {MISTRAL_TEKKEN, "mistral-tekken", "<s>[INST] Hi [/INST] Yo </s>[INST]Be.\n\nMore\n[/INST]",
     "<s>[INST] Hi [/INST] Yo </s>[INST]More\n[/INST]"},
    {MISTRAL_V7, "mistral-v7",
     "<s>[SYSTEM_PROMPT] Be.[/SYSTEM_PROMPT][INST]  Hi [/INST]  Yo </s>[INST] More\n[/INST]",
     "<s>[INST]  Hi [/INST]  Yo </s>[INST] More\n[/INST]"},
    {MISTRAL_V7_WITH_DEFAULT("'I\\'m\\na default'"), "mistral-v7",
     "<s>[SYSTEM_PROMPT]Be.[/SYSTEM_PROMPT][INST] Hi [/INST] Yo </s>[INST]More\n[/INST]",
     "<s>[SYSTEM_PROMPT]I'm\na default[/SYSTEM_PROMPT][INST] Hi [/INST] Yo </s>"
     "[INST]More\n[/INST]"},
    {ZEPHYR, "zephyr",
     "<|system|>\nBe.</s>\n<|user|>\n Hi </s>\n<|assistant|>\n Yo </s>\n<|user|>\nMore\n</s>\n"
     "<|assistant|>\n",
     "<|user|>\n Hi </s>\n<|assistant|>\n Yo </s>\n<|user|>\nMore\n</s>\n<|assistant|>\n"},
    {PHI3, "phi3",
     "<s><|system|>\nBe.<|end|>\n<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n"
     "<|user|>\nMore\n<|end|>\n<|assistant|>\n",
     "<s><|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n"},
    {PHI3_BY_ROLE(""), "phi3",
     "<|system|>\nBe.<|end|>\n<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n"
     "<|user|>\nMore\n<|end|>\n<|assistant|>\n",
     "<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n"},
    {PHI3_BY_ROLE(" and message['content']"), "phi3",
     "<|system|>\nBe.<|end|>\n<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n"
     "<|user|>\nMore\n<|end|>\n<|assistant|>\n",
     "<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n"},
    {PHI3_FIRST, "phi3",
     "<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n",
     "<|user|>\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
     "<|assistant|>\n"},
    {PHI4_MINI, "phi3",
     "<|system|>Be.<|end|><|user|> Hi <|end|><|assistant|> Yo <|end|><|user|>More\n<|end|>"
     "<|assistant|>",
     "<|user|> Hi <|end|><|assistant|> Yo <|end|><|user|>More\n<|end|><|assistant|>"},
    {PHI4, "phi4",
     "<|im_start|>system<|im_sep|>Be.<|im_end|><|im_start|>user<|im_sep|> Hi <|im_end|>"
     "<|im_start|>assistant<|im_sep|> Yo <|im_end|><|im_start|>user<|im_sep|>More\n<|im_end|>"
     "<|im_start|>assistant<|im_sep|>",
     "<|im_start|>user<|im_sep|> Hi <|im_end|><|im_start|>assistant<|im_sep|> Yo <|im_end|>"
     "<|im_start|>user<|im_sep|>More\n<|im_end|><|im_start|>assistant<|im_sep|>"},
    {PHI4_FIRST, "phi4",
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

TEST(each_known_template_is_told_by_its_text_and_renders_as_its_model_expects)
{
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
        struct baton_chat *chat = open_chat(goldens[i].template, "auto");
        assert_string_equal(baton_chat_family(chat), goldens[i].family);
        assert_null(baton_chat_problem(chat));
        check_golden(chat, SYSTEM_AND_TURNS, goldens[i].with);
        check_golden(chat, TURNS, goldens[i].without);
        baton_chat_close(chat);
    }
}

TEST(every_shape_has_its_golden)
{
    size_t n_shapes = 0, n_found = 0;
    for (const struct baton_chat_shape *shape = baton_chat_shapes; shape->family; shape++) {
        bool found = false;
        n_shapes++;
        for (size_t i = 0; i < sizeof goldens / sizeof *goldens && !found; i++) {
            struct baton_chat *chat = open_chat(goldens[i].template, "auto");
            found = chat->shape == shape;
            baton_chat_close(chat);
        }
        n_found += found;
    }
    assert_int_equal(n_found, n_shapes);
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

TEST(the_refusal_names_the_message)
{
    struct baton_chat *chat = open_chat(GEMMA3, "auto");
    struct baton_chat_text text;
    struct baton_why why;
    assert_int_equal(render(chat, "s:S|u:A|u:B", &text, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "message 3"));
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
    char before[32], after[32];
    struct baton_chat *chat = open_chat(LLAMA3_2, "auto");
    struct baton_chat_text text;
    struct baton_why why;
    time_t now = time(NULL);
    assert_true(strftime(before, sizeof before, "Today Date: %d %b %Y\n", localtime(&now)) > 0);
    assert_int_equal(render(chat, "u:A", &text, &why), BATON_OK);
    now = time(NULL);
    assert_true(strftime(after, sizeof after, "Today Date: %d %b %Y\n", localtime(&now)) > 0);
    assert_true(strstr(baton_buf_text(&text.bytes), before) ||
                strstr(baton_buf_text(&text.bytes), after));
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

/* ---- templates that are not quite known ---- */

TEST(a_template_of_no_known_family_is_a_problem_that_names_the_families)
{
    static const char *const unknown[] = {
        "",
        "{{ messages }}",
        "{% for message in messages %}{{ message['role'] + ': ' + message['content'] }}"
        "{% endfor %}",
        "{{ 'Be nice.' }}" CHATML,
        CHATML "<think>",
        CHATML "{{ 'Sure: ' }}",
        "{{ bos_token }}\n" CHATML,
        "{% if x %}{{ bos_token }}{% endif %}" CHATML,
        "{{ '<s>' }}" CHATML,
        CHATML_LOOP,
        CHATML_LOOP "{% if add_generation_prompt and messages[-1]['role'] != 'assistant' %}"
                    "{{ '<|im_start|>assistant\\n' }}{% endif %}",
        "{% for message in messages %}{{ bos_token }}{% endfor %}" CHATML,
        "{% for message in messages %}{{ 'hi' }}{% endfor %}" CHATML,
        "{% if messages %}" CHATML,
        CHATML "{% endif %}",
        CHATML "{% if 'a",
        MISTRAL_V7_WITH_DEFAULT("'It is ' + today + '.'"),
        LLAMA2 "true == true {% if true == true %}",
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        struct baton_chat *chat = open_chat(unknown[i], "auto");
        assert_string_equal(baton_chat_family(chat), "unknown");
        assert_non_null(strstr(baton_chat_problem(chat), "chatml, llama2, llama3, gemma, mis"));
        assert_non_null(strstr(baton_chat_problem(chat), "phi4)"));
        baton_chat_close(chat);
    }
}

TEST(a_zero_byte_hides_nothing_from_the_comparison)
{
    static const char template[] = CHATML "\0{{ 'more' }}";
    struct baton_chat_template source = {.jinja = malloc(sizeof template)};
    struct baton_chat *chat = NULL;
    memcpy(source.jinja, template, sizeof template);
    source.n_jinja = sizeof template - 1;
    assert_int_equal(baton_chat_create(&source, "auto", &chat, NULL), BATON_OK);
    assert_string_equal(baton_chat_family(chat), "unknown");
    baton_chat_close(chat);
    baton_chat_template_fini(&source);
}

TEST(a_model_without_a_template_says_so)
{
    struct baton_chat *chat = open_chat(NULL, "auto");
    assert_string_equal(baton_chat_family(chat), "none");
    assert_string_equal(baton_chat_problem(chat), "this model has no chat template");
    baton_chat_close(chat);
}

/* ---- override ---- */

TEST(a_family_can_be_chosen_by_name)
{
    struct baton_chat *chat = open_chat(NULL, "gemma");
    assert_string_equal(baton_chat_family(chat), "gemma");
    assert_null(baton_chat_problem(chat));
    assert_renders(chat, "u:A", "<s><start_of_turn>user\nA<end_of_turn>\n<start_of_turn>model\n");
    baton_chat_close(chat);
    chat = open_chat(CHATML_WITH_DEFAULT, "zephyr");
    assert_renders(chat, "u:A", "<|user|>\nA</s>\n<|assistant|>\n");
    baton_chat_close(chat);
}

TEST(choosing_the_models_own_family_keeps_what_its_template_says)
{
    struct baton_chat *chat = open_chat(CHATML_WITH_DEFAULT, "chatml");
    assert_renders(chat, "u:A",
                   "<|im_start|>system\nYou're a \"test\".<|im_end|>\n"
                   "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\n");
    baton_chat_close(chat);
}

TEST(a_name_of_no_family_is_refused_with_the_names_there_are)
{
    struct baton_chat_template source = {.jinja = strdup(CHATML)};
    struct baton_chat *chat = NULL;
    struct baton_why why;
    assert_int_equal(baton_chat_create(&source, "alpaca", &chat, &why), BATON_INVALID);
    assert_null(chat);
    assert_non_null(strstr(why.text, "\"alpaca\""));
    assert_non_null(strstr(why.text, "auto, chatml, llama2"));
    baton_chat_template_fini(&source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_known_template_is_told_by_its_text_and_renders_as_its_model_expects),
        cmocka_unit_test(every_shape_has_its_golden),
        cmocka_unit_test(a_system_message_that_comes_later_is_treated_as_the_template_does),
        cmocka_unit_test(roles_in_an_order_that_the_template_refuses_are_invalid),
        cmocka_unit_test(the_refusal_names_the_message),
        cmocka_unit_test(a_conversation_without_messages_is_invalid),
        cmocka_unit_test(a_system_message_waits_for_a_last_message_that_is_the_users),
        cmocka_unit_test(trimming_removes_what_python_calls_white_space),
        cmocka_unit_test(an_empty_first_question_leaves_llama2s_system_text_trimmed),
        cmocka_unit_test(phi35_skips_an_empty_system_message),
        cmocka_unit_test(a_template_that_asks_for_the_date_gets_todays),
        cmocka_unit_test(a_template_of_no_known_family_is_a_problem_that_names_the_families),
        cmocka_unit_test(a_zero_byte_hides_nothing_from_the_comparison),
        cmocka_unit_test(a_model_without_a_template_says_so),
        cmocka_unit_test(a_family_can_be_chosen_by_name),
        cmocka_unit_test(choosing_the_models_own_family_keeps_what_its_template_says),
        cmocka_unit_test(a_name_of_no_family_is_refused_with_the_names_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
