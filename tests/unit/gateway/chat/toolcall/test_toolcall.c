/* Calls are taken out of texts of each format, however the text is cut into pieces. */
#include "tests/support/answer_formats.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "common/base/json.h"
#include "tests/unit/gateway/chat/toolcall/pieces.h"

#include "common/base/array.h"

static void check(const char *format, const char *text, const char *want)
{
    check_pieces(&(struct baton_answer_form){.tools = tool_format_named(format)}, text, want);
}

TEST(space_before_what_is_no_call_stays)
{
    check("hermes", "\n <tool_call>no\n", "\n <tool_call>no\n");
    check("mistral-args", "\n [TOOL_CALLS]\n no", "\n [TOOL_CALLS]\n no");
    check("llama3", "\n {\"name\": 1}", "\n {\"name\": 1}");
    check("hermes", "\n <tool_call>{\"name\":\"f\"}</tool_call>", "«f({})»");
}

TEST(each_format_has_its_calls_taken_out)
{
    check("hermes",
          "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}\\\"\"}}\n</tool_call>",
          "«f({\"a\":\"}\\\"\"})»");
    check("mistral", "[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{}},{\"name\":\"g\"}]",
          "«f({})»«g({})»");
    check("mistral-args", "[TOOL_CALLS]f[ARGS]{\"a\":1}[TOOL_CALLS]g.h-2[ARGS]{}",
          "«f({\"a\":1})»«g.h-2({})»");
    check("granite", "<|tool_call|>[{\"name\":\"f\",\"arguments\":{\"a\":[1]}}]",
          "«f({\"a\":[1]})»");
    check(
        "command-r7b",
        "<|START_ACTION|>[{\"tool_call_id\":\"0\",\"tool_name\":\"f\",\"parameters\":{\"a\":null}}]"
        "<|END_ACTION|>",
        "«f({\"a\":null})»");
    check("llama3", " {\"name\": \"f\", \"parameters\": {\"a\": 1.5}}\n", "«f({\"a\":1.5})»");
}

TEST(text_beside_calls_stays)
{
    const char *call = "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
    char text[300];
    (void)snprintf(text, sizeof text, "Let me see.\n%s\n%s\nSo.", call, call);
    check("hermes", text, "Let me see.\n«f({})»«f({})»\nSo.");
    check("hermes", " \n", " \n");
    check("hermes", "  a < b <tool_cal", "  a < b <tool_cal");
}

/* GigaChat 3's token before a call is the one that ends every message. */
TEST(what_opens_calls_may_also_end_the_turn)
{
#define SEP  "<|message_sep|>\n\n"
#define CALL SEP "function call<|role_sep|>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}"
    check("gigachat3", "I look." CALL, "I look.«f({\"a\":1})»");
    check("gigachat3", CALL, "«f({\"a\":1})»");
    check("gigachat3", "Hello." SEP, "Hello.");
    check("gigachat3", "Hello." SEP "user<|role_sep|>\nAnd " CALL, "Hello.");
    check("gigachat3", "I look." CALL SEP, "I look.«f({\"a\":1})»");
    check("gigachat3", "a <|message_sep|> b", "a <|message_sep|> b");
#undef CALL
#undef SEP
}

/* The token that ends the turn may stand for the end of a call. */
TEST(a_call_whose_end_is_missing_counts_when_its_json_is_whole)
{
    check("hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}\n", "«f({})»");
}

TEST(what_only_resembles_a_call_comes_out_as_text)
{
    static const char *const texts[] = {
        "<tool_call> is a marker",
        "<tool_call>{\"name\":5,\"arguments\":{}}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}} and more",
        "<tool_call>{\"name\":\"f\",,}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":",
        "<tool_call>[]</tool_call>",
    };
    for (size_t i = 0; i < BATON_N_OF(texts); i++)
        check("hermes", texts[i], texts[i]);
    check("hermes", "<tool_call><tool_call>{\"name\":\"f\"}</tool_call>", "<tool_call>«f({})»");
    check("mistral-args", "[TOOL_CALLS]f g[ARGS]{}", "[TOOL_CALLS]f g[ARGS]{}");
    check("llama3", "{\"name\":\"Ann\"}", "{\"name\":\"Ann\"}");
    check("llama3", "{\"name\":\"f\",\"parameters\":{}} is one",
          "{\"name\":\"f\",\"parameters\":{}} is one");
    check("llama3", "See {\"name\":\"f\",\"parameters\":{}}",
          "See {\"name\":\"f\",\"parameters\":{}}");
}

