#include "gateway/http/reader.h"

#include <string.h>
#include <strings.h>

#include "common/base/array.h"

/* A head being read, and which of the headers that may appear once have appeared. */
struct reading {
    struct gw_head head;
    bool has_host, has_length, has_encoding, says_close, says_keep_alive;
    struct gw_error *refusal;
};

static enum baton_err refuse(struct gw_error *refusal, int status, const char *code,
                             const char *message)
{
    *refusal = (struct gw_error){.status = status, .code = code, .message = message};
    return BATON_INVALID;
}

static enum baton_err malformed(struct gw_error *refusal, const char *message)
{
    return refuse(refusal, 400, "malformed_request", message);
}

/* ---- the end of the head ---- */

static enum baton_err too_large(const char *bytes, const struct gw_head_scan *scan,
                                struct gw_error *refusal)
{
    if (memchr(bytes + scan->start, '\n', scan->seen - scan->start))
        return refuse(refusal, 431, "head_too_large", "The request's headers are too large.");
    return refuse(refusal, 414, "target_too_long", "The request line is too long.");
}

/* Skips empty lines before the request line (RFC 9112 section 2.2), which some clients send after a
 * body. False when the bytes end inside such a line. */
static bool skip_empty_lines(const char *bytes, size_t n, struct gw_head_scan *scan)
{
    if (scan->seen > scan->start)
        return true;
    while (n - scan->start >= 2 && !memcmp(bytes + scan->start, "\r\n", 2))
        scan->start += 2;
    scan->seen = scan->start;
    return n - scan->start != 1 || bytes[scan->start] != '\r';
}

static enum baton_err find_end(const char *bytes, size_t n, size_t max_bytes,
                               struct gw_head_scan *scan, struct gw_error *refusal)
{
    if (!skip_empty_lines(bytes, n, scan))
        return BATON_AGAIN;
    for (; scan->seen < n && scan->seen < max_bytes; scan->seen++) {
        size_t i = scan->seen;
        char c = bytes[i], before = i > scan->start ? bytes[i - 1] : 0;
        /* A bare CR or LF could end the line for another server. */
        if ((c == '\n') != (before == '\r'))
            return malformed(refusal, "A line of the request does not end in CR LF.");
        if (!baton_http_is_field_char(c) && c != '\r' && c != '\n')
            return malformed(refusal, "The request's head holds a control character.");
        if (c == '\n' && i - scan->start >= 3 && bytes[i - 2] == '\n') {
            scan->seen++;
            return BATON_OK;
        }
    }
    return scan->seen >= max_bytes ? too_large(bytes, scan, refusal) : BATON_AGAIN;
}

/* ---- the request line ---- */

static enum baton_err read_version(struct reading *r, struct gw_view version)
{
    const char *p = version.p;
    if (version.n != 8 || memcmp(p, "HTTP/", 5) != 0 || p[6] != '.' || p[5] < '0' || p[5] > '9' ||
        p[7] < '0' || p[7] > '9')
        return malformed(r->refusal, "The request line is not METHOD SP TARGET SP VERSION.");
    if (p[5] != '1' || p[7] > '1')
        return refuse(r->refusal, 505, "unsupported_version",
                      "Only HTTP/1.0 and HTTP/1.1 are supported.");
    r->head.minor = p[7] - '0';
    return BATON_OK;
}

static enum baton_err read_method(struct reading *r, struct gw_view method)
{
    static const char *const known[] = {"GET",   "HEAD",   "POST",    "PUT",
                                        "PATCH", "DELETE", "OPTIONS", "TRACE"};
    r->head.method = method;
    for (size_t i = 0; i < BATON_N_OF(known); i++)
        if (gw_view_equals(method, known[i]))
            return BATON_OK;
    return refuse(r->refusal, 501, "unknown_method", "The request's method is not implemented.");
}

