/* Forms behind reasoning: which outputs a structure allows, and what the parser tells of them. */
#include "tests/support/answer_formats.h"
#include "tests/support/test.h"

#include <string.h>

#include "engine/grammar/automaton/automaton.h"
#include "engine/grammar/grammar.h"
#include "gateway/api/completion/form_structure.h"

static bool matches(const char *structure, size_t n, const char *text)
{
    struct baton_network *network = NULL;
    struct baton_why why = {""};
    if (baton_grammar_read(BATON_GRAMMAR_STRUCTURE, structure, n, &network, &why))
        fail_msg("%s in %s", why.text, structure);
    struct baton_automaton *automaton = baton_automaton_create(network);
    uint32_t at = baton_automaton_start(automaton);
    for (; *text && at != BATON_NOWHERE; text++)
        at = baton_automaton_step(automaton, at, (uint8_t)*text);
    bool ends = at != BATON_NOWHERE && baton_automaton_accepts(automaton, at);
    baton_automaton_destroy(automaton);
    baton_network_destroy(network);
    return ends;
}

static void take(void *user, const char *text, size_t n)
{
    baton_buf_append(user, text, n);
}

struct parts {
    struct baton_buf text, reasoning;
};

static void take_text(void *user, const char *text, size_t n)
{
    take(&((struct parts *)user)->text, text, n);
}

static void take_reasoning(void *user, const char *text, size_t n)
{
    take(&((struct parts *)user)->reasoning, text, n);
}

static void check_parts(const struct baton_answer_form *form, const char *text,
                        const char *reasoning, const char *content)
{
    struct parts parts;
    struct baton_tool_parser parser;
    const struct baton_tool_sink sink = {
        .user = &parts, .text = take_text, .reasoning = take_reasoning};
    baton_buf_init(&parts.text, 4096);
    baton_buf_init(&parts.reasoning, 4096);
    baton_tool_parser_init(&parser, form);
    baton_tool_parser_push(&parser, text, strlen(text), &sink);
    baton_tool_parser_end(&parser, &sink);
    assert_string_equal(baton_buf_text(&parts.text), content);
    assert_string_equal(baton_buf_text(&parts.reasoning), reasoning);
    baton_tool_parser_fini(&parser);
    baton_buf_fini(&parts.text);
    baton_buf_fini(&parts.reasoning);
}

static const struct {
    const char *format;
    bool opens, skips, is_continued;
    enum baton_grammar_kind kind;
    const char *form, *text;
    bool is_allowed;
    const char *reasoning, *content;
} cases[] = {
    {"think", true, false, false, BATON_GRAMMAR_JSON_SCHEMA, "{\"const\":\"a\"}",
     "Hm.</think>\n\n\"a\"", true, "Hm.", "\"a\""},
    {"think", true, false, false, BATON_GRAMMAR_JSON_SCHEMA, "{\"const\":\"a\"}", "\"a\"", false,
     NULL, NULL},
    {"think", true, false, false, BATON_GRAMMAR_REGEX, "yes|no", "Hm \"no\".\n</think>yes", true,
     "Hm \"no\".", "yes"},
    {"think", true, false, false, BATON_GRAMMAR_REGEX, "yes|no", "yes", false, NULL, NULL},
    {"think", true, false, false, BATON_GRAMMAR_GBNF, "x ::= \"o\"\nroot ::= x x", "A</think>oo",
     true, "A", "oo"},
    {"think", false, false, false, BATON_GRAMMAR_REGEX, "yes|no", "<think>A</think>\n\nno", true,
     "A", "no"},
    {"think", false, false, false, BATON_GRAMMAR_REGEX, "yes|no", "no", true, "", "no"},
    {"think", false, false, false, BATON_GRAMMAR_REGEX, "yes|no", "<think>A</think>maybe", false,
     NULL, NULL},
    {"magistral", false, false, false, BATON_GRAMMAR_REGEX, "yes|no", "[THINK]A[/THINK]no", true,
     "A", "no"},
    {"harmony", false, false, false, BATON_GRAMMAR_REGEX, "yes|no",
     "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>no", true,
     "A", "no"},
    {"harmony", false, false, false, BATON_GRAMMAR_REGEX, "yes|no",
     "<|channel|>final<|message|>yes", true, "", "yes"},
    {"harmony", false, false, false, BATON_GRAMMAR_REGEX, "yes|no", "yes", false, NULL, NULL},
    {"harmony", false, true, false, BATON_GRAMMAR_REGEX, "yes|no",
     "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>no", false,
     NULL, NULL},
    {"harmony", false, true, false, BATON_GRAMMAR_REGEX, "yes|no", "<|channel|>final<|message|>no",
     true, "", "no"},
};

