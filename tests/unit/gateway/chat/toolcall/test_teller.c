/* Calls that are told while they arrive are the same as whole ones. */
#include "tests/support/answer_formats.h"
#include "tests/support/test.h"

#include <string.h>

#include "common/base/array.h"
#include "common/base/json.h"
#include "gateway/chat/toolcall/teller.h"
#include "tests/unit/gateway/chat/toolcall/pieces.h"

static struct baton_json *functions;

static int setup(void **state)
{
    static const char text[] =
        "[{\"function\":{\"name\":\"f\"}},{\"function\":{\"name\":\"g.h-2\"}},"
        "{\"function\":{\"name\":\"w\",\"parameters\":{\"properties\":{\"s\":{\"type\":"
        "\"string\"},\"t\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"}}}}}]";
    struct baton_why why;
    (void)state;
    return baton_json_parse(text, sizeof text - 1, &functions, &why) ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    baton_json_free(functions);
    return 0;
}

static struct baton_answer_form form_of(const char *format)
{
    const struct baton_tool_format *tools = tool_format_named(format);
    return (struct baton_answer_form){.tools = tools, .functions = functions};
}

/* What is told early is the same text as what is told whole, in pieces of any size. */
static void check(const char *format, const char *text, const char *want)
{
    struct baton_answer_form form = form_of(format);
    size_t n = strlen(text);
    check_pieces(&form, text, want);
    for (size_t n_piece = 1; n_piece <= n; n_piece++) {
        struct baton_buf out;
        read_early(&form, text, n, n_piece, &out);
        assert_string_equal(baton_buf_text(&out), want);
        baton_buf_fini(&out);
    }
}

