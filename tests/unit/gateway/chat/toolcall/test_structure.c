/* Every text that the structure of forced calls lets through is read back as calls that fit their
 * tools: for each format. */
#include "tests/support/answer_formats.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/grammar/automaton/automaton.h"
#include "engine/grammar/grammar.h"
#include "gateway/chat/toolcall/structure.h"

enum { WALKS = 40, MOST_FREE = 400, TEXT_BYTES = 8192 };

static const char tools_text[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"strict\":true,\"parameters\":{"
    "\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\",\"maxLength\":9},"
    "\"days\":{\"$ref\":\"#/$defs/few\"},\"unit\":{\"enum\":[\"C\",\"F\"]},"
    "\"note\":{\"type\":\"string\"},\"deep\":{\"type\":\"object\",\"properties\":{"
    "\"on\":{\"type\":\"boolean\"},\"why\":{\"type\":\"string\"}},\"required\":[\"on\"],"
    "\"additionalProperties\":false}},"
    "\"required\":[\"city\",\"unit\"],\"additionalProperties\":false,"
    "\"$defs\":{\"few\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":9}}}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"pick\",\"parameters\":{\"type\":"
    "\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"},\"b\":{\"type\":\"string\"}},"
    "\"additionalProperties\":false}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"now\"}}]";

static struct baton_json *tools;
static uint64_t state; /* of what is chosen at random */

SETUP(setup)
{
    state = 7;
    assert_ok(baton_json_parse(tools_text, strlen(tools_text), &tools, NULL));
}

TEARDOWN(teardown)
{
    baton_json_free(tools);
}

/* ---- texts of a structure ---- */

static struct baton_network *network_of(const struct baton_answer_form *form,
                                        const struct baton_call_wish *wish)
{
    struct baton_network *network = NULL;
    struct baton_why why = {""};
    struct baton_buf text;
    baton_buf_init(&text, (size_t)BATON_GRAMMAR_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    assert_ok(baton_call_structure_put(&out, form, wish));
    if (baton_grammar_read(BATON_GRAMMAR_STRUCTURE, text.data, text.len, &network, &why))
        fail_msg("%s: %s in %s", form->tools->name, why.text, text.data);
    baton_buf_fini(&text);
    return network;
}

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* ASCII that is seen, line feeds, and the mark of special tokens. */
static bool is_plain(int byte)
{
    return (byte >= ' ' && byte < 0x7f) || byte == '\n' || byte == BATON_SPECIAL_MARK;
}

/* Some bytes at random, each of which may come. */
static uint32_t walk(struct baton_automaton *automaton, uint32_t at, struct baton_buf *text)
{
    for (uint32_t n = below(MOST_FREE); n > 0; n--) {
        int bytes[256], n_bytes = 0;
        for (int byte = 0; byte < 256; byte++)
            if (is_plain(byte) && baton_automaton_step(automaton, at, (uint8_t)byte))
                bytes[n_bytes++] = byte;
        if (!n_bytes)
            break;
        int byte = bytes[below((uint32_t)n_bytes)];
        at = baton_automaton_step(automaton, at, (uint8_t)byte);
        baton_buf_putc(text, (char)byte);
    }
    return at;
}

/* The shortest end, by a search in breadth. */
static void finish(struct baton_automaton *automaton, uint32_t start, struct baton_buf *text)
{
    static struct {
        uint32_t from;
        int byte;
        bool seen;
    } found[BATON_MAX_POSITIONS * 4];
    static uint32_t queue[BATON_MAX_POSITIONS * 4];
    size_t n = 0, next = 0, length = 0;
    memset(found, 0, sizeof found);
    found[start].seen = true;
    queue[n++] = start;
    for (; next < n && !baton_automaton_accepts(automaton, queue[next]); next++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t to = baton_automaton_step(automaton, queue[next], (uint8_t)byte);
            assert_true(to < BATON_MAX_POSITIONS * 4);
            if (to == BATON_NOWHERE || found[to].seen)
                continue;
            found[to].seen = true;
            found[to].from = queue[next];
            found[to].byte = byte;
            queue[n++] = to;
        }
    assert_true(next < n);
    char bytes[TEXT_BYTES];
    for (uint32_t at = queue[next]; at != start; at = found[at].from) {
        assert_true(length < sizeof bytes);
        bytes[length++] = (char)found[at].byte;
    }
    while (length > 0)
        baton_buf_putc(text, bytes[--length]);
}

static void drop_marks(struct baton_buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++)
        if ((uint8_t)text->data[i] != BATON_SPECIAL_MARK)
            text->data[n++] = text->data[i];
    text->len = n;
    text->data[n] = 0;
}

