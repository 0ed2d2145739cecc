#include "common/http/response.h"

#include <string.h>
#include <strings.h>

#include "common/http/chars.h"

enum { LENGTH_MAX_DIGITS = 18, RETRY_MAX_DIGITS = 9 };

/* One header's value, without the spaces around it. */
struct value {
    const char *p;
    size_t n;
};

/* The head's description of the body. Two different lengths are an error. */
struct framing {
    bool has_length, chunked;
    uint64_t length;
};

static void start(struct baton_http_response *response)
{
    response->has_head = false;
    response->status = 0;
    response->keep_alive = response->is_events = false;
    response->retry_after_s = -1;
    response->body = BATON_HTTP_BODY_UNTIL_EOF;
    response->left_bytes = 0;
    baton_chunked_init(&response->chunked);
}

void baton_http_response_init(struct baton_http_response *response)
{
    *response = (struct baton_http_response){.status = 0};
    baton_buf_init(&response->head, BATON_HTTP_HEAD_MAX_BYTES);
    start(response);
}

void baton_http_response_fini(struct baton_http_response *response)
{
    baton_buf_fini(&response->head);
}

void baton_http_response_reset(struct baton_http_response *response)
{
    baton_buf_reset(&response->head);
    start(response);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static struct value trim(const char *p, size_t n)
{
    for (; n && is_space(*p); n--)
        p++;
    while (n && is_space(p[n - 1]))
        n--;
    return (struct value){p, n};
}

static bool equals(const char *p, size_t n, const char *text)
{
    return n == strlen(text) && !strncasecmp(p, text, n);
}

/* True when a list between commas contains the word, as in Connection: close, x. */
static bool has_word(struct value value, const char *word)
{
    while (value.n) {
        const char *comma = memchr(value.p, ',', value.n);
        size_t n = comma ? (size_t)(comma - value.p) : value.n;
        struct value one = trim(value.p, n);
        if (equals(one.p, one.n, word))
            return true;
        n += comma ? 1 : 0;
        value.p += n;
        value.n -= n;
    }
    return false;
}

static bool read_number(struct value value, size_t max_digits, uint64_t *number)
{
    *number = 0;
    if (!value.n || value.n > max_digits)
        return false;
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return false;
        *number = 10 * *number + (uint64_t)(value.p[i] - '0');
    }
    return true;
}

static enum baton_err read_length(struct value value, struct framing *framing,
                                  struct baton_why *why)
{
    uint64_t length;
    if (!read_number(value, LENGTH_MAX_DIGITS, &length) ||
        (framing->has_length && framing->length != length))
        return baton_fail(why, BATON_INVALID, "its Content-Length is not one number");
    framing->has_length = true;
    framing->length = length;
    return BATON_OK;
}

static enum baton_err read_header(struct baton_http_response *response, const char *name,
                                  size_t n_name, struct value value, struct framing *framing,
                                  struct baton_why *why)
{
    uint64_t seconds;
    if (equals(name, n_name, "content-length"))
        return read_length(value, framing, why);
    if (equals(name, n_name, "transfer-encoding")) {
        if (!equals(value.p, value.n, "chunked") || framing->chunked)
            return baton_fail(why, BATON_INVALID, "its Transfer-Encoding is not just chunked");
        framing->chunked = true;
    } else if (equals(name, n_name, "connection")) {
        if (has_word(value, "close"))
            response->keep_alive = false;
        else if (has_word(value, "keep-alive"))
            response->keep_alive = true;
    } else if (equals(name, n_name, "content-type")) {
        static const char type[] = "text/event-stream";
        response->is_events =
            value.n >= sizeof type - 1 && !strncasecmp(value.p, type, sizeof type - 1);
    } else if (equals(name, n_name, "retry-after")) {
        if (read_number(value, RETRY_MAX_DIGITS, &seconds))
            response->retry_after_s = (double)seconds;
    }
    return BATON_OK;
}

/* Reads "HTTP/1.1 200 OK": version, status, and any reason. */
static enum baton_err read_status_line(struct baton_http_response *response, const char *line,
                                       size_t n, struct baton_why *why)
{
    uint64_t status;
    if (n < 12 || memcmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') ||
        line[8] != ' ' || (n > 12 && line[12] != ' ') ||
        !read_number((struct value){line + 9, 3}, 3, &status) || status < 100)
        return baton_fail(why, BATON_INVALID, "its first line is not that of HTTP/1.x");
    response->status = (int)status;
    response->keep_alive = line[7] == '1';
    return BATON_OK;
}

static enum baton_err read_header_line(struct baton_http_response *response, const char *line,
                                       size_t n, struct framing *framing, struct baton_why *why)
{
    const char *colon = memchr(line, ':', n);
    size_t n_name = colon ? (size_t)(colon - line) : 0;
    for (size_t i = 0; i < n_name; i++)
        if (!baton_http_is_token_char(line[i]))
            n_name = 0;
    if (!n_name)
        return baton_fail(why, BATON_INVALID, "it has a header without a name");
    return read_header(response, line, n_name, trim(colon + 1, n - n_name - 1), framing, why);
}