static const struct {
    const char *format, *text, *want;
} calls[] = {
    {"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"}\\\"\"}}\n</tool_call>",
     "«f({\"a\":\"}\\\"\"})»"},
    {"hermes",
     "So: <tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n"
     "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\" : [ 1 , 2.50 , true,null ], \"b\":{}}}"
     "</tool_call>Done",
     "So: «f({})»«f({\"a\":[1,2.5,true,null],\"b\":{}})»Done"},
    {"hermes",
     "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"\\u00e9\\ud83d\\ude00\\/\\n\\\\é\"}}"
     "</tool_call>",
     "«f({\"a\":\"é😀/\\n\\\\é\"})»"},
    {"mistral",
     "[TOOL_CALLS][{\"name\":\"f\",\"arguments\":{\"n\":-1e3}}, {\"name\":\"f\",\"arguments\":{}},"
     "{\"name\":\"g\"}]",
     "«f({\"n\":-1000})»«f({})»«g({})»"},
    {"mistral-args", "[TOOL_CALLS]f[ARGS]{\"a\":1}[TOOL_CALLS]g.h-2[ARGS]{}",
     "«f({\"a\":1})»«g.h-2({})»"},
    {"mistral-id", "[TOOL_CALLS]f[CALL_ID]123456789[ARGS]{\"a\": {\"b\": [{}]}}",
     "«f({\"a\":{\"b\":[{}]}})»"},
    {"command-r7b",
     "<|START_ACTION|>[{\"tool_call_id\":\"0\",\"tool_name\":\"f\",\"parameters\":{\"a\":null}}]"
     "<|END_ACTION|>",
     "«f({\"a\":null})»"},
    {"llama3", " {\"name\": \"f\", \"parameters\": {\"a\": 1.5}}\n", "«f({\"a\":1.5})»"},
    {"functionary-v3.1", "<function=f>{\"a\": \"b\"}</function>", "«f({\"a\":\"b\"})»"},
    {"hermes", "<tool_call>{\"arguments\":{\"a\":1},\"name\":\"f\"}</tool_call>", "«f({\"a\":1})»"},
    {"hermes", "<tool_call>{\"name\":\"unknown\",\"arguments\":{\"a\":1}}</tool_call>",
     "«unknown({\"a\":1})»"},
    {"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>",
     "<tool_call>{\"name\":\"f\",\"arguments\":[1]}</tool_call>"},
    {"harmony",
     "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary "
     "to=functions.f <|constrain|>json<|message|>{\"a\": \"<b>\", \"c\": 12}<|call|>",
     "<|channel|>analysis<|message|>hm«f({\"a\":\"<b>\",\"c\":12})»"},
    {"qwen3-coder",
     "So.\n<tool_call>\n<function=w>\n<parameter=s>\n\nif a < b: "
     "\"é\"\n</parameter\n\n</parameter>\n"
     "<parameter=n>\n5\n</parameter>\n<parameter=t>\n\n</parameter>\n</function>\n"
     "<function=f>\n</function>\n</tool_call>",
     "So.\n«w({\"s\":\"\\nif a < b: \\\"é\\\"\\n</parameter\\n\",\"n\":5,\"t\":\"\"})»«f({})»"},
    {"qwen3-coder", "<function=w><parameter=s></parameter> is it</parameter></function>",
     "«w({\"s\":\"</parameter> is it\"})»"},
    {"glm4",
     "<tool_call>w\n<arg_key>n</arg_key>\n<arg_value>7</arg_value>\n<arg_key>s</arg_key>\n"
     "<arg_value>a\n</arg_value>\n</tool_call>",
     "«w({\"n\":7,\"s\":\"a\\n\"})»"},
    {"minimax-m3",
     "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"w\">]<]minimax[>[<s>1 < "
     "2]<]minimax[>[</s>"
     "]<]minimax[>[<n>5]<]minimax[>[</n>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
     "«w({\"s\":\"1 < 2\",\"n\":5})»"},
    {"deepseek-v3.2",
     "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"w\">\n<｜DSML｜parameter name=\"x\" "
     "string=\"true\">é</｜DSML｜parameter>\n<｜DSML｜parameter name=\"y\" "
     "string=\"false\">[1]</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
     "«w({\"x\":\"é\",\"y\":[1]})»"},
    {"qwen3-coder", "<function=unknown>\n<parameter=s>\na\n</parameter>\n</function>",
     "«unknown({\"s\":\"a\"})»"},
    {"lfm2", "<|tool_call_start|>[f(a=1, b='x)'), w(s=\"(\"),unknown()]<|tool_call_end|>Done",
     "«f({\"a\":1,\"b\":\"x)\"})»«w({\"s\":\"(\"})»«unknown({})»Done"},
    {"pythonic", "[f(a={'b': (1, True)}), g.h-2()]", "«f({\"a\":{\"b\":[1,true]}})»«g.h-2({})»"},
    {"pythonic", "[unknown(), f()]", "«unknown({})»«f({})»"},
    {"pythonic", "[f(a='\\'\\n\\x41\\u00e9\\ud83d\\ude00\\q', b=-1.50, c=None, d=[], e={},), f( )]",
     "«f({\"a\":\"'\\nAé😀\\\\q\",\"b\":-1.5,\"c\":null,\"d\":[],\"e\":{}})»«f({})»"},
    {"gemma4",
     "<|tool_call>call:w{s:<|\"|>if a < b:\n\"é\\<|\"|>,n:5,x:[true,{k:<|\"|>v<|\"|>}]}<tool_call|>"
     "<|tool_call>call:f{}<tool_call|>",
     "«w({\"s\":\"if a < b:\\n\\\"é\\\\\",\"n\":5,\"x\":[true,{\"k\":\"v\"}]})»«f({})»"},
    {"gemma4", "<|tool_call>call:unknown{a:1}<tool_call|>", "«unknown({\"a\":1})»"},
};

TEST(calls_told_early_are_those_told_whole)
{
    for (size_t i = 0; i < BATON_N_OF(calls); i++)
        check(calls[i].format, calls[i].text, calls[i].want);
}