static void check_typed(const char *format, const char *text, const char *want)
{
    static const char tools[] = "[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{"
                                "\"s\":{\"type\":\"string\"},"
                                "\"e\":{\"enum\":[\"1\",\"2\"]},\"b\":{\"type\":\"boolean\"},\"n\":"
                                "{\"type\":\"integer\"}}}}}]";
    struct baton_json *functions;
    assert_ok(baton_json_parse(tools, sizeof tools - 1, &functions, NULL));
    const struct baton_answer_form form = {.tools = tool_format_named(format),
                                           .functions = functions};
    check_pieces(&form, text, want);
    baton_json_free(functions);
}

TEST(tags_tell_strings_from_other_values_by_the_schema)
{
    check_typed("qwen3-coder",
                "<tool_call>\n<function=f>\n<parameter=s>\n 12\n\n</parameter>\n<parameter=e>\n1\n"
                "</parameter>\n<parameter=b>\nTrue\n</parameter>\n<parameter=n>\n5\n</parameter>\n"
                "</function>\n</tool_call>",
                "«f({\"s\":\" 12\\n\",\"e\":\"1\",\"b\":true,\"n\":5})»");
    check_typed("qwen3-coder", "<function=g>\n<parameter=x>5</parameter></function>",
                "«g({\"x\":5})»");
    check_typed("glm4",
                "<tool_call>f<arg_key>s</arg_key><arg_value>{}</arg_value><arg_key>n</arg_key>"
                "<arg_value>some</arg_value></tool_call>",
                "«f({\"s\":\"{}\",\"n\":\"some\"})»");
}

TEST(values_may_be_written_as_pythons)
{
    check_typed("seed-oss",
                "<seed:tool_call><function=f><parameter=n>{'a': [True, None]}</parameter>"
                "<parameter=b>False</parameter><parameter=s>True</parameter></function>"
                "</seed:tool_call>",
                "«f({\"n\":{\"a\":[true,null]},\"b\":false,\"s\":\"True\"})»");
    check("seed-oss", "<function=f><parameter=x>True</parameter></function>",
          "«f({\"x\":\"True\"})»");
}

TEST(tags_may_say_what_is_a_string)
{
    check("deepseek-v3.2",
          "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"f\">\n<｜DSML｜parameter name=\"s\" "
          "string=\"true\">1</｜DSML｜parameter>\n<｜DSML｜parameter name=\"n\" string=\"false\">1"
          "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
          "«f({\"s\":\"1\",\"n\":1})»");
}

TEST(a_value_may_hold_what_looks_like_its_end)
{
    check_typed("qwen3-coder",
                "<function=f>\n<parameter=s>\nwrite </parameter>, then </function>\n</parameter>\n"
                "</function>.",
                "«f({\"s\":\"write </parameter>, then </function>\"})».");
}

TEST(python_has_literals)
{
    check(
        "lfm2",
        "<|tool_call_start|>[f(a='it\\'s \\x41\\q', b=[True, None, -1.5e3,], c={'k': (1, \"2\")})]"
        "<|tool_call_end|>Yes.",
        "«f({\"a\":\"it's A\\\\q\",\"b\":[true,null,-1500],\"c\":{\"k\":[1,\"2\"]}})»Yes.");
    check("pythonic", "[g(), h.i(x=1)]\n", "«g({})»«h.i({\"x\":1})»");
    check("pythonic", "[1] says g()", "[1] says g()");
    check("pythonic", "[f(1)]", "[f(1)]");
    check("pythonic", "[f(a=b)]", "[f(a=b)]");
}

TEST(gemma_writes_strings_between_marks)
{
    check("gemma4",
          "So: <|tool_call>call:f{a:<|\"|>x \"}<|\"|>, b:{c:[1, None, <|\"|><|\"|>]}}<tool_call|>"
          "<|tool_call>call:g{}<tool_call|>",
          "So: «f({\"a\":\"x \\\"}\",\"b\":{\"c\":[1,null,\"\"]}})»«g({})»");
    check("gemma4", "<|tool_call>call:f{a:x}<tool_call|>", "<|tool_call>call:f{a:x}<tool_call|>");
    check("gemma4", "<|tool_call>call:f(a)<tool_call|>", "<|tool_call>call:f(a)<tool_call|>");
}