/* ---- what the parser makes of it ---- */

struct answer {
    const char *whole;
    int n_calls, n_weather;
    size_t n_text, n_reasoning;
};

static void take_text(void *user, const char *text, size_t n)
{
    struct answer *answer = user;
    (void)text;
    answer->n_text += n;
}

static void take_reasoning(void *user, const char *text, size_t n)
{
    struct answer *answer = user;
    (void)text;
    answer->n_reasoning += n;
}

/* 1 when there is such a member, which is of the kind. */
static size_t has(const struct baton_json *json, const char *key, enum baton_json_kind kind)
{
    const struct baton_json *value = baton_json_get(json, key);
    assert_true(!value || baton_json_kind(value) == kind);
    return value != NULL;
}

static void take_call(void *user, const char *name, size_t n_name, const char *arguments, size_t n)
{
    struct answer *answer = user;
    struct baton_json *json = NULL;
    if (baton_json_parse(arguments, n, &json, NULL))
        fail_msg("%.*s in %s", (int)n, arguments, answer->whole);
    answer->n_calls++;
    if (n_name == 7 && !memcmp(name, "weather", 7)) {
        const struct baton_json *unit = baton_json_get(json, "unit");
        answer->n_weather++;
        assert_true(baton_json_is(unit, "C") || baton_json_is(unit, "F"));
        size_t n_found = 1 + has(json, "city", BATON_JSON_STRING) +
                         has(json, "days", BATON_JSON_INT) + has(json, "note", BATON_JSON_STRING) +
                         has(json, "deep", BATON_JSON_OBJECT);
        assert_non_null(baton_json_get(json, "city"));
        assert_int_equal(baton_json_size(json), n_found);
    } else if (n_name == 4) {
        assert_memory_equal(name, "pick", 4);
        size_t n_found = has(json, "a", BATON_JSON_BOOL) + has(json, "b", BATON_JSON_STRING);
        assert_int_equal(baton_json_size(json), n_found);
    } else {
        assert_int_equal(n_name, 3);
        assert_memory_equal(name, "now", 3);
        assert_int_equal(baton_json_size(json), 0);
    }
    baton_json_free(json);
}

static struct answer read_answer(const struct baton_answer_form *form, const struct baton_buf *text)
{
    struct answer answer = {.whole = baton_buf_text(text)};
    const struct baton_tool_sink sink = {
        .user = &answer, .text = take_text, .reasoning = take_reasoning, .call = take_call};
    struct baton_tool_parser parser;
    baton_tool_parser_init(&parser, form);
    baton_tool_parser_push(&parser, text->data, text->len, &sink);
    baton_tool_parser_end(&parser, &sink);
    baton_tool_parser_fini(&parser);
    return answer;
}

typedef void check_fn(const struct baton_answer_form *form, const char *text,
                      const struct answer *answer);

static void check_texts(const struct baton_answer_form *form, const struct baton_call_wish *wish,
                        check_fn *check)
{
    struct baton_network *network = network_of(form, wish);
    struct baton_automaton *automaton = baton_automaton_create(network);
    struct baton_buf text;
    baton_buf_init(&text, TEXT_BYTES);
    for (int i = 0; i < WALKS; i++) {
        baton_buf_reset(&text);
        finish(automaton, walk(automaton, baton_automaton_start(automaton), &text), &text);
        drop_marks(&text);
        struct answer answer = read_answer(form, &text);
        check(form, baton_buf_text(&text), &answer);
    }
    baton_buf_fini(&text);
    baton_automaton_destroy(automaton);
    baton_network_destroy(network);
}

/* ---- tests ---- */

static struct baton_answer_form form_of(const struct baton_tool_format *format)
{
    const bool has_channels = format->syntax == BATON_TOOL_CHANNELS;
    return (struct baton_answer_form){.tools = format,
                                      .reasoning =
                                          has_channels ? reasoning_format_named("harmony") : NULL,
                                      .opens_call = format->text_begin != NULL,
                                      .functions = tools};
}

