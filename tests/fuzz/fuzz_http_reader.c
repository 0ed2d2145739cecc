/* A head read as it trickles in is the head read at once: no prefix of it is accepted, none is
 * refused that the whole is not, and every view lies inside the bytes. */
#include "tests/fuzz/fuzz.h"

#include "gateway/http/reader.h"

enum { MAX_HEAD_BYTES = 1024 };

static void check_view(struct gw_view view, const char *bytes, size_t n)
{
    for (size_t i = 0; i < view.n; i++)
        check(baton_http_is_field_char(view.p[i]));
    check((view.n == 1 && view.p[0] == '/') || (view.p >= bytes && view.p + view.n <= bytes + n));
}

static void check_head(const struct gw_head *head, const char *bytes, size_t n)
{
    check(n <= MAX_HEAD_BYTES && n >= 4 && !memcmp(bytes + n - 4, "\r\n\r\n", 4));
    check_view(head->path, bytes, n);
    check_view(head->query, bytes, n);
    check(gw_view_is_token(head->method) && head->path.n > 0);
    check(!(head->chunked && (head->content_length || head->minor == 0)));
    for (size_t i = 0; i < head->n_headers; i++) {
        check(gw_view_is_token(head->headers[i].name));
        check_view(head->headers[i].value, bytes, n);
    }
}

FUZZ(data, size)
{
    const char *bytes = (const char *)data;
    struct gw_head_scan at_once = {0}, trickling = {0};
    struct gw_head head, same;
    struct gw_error refusal = {0}, same_refusal = {0};
    size_t n_used = 0, n_same = 0;
    enum baton_err err =
        gw_head_parse(bytes, size, MAX_HEAD_BYTES, &at_once, &head, &n_used, &refusal);
    enum baton_err err_same = BATON_AGAIN;
    for (size_t n = 0; n <= size && err_same == BATON_AGAIN; n++)
        err_same =
            gw_head_parse(bytes, n, MAX_HEAD_BYTES, &trickling, &same, &n_same, &same_refusal);
    check(err == err_same && n_used == n_same && refusal.status == same_refusal.status &&
          refusal.message == same_refusal.message);
    if (!err) {
        check_head(&head, bytes, n_used);
        check(head.path.p == same.path.p && head.n_headers == same.n_headers &&
              head.content_length == same.content_length && head.keep_alive == same.keep_alive);
    }
}
