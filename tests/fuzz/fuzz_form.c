/* The parts of any form lie in its body, one behind the other; and a form that is written from
 * parts is read as these.
 *
 * Input: up to the first line feed the value of Content-Type, behind it the body. A value that
 * begins with '!' makes a form instead: the rest of it is the boundary, and behind it are parts,
 * each NAME TAB FILENAME TAB CONTENTS, with zeros between. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#include "common/base/buf.h"
#include "gateway/api/files/form.h"

enum { MAX_PARTS = 64, MAX_FORM_BYTES = 1 << 20 };

struct made {
    struct gw_view name, filename, contents;
};

static void check_any(const char *type, struct gw_view body)
{
    struct gw_form form;
    struct gw_form_part part;
    const char *last = body.p;
    if (!gw_form_begin(&form, type, body))
        return;
    check(form.boundary.n >= 1 && form.boundary.n <= 70 && !form.has_ended);
    while (gw_form_next(&form, &part)) {
        check(part.contents.p > last && part.contents.p + part.contents.n < body.p + body.n);
        check(!part.name.n || (part.name.p >= last && part.name.p < part.contents.p));
        check(part.is_file || !part.filename.n);
        last = part.contents.p + part.contents.n;
        check(form.rest.n <= body.n);
    }
}

static bool has(struct gw_view view, const char *text, size_t n)
{
    return view.n >= n && memmem(view.p, view.n, text, n);
}

/* A name stands in quotes on a line of its own. */
static bool is_name(struct gw_view view)
{
    return !has(view, "\"", 1) && !has(view, "\r", 1);
}

static bool is_same(struct gw_view a, struct gw_view b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

static void put(struct baton_buf *out, struct gw_view view)
{
    baton_buf_append(out, view.p, view.n);
}

static void put_part(struct baton_buf *out, struct gw_view boundary, const struct made *part)
{
    baton_buf_puts(out, "--");
    put(out, boundary);
    baton_buf_puts(out, "\r\nContent-Type: text/plain\r\ncontent-disposition: form-data; name=\"");
    put(out, part->name);
    baton_buf_puts(out, "\"; filename=\"");
    put(out, part->filename);
    baton_buf_puts(out, "\"\r\n\r\n");
    put(out, part->contents);
    baton_buf_puts(out, "\r\n");
}

static void check_read(const char *type, struct gw_view body, const struct made *parts, size_t n)
{
    struct gw_form form;
    struct gw_form_part part;
    check(gw_form_begin(&form, type, body));
    for (size_t i = 0; i < n; i++) {
        check(gw_form_next(&form, &part) && part.is_file);
        check(is_same(part.name, parts[i].name));
        check(is_same(part.filename, parts[i].filename));
        check(is_same(part.contents, parts[i].contents));
    }
    check(!gw_form_next(&form, &part) && form.has_ended);
}

/* The parts that the input tells, as far as a form can hold them. */
static size_t read_parts(struct gw_view texts, struct gw_view boundary, struct made *parts)
{
    size_t n = 0;
    while (texts.n && n < MAX_PARTS) {
        struct gw_view text = gw_view_cut(&texts, 0);
        struct made *part = &parts[n];
        part->name = gw_view_cut(&text, '\t');
        part->filename = gw_view_cut(&text, '\t');
        part->contents = text;
        n += is_name(part->name) && is_name(part->filename) && !has(text, boundary.p, boundary.n) &&
             !has(boundary, "\r", 1);
    }
    return n;
}

static void check_made(struct gw_view boundary, struct gw_view texts)
{
    struct made parts[MAX_PARTS];
    struct baton_buf body, type;
    size_t n = read_parts(texts, boundary, parts);
    if (!n || !boundary.n || boundary.n > 70 || has(boundary, "\"", 1))
        return;
    baton_buf_init(&body, MAX_FORM_BYTES);
    baton_buf_init(&type, MAX_FORM_BYTES);
    for (size_t i = 0; i < n; i++)
        put_part(&body, boundary, &parts[i]);
    baton_buf_puts(&body, "--");
    put(&body, boundary);
    baton_buf_puts(&body, "--\r\n");
    baton_buf_puts(&type, "Multipart/Form-Data; charset=utf-8; boundary=\"");
    put(&type, boundary);
    baton_buf_puts(&type, "\"");
    if (!baton_buf_err(&body))
        check_read(baton_buf_text(&type), (struct gw_view){baton_buf_text(&body), body.len}, parts,
                   n);
    baton_buf_fini(&body);
    baton_buf_fini(&type);
}

FUZZ(data, size)
{
    char *text = fuzz_text(data, size);
    char *end = memchr(text, '\n', size);
    size_t n = end ? (size_t)(end - text) : size;
    struct gw_view body = {text + n + (end ? 1 : 0), size - n - (end ? 1 : 0)};
    text[n] = 0;
    if (*text == '!')
        check_made((struct gw_view){text + 1, strlen(text + 1)}, body);
    else
        check_any(text, body);
    free(text);
}
