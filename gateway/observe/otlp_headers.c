#include "gateway/observe/otlp_headers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/os/file.h"
#include "gateway/http/syntax.h"

enum { HEADERS_MAX_BYTES = 8 << 10 };

/* Headers that gw_otlp_post writes itself, or that would change where a message ends. */
static const char *const own_names[] = {"host",           "connection",        "content-type",
                                        "content-length", "transfer-encoding", "user-agent"};

static bool is_name(struct gw_view name)
{
    for (size_t i = 0; i < BATON_N_OF(own_names); i++)
        if (gw_view_equals_nocase(name, own_names[i]))
            return false;
    return gw_view_is_token(name);
}

/* Decodes one byte of a value, which is *n_used bytes long. -1: a value may not contain it. */
static int value_byte(const char *p, size_t n, size_t *n_used)
{
    char digits[3] = {0};
    int c = (unsigned char)*p;
    *n_used = 1;
    if (c == '%') {
        if (n < 3 || !isxdigit((unsigned char)p[1]) || !isxdigit((unsigned char)p[2]))
            return -1;
        memcpy(digits, p + 1, 2);
        c = (int)strtol(digits, NULL, 16);
        *n_used = 3;
    }
    return c >= ' ' && c <= '~' ? c : -1;
}

static bool put_value(struct gw_view value, struct baton_buf *lines)
{
    for (size_t n_used; value.n; value.p += n_used, value.n -= n_used) {
        int c = value_byte(value.p, value.n, &n_used);
        if (c < 0)
            return false;
        baton_buf_putc(lines, (char)c);
    }
    return true;
}

/* NULL, or the error. Errors never contain the value, which is a secret. */
static const char *add_header(struct gw_view pair, struct baton_buf *lines)
{
    struct gw_view value = pair, name = gw_view_trim(gw_view_cut(&value, '='));
    if (!memchr(pair.p, '=', pair.n))
        return "each header is NAME=VALUE";
    if (!is_name(name))
        return "the name is invalid, or is a header that the gateway writes itself";
    baton_buf_append(lines, name.p, name.n);
    baton_buf_puts(lines, ": ");
    if (!put_value(gw_view_trim(value), lines))
        return "the value contains a byte that is not printable ASCII, or an invalid %XX";
    baton_buf_puts(lines, "\r\n");
    return baton_buf_err(lines) ? "together they are larger than 8 KiB" : NULL;
}

static struct gw_view without_return(struct gw_view line)
{
    line.n -= line.n && line.p[line.n - 1] == '\r';
    return line;
}

enum baton_err gw_otlp_headers_parse(const char *text, struct baton_buf *lines,
                                     struct baton_why *why)
{
    struct gw_view rest = {text, strlen(text)};
    for (int number = 1; rest.n;) {
        struct gw_view line = without_return(gw_view_cut(&rest, '\n'));
        for (; line.n; number++) {
            struct gw_view pair = gw_view_trim(gw_view_cut(&line, ','));
            if (pair.n && *pair.p == '#') /* the rest of the line is a comment */
                break;
            const char *problem = pair.n ? add_header(pair, lines) : NULL;
            if (problem)
                return baton_fail(why, BATON_INVALID, "header %d: %s", number, problem);
        }
    }
    return BATON_OK;
}

enum baton_err gw_otlp_headers_read(const char *path, struct baton_buf *lines,
                                    struct baton_why *why)
{
    struct baton_buf text;
    struct baton_why reason = {""};
    baton_buf_init(&text, HEADERS_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, &reason);
    if (!err && memchr(baton_buf_text(&text), 0, text.len))
        err = baton_fail(&reason, BATON_INVALID, "%s: holds a zero byte", path);
    if (err) {
        err = baton_fail(why, err, "otlp-headers-file: %s", reason.text);
    } else {
        err = gw_otlp_headers_parse(baton_buf_text(&text), lines, &reason);
        if (err)
            err = baton_fail(why, err, "otlp-headers-file: %s: %s", path, reason.text);
    }
    baton_buf_fini(&text);
    return err;
}
