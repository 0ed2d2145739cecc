/* Conversations rendered by the templates of known models. */
#include "common/base/array.h"
#include "tests/unit/gateway/chat/chat_unit.h"

#include <string.h>
#include <time.h>

#include "tests/unit/gateway/chat/chat_templates.h"

/* ---- templates as models bring them ---- */

#define SYSTEM_AND_TURNS "s:Be.|u: Hi |a: Yo |u:More\n"
#define TURNS            "u: Hi |a: Yo |u:More\n"
#define DATES            "Cutting Knowledge Date: December 2023\nToday Date: "

/* with or without: what SYSTEM_AND_TURNS and TURNS give. Each was checked against the models' own
 * templates, rendered by Jinja, with a system message in the user's first where one is refused. */
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
    {GEMMA,
     "<s><start_of_turn>user\nBe.\n\n Hi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n",
     "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n"},
    {GEMMA3,
     "<s><start_of_turn>user\nBe.\n\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n",
     "<s><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\nYo<end_of_turn>\n"
     "<start_of_turn>user\nMore<end_of_turn>\n<start_of_turn>model\n"},
    {MISTRAL_OLD(""), "<s>[INST] Be.\n\n Hi  [/INST] Yo </s>[INST] More\n [/INST]",
     "<s>[INST]  Hi  [/INST] Yo </s>[INST] More\n [/INST]"},
    {MISTRAL_OLD(" + ' '"), "<s>[INST] Be.\n\n Hi  [/INST] Yo </s> [INST] More\n [/INST]",
     "<s>[INST]  Hi  [/INST] Yo </s> [INST] More\n [/INST]"},
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
     "<|user|>\nBe.\n\n Hi <|end|>\n<|assistant|>\n Yo <|end|>\n<|user|>\nMore\n<|end|>\n"
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

TEST(each_template_renders_as_its_model_expects)
{
    for (size_t i = 0; i < BATON_N_OF(goldens); i++) {
        struct baton_chat *chat = chat_open(goldens[i].template, "auto");
        assert_string_equal(baton_chat_source(chat), "model");
        assert_null(baton_chat_problem(chat));
        assert_chat_renders(chat, SYSTEM_AND_TURNS, goldens[i].with);
        assert_chat_renders(chat, TURNS, goldens[i].without);
        baton_chat_close(chat);
    }
}

/* ---- what templates do in rare cases ---- */

static void check_one(const char *template, const char *messages, const char *expected)
{
    struct baton_chat *chat = chat_open(template, "auto");
    assert_chat_renders(chat, messages, expected);
    baton_chat_close(chat);
}

TEST(a_system_message_that_comes_later_is_written_as_the_template_does)
{
    check_one(MISTRAL_V7, "u:A|s:B", "<s>[INST] A[/INST][SYSTEM_PROMPT] B[/SYSTEM_PROMPT]");
    check_one(CHATML_WITH_DEFAULT, "s:A|s:B",
              "<|im_start|>system\nA<|im_end|>\n<|im_start|>system\nB<|im_end|>\n"
              "<|im_start|>assistant\n");
}

TEST(the_user_says_a_later_system_message_that_the_template_leaves_out_or_refuses)
{
    check_one(LLAMA2, "u:A|s:B|u:C", "<s>[INST] A\n\nB\n\nC [/INST]");
    check_one(LLAMA2_WITH_LATER_SYSTEM, "u:A|s: B |u:C", "<s>[INST] A\n\n B \n\nC [/INST]");
    check_one(LLAMA2, "u:A|a:B|s:C", "<s>[INST] A [/INST] B </s><s>[INST] C [/INST]");
    check_one(LLAMA2, "u:A|a:B|s:C|s:D|u:E",
              "<s>[INST] A [/INST] B </s><s>[INST] C\n\nD\n\nE [/INST]");
    check_one(LLAMA2, "u:A|a:B|u:C|s:D", "<s>[INST] A [/INST] B </s><s>[INST] C\n\nD [/INST]");
    check_one(GEMMA, "u:A|s:B",
              "<s><start_of_turn>user\nA\n\nB<end_of_turn>\n<start_of_turn>model\n");
    check_one(GEMMA3, "u:A|s:B|a:C|u:D",
              "<s><start_of_turn>user\nA\n\nB<end_of_turn>\n"
              "<start_of_turn>model\nC<end_of_turn>\n"
              "<start_of_turn>user\nD<end_of_turn>\n"
              "<start_of_turn>model\n");
}

TEST(system_messages_at_the_head_are_one_where_the_template_takes_one)
{
    check_one(LLAMA2, "s:A|s:B|u:C", "<s>[INST] <<SYS>>\nA\n\nB\n<</SYS>>\n\nC [/INST]");
    check_one(LLAMA2, "s:A|s:B|u:C|a:D|s:E",
              "<s>[INST] <<SYS>>\nA\n\nB\n<</SYS>>\n\nC [/INST] D </s><s>[INST] E [/INST]");
    check_one(CHATML, "s:A|s:B|u:C",
              "<|im_start|>system\nA<|im_end|>\n<|im_start|>system\nB<|im_end|>\n"
              "<|im_start|>user\nC<|im_end|>\n<|im_start|>assistant\n");
}

