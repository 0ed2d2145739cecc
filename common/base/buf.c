#include "common/base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void baton_buf_init(struct baton_buf *buf, size_t max_bytes)
{
    *buf = (struct baton_buf){.max_bytes = max_bytes};
}

void baton_buf_fini(struct baton_buf *buf)
{
    free(buf->data);
    *buf = (struct baton_buf){0};
}

void baton_buf_reset(struct baton_buf *buf)
{
    buf->len = 0;
    buf->err = BATON_OK;
    if (buf->data)
        buf->data[0] = 0;
}

/* Makes space for n more bytes and the terminating zero. */
static int reserve(struct baton_buf *buf, size_t n)
{
    if (buf->err)
        return 0;
    /* len <= max_bytes, so the difference cannot overflow as a sum could. */
    if (n > buf->max_bytes - buf->len) {
        buf->err = BATON_LIMIT;
        return 0;
    }
    size_t need = buf->len + n + 1;
    if (need <= buf->cap)
        return 1;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap *= 2;
    if (cap > buf->max_bytes + 1)
        cap = buf->max_bytes + 1;
    char *data = realloc(buf->data, cap);
    if (!data) {
        buf->err = BATON_NO_MEMORY;
        return 0;
    }
    buf->data = data;
    buf->cap = cap;
    return 1;
}

void baton_buf_append(struct baton_buf *buf, const void *bytes, size_t n)
{
    if (!n || !reserve(buf, n))
        return;
    memcpy(buf->data + buf->len, bytes, n);
    buf->len += n;
    buf->data[buf->len] = 0;
}

void baton_buf_puts(struct baton_buf *buf, const char *text)
{
    baton_buf_append(buf, text, strlen(text));
}

void baton_buf_putc(struct baton_buf *buf, char c)
{
    baton_buf_append(buf, &c, 1);
}

void baton_buf_printf(struct baton_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args); /* only measures */
    if (n > 0 && reserve(buf, (size_t)n)) {
        (void)vsnprintf(buf->data + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
    va_end(args);
}

void baton_buf_consume(struct baton_buf *buf, size_t n)
{
    if (!n)
        return;
    buf->len -= n;
    memmove(buf->data, buf->data + n, buf->len + 1); /* with the terminating zero */
}

char *baton_buf_take(struct baton_buf *buf)
{
    char *data = buf->data;
    size_t max_bytes = buf->max_bytes;
    baton_buf_init(buf, max_bytes);
    return data;
}

const char *baton_buf_text(const struct baton_buf *buf)
{
    return buf->data ? buf->data : "";
}