TEST(a_form_begins_behind_the_reasoning)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct baton_answer_form form = {.reasoning = reasoning_format_named(cases[i].format),
                                               .opens_reasoning = cases[i].opens,
                                               .skips_reasoning = cases[i].skips,
                                               .is_continued = cases[i].is_continued};
        const struct baton_grammar_text text = {.kind = cases[i].kind,
                                                .bytes = (char *)(uintptr_t)cases[i].form,
                                                .n = strlen(cases[i].form)};
        struct baton_buf buf;
        baton_buf_init(&buf, BATON_GRAMMAR_MAX_BYTES);
        struct baton_json_out out = baton_json_out(&buf);
        assert_true(gw_form_structure_is_needed(&form, text.kind, NULL));
        assert_ok(gw_form_structure_put(&out, &form, &text, NULL));
        if (matches(baton_buf_text(&buf), buf.len, cases[i].text) != cases[i].is_allowed)
            fail_msg("case %zu: %s", i, cases[i].text);
        if (cases[i].is_allowed)
            check_parts(&form, cases[i].text, cases[i].reasoning, cases[i].content);
        baton_buf_fini(&buf);
    }
}

TEST(bad_words_are_in_neither_the_reasoning_nor_the_answer)
{
    static const struct {
        const char *text;
        bool is_allowed;
    } texts[] = {{"<think>A</think>\n\nb", true},
                 {"<think>A</think>no cat", false},
                 {"<think>cat</think>b", false},
                 {"concatenate", false},
                 {"Cat", true}};
    struct baton_json *words = NULL;
    struct baton_buf buf;
    const struct baton_answer_form form = {.reasoning = reasoning_format_named("think")};
    const struct baton_grammar_text none = {.kind = BATON_GRAMMAR_STRUCTURE};
    assert_ok(baton_json_parse("[\"cat\",\"dog\"]", 13, &words, NULL));
    assert_true(gw_form_structure_is_needed(&form, none.kind, words));
    baton_buf_init(&buf, BATON_GRAMMAR_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    assert_ok(gw_form_structure_put(&out, &form, &none, words));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (matches(baton_buf_text(&buf), buf.len, texts[i].text) != texts[i].is_allowed)
            fail_msg("%s", texts[i].text);
    baton_buf_fini(&buf);
    baton_json_free(words);
}

TEST(a_form_stands_alone_where_no_reasoning_can_come)
{
    struct baton_answer_form form = {.reasoning = reasoning_format_named("think")};
    assert_false(gw_form_structure_is_needed(&form, BATON_GRAMMAR_NONE, NULL));
    assert_false(gw_form_structure_is_needed(&form, BATON_GRAMMAR_STRUCTURE, NULL));
    form.skips_reasoning = true;
    assert_false(gw_form_structure_is_needed(&form, BATON_GRAMMAR_REGEX, NULL));
    form = (struct baton_answer_form){.reasoning = reasoning_format_named("harmony"),
                                      .skips_reasoning = true,
                                      .is_continued = true};
    assert_false(gw_form_structure_is_needed(&form, BATON_GRAMMAR_REGEX, NULL));
    form.reasoning = NULL;
    assert_false(gw_form_structure_is_needed(&form, BATON_GRAMMAR_REGEX, NULL));
}

ALL_TESTS(NULL, NULL)
