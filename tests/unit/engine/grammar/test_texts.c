#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "engine/grammar/automaton/automaton.h"
#include "engine/grammar/grammar.h"

/* Texts of a grammar and texts that are none, up to a NULL each. */
struct row {
    enum baton_grammar_kind kind;
    const char *grammar;
    const char *accepted[8], *refused[8];
};

static const struct row rows[] = {
    {BATON_GRAMMAR_REGEX, "^a(b|c)*[^x-z]{2,3}$", {"abbcaa", "add"}, {"abxy", "ad", "baa"}},
    {BATON_GRAMMAR_REGEX, "\\d+(\\.\\d{2})?", {"1", "12.34"}, {"", "1.2", ".5", "1.234"}},
    {BATON_GRAMMAR_REGEX, "[^a]", {"b", "\xe6\x97\xa5"}, {"a", "\xe6\x97", "\xff"}},
    {BATON_GRAMMAR_GBNF,
     "root ::= \"(\" root \")\" | digit+ # nested\ndigit ::= [0-9]",
     {"1", "((12))"},
     {"", "((1)", "()"}},
    {BATON_GRAMMAR_GBNF, "root ::= (\"a\"\n  | \"b\"){2,3}", {"ab", "bbb"}, {"a", "abab"}},
    {BATON_GRAMMAR_GBNF, "root ::= (\"a\"?)* \"b\"", {"b", "aab"}, {"", "a", "bb"}},
    {BATON_GRAMMAR_GBNF, /* a way without an end is cut off, one that comes back after a byte not */
     "root ::= a | \"z\" x\na ::= b | \"\"\nb ::= \"y\" a\nx ::= \"x\" x",
     {"", "y", "yy"},
     {"z", "zx", "yz"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"object\"}",
     {"{}", "{\"a\":[1,{\"b\":null}]}", "{\"a\": \"\\u00e9\\n\"}"},
     {"[]", "{\"a\":}", "{\"a\":1,}", "{\"a\":\"\\ud800\"}"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"}},"
     "\"required\":[\"b\"]}",
     {"{\"b\":true}", "{\"a\":-7,\"b\":false}"},
     {"{}", "{\"a\":1}", "{\"b\":true,\"a\":1}", "{\"b\":true,\"c\":1}", "{,\"b\":true}"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"ab\":{}},\"additionalProperties\":{\"type\":\"integer\"}}",
     {"{\"ab\":null,\"a\":1}", "{\"abc\":1,\"b\":2}", "{\"\":0}"},
     {"{\"a\":null}", "{\"a\":1,\"ab\":2}", "{\"\\u0061b\":1}"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"number\",\"minimum\":-2.5,\"exclusiveMaximum\":10.25}",
     {"-2.5", "-2.49", "10.249", "9", "-0", "10", "10.24999"},
     {"-2.6", "-3", "10.25", "10.3", "11", "-2.51"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"integer\",\"minimum\":-12,\"maximum\":105}",
     {"-12", "-9", "0", "99", "105"},
     {"-13", "106", "200", "-0", "01", "1.0"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"string\",\"pattern\":\"^\\\"x.$\"}",
     {"\"\\\"xy\"", "\"\\\"x\\\\\""},
     {"\"\"xy\"", "\"\\\"x\\\"", "\"x\""}},
    {BATON_GRAMMAR_JSON_SCHEMA, /* words that no draft has are annotations */
     "{\"type\":\"boolean\",\"readonly\":true,\"id\":\"x\"}",
     {"true"},
     {"1"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"enum\":[\"a\\rb\",\"\\u0001\"]}",
     {"\"a\\rb\"", "\"\\u0001\""},
     {"\"a\\nb\""}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"string\",\"format\":\"uri\"}",
     {"\"mailto:a@b.c\"", "\"https://a.b:80/c%20d?e=f#g\"", "\"urn:x\""},
     {"\"a b:c\"", "\"//a\"", "\"a:%zz\""}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"string\",\"format\":\"ipv6\"}",
     {"\"::\"", "\"1::2\"", "\"::ffff:1.2.3.4\"", "\"1:2:3:4:5:6:7:8\""},
     {"\"1::2::3\"", "\"1:2\"", "\":1\"", "\"1:2:3:4:5:6:7:8:9\""}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"patternProperties\":{\"^x\":{\"type\":\"integer\"}},\"properties\":{\"a\":{}},"
     "\"required\":[\"xy\"]}",
     {"{\"xy\":1}", "{\"a\":null,\"xy\":2,\"xz\":3}"},
     {"{}", "{\"xy\":null}", "{\"xy\":1,\"b\":2}", "{\"xy\":1,\"x\":\"\"}"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"a\":{\"const\":1},\"b\":{\"const\":2},\"c\":{\"const\":3}},"
     "\"dependentRequired\":{\"a\":[\"b\"]},\"dependencies\":{\"b\":{\"required\":[\"c\"]}}}",
     {"{}", "{\"c\":3}", "{\"b\":2,\"c\":3}", "{\"a\":1,\"b\":2,\"c\":3}"},
     {"{\"a\":1}", "{\"b\":2}", "{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":3}"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"properties\":{\"a\":{\"not\":{\"type\":[\"string\",\"object\"]}},\"b\":{\"not\":{\"not\":"
     "{\"const\":1}}}},\"not\":{\"required\":[\"c\"]}}",
     {"{\"a\":1.5}", "{\"a\":[\"\"],\"b\":1}"},
     {"{\"a\":\"\"}", "{\"a\":{}}", "{\"b\":2}", "{\"c\":1}"}},
    {BATON_GRAMMAR_JSON_SCHEMA, /* of draft 7 */
     "{\"items\":[{\"type\":\"integer\"},{\"type\":\"null\"}],\"additionalItems\":false}",
     {"[]", "[1]", "[1,null]"},
     {"[null]", "[1,null,2]"}},
    {BATON_GRAMMAR_JSON_SCHEMA, /* a format of somebody's own is an annotation */
     "{\"type\":\"string\",\"format\":\"iban\",\"pattern\":\"^[A-Z]+$\"}",
     {"\"AB\""},
     {"\"a\""}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"string\",\"format\":\"date\"}",
     {"\"2024-02-29\"", "\"1999-12-31\""},
     {"\"2023-02-29\"", "\"1900-02-29\"", "\"2024-13-01\"", "\"2024-04-31\""}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"$defs\":{\"t\":{\"properties\":{\"c\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/"
     "t\"}}},\"required\":[\"c\"]}},\"$ref\":\"#/$defs/t\"}",
     {"{\"c\":[]}", "{\"c\":[{\"c\":[]},{\"c\":[]}]}"},
     {"{}", "{\"c\":[1]}", "{\"c\":[{\"c\":[]}}"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"allOf\":[{\"type\":\"integer\",\"minimum\":3},{\"maximum\":5}]}",
     {"3", "5"},
     {"2", "6", "4.5"}},
    {BATON_GRAMMAR_STRUCTURE,
     "{\"type\":\"sequence\",\"elements\":[{\"type\":\"token\",\"token\":\"<t>\"},{\"type\":"
     "\"or\",\"elements\":[{\"type\":\"const_string\",\"value\":\"x\"},{\"type\":\"json_schema\","
     "\"json_schema\":{\"$ref\":\"#/$defs/n\",\"$defs\":{\"n\":{\"const\":7}}}}]},{\"type\":"
     "\"repeat\",\"content\":{\"type\":\"regex\",\"pattern\":\"[ab]\"},\"min\":1,\"max\":2}]}",
     {"<t>xa", "\xff<t>7ab", "<t>7b"},
     {"<t>x", "<t>8a", "t7a", "\xff<t>7aba", "\xff\xff<t>7a"}},
    {BATON_GRAMMAR_STRUCTURE,
     "{\"type\":\"any_text\",\"excludes\":[\"aab\",\"\xc3\xa9\"]}",
     {"", "ab", "aac",
      "\xc3\xa8"
      "aa"},
     {"aab", "aaab", "xaabx", "\xc3\xa9", "\xff", "abaab"}},
    {BATON_GRAMMAR_STRUCTURE,
     "{\"type\":\"triggered_tags\",\"triggers\":[\"<f\"],\"at_least_one\":true,\"tags\":[{\"type\":"
     "\"tag\",\"begin\":\"<f>\",\"content\":{\"type\":\"json_schema\",\"json_schema\":{\"type\":"
     "\"boolean\"}},\"end\":[\"</f>\",\"/\"]}]}",
     {"<f>true</f>", "a <b <f>false/ c", "<f>true/<f>true/"},
     {"", "a", "<f>1/", "<f", "<f>true/<f"}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"format\":\"uuid\",\"pattern\":\"^[0-9a-f]{8}-.{4}-[1-8].{3}-[89ab]\"}",
     {"\"c85fe910-eba0-4c06-a7dc-4b6a96ddca7f\""},
     {"\"c85fe910-eba0-4c06-c7dc-4b6a96ddca7f\"", "\"C85fe910-eba0-4c06-a7dc-4b6a96ddca7f\"",
      "\"c85fe910-eba0-4c06-a7dc-4b6a96ddca7\""}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"type\":\"string\",\"pattern\":\"^(ab|\\\\n)+$\",\"minLength\":3,\"maxLength\":5}",
     {"\"abab\"", "\"ab\\n\"", "\"\\n\\n\\nab\""},
     {"\"ab\"", "\"ababab\"", "\"\\n\\n\"", "\"\\n\\n\\n\\n\\n\\n\""}},
    {BATON_GRAMMAR_JSON_SCHEMA,
     "{\"allOf\":[{\"pattern\":\"^a\"},{\"pattern\":\"c\"},{\"pattern\":\"b$\"}],"
     "\"type\":\"string\"}",
     {"\"acb\"", "\"a\\ncbb\""},
     {"\"ab\"", "\"ac\"", "\"cab\""}},
    {BATON_GRAMMAR_STRUCTURE,
     "{\"type\":\"tags_with_separator\",\"separator\":\", \",\"tags\":[{\"type\":\"tag\",\"begin\":"
     "\"[\",\"content\":{\"type\":\"any_text\",\"excludes\":[\"]\"]},\"end\":\"]\"}]}",
     {"", "[]", "[a[], [b]"},
     {"[a]]", "[a],[b]", "[a], "}},
};

static bool matches(struct baton_automaton *automaton, const char *text)
{
    uint32_t position = baton_automaton_start(automaton);
    for (; *text; text++)
        position = baton_automaton_step(automaton, position, (uint8_t)*text);
    return baton_automaton_accepts(automaton, position);
}

TEST(a_grammar_accepts_its_texts_and_no_others)
{
    for (size_t i = 0; i < BATON_N_OF(rows); i++) {
        struct baton_network *network;
        struct baton_why why = {""};
        if (baton_grammar_read(rows[i].kind, rows[i].grammar, strlen(rows[i].grammar), &network,
                               &why))
            fail_msg("%s: %s", rows[i].grammar, why.text);
        struct baton_automaton *automaton = baton_automaton_create(network);
        assert_non_null(automaton);
        for (int j = 0; j < 8 && rows[i].accepted[j]; j++)
            if (!matches(automaton, rows[i].accepted[j]))
                fail_msg("%s refuses %s", rows[i].grammar, rows[i].accepted[j]);
        for (int j = 0; j < 8 && rows[i].refused[j]; j++)
            if (matches(automaton, rows[i].refused[j]))
                fail_msg("%s accepts %s", rows[i].grammar, rows[i].refused[j]);
        baton_automaton_destroy(automaton);
        baton_network_destroy(network);
    }
}

TEST(grammars_without_a_text_or_with_left_recursion_are_refused)
{
    static const struct {
        enum baton_grammar_kind kind;
        const char *text, *why;
    } bad[] = {
        {BATON_GRAMMAR_GBNF, "root ::= root \"a\" | \"b\"", "refers to itself"},
        {BATON_GRAMMAR_GBNF, "root ::= \"r\" b\nb ::= c? d\nc ::= \"c\"\nd ::= b \"x\" | \"y\"",
         "b refers to itself"},
        {BATON_GRAMMAR_GBNF, "root ::= \"a\" root", "no text matches"},
        {BATON_GRAMMAR_GBNF, "root ::= x", "the rule x is not defined"},
        {BATON_GRAMMAR_REGEX, "a(?!b)", "(?:"},
        {BATON_GRAMMAR_REGEX, "a{3,2}", "below the lower"},
        {BATON_GRAMMAR_JSON_SCHEMA, "{\"$ref\":\"#\"}", "circle"},
        {BATON_GRAMMAR_JSON_SCHEMA, "{\"properties\":{\"a\":{\"disallow\":{}}}}",
         "#/properties/a: disallow"},
        {BATON_GRAMMAR_JSON_SCHEMA, "{\"properties\":{\"a/~b\":{\"not\":{\"minimum\":1}}}}",
         "/a~1~0b: not"},
        {BATON_GRAMMAR_JSON_SCHEMA, "{\"items\":{\"patternProperties\":{\"a\":{},\"b\":{}}}}",
         "#/items: patternProperties with several patterns"},
        {BATON_GRAMMAR_JSON_SCHEMA, "{\"patternProperties\":{\"a\":{}},\"properties\":{\"ab\":{}}}",
         "patternProperties beside a property"},
        {BATON_GRAMMAR_JSON_SCHEMA,
         "{\"allOf\":[{\"patternProperties\":{\"a\":{}}},{\"additionalProperties\":false}]}",
         "patternProperties beside additionalProperties"},
        {BATON_GRAMMAR_JSON_SCHEMA,
         "{\"prefixItems\":[{\"patternProperties\":{\"a{9000}b{9000}c{9000}d{9000}e{9000}f{9000}\":"
         "{"
         "}}},{\"patternProperties\":{\"a{9000}b{9000}c{9000}d{9000}e{9000}f{9000}\":{}}},"
         "{\"patternProperties\":{\"a{9000}b{9000}c{9000}d{9000}e{9000}f{9000}\":{}}}]}",
         "#/prefixItems/0: patternProperties: the patterns take"},
        {BATON_GRAMMAR_JSON_SCHEMA, "{\"dependentRequired\":[]}", "dependentRequired: must be"},
        {BATON_GRAMMAR_JSON_SCHEMA, "{\"not\":{\"minimum\":1}}", "#: not is not supported"},
        {BATON_GRAMMAR_STRUCTURE, "{\"type\":\"grammars\"}", "type: must be const_string"},
        {BATON_GRAMMAR_STRUCTURE,
         "{\"type\":\"sequence\",\"elements\":[{\"type\":\"const_string\"}]}",
         "#/elements/0: value: must be a string"},
        {BATON_GRAMMAR_STRUCTURE,
         "{\"type\":\"json_schema\",\"json_schema\":{\"not\":{\"minimum\":1}}}",
         "#/json_schema: not is not supported"},
        {BATON_GRAMMAR_STRUCTURE, "{\"type\":\"any_text\",\"excludes\":[\"\"]}", "non-empty"},
        {BATON_GRAMMAR_STRUCTURE, "{\"type\":\"any_text\",\"more\":1}", "more is not supported"},
    };
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct baton_network *network;
        struct baton_why why = {""};
        assert_int_equal(
            baton_grammar_read(bad[i].kind, bad[i].text, strlen(bad[i].text), &network, &why),
            BATON_INVALID);
        if (!strstr(why.text, bad[i].why))
            fail_msg("%s: %s", bad[i].text, why.text);
    }
}

/* Each would take longer than a test may if its parts were looked at once per part. */
TEST(a_grammar_may_have_as_many_parts_as_fit)
{
    enum { N_DOTS = 2000, N_RULES = 10000, N_BYTES = N_RULES * 24 };
    struct baton_network *network;
    struct baton_why why = {""};
    char *text = malloc(N_BYTES);
    assert_non_null(text);
    memset(text, '.', N_DOTS);
    if (baton_grammar_read(BATON_GRAMMAR_REGEX, text, N_DOTS, &network, &why))
        fail_msg("dots: %s", why.text);
    baton_network_destroy(network);
    size_t n = (size_t)snprintf(text, N_BYTES, "root ::= r0\n");
    for (int i = 0; i < N_RULES; i++)
        n += (size_t)snprintf(text + n, N_BYTES - n, "r%d ::= r%d\n", i, i + 1);
    n += (size_t)snprintf(text + n, N_BYTES - n, "r%d ::= \"a\"\n", N_RULES);
    if (baton_grammar_read(BATON_GRAMMAR_GBNF, text, n, &network, &why))
        fail_msg("rules: %s", why.text);
    baton_network_destroy(network);
    free(text);
}

TEST(a_place_in_a_text_has_a_path_in_the_schema)
{
    static const char schema[] =
        "{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"array\",\"items\":{"
        "\"anyOf\":"
        "[{\"type\":\"integer\",\"maximum\":50},{\"type\":\"boolean\"}]}}},\"required\":[\"a\"]}";
    static const struct {
        const char *text, *path;
    } places[] = {{"", "#"},
                  {"{\"a", "#"},
                  {"{\"a\":", "#/properties/a"},
                  {"{\"a\":\"x", "#/properties/a"},
                  {"{\"a\":\"x\"", "#"},
                  {"{\"a\":\"x\",\"b\":[", "#/properties/b/items"},
                  {"{\"a\":\"x\",\"b\":[1", "#/properties/b/items/anyOf/0"},
                  {"{\"a\":\"x\",\"b\":[tr", "#/properties/b/items/anyOf/1"},
                  {"{\"a\":\"x\",\"b\":[true", "#/properties/b"},
                  {"{\"a\":\"x\"}", "#"}};
    struct baton_network *network;
    struct baton_why why;
    assert_ok(
        baton_grammar_read(BATON_GRAMMAR_JSON_SCHEMA, schema, strlen(schema), &network, &why));
    struct baton_automaton *automaton = baton_automaton_create(network);
    for (size_t i = 0; i < BATON_N_OF(places); i++) {
        uint32_t at = baton_automaton_start(automaton);
        for (const char *c = places[i].text; *c; c++)
            at = baton_automaton_step(automaton, at, (uint8_t)*c);
        assert_string_equal(baton_automaton_path(automaton, at), places[i].path);
    }
    baton_automaton_destroy(automaton);
    baton_network_destroy(network);
}