static void begin_body(struct baton_http_response *response, const struct framing *framing)
{
    /* RFC 9112 section 6.3: these have no body, whatever their headers say. */
    bool bodiless = response->status == 204 || response->status == 304;
    if (framing->chunked && !bodiless) {
        response->body = BATON_HTTP_BODY_CHUNKED;
    } else if (framing->has_length || bodiless) {
        response->body = BATON_HTTP_BODY_LENGTH;
        response->left_bytes = bodiless ? 0 : framing->length;
    } else {
        response->body = BATON_HTTP_BODY_UNTIL_EOF;
        response->keep_alive = false;
    }
    response->has_head = true;
}

/* Parses the n bytes of a head, which end with the empty line. */
static enum baton_err parse_head(struct baton_http_response *response, const char *head, size_t n,
                                 struct baton_why *why)
{
    struct framing framing = {.chunked = false};
    enum baton_err err = BATON_OK;
    for (size_t at = 0, line = 0; !err; line++) {
        size_t length = (size_t)((const char *)memchr(head + at, '\n', n - at) - head) - at;
        size_t shown = length && head[at + length - 1] == '\r' ? length - 1 : length;
        if (!shown && line)
            break;
        err = line ? read_header_line(response, head + at, shown, &framing, why)
                   : read_status_line(response, head + at, shown, why);
        at += length + 1;
    }
    if (!err && response->status == 101)
        err = baton_fail(why, BATON_INVALID, "it switches protocols without a request");
    /* A proxy could frame such a response differently (request smuggling). */
    if (!err && framing.chunked && framing.has_length)
        err = baton_fail(why, BATON_INVALID, "it has a Content-Length and is chunked");
    if (!err && response->status >= 200)
        begin_body(response, &framing);
    return err;
}

/* Adds one byte of the head; true when the head is complete. */
static bool add_head_byte(struct baton_buf *head, char c)
{
    baton_buf_putc(head, c);
    size_t n = head->len;
    const char *p = head->data;
    if (c != '\n' || n < 2)
        return false;
    return p[n - 2] == '\n' || (n >= 3 && p[n - 2] == '\r' && p[n - 3] == '\n');
}

static enum baton_err feed_head(struct baton_http_response *response, const char *bytes, size_t n,
                                size_t *n_used, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    size_t used = 0;
    while (used < n && !response->has_head && !err) {
        bool whole = add_head_byte(&response->head, bytes[used++]);
        if (baton_buf_err(&response->head))
            err = baton_fail(why, baton_buf_err(&response->head), "its head is too large");
        else if (whole)
            err = parse_head(response, response->head.data, response->head.len, why);
        if (whole)
            baton_buf_reset(&response->head); /* after a 1xx too: the real head follows */
    }
    *n_used = used;
    return err;
}

static enum baton_err feed_length(struct baton_http_response *response, const char *bytes, size_t n,
                                  size_t *n_used, struct baton_buf *body)
{
    if (n > response->left_bytes)
        n = (size_t)response->left_bytes;
    baton_buf_append(body, bytes, n);
    response->left_bytes -= n;
    *n_used = n;
    if (baton_buf_err(body))
        return baton_buf_err(body);
    return response->left_bytes ? BATON_AGAIN : BATON_OK;
}

static enum baton_err feed_body(struct baton_http_response *response, const char *bytes, size_t n,
                                size_t *n_used, struct baton_buf *body)
{
    switch (response->body) {
    case BATON_HTTP_BODY_LENGTH:
        return feed_length(response, bytes, n, n_used, body);
    case BATON_HTTP_BODY_CHUNKED:
        return baton_chunked_feed(&response->chunked, bytes, n, n_used, body);
    case BATON_HTTP_BODY_UNTIL_EOF:
        break;
    }
    baton_buf_append(body, bytes, n);
    *n_used = n;
    return baton_buf_err(body) ? baton_buf_err(body) : BATON_AGAIN;
}

enum baton_err baton_http_response_feed(struct baton_http_response *response, const char *bytes,
                                        size_t n, size_t *n_used, struct baton_buf *body,
                                        struct baton_why *why)
{
    size_t n_head = 0, n_body = 0;
    if (!response->has_head) {
        enum baton_err err = feed_head(response, bytes, n, &n_head, why);
        if (err)
            return err;
        if (!response->has_head) {
            *n_used = n_head;
            return BATON_AGAIN;
        }
    }
    enum baton_err err = feed_body(response, bytes + n_head, n - n_head, &n_body, body);
    if (err && err != BATON_AGAIN)
        return baton_fail(why, err, "its body: %s", baton_err_text(err));
    *n_used = n_head + n_body;
    return err;
}

enum baton_err baton_http_response_eof(const struct baton_http_response *response)
{
    return response->has_head && response->body == BATON_HTTP_BODY_UNTIL_EOF ? BATON_OK
                                                                             : BATON_PEER;
}
