/* Bodies of multipart/form-data, as clients write them and as they must not. */
#include "tests/support/test.h"

#include <string.h>

#include "common/base/array.h"
#include "gateway/api/files/form.h"

#define TYPE      "multipart/form-data; boundary=xyz"
#define PART(...) "--xyz\r\n" __VA_ARGS__ "\r\n"
#define NAMED     "Content-Disposition: form-data; name="
#define END       "--xyz--\r\n"

static struct gw_form begun(const char *type, const char *body)
{
    struct gw_form form;
    assert_true(gw_form_begin(&form, type, (struct gw_view){body, strlen(body)}));
    return form;
}

static void assert_text(struct gw_view view, const char *text)
{
    assert_int_equal(view.n, strlen(text));
    assert_memory_equal(view.p ? view.p : "", text, view.n);
}

TEST(parts_are_read_in_order_with_their_names_and_contents)
{
    struct gw_form_part part;
    struct gw_form form = begun(
        TYPE, PART(NAMED "\"purpose\"\r\n\r\nbatch") PART(
                  "Content-Type: a/b\r\ncontent-disposition: form-data; filename=\"a; name=x\"; "
                  "name=file\r\n\r\none\r\n\r\n--xy\r\n") PART(NAMED "empty\r\n\r\n") END);
    assert_true(gw_form_next(&form, &part));
    assert_text(part.name, "purpose");
    assert_text(part.contents, "batch");
    assert_false(part.is_file);
    assert_true(gw_form_next(&form, &part) && part.is_file);
    assert_text(part.name, "file");
    assert_text(part.filename, "a; name=x");
    assert_text(part.contents, "one\r\n\r\n--xy\r\n");
    assert_true(gw_form_next(&form, &part));
    assert_text(part.contents, "");
    assert_false(gw_form_next(&form, &part));
    assert_true(form.has_ended);
}

TEST(a_boundary_may_stand_in_quotes)
{
    struct gw_form_part part;
    struct gw_form form = begun("Multipart/Form-Data; charset=utf-8; boundary=\"a;b c\"",
                                "--a;b c\r\n" NAMED "\"a\"\r\n\r\n1\r\n--a;b c--");
    assert_true(gw_form_next(&form, &part));
    assert_text(part.contents, "1");
    assert_false(gw_form_next(&form, &part));
    assert_true(form.has_ended);
}

TEST(other_types_are_no_forms)
{
    static const char *const types[] = {
        "",
        "application/json",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/mixed; boundary=xyz",
        ("multipart/form-data; boundary="
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")};
    struct gw_form form;
    for (size_t i = 0; i < BATON_N_OF(types); i++)
        assert_false(gw_form_begin(&form, types[i], (struct gw_view){END, sizeof END - 1}));
}

TEST(a_body_that_breaks_off_has_not_ended)
{
    static const char *const bodies[] = {
        "",
        "x",
        "--xy",
        "--xyz",
        "--xyz\r\n",
        "--xyz\r\n" NAMED "\"a\"",
        "--xyz\r\n" NAMED "\"a\"\r\n\r\nabc",
        "--xyz\r\n" NAMED "\"a\"\r\n\r\nabc\r\n--xyz",
        "--xyz\r\n" NAMED "\"a\"\r\n\r\nabc\r\n--xyzz\r\n",
        "preamble\r\n" PART(NAMED "\"a\"\r\n\r\nabc") "--xyz",
    };
    for (size_t i = 0; i < BATON_N_OF(bodies); i++) {
        struct gw_form form = begun(TYPE, bodies[i]);
        struct gw_form_part part;
        for (int n = 0; gw_form_next(&form, &part); n++)
            assert_true(n < 2);
        assert_false(form.has_ended);
    }
}
