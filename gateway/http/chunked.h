/* Decodes a chunked request body (RFC 9112 section 7.1), strictly and from pieces of any size.
 *
 *     body  = *(size [extension] CRLF bytes CRLF)  1*"0" [extension] CRLF  *(trailer CRLF)  CRLF
 *     size  = 1*8 hexadecimal digits      extension = ";" *field-char
 *
 *     SIZE --> EXTENSION --> SIZE_LF --> DATA --> DATA_CR --> DATA_LF --> SIZE ...
 *                               |
 *                               +--(size 0)--> TRAILER_START ... --> FINAL_LF --> DONE
 *
 * Extensions and trailers are checked and dropped; each kind may take 4 KiB a body.
 *
 * Ownership: the struct is embedded; decoded bytes go to the caller's buffer.
 * Threading: none; one owner at a time.
 * Errors:    AGAIN (not at the end yet), INVALID (malformed), LIMIT (larger than the buffer's
 *            maximum; decided from the chunk's size, before its bytes), NO_MEMORY. After an error
 *            other than AGAIN the decoder is not to be fed again.
 */
#ifndef BATON_GATEWAY_HTTP_CHUNKED_H
#define BATON_GATEWAY_HTTP_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

enum {
    GW_CHUNK_MAX_DIGITS = 8,
    GW_CHUNK_MAX_EXTENSION_BYTES = 4096,
    GW_CHUNK_MAX_TRAILER_BYTES = 4096
};

enum gw_chunked_state {
    GW_CHUNKED_SIZE,
    GW_CHUNKED_EXTENSION,
    GW_CHUNKED_SIZE_LF,
    GW_CHUNKED_DATA,
    GW_CHUNKED_DATA_CR,
    GW_CHUNKED_DATA_LF,
    GW_CHUNKED_TRAILER_START,
    GW_CHUNKED_TRAILER_NAME,
    GW_CHUNKED_TRAILER_VALUE,
    GW_CHUNKED_TRAILER_LF,
    GW_CHUNKED_FINAL_LF,
    GW_CHUNKED_DONE
};

struct gw_chunked {
    enum gw_chunked_state state;
    int n_digits;        /* of the size being read */
    uint32_t left_bytes; /* of the chunk being read */
    uint32_t extension_bytes, trailer_bytes;
};

void gw_chunked_init(struct gw_chunked *chunked);

/* Takes the n bytes that follow those of the last call and appends what they decode to to out. OK:
 * the body ended and *n_used bytes belonged to it. AGAIN: all n were taken (*n_used is n). */
enum baton_err gw_chunked_feed(struct gw_chunked *chunked, const char *bytes, size_t n,
                               size_t *n_used, struct baton_buf *out) BATON_MUST_CHECK;

#endif