/* Accepts visible ASCII without '#', and '%' only before two hexadecimal digits. */
static bool is_target(struct gw_view target)
{
    for (size_t i = 0; i < target.n; i++) {
        char c = target.p[i];
        if (c <= ' ' || c >= 0x7f || c == '#')
            return false;
        if (c == '%' && (target.n - i < 3 || baton_http_hex_value(target.p[i + 1]) < 0 ||
                         baton_http_hex_value(target.p[i + 2]) < 0))
            return false;
    }
    return target.n > 0;
}

/* Accepts the characters of uri-host [ ":" port ] (RFC 3986 section 3.2.2), without user
 * information. */
static bool is_host(struct gw_view host)
{
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        bool alnum = baton_http_is_token_char(c) && !strchr("#^`|", c);
        if (!alnum && !strchr("():;,=[]", c))
            return false;
    }
    return true;
}

/* Removes scheme and authority from a target in absolute-form. */
static bool strip_authority(struct gw_view *target)
{
    size_t scheme = 0;
    if (target->n > 7 && !strncasecmp(target->p, "http://", 7))
        scheme = 7;
    else if (target->n > 8 && !strncasecmp(target->p, "https://", 8))
        scheme = 8;
    struct gw_view rest = {target->p + scheme, target->n - scheme};
    struct gw_view authority = {rest.p, 0};
    while (authority.n < rest.n && rest.p[authority.n] != '/' && rest.p[authority.n] != '?')
        authority.n++;
    if (!scheme || !authority.n || !is_host(authority))
        return false;
    *target = (struct gw_view){rest.p + authority.n, rest.n - authority.n};
    return true;
}

static enum baton_err read_target(struct reading *r, struct gw_view target)
{
    bool any = gw_view_equals(target, "*") && gw_view_equals(r->head.method, "OPTIONS");
    if (!is_target(target))
        return malformed(r->refusal, "The request's target holds a character that is not allowed.");
    if (!any && target.p[0] != '/' && !strip_authority(&target))
        return malformed(r->refusal, "The request's target is neither a path nor an http URL.");
    r->head.path = gw_view_cut(&target, '?');
    r->head.query = target;
    if (!r->head.path.n)
        r->head.path = (struct gw_view){"/", 1};
    return BATON_OK;
}

static enum baton_err read_request_line(struct reading *r, struct gw_view line)
{
    struct gw_view method = gw_view_cut(&line, ' ');
    struct gw_view target = gw_view_cut(&line, ' ');
    if (!gw_view_is_token(method))
        return malformed(r->refusal, "The request's method is not a token.");
    enum baton_err err = read_version(r, line);
    if (!err)
        err = read_method(r, method);
    return err ? err : read_target(r, target);
}

/* ---- the headers that frame the message ---- */

static enum baton_err read_host(struct reading *r, struct gw_view value)
{
    if (r->has_host)
        return malformed(r->refusal, "There is more than one Host header.");
    if (!is_host(value))
        return malformed(r->refusal, "The Host header holds a character that is not allowed.");
    r->has_host = true;
    return BATON_OK;
}

static enum baton_err read_length(struct reading *r, struct gw_view value)
{
    uint64_t length = 0;
    bool fits = true;
    if (r->has_length)
        return malformed(r->refusal, "There is more than one Content-Length header.");
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return malformed(r->refusal, "Content-Length is not a number.");
        fits = fits && !__builtin_mul_overflow(length, 10, &length) &&
               !__builtin_add_overflow(length, (uint64_t)(value.p[i] - '0'), &length);
    }
    if (!value.n)
        return malformed(r->refusal, "Content-Length is empty.");
    r->has_length = true;
    /* Larger than any limit, so the body is refused as too large. */
    r->head.content_length = fits ? length : UINT64_MAX;
    return BATON_OK;
}

static enum baton_err read_encoding(struct reading *r, struct gw_view value)
{
    if (r->has_encoding)
        return malformed(r->refusal, "There is more than one Transfer-Encoding header.");
    if (!gw_view_equals_nocase(value, "chunked"))
        return refuse(r->refusal, 501, "unknown_coding",
                      "The only supported Transfer-Encoding is chunked.");
    r->has_encoding = true;
    r->head.chunked = true;
    return BATON_OK;
}