static void is_calls(const struct baton_answer_form *form, const char *text,
                     const struct answer *answer)
{
    if (!answer->n_calls || answer->n_text)
        fail_msg("%s: %s: %d calls, %zu bytes of text", form->tools->name, text, answer->n_calls,
                 answer->n_text);
}

static void is_one_of_weather(const struct baton_answer_form *form, const char *text,
                              const struct answer *answer)
{
    is_calls(form, text, answer);
    if (answer->n_calls != 1 || answer->n_weather != 1)
        fail_msg("%s: %s: %d calls", form->tools->name, text, answer->n_calls);
}

TEST(a_forced_answer_is_calls_in_every_form)
{
    const struct baton_call_wish wish = {.tools = tools, .is_forced = true};
    for (size_t i = 0; i < baton_n_tool_formats; i++) {
        const struct baton_tool_format *format = &baton_tool_formats[i];
        const struct baton_answer_form form = form_of(format);
        check_texts(&form, &wish, is_calls);
    }
    const struct baton_answer_form generic = form_of(&baton_tool_generic);
    check_texts(&generic, &wish, is_calls);
}

TEST(a_named_tool_is_called_once)
{
    const struct baton_call_wish wish = {
        .tools = tools, .name = "weather", .is_forced = true, .is_single = true};
    for (size_t i = 0; i < baton_n_tool_formats; i++) {
        const struct baton_tool_format *format = &baton_tool_formats[i];
        const struct baton_answer_form form = form_of(format);
        check_texts(&form, &wish, is_one_of_weather);
    }
}

static size_t n_reasoning; /* bytes that the last walks have met */

static void reasons_first(const struct baton_answer_form *form, const char *text,
                          const struct answer *answer)
{
    is_calls(form, text, answer);
    n_reasoning += answer->n_reasoning;
}

TEST(reasoning_may_come_before_the_calls)
{
    const struct baton_call_wish wish = {.tools = tools, .is_forced = true};
    struct baton_answer_form form = form_of(tool_format_named("hermes"));
    form.reasoning = reasoning_format_named("think");
    assert_non_null(form.reasoning);
    n_reasoning = 0;
    check_texts(&form, &wish, reasons_first);
    assert_true(n_reasoning > 0);
    form.opens_reasoning = true;
    check_texts(&form, &wish, reasons_first);
}

/* take_call sees that calls fit. */
static void is_anything(const struct baton_answer_form *form, const char *text,
                        const struct answer *answer)
{
    (void)form, (void)text, (void)answer;
}

TEST(strict_tools_hold_the_calls_that_a_text_makes)
{
    struct baton_json *strict = baton_json_new_array();
    assert_true(baton_json_push(strict, baton_json_share(baton_json_at(tools, 0))));
    const struct baton_call_wish wish = {.tools = strict};
    for (size_t i = 0; i < baton_n_tool_formats; i++) {
        const struct baton_tool_format *format = &baton_tool_formats[i];
        const struct baton_answer_form form = form_of(format);
        if (baton_call_structure_triggers(format))
            check_texts(&form, &wish, is_anything);
    }
    baton_json_free(strict);
}

static void is_call_or_number(const struct baton_answer_form *form, const char *text,
                              const struct answer *answer)
{
    if (!answer->n_calls && strspn(text, "0123456789- \n\t") != strlen(text))
        fail_msg("%s: %s", form->tools->name, text);
}

TEST(an_answer_by_a_schema_may_be_calls_too)
{
    struct baton_json *number = NULL;
    const char schema[] = "{\"type\":\"integer\"}";
    assert_ok(baton_json_parse(schema, strlen(schema), &number, NULL));
    struct baton_json *strict = baton_json_new_array();
    assert_true(baton_json_push(strict, baton_json_share(baton_json_at(tools, 0))));
    const struct baton_call_wish wish = {.tools = strict, .answer = number};
    const struct baton_answer_form form = form_of(tool_format_named("hermes"));
    check_texts(&form, &wish, is_call_or_number);
    baton_json_free(strict);
    baton_json_free(number);
}

TEST(calls_without_a_mark_are_not_found_in_text)
{
    struct baton_buf text;
    const struct baton_call_wish wish = {.tools = tools};
    const struct baton_answer_form form = form_of(tool_format_named("pythonic"));
    baton_buf_init(&text, TEXT_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    assert_int_equal(baton_call_structure_put(&out, &form, &wish), BATON_INVALID);
    baton_buf_fini(&text);
}

ALL_TESTS(setup, teardown)
