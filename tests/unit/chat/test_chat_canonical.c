#include "tests/support/test.h"

#include <string.h>

#include "common/chat/chat_canonical.h"

static void assert_canonical(const char *source, const char *expected)
{
    struct baton_buf out;
    baton_buf_init(&out, 1 << 16);
    baton_chat_canonical(source, strlen(source), &out);
    assert_int_equal(baton_buf_err(&out), BATON_OK);
    assert_string_equal(baton_buf_text(&out), expected);
    baton_buf_fini(&out);
}

TEST(white_space_between_words_only_stays)
{
    assert_canonical("{%  if not  x==( y ) %}{{ a  if b }}", "{%if not x==(y)%}{{a if b}}");
    assert_canonical("{{'a' in  b and\n'c'}}", "{{'a'in b and'c'}}");
}

TEST(strings_have_one_kind_of_quotes)
{
    assert_canonical("{{ \"a\" }}", "{{'a'}}");
    assert_canonical("{{ \"it's\" }}", "{{'it\\'s'}}");
    assert_canonical("{{ 'a\\n\\\"b\\\\' }}", "{{'a\n\"b\\\\'}}");
}

TEST(constants_in_a_row_become_one)
{
    assert_canonical("{{ 'a' + x + 'b' ~ 'c' }}", "{{'a'+x+'bc'}}");
    assert_canonical("{{ 'a' }}{{- 'b' }}{{ x }}", "{{'ab'+x}}");
    assert_canonical("{{ x }}{% y %}{{ 'b' }}", "{{x}}{%y%}{{'b'}}");
}

TEST(text_outside_of_tags_is_a_printed_string)
{
    assert_canonical("<|user|>\n{{ x }} it's", "{{'<|user|>\n'+x+' it\\'s'}}");
}

TEST(white_space_around_tags_goes_where_jinja_drops_it)
{
    assert_canonical("{% a %}\n  {% b %}\n", "{%a%}{%b%}");
    assert_canonical("{% a %} {% b %}", "{%a%}{{' '}}{%b%}");
    assert_canonical("{{ a }}\n{{ b }}\n", "{{a+'\n'+b}}");
    assert_canonical("{{ a -}}\n  {{ b }}  \n{{- c }}", "{{a+b+c}}");
    assert_canonical("{% a +%}\n{{ b }}", "{%a%}{{'\n'+b}}");
    assert_canonical("{{ a }}\n  {%+ b %}", "{{a+'\n  '}}{%b%}");
    assert_canonical("x\n\n", "{{'x\n'}}");
}

TEST(comments_go)
{
    assert_canonical("{{ 'a' }}{# b }} -#}  \n{{ 'c' }}", "{{'ac'}}");
    assert_canonical("{# never closed", "");
}

TEST(members_and_trimming_have_one_way_of_writing)
{
    assert_canonical("{{ m['role'] }}", "{{m.role}}");
    assert_canonical("{{ m[0][\"a\"].b }}", "{{m[0].a.b}}");
    assert_canonical("{{ ['a'] }}{{ m['a b'] }}", "{{['a']+m['a b']}}");
    assert_canonical("{{ x.strip() }}{{ x | trim }}", "{{x|trim+x|trim}}");
}

TEST(braces_within_an_expression_do_not_end_it)
{
    assert_canonical("{{ {'a': {'b': 1}} }}", "{{{'a':{'b':1}}}}");
    assert_canonical("{{ '}}' }}", "{{'}}'}}");
}

TEST(source_cut_anywhere_is_read_to_its_end)
{
    static const char source[] =
        "a{%- if m['x'] -%}\n{{ 'b\\n' ~ \"c\" }}{#- d -#}{% endif +%} e\n";
    struct baton_buf out;
    baton_buf_init(&out, 1 << 16);
    for (size_t n = 0; n < sizeof source; n++) {
        baton_buf_reset(&out);
        baton_chat_canonical(source, n, &out);
        assert_int_equal(baton_buf_err(&out), BATON_OK);
    }
    baton_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(white_space_between_words_only_stays),
        cmocka_unit_test(strings_have_one_kind_of_quotes),
        cmocka_unit_test(constants_in_a_row_become_one),
        cmocka_unit_test(text_outside_of_tags_is_a_printed_string),
        cmocka_unit_test(white_space_around_tags_goes_where_jinja_drops_it),
        cmocka_unit_test(comments_go),
        cmocka_unit_test(members_and_trimming_have_one_way_of_writing),
        cmocka_unit_test(braces_within_an_expression_do_not_end_it),
        cmocka_unit_test(source_cut_anywhere_is_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
