#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/file.h"
#include "common/http/chars.h"
#include "gateway/observe/otlp_headers.h"

enum { HEADERS_MAX_BYTES = 8 << 10 };

/* Written by post, or what would change where a message ends. */
static const char *const own_names[] = {"host",           "connection",        "content-type",
                                        "content-length", "transfer-encoding", "user-agent"};

static bool is_name(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!baton_http_is_token_char(name[i]))
            return false;
    for (size_t i = 0; i < sizeof own_names / sizeof own_names[0]; i++)
        if (n == strlen(own_names[i]) && !strncasecmp(name, own_names[i], n))
            return false;
    return n > 0;
}

/* The byte that p stands for; *n_used is how many bytes say it. -1: none that a value may hold. */
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

static bool put_value(const char *value, size_t n, struct baton_buf *lines)
{
    for (size_t n_used; n; value += n_used, n -= n_used) {
        int c = value_byte(value, n, &n_used);
        if (c < 0)
            return false;
        baton_buf_putc(lines, (char)c);
    }
    return true;
}

static void trim(const char **p, size_t *n)
{
    for (; *n && strchr(" \t\r", **p); (*n)--)
        (*p)++;
    while (*n && strchr(" \t\r", (*p)[*n - 1]))
        (*n)--;
}

/* NULL, or what is wrong with it. A value is a secret and never shown. */
static const char *add_header(const char *pair, size_t n, struct baton_buf *lines)
{
    const char *equals = memchr(pair, '=', n);
    const char *name = pair, *value = equals ? equals + 1 : NULL;
    size_t n_name = equals ? (size_t)(equals - pair) : 0, n_value = n - n_name - 1;
    if (!equals)
        return "each header is NAME=VALUE";
    trim(&name, &n_name);
    trim(&value, &n_value);
    if (!is_name(name, n_name))
        return "the name is none that a header of the operator's may have";
    baton_buf_append(lines, name, n_name);
    baton_buf_puts(lines, ": ");
    if (!put_value(value, n_value, lines))
        return "the value holds what is not printable ASCII, or a bad %XX";
    baton_buf_puts(lines, "\r\n");
    return baton_buf_err(lines) ? "together they are larger than 8 KiB" : NULL;
}

enum baton_err gw_otlp_headers_parse(const char *text, struct baton_buf *lines,
                                     struct baton_why *why)
{
    for (int number = 1; *text; number++) {
        const char *pair = text + strspn(text, " \t\r");
        bool is_comment = *pair == '#';
        size_t n = strcspn(pair, is_comment ? "\n" : ",\n");
        text = pair + n + (pair[n] != 0);
        trim(&pair, &n);
        const char *problem = n && !is_comment ? add_header(pair, n, lines) : NULL;
        if (problem)
            return baton_fail(why, BATON_INVALID, "header %d: %s", number, problem);
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
