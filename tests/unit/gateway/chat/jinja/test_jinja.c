#include "tests/support/test.h"

#include <string.h>

#include "gateway/chat/jinja/jinja.h"

#include "common/base/array.h"

enum { NOW = 1234567890 };

static const struct baton_jinja_limits wide = {.max_steps = 1000000,
                                               .max_depth = 400,
                                               .max_text_bytes = 1 << 20,
                                               .max_memory_bytes = 64 << 20};

/* The output; foreign bytes stand between < and >. */
static void put(void *arg, const char *bytes, size_t n, bool own)
{
    struct baton_buf *out = arg;
    if (!own)
        baton_buf_putc(out, '<');
    baton_buf_append(out, bytes, n);
    if (!own)
        baton_buf_putc(out, '>');
}

static const char values[] =
    "{\"x\":\"ab\",\"n\":3,\"list\":[1,\"c\",{\"k\":\"v\"}],\"none\":null}";

static enum baton_err render(const char *template, const struct baton_jinja_limits *limits,
                             struct baton_buf *out, bool *raised, struct baton_why *why)
{
    struct baton_jinja *jinja = NULL;
    struct baton_json *json = NULL;
    baton_buf_init(out, 1 << 20);
    enum baton_err err = baton_jinja_parse(template, strlen(template), &jinja, why);
    if (err)
        return err;
    assert_ok(baton_json_parse(values, sizeof values - 1, &json, NULL));
    struct jinja_run *run = baton_jinja_begin(jinja, limits, NOW);
    assert_non_null(run);
    for (void *it = baton_json_first(json); it; it = baton_json_next(json, it))
        baton_jinja_set(run, baton_json_key(it), jinja_json_value(run, baton_json_member(it)));
    err = baton_jinja_render(run, put, out, raised, why);
    baton_jinja_end(run);
    baton_json_free(json);
    baton_jinja_free(jinja);
    return err;
}

static void assert_renders(const char *template, const char *expected)
{
    struct baton_buf out;
    struct baton_why why = {""};
    if (render(template, &wide, &out, NULL, &why))
        fail_msg("%s: %s", template, why.text);
    assert_string_equal(baton_buf_text(&out), expected);
    baton_buf_fini(&out);
}

static void assert_fails(const char *template, const struct baton_jinja_limits *limits,
                         enum baton_err expected, const char *words)
{
    struct baton_buf out;
    struct baton_why why = {""};
    bool raised = false;
    assert_int_equal(render(template, limits, &out, &raised, &why), expected);
    if (!strstr(why.text, words))
        fail_msg("%s: \"%s\" lacks \"%s\"", template, why.text, words);
    assert_false(raised);
    baton_buf_fini(&out);
}

TEST(a_byte_order_mark_is_no_text)
{
    assert_renders("\xef\xbb\xbf[{{ x }}]", "[<ab>]");
    assert_renders("\xef\xbb\xbf", "");
}

TEST(text_keeps_its_origin_through_operators_filters_and_methods)
{
    assert_renders("[{{ x }}]", "[<ab>]");
    assert_renders("{{ 'p' + x + 'q' }}", "p<ab>q");
    assert_renders("{{ ('p' ~ x ~ 'q')[1:4] }}", "<ab>q");
    assert_renders("{{ ('p' + x)[::-1] }}", "<ba>p");
    assert_renders("{{ (' p' + x + ' ') | trim | upper }}", "P<AB>");
    assert_renders("{{ x.replace('a', 'z') }}", "z<b>");
    assert_renders("{{ 'a-b'.replace('-', x) }}", "a<ab>b");
    assert_renders("{{ ['p', x] | join('/') }}", "p/<ab>");
    assert_renders("{{ '%s|%d' | format(x, n) }}", "<ab>|3");
    assert_renders("{{ '{}{}'.format(x, 'q') }}", "<ab>q");
    assert_renders("{% set b %}p{{ x }}{% endset %}{{ b }}", "p<ab>");
    assert_renders("{% macro m(v) %}p{{ v }}{% endmacro %}{{ m(x) }}", "p<ab>");
    assert_renders("{{ ('p|' + x).split('|')[1] }}", "<ab>");
    assert_renders("{{ (x + '\n' + x) | indent(1) }}", "<ab>\n <ab>");
}

TEST(what_is_written_of_foreign_lists_and_maps_is_foreign)
{
    assert_renders("{{ list | tojson }}", "<[1, \"c\", {\"k\": \"v\"}]>");
    assert_renders("{{ list }}", "<[1, 'c', {'k': 'v'}]>");
    assert_renders("{% for k in list[2] %}{{ k }}{% endfor %}", "<k>");
}

TEST(a_failure_names_the_line_and_what_failed)
{
    assert_fails("a\n{{ x.y.z }}", &wide, BATON_INVALID,
                 "line 2: 'str object' has no attribute 'y'");
    assert_fails("{{ y + 1 }}", &wide, BATON_INVALID, "line 1: 'y' is undefined");
    assert_fails("\n\n{{ 1 + 'a' }}", &wide, BATON_INVALID,
                 "line 3: unsupported operand types for +: 'int' and 'str'");
    assert_fails("{{ x | nothing }}", &wide, BATON_INVALID, "no filter is named 'nothing'");
    assert_fails("{{ x is nothing }}", &wide, BATON_INVALID, "no test is named 'nothing'");
    assert_fails("{{ x.upper(1) }}", &wide, BATON_INVALID, "upper() takes at most 0 arguments");
    assert_fails("{{ list.append(1) }}", &wide, BATON_INVALID, "may not change");
    assert_fails("{{ x.__class__ }}{{ x.__class__.y }}", &wide, BATON_INVALID, "__class__");
}