/* Each prefix of a call gives a prefix of its text, which holds every complete character. */
TEST(a_call_that_is_cut_off_keeps_what_came)
{
    static const char text[] = "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"bcd\",\"e\":12";
    static const char want[] = "«f({\"a\":\"bcd\",\"e\":12";
    struct baton_answer_form form = form_of("hermes");
    size_t n_head = strlen("<tool_call>{\"name\":\"f\",\"arguments\":");
    for (size_t n = n_head + 1; n < sizeof text; n++) {
        struct baton_buf out;
        read_early(&form, text, n, 3, &out);
        size_t n_told = strlen("«f(") + n - n_head;
        assert_int_equal(out.len, n_told + 3);
        assert_memory_equal(out.data, want, n_told);
        assert_string_equal(out.data + n_told, "...");
        baton_buf_fini(&out);
    }
}

/* What ends too early, or is no call behind calls. */
TEST(calls_before_a_cut_are_told)
{
    static const struct {
        const char *format, *text, *want;
    } cases[] = {
        {"qwen3-coder", "<function=w>\n<parameter=s>\nabc</para", "«w({\"s\":\"abc..."},
        {"qwen3-coder", "<function=w>\n<parameter=s>\nabc\n</parameter>\n", "«w({\"s\":\"abc..."},
        {"qwen3-coder", "<function=w>\n<parameter=s>\nabc\n</parameter>\n<parameter=n>\n1",
         "«w({\"s\":\"abc\"..."},
        {"qwen3-coder", "<function=w>\n<parameter=s>\nabc\n</parameter>\n</function>\n<function=f>",
         "«w({\"s\":\"abc\"})»\n<function=f>"},
        {"qwen3-coder", "<function=w> is it", "<function=w> is it"},
        {"lfm2", "<|tool_call_start|>[f(a=1), w(s='x", "«f({\"a\":1})»«w({\"s\":\"x..."},
        {"lfm2", "<|tool_call_start|>[f(a=1), ", "«f({\"a\":1})»"},
        {"lfm2", "<|tool_call_start|>[f(a=1), w(x)]<|tool_call_end|>",
         "«f({\"a\":1})»w(x)]<|tool_call_end|>"},
        {"pythonic", "[f(), w(s=\"a", "«f({})»«w({\"s\":\"a..."},
        {"pythonic", "[f(), w(s=\"a\")", "«f({})»«w({\"s\":\"a\"})»"},
        {"pythonic", "[f(), and so on", "«f({})»and so on"},
        {"pythonic", "[f(", "[f("},
        {"pythonic", "[f(a", "[f(a"},
        {"pythonic", "[f(a=Tru", "«f({\"a\":..."},
        {"pythonic", "[f(a=[1, ", "«f({\"a\":[1..."},
        {"pythonic", "[f(a=b), w()]", "«f({\"a\":...b), w()]"},
        {"lfm2", "<|tool_call_start|>[f(1), w()]<|tool_call_end|>",
         "<|tool_call_start|>[f(1), w()]<|tool_call_end|>"},
        {"gemma4", "<|tool_call>call:f{a:<|\"|>x\"y<|", "«f({\"a\":\"x\\\"y..."},
        {"gemma4", "<|tool_call>call:f{a:1,b:[", "«f({\"a\":1,\"b\":[..."},
        {"gemma4", "<|tool_call>call:f{a", "<|tool_call>call:f{a"},
        {"gemma4", "<|tool_call>call:f{}", "«f({})»"},
    };
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        struct baton_answer_form form = form_of(cases[i].format);
        size_t n = strlen(cases[i].text);
        for (size_t n_piece = 1; n_piece <= n; n_piece++) {
            struct baton_buf out;
            read_early(&form, cases[i].text, n, n_piece, &out);
            assert_string_equal(baton_buf_text(&out), cases[i].want);
            baton_buf_fini(&out);
        }
    }
}

TEST(what_follows_a_broken_call_is_text)
{
    struct baton_answer_form form = form_of("hermes");
    static const char text[] = "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}} and more";
    struct baton_buf out;
    read_early(&form, text, sizeof text - 1, 4, &out);
    assert_string_equal(baton_buf_text(&out), "«f({\"a\":1})» and more");
    baton_buf_fini(&out);
}

EACH_TEST(setup, teardown)
