#include "tests/support/test.h"

#include <string.h>

#include "gateway/api/params/grammar.h"

static bool is_given(const char *text)
{
    struct baton_json *body = NULL;
    assert_ok(baton_json_parse(text, strlen(text), &body, NULL));
    bool given = gw_grammar_is_given(body);
    gw_grammar_check_ahead(body); /* whatever it holds */
    baton_json_free(body);
    return given;
}

TEST(a_schema_is_looked_at_wherever_a_body_has_it)
{
    assert_true(is_given("{\"response_format\":{\"type\":\"json_object\"}}"));
    assert_true(is_given("{\"regex\":\"a+\"}"));
    assert_true(is_given("{\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"n\","
                         "\"schema\":{\"type\":\"object\"}}}}"));
    assert_true(is_given("{\"text\":{\"format\":{\"schema\":7}}}"));
}

TEST(a_body_without_one_is_not_looked_at)
{
    assert_false(is_given("{\"prompt\":\"a\"}"));
    assert_false(is_given("{\"text\":\"a\"}"));
    assert_false(is_given("{\"text\":{\"format\":{\"type\":\"text\"}}}"));
    assert_false(is_given("{\"text\":{\"format\":7}}"));
}