TEST(what_is_around_all_calls_is_dropped)
{
    check("deepseek-v3.1",
          "So.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜>"
          "<｜tool▁calls▁end｜>",
          "So.«f({})»");
    check("kimi-k2",
          "<|tool_call_begin|>f<|tool_call_argument_begin|>{}<|tool_call_end|> and "
          "<|tool_calls_section_end|>",
          "«f({})» and <|tool_calls_section_end|>");
    check("qwen3-coder", "<tool_call>{\"name\":\"f\"}</tool_call>",
          "<tool_call>{\"name\":\"f\"}</tool_call>");
}

TEST(channels_are_told_apart)
{
    const struct baton_answer_form both = {.tools = tool_format_named("harmony"),
                                           .reasoning = reasoning_format_named("harmony")};
    const struct baton_answer_form reasoning = {.reasoning = both.reasoning};
    const struct baton_answer_form tools = {.tools = both.tools};
    check_pieces(&both,
                 "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary"
                 "<|message|>Let me see.<|end|><|start|>assistant<|channel|>commentary "
                 "to=functions.f <|constrain|>json<|message|>{\"a\": 1}<|call|>",
                 "‹Hm.›Let me see.«f({\"a\":1})»");
    check_pieces(&both, " to=functions.f<|channel|>commentary json<|message|>{}", "«f({})»");
    check_pieces(&both, "<|channel|>final<|message|>Yes <| it is.<|return|>", "Yes <| it is.");
    check_pieces(&both, "<|channel|>commentary to=functions.f<|message|>{no<|call|>",
                 "<|channel|>commentary to=functions.f<|message|>{no");
    check_pieces(&both, "to be or not <|channel", "to be or not <|channel");
    check_pieces(&both, "<|channel|>analysis<|message|>Hm.<|end|><|start|>assis", "‹Hm.›");
    check_pieces(&reasoning, "<|channel|>commentary to=functions.f<|message|>{}<|call|>",
                 "<|channel|>commentary to=functions.f<|message|>{}");
    check_pieces(&tools, "<|channel|>analysis<|message|>Hm.<|end|>",
                 "<|channel|>analysis<|message|>Hm.");
}

TEST(a_prompt_may_have_begun_the_call)
{
    const struct baton_answer_form form = {.tools = tool_format_named("functionary-v3.2"),
                                           .opens_call = true};
    check_pieces(&form, "all\nYes.>>>f\n{\"a\":1}", "Yes.«f({\"a\":1})»");
    check_pieces(&form, "f\n{}", "«f({})»");
    check_pieces(&form, "Yes, >>> f", "Yes, >>> f");
    check_pieces(&form, "f", "f");
}

TEST(a_call_of_too_many_bytes_comes_out_as_text)
{
    static char text[BATON_TOOL_CALL_MAX_BYTES + 64];
    int n = snprintf(text, sizeof text, "<tool_call>{\"name\":\"");
    memset(text + n, 'x', sizeof text - 1 - (size_t)n);
    size_t half = sizeof text / 2;
    const struct baton_answer_form form = {.tools = tool_format_named("hermes")};
    read_pieces(&form, text, (size_t[]){half, sizeof text - 1}, text);
}

TEST(a_template_tells_its_format)
{
    static const struct {
        const char *source, *format;
    } templates[] = {
        {"{{ '<tool_call>\\n' + (call | tojson) + '\\n</tool_call>' }}", "hermes"},
        {"{{ '<tool_call>\\n<function=' + call.name + '>' }}", "generic"},
        {"{{ '[TOOL_CALLS][' }}", "mistral"},
        {"{{ '[TOOL_CALLS]' + call.name + '[ARGS]' }}", "mistral-args"},
        {"{{ '[TOOL_CALLS]' + call.name + '[CALL_ID]' + call.id + '[ARGS]' }}", "mistral-id"},
        {"write <|tool_call|> followed by a JSON list", "granite"},
        {"{{ '<|START_ACTION|>[' }}", "command-r7b"},
        {"{\"name\": function name, \"parameters\": dictionary of argument name and its value}",
         "llama3"},
        {"{{ messages }}", "generic"},
    };
    for (size_t i = 0; i < BATON_N_OF(templates); i++) {
        const char *source = templates[i].source, *want = templates[i].format;
        const struct baton_tool_format *format = baton_tool_format_of(source, strlen(source));
        assert_string_equal(format->name, want);
    }
}