TEST(neighbours_of_one_role_are_one_message_where_the_template_refuses_two)
{
    static const struct {
        const char *template, *led, *users, *assistants;
    } strict[] = {
        {LLAMA2, "<s>[INST]  [/INST] A </s>", "<s>[INST] A\n\nB [/INST]",
         "<s>[INST] A [/INST] B\n\nC </s>"},
        {GEMMA,
         "<s><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n<start_of_"
         "turn>model\n",
         "<s><start_of_turn>user\nA\n\nB<end_of_turn>\n<start_of_turn>model\n",
         "<s><start_of_turn>user\nA<end_of_turn>\n<start_of_turn>model\nB\n\nC<end_of_turn>\n<"
         "start_of_turn>model\n"},
        {GEMMA3,
         "<s><start_of_turn>user\n<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n<start_of_"
         "turn>model\n",
         "<s><start_of_turn>user\nA\n\nB<end_of_turn>\n<start_of_turn>model\n",
         "<s><start_of_turn>user\nA<end_of_turn>\n<start_of_turn>model\nB\n\nC<end_of_turn>\n<"
         "start_of_turn>model\n"},
        {MISTRAL_OLD(""), "<s>[INST]  [/INST]A</s>", "<s>[INST] A\n\nB [/INST]",
         "<s>[INST] A [/INST]B\n\nC</s>"},
        {MISTRAL_V1, "<s> [INST]  [/INST] A</s>", "<s> [INST] A\n\nB [/INST]",
         "<s> [INST] A [/INST] B\n\nC</s>"},
        {MISTRAL_V3, "<s>[INST] [/INST] A</s>", "<s>[INST] A\n\nB[/INST]",
         "<s>[INST] A[/INST] B\n\nC</s>"},
        {MISTRAL_TEKKEN, "<s>[INST][/INST]A</s>", "<s>[INST]A\n\nB[/INST]",
         "<s>[INST]A[/INST]B\n\nC</s>"},
    };
    for (size_t i = 0; i < BATON_N_OF(strict); i++) {
        check_one(strict[i].template, "a:A", strict[i].led);
        check_one(strict[i].template, "u:A|u:B", strict[i].users);
        check_one(strict[i].template, "u:A|a:B|a:C", strict[i].assistants);
    }
    check_one(CHATML, "a:A|a:B",
              "<|im_start|>assistant\nA<|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n"
              "<|im_start|>assistant\n");
}

TEST(a_refusal_tells_the_templates_own_words)
{
    struct baton_chat *chat = chat_open(
        "{% if messages[0].content == 'no' %}{{ raise_exception('not this') }}{% endif %}" CHATML,
        "auto");
    struct baton_chat_text text;
    struct baton_why why;
    assert_int_equal(chat_render(chat, "u:no", &text, &why), BATON_INVALID);
    assert_string_equal(why.text, "this model's chat template refuses the conversation: not this");
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

TEST(a_system_message_that_waits_for_the_users_last_is_the_users_where_there_is_none)
{
    check_one(MISTRAL_V3, "s:S|u:A|a:B", "<s>[INST] S\n\nA[/INST] B</s>");
    check_one(MISTRAL_V3, "s:S", "<s>[INST] S[/INST]");
    check_one(GEMMA3, "s:S", "<s><start_of_turn>user\nS<end_of_turn>\n<start_of_turn>model\n");
}

TEST(a_message_that_no_form_of_the_template_writes_is_refused)
{
    struct baton_chat *chat = chat_open("{{ messages[0].content }}", "auto");
    struct baton_chat_text text;
    struct baton_why why;
    assert_chat_renders(chat, "u:A|u:B", "A\n\nB");
    assert_int_equal(chat_render(chat, "u:A|a:B", &text, &why), BATON_INVALID);
    assert_string_equal(why.text,
                        "this model's chat template leaves out the text of a message of the "
                        "assistant");
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
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
    struct baton_chat *chat = chat_open(LLAMA3_2, "auto");
    struct baton_chat_text text;
    struct baton_why why;
    time_t now = CHAT_NOW;
    assert_true(strftime(expected, sizeof expected, "Today Date: %d %b %Y\n", localtime(&now)) > 0);
    assert_ok(chat_render(chat, "u:A", &text, &why));
    assert_non_null(strstr(baton_buf_text(&text.bytes), expected));
    baton_chat_text_fini(&text);
    baton_chat_close(chat);
}

/* ---- built-in templates ---- */

/* Each built-in template renders as the model's own that it stands for, except for BOS. */
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
    for (size_t i = 0; i < BATON_N_OF(pairs); i++) {
        struct baton_chat *builtin = chat_open(NULL, pairs[i].name);
        struct baton_chat *own = chat_open(pairs[i].template, "auto");
        assert_string_equal(baton_chat_source(builtin), pairs[i].name);
        for (size_t k = 0; k < BATON_N_OF(talks); k++) {
            struct baton_chat_text a, b;
            enum baton_err err = chat_render(builtin, talks[k], &a, NULL);
            assert_int_equal(err, chat_render(own, talks[k], &b, NULL));
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
