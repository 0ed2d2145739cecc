#include "gateway/http/sse.h"

/* Returns the length of the line at data; *end_bytes is the length of its line end, 0 at the
 * end. */
static size_t line_length(const char *data, size_t n, size_t *end_bytes)
{
    size_t i = 0;
    while (i < n && data[i] != '\r' && data[i] != '\n')
        i++;
    *end_bytes = i == n ? 0 : 1;
    if (n - i >= 2 && data[i] == '\r' && data[i + 1] == '\n')
        *end_bytes = 2;
    return i;
}

void gw_sse_event(struct baton_buf *out, const char *event_or_null, const char *data, size_t n)
{
    if (!n)
        data = ""; /* data may be NULL when n is 0 */
    if (event_or_null)
        baton_buf_printf(out, "event: %s\n", event_or_null);
    for (size_t end_bytes = 1; end_bytes;) {
        size_t length = line_length(data, n, &end_bytes);
        baton_buf_puts(out, "data: ");
        baton_buf_append(out, data, length);
        baton_buf_putc(out, '\n');
        data += length + end_bytes;
        n -= length + end_bytes;
    }
    baton_buf_putc(out, '\n');
}

void gw_sse_comment(struct baton_buf *out, const char *text)
{
    baton_buf_printf(out, ": %s\n\n", text);
}
