/* Calls are taken out of texts of each format, however the text is cut into pieces. */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/toolcall/pieces.h"

static void check(const char *format, const char *text, const char *want)
{
    check_pieces(&(struct baton_answer_form){.tools = baton_tool_format_named(format)}, text, want);
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
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check("hermes", texts[i], texts[i]);
    check("hermes", "<tool_call><tool_call>{\"name\":\"f\"}</tool_call>", "<tool_call>«f({})»");
    check("mistral-args", "[TOOL_CALLS]f g[ARGS]{}", "[TOOL_CALLS]f g[ARGS]{}");
    check("llama3", "{\"name\":\"Ann\"}", "{\"name\":\"Ann\"}");
    check("llama3", "{\"name\":\"f\",\"parameters\":{}} is one",
          "{\"name\":\"f\",\"parameters\":{}} is one");
    check("llama3", "See {\"name\":\"f\",\"parameters\":{}}",
          "See {\"name\":\"f\",\"parameters\":{}}");
}

TEST(a_call_of_too_many_bytes_comes_out_as_text)
{
    static char text[BATON_TOOL_CALL_MAX_BYTES + 64];
    int n = snprintf(text, sizeof text, "<tool_call>{\"name\":\"");
    memset(text + n, 'x', sizeof text - 1 - (size_t)n);
    size_t half = sizeof text / 2;
    const struct baton_answer_form form = {.tools = baton_tool_format_named("hermes")};
    read_pieces(&form, text, (size_t[]){half, sizeof text - 1}, text);
}

TEST(a_template_tells_its_format)
{
    static const struct {
        const char *source, *format;
    } templates[] = {
        {"{{ '<tool_call>\\n' + (call | tojson) + '\\n</tool_call>' }}", "hermes"},
        {"{{ '<tool_call>\\n<function=' + call.name + '>' }}", NULL},
        {"{{ '[TOOL_CALLS][' }}", "mistral"},
        {"{{ '[TOOL_CALLS]' + call.name + '[ARGS]' }}", "mistral-args"},
        {"{{ '[TOOL_CALLS]' + call.name + '[CALL_ID]' + call.id + '[ARGS]' }}", NULL},
        {"write <|tool_call|> followed by a JSON list", "granite"},
        {"{{ '<|START_ACTION|>[' }}", "command-r7b"},
        {"{\"name\": function name, \"parameters\": dictionary of argument name and its value}",
         "llama3"},
        {"{{ messages }}", NULL},
    };
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        const char *source = templates[i].source, *want = templates[i].format;
        const struct baton_tool_format *format = baton_tool_format_of(source, strlen(source));
        assert_true(want ? format && !strcmp(format->name, want) : !format);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(space_before_what_is_no_call_stays),
        cmocka_unit_test(each_format_has_its_calls_taken_out),
        cmocka_unit_test(text_beside_calls_stays),
        cmocka_unit_test(a_call_whose_end_is_missing_counts_when_its_json_is_whole),
        cmocka_unit_test(what_only_resembles_a_call_comes_out_as_text),
        cmocka_unit_test(a_call_of_too_many_bytes_comes_out_as_text),
        cmocka_unit_test(a_template_tells_its_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
