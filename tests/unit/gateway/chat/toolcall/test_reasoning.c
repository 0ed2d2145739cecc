/* Reasoning is taken off the front of answers, however they are cut into pieces. */
#include "tests/support/answer_formats.h"
#include "tests/support/test.h"

#include <string.h>

#include "tests/unit/gateway/chat/toolcall/pieces.h"

#include "common/base/array.h"

static struct baton_answer_form form_of(const char *name, bool is_open)
{
    return (struct baton_answer_form){.reasoning = reasoning_format_named(name),
                                      .tools = tool_format_named("hermes"),
                                      .opens_reasoning = is_open};
}

static void check(const char *name, const char *text, const char *want)
{
    const struct baton_answer_form form = form_of(name, false);
    check_pieces(&form, text, want);
}

static void check_open(const char *text, const char *want)
{
    const struct baton_answer_form form = form_of("think", true);
    check_pieces(&form, text, want);
}

TEST(reasoning_comes_before_the_text)
{
    check("think", "<think>\nHm. 1 < 2\n</think>\n\nYes.", "‹Hm. 1 < 2›Yes.");
    check("think", " \n<think>a\n\nb</think>Yes.\n", "‹a\n\nb›Yes.\n");
    check("magistral", "[THINK]Hm.[/THINK]Yes.", "‹Hm.›Yes.");
    check("gemma4", "<|channel>thought\nHm.<channel|>Yes.", "‹Hm.›Yes.");
    check("seed", "<seed:think>Hm.</seed:think>Yes.", "‹Hm.›Yes.");
    check("command-r7b", "<|START_THINKING|>Hm.<|END_THINKING|>Yes.", "‹Hm.›Yes.");
}

TEST(a_prompt_may_have_begun_it)
{
    check_open("\nHm.\n</think>\n\nYes.", "‹Hm.›Yes.");
    check_open("</think>Yes.", "Yes.");
    check_open("Hm. </thin", "‹Hm. </thin›");
}

TEST(calls_follow_reasoning)
{
    check("think", "<think>Hm.</think>\n<tool_call>{\"name\":\"f\"}</tool_call>", "‹Hm.›«f({})»");
    check_open("<tool_call>{\"name\":\"f\"}</tool_call></think>\nYes.",
               "‹<tool_call>{\"name\":\"f\"}</tool_call>›Yes.");
}

TEST(without_reasoning_everything_is_text)
{
    check("think", "<think>\n\n</think>\n\nYes.", "Yes.");
    check("think", "Yes, <think>Hm.</think>", "Yes, <think>Hm.</think>");
    check("think", "\n <thin", "\n <thin");
    check("think", " \n", " \n");
    check_pieces(&(struct baton_answer_form){0}, "<think>Hm.</think>", "<think>Hm.</think>");
}

TEST(reasoning_whose_end_is_missing_is_reasoning)
{
    check("think", "<think>Hm.\n", "‹Hm.›");
    check("think", "<think>", "");
}

TEST(a_template_tells_its_format)
{
    static const struct {
        const char *source, *format;
    } templates[] = {
        {"{{ content.split('</think>')[-1] }}", "think"},
        {"{{ '<think>\n' }}", "think"},
        {"[THINK]", "magistral"},
        {"{{ '<|START_THINKING|>' }}", "command-r7b"},
        {"<seed:think>", "seed"},
        {"{{ messages }}", NULL},
    };
    for (size_t i = 0; i < BATON_N_OF(templates); i++) {
        const char *source = templates[i].source, *want = templates[i].format;
        const struct baton_reasoning_format *format =
            baton_reasoning_format_of(source, strlen(source));
        assert_true(want ? format && !strcmp(format->name, want) : !format);
    }
}

TEST(a_prompt_tells_whether_it_has_begun)
{
    const struct baton_reasoning_format *format = reasoning_format_named("think");
    assert_true(baton_reasoning_is_open(format, "Assistant: <think>\n", 19));
    assert_false(baton_reasoning_is_open(format, "<think>\n\n</think>\n\n", 19));
    assert_false(baton_reasoning_is_open(format, "think>", 6));
    assert_false(baton_reasoning_is_open(NULL, "<think>", 7));
}