static enum baton_err read_connection(struct reading *r, struct gw_view value)
{
    while (value.n) {
        struct gw_view option = gw_view_trim(gw_view_cut(&value, ','));
        r->says_close |= gw_view_equals_nocase(option, "close");
        r->says_keep_alive |= gw_view_equals_nocase(option, "keep-alive");
    }
    return BATON_OK;
}

static enum baton_err read_expect(struct reading *r, struct gw_view value)
{
    if (!gw_view_equals_nocase(value, "100-continue"))
        return refuse(r->refusal, 417, "unknown_expectation",
                      "The only supported expectation is 100-continue.");
    r->head.expects_continue = r->head.minor == 1;
    return BATON_OK;
}

static const struct {
    const char *name;
    enum baton_err (*read)(struct reading *r, struct gw_view value);
} framing[] = {
    {"host", read_host},
    {"content-length", read_length},
    {"transfer-encoding", read_encoding},
    {"connection", read_connection},
    {"expect", read_expect},
};

static enum baton_err read_header(struct reading *r, struct gw_view line)
{
    if (line.p[0] == ' ' || line.p[0] == '\t')
        return malformed(r->refusal, "A header is folded over two lines.");
    if (!memchr(line.p, ':', line.n))
        return malformed(r->refusal, "A header has no colon.");
    struct gw_header header = {.name = gw_view_cut(&line, ':')};
    header.value = gw_view_trim(line);
    if (!gw_view_is_token(header.name))
        return malformed(r->refusal, "A header's name is not a token right before its colon.");
    if (r->head.n_headers == GW_HEAD_MAX_HEADERS)
        return refuse(r->refusal, 431, "too_many_headers", "The request has too many headers.");
    r->head.headers[r->head.n_headers++] = header;
    for (size_t i = 0; i < BATON_N_OF(framing); i++)
        if (gw_view_equals_nocase(header.name, framing[i].name))
            return framing[i].read(r, header.value);
    return BATON_OK;
}

static enum baton_err check_framing(struct reading *r)
{
    /* The classic vector of request smuggling. */
    if (r->has_length && r->has_encoding)
        return malformed(r->refusal, "Content-Length and Transfer-Encoding exclude each other.");
    if (r->has_encoding && r->head.minor == 0)
        return malformed(r->refusal, "HTTP/1.0 has no Transfer-Encoding.");
    if (!r->has_host && r->head.minor == 1)
        return malformed(r->refusal, "There is no Host header.");
    r->head.keep_alive = !r->says_close && (r->head.minor == 1 || r->says_keep_alive);
    return BATON_OK;
}

/* Returns the next line without its CR LF. */
static struct gw_view take_line(struct gw_view *rest)
{
    struct gw_view line = gw_view_cut(rest, '\n');
    line.n--;
    return line;
}

enum baton_err gw_head_parse(const char *bytes, size_t n, size_t max_bytes,
                             struct gw_head_scan *scan, struct gw_head *head, size_t *n_used,
                             struct gw_error *refusal)
{
    enum baton_err err = find_end(bytes, n, max_bytes, scan, refusal);
    if (err)
        return err;
    struct reading r = {.refusal = refusal};
    struct gw_view rest = {bytes + scan->start, scan->seen - scan->start};
    err = read_request_line(&r, take_line(&rest));
    for (struct gw_view line = take_line(&rest); !err && line.n; line = take_line(&rest))
        err = read_header(&r, line);
    if (!err)
        err = check_framing(&r);
    if (err)
        return err;
    *head = r.head;
    *n_used = scan->seen;
    return BATON_OK;
}

static bool is_unreserved(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("-._~", c));
}

void gw_path_normalise(char *path)
{
    char *to = path;
    for (const char *from = path; *from;) {
        int c = 0;
        if (*from == '%')
            c = baton_http_hex_value(from[1]) * 16 + baton_http_hex_value(from[2]);
        if (is_unreserved(c)) {
            *to++ = (char)c;
            from += 3;
        } else if (*from == '/' && to > path && to[-1] == '/') {
            from++;
        } else {
            *to++ = *from++;
        }
    }
    to -= to > path + 1 && to[-1] == '/';
    *to = 0;
}