TEST(source_that_is_no_template_is_refused_with_its_line)
{
    static const struct {
        const char *source, *words;
    } wrong[] = {
        {"{{ 1", "{{ has no end"},
        {"\n{% if x %}", "{% endif %} is missing"},
        {"{% endfor %}", "{% endfor %} is not known"},
        {"a\nb{% include 'x' %}", "line 2: {% include %} is not known or not supported"},
        {"{{ 1 2 }}", "more than one expression"},
        {"{{ 'a }}", "a text has no end"},
        {"{{ (1 }}", "a closing bracket has no opening one"},
        {"{{ 1) }}", "no opening one"},
        {"{% break %}", "outside of a for"},
        {"{{ f(*x) }}", "* and ** in a call"},
        {"{{ 99999999999999999999 }}", "out of range"},
        {"{% set 1 = 2 %}", "expected a name"},
        {"{# a", "{# has no end"},
        {"{% raw %}", "{% raw %} has no end"},
        {"{{ a ! b }}", "unexpected character '!'"},
        {"{% for x in y recursive %}{% endfor %}", "recursive"},
    };
    for (size_t i = 0; i < BATON_N_OF(wrong); i++)
        assert_fails(wrong[i].source, &wide, BATON_INVALID, wrong[i].words);
}

TEST(a_template_refuses_in_its_own_words)
{
    struct baton_buf out;
    struct baton_why why;
    bool raised = false;
    assert_int_equal(render("{{ raise_exception('No ' + x) }}", &wide, &out, &raised, &why),
                     BATON_INVALID);
    assert_true(raised);
    assert_string_equal(why.text, "No ab");
    baton_buf_fini(&out);
}

TEST(each_bound_ends_what_would_not_end)
{
    struct baton_jinja_limits limits = wide;
    limits.max_steps = 1000;
    assert_fails("{% for i in range(9999) %}{{ i }}{% endfor %}", &limits, BATON_LIMIT, "steps");
    limits = wide;
    limits.max_depth = 50;
    assert_fails("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", &limits, BATON_LIMIT,
                 "more than 50 levels");
    limits = wide;
    limits.max_text_bytes = 100;
    assert_fails("{% for i in range(99) %}0123456789{% endfor %}", &limits, BATON_LIMIT,
                 "more than 100 bytes of text");
    limits = wide;
    limits.max_memory_bytes = 10000;
    assert_fails("{% set y = 'x' * 99999 %}", &limits, BATON_LIMIT, "bytes of values");
    assert_fails("{{ range(100001) }}", &wide, BATON_INVALID, "a range is too big");
}

TEST(source_is_nested_as_deeply_as_is_bounded)
{
    char source[2048] = "{{ ";
    memset(source + 3, '(', 1000);
    source[1003] = 0;
    assert_fails(source, &wide, BATON_INVALID, "nested");
}

static void assert_chain_is_refused(const char *suffix)
{
    struct baton_buf source;
    baton_buf_init(&source, 1 << 20);
    baton_buf_puts(&source, "{{ x");
    for (int i = 0; i < 300; i++)
        baton_buf_puts(&source, suffix);
    baton_buf_puts(&source, " }}");
    assert_fails(baton_buf_text(&source), &wide, BATON_INVALID, "nested");
    baton_buf_fini(&source);
}

TEST(a_chain_of_suffixes_is_nested)
{
    assert_chain_is_refused(".y");
    assert_chain_is_refused("[0]");
    assert_chain_is_refused("()");
    assert_chain_is_refused("|trim");
}

TEST(work_on_long_texts_and_nested_keys_is_bounded)
{
#define LONG "{% set y = 'y' * 600000 %}"
#define FEW  "{% for i in range(600) %}"
    static const char *const templates[] = {
        LONG "{{ y.rfind('x' + y[:300000]) }}{{ y.rfind('y' * 300000 + 'x') }}",
        LONG "{{ y.strip('x' * 60000 + 'y') }}",
        LONG FEW "{{ y.replace('x', '') == 1 }}{% endfor %}",
        LONG FEW "{{ y.isalpha() }}{% endfor %}",
        LONG FEW "{{ y is lower }}{% endfor %}",
        LONG FEW "{{ y | wordcount }}{% endfor %}",
        LONG FEW "{{ {y: 1} | length }}{% endfor %}",
        ("{% set s = namespace(t=()) %}{% for i in range(60) %}{% set s.t = (s.t, s.t) %}"
         "{% endfor %}{{ {s.t: 1} | length }}"),
    };
    for (size_t i = 0; i < BATON_N_OF(templates); i++)
        assert_fails(templates[i], &wide, BATON_LIMIT, "steps");
    assert_fails("{% set s = namespace(t=()) %}{% for i in range(999) %}{% set s.t = (s.t,) %}"
                 "{% endfor %}{{ {s.t: 1} | length }}",
                 &wide, BATON_LIMIT, "levels");
}

TEST(the_clock_is_the_callers)
{
    assert_renders("{{ strftime_now('%Y') }}", "2009");
    assert_renders("{{ strftime_now(x) }}", "<ab>");
}
