#include "common/http/chunked.h"

#include "common/http/chars.h"

void baton_chunked_init(struct baton_chunked *chunked)
{
    *chunked = (struct baton_chunked){.state = BATON_CHUNKED_SIZE};
}

static enum baton_err enter(struct baton_chunked *chunked, enum baton_chunked_state state)
{
    chunked->state = state;
    return BATON_AGAIN;
}

static enum baton_err read_size(struct baton_chunked *chunked, char c)
{
    int digit = baton_http_hex_value(c);
    if (digit >= 0) {
        if (chunked->n_digits++ == BATON_CHUNK_MAX_DIGITS)
            return BATON_INVALID;
        chunked->left_bytes = chunked->left_bytes << 4 | (uint32_t)digit;
        return BATON_AGAIN;
    }
    if (!chunked->n_digits)
        return BATON_INVALID;
    if (c == '\r')
        return enter(chunked, BATON_CHUNKED_SIZE_LF);
    return c == ';' ? enter(chunked, BATON_CHUNKED_EXTENSION) : BATON_INVALID;
}

static enum baton_err read_extension(struct baton_chunked *chunked, char c)
{
    if (c == '\r')
        return enter(chunked, BATON_CHUNKED_SIZE_LF);
    if (!baton_http_is_field_char(c) ||
        ++chunked->extension_bytes > BATON_CHUNK_MAX_EXTENSION_BYTES)
        return BATON_INVALID;
    return BATON_AGAIN;
}

static enum baton_err read_size_lf(struct baton_chunked *chunked, char c,
                                   const struct baton_buf *out)
{
    if (c != '\n')
        return BATON_INVALID;
    /* Refused by its size, before any byte of the chunk is stored. */
    if (chunked->left_bytes > out->max_bytes - out->len)
        return BATON_LIMIT;
    return enter(chunked, chunked->left_bytes ? BATON_CHUNKED_DATA : BATON_CHUNKED_TRAILER_START);
}

static enum baton_err read_data_lf(struct baton_chunked *chunked, char c)
{
    if (c != '\n')
        return BATON_INVALID;
    chunked->n_digits = 0;
    return enter(chunked, BATON_CHUNKED_SIZE);
}

static enum baton_err read_trailer_start(struct baton_chunked *chunked, char c)
{
    if (c == '\r')
        return enter(chunked, BATON_CHUNKED_FINAL_LF);
    return baton_http_is_token_char(c) ? enter(chunked, BATON_CHUNKED_TRAILER_NAME) : BATON_INVALID;
}

static enum baton_err read_trailer(struct baton_chunked *chunked, char c)
{
    bool in_name = chunked->state == BATON_CHUNKED_TRAILER_NAME;
    if (++chunked->trailer_bytes > BATON_CHUNK_MAX_TRAILER_BYTES)
        return BATON_INVALID;
    if (in_name && c == ':')
        return enter(chunked, BATON_CHUNKED_TRAILER_VALUE);
    if (!in_name && c == '\r')
        return enter(chunked, BATON_CHUNKED_TRAILER_LF);
    return (in_name ? baton_http_is_token_char(c) : baton_http_is_field_char(c)) ? BATON_AGAIN
                                                                                 : BATON_INVALID;
}

/* Reads one byte of anything but a chunk's data. */
static enum baton_err read_byte(struct baton_chunked *chunked, char c, const struct baton_buf *out)
{
    switch (chunked->state) {
    case BATON_CHUNKED_SIZE:
        return read_size(chunked, c);
    case BATON_CHUNKED_EXTENSION:
        return read_extension(chunked, c);
    case BATON_CHUNKED_SIZE_LF:
        return read_size_lf(chunked, c, out);
    case BATON_CHUNKED_DATA_CR:
        return c == '\r' ? enter(chunked, BATON_CHUNKED_DATA_LF) : BATON_INVALID;
    case BATON_CHUNKED_DATA_LF:
        return read_data_lf(chunked, c);
    case BATON_CHUNKED_TRAILER_START:
        return read_trailer_start(chunked, c);
    case BATON_CHUNKED_TRAILER_NAME:
    case BATON_CHUNKED_TRAILER_VALUE:
        return read_trailer(chunked, c);
    case BATON_CHUNKED_TRAILER_LF:
        return c == '\n' ? enter(chunked, BATON_CHUNKED_TRAILER_START) : BATON_INVALID;
    case BATON_CHUNKED_FINAL_LF:
        chunked->state = BATON_CHUNKED_DONE;
        return c == '\n' ? BATON_OK : BATON_INVALID;
    case BATON_CHUNKED_DATA:
    case BATON_CHUNKED_DONE:
        break;
    }
    return BATON_INTERNAL;
}

/* Copies the part of the chunk's data that is present, and returns its number of bytes. */
static size_t copy_data(struct baton_chunked *chunked, const char *bytes, size_t n,
                        struct baton_buf *out)
{
    if (n > chunked->left_bytes)
        n = chunked->left_bytes;
    baton_buf_append(out, bytes, n);
    chunked->left_bytes -= (uint32_t)n;
    if (!chunked->left_bytes)
        chunked->state = BATON_CHUNKED_DATA_CR;
    return n;
}

enum baton_err baton_chunked_feed(struct baton_chunked *chunked, const char *bytes, size_t n,
                                  size_t *n_used, struct baton_buf *out)
{
    enum baton_err err = BATON_AGAIN;
    size_t used = 0;
    while (used < n && err == BATON_AGAIN) {
        if (chunked->state == BATON_CHUNKED_DATA) {
            used += copy_data(chunked, bytes + used, n - used, out);
            if (baton_buf_err(out))
                err = baton_buf_err(out);
        } else {
            err = read_byte(chunked, bytes[used++], out);
        }
    }
    if (err == BATON_OK || err == BATON_AGAIN)
        *n_used = used;
    return err;
}
