/* Decodes a chunked body (RFC 9112 section 7.1), strictly and from pieces of any size.
 *
 *     body  = *(size [extension] CRLF bytes CRLF)  1*"0" [extension] CRLF  *(trailer CRLF)  CRLF
 *     size  = 1*8 hexadecimal digits      extension = ";" *field-char
 *
 *     SIZE --> EXTENSION --> SIZE_LF --> DATA --> DATA_CR --> DATA_LF --> SIZE ...
 *                               |
 *                               +--(size 0)--> TRAILER_START ... --> FINAL_LF --> DONE
 *
 * Extensions and trailers are checked and dropped; each kind may have 4 KiB in a body.
 *
 * Ownership: the struct is embedded; decoded bytes go to the caller's buffer.
 * Threading: none; one owner at a time.
 * Errors:    AGAIN (not at the end yet), INVALID (malformed), LIMIT (larger than the buffer's
 *            maximum; decided from the chunk's size, before its bytes), NO_MEMORY. After an error
 *            other than AGAIN the decoder must not be fed again.
 */
#ifndef BATON_COMMON_HTTP_CHUNKED_H
#define BATON_COMMON_HTTP_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/error.h"

enum {
    BATON_CHUNK_MAX_DIGITS = 8,
    BATON_CHUNK_MAX_EXTENSION_BYTES = 4096,
    BATON_CHUNK_MAX_TRAILER_BYTES = 4096
};

enum baton_chunked_state {
    BATON_CHUNKED_SIZE,
    BATON_CHUNKED_EXTENSION,
    BATON_CHUNKED_SIZE_LF,
    BATON_CHUNKED_DATA,
    BATON_CHUNKED_DATA_CR,
    BATON_CHUNKED_DATA_LF,
    BATON_CHUNKED_TRAILER_START,
    BATON_CHUNKED_TRAILER_NAME,
    BATON_CHUNKED_TRAILER_VALUE,
    BATON_CHUNKED_TRAILER_LF,
    BATON_CHUNKED_FINAL_LF,
    BATON_CHUNKED_DONE
};

struct baton_chunked {
    enum baton_chunked_state state;
    int n_digits;        /* of the current size */
    uint32_t left_bytes; /* of the current chunk */
    uint32_t extension_bytes, trailer_bytes;
};

void baton_chunked_init(struct baton_chunked *chunked);

/* Decodes the n bytes after those of the last call and appends the result to out. OK: the body
 * ended and *n_used bytes belonged to it. AGAIN: all n were used (*n_used is n). */
enum baton_err baton_chunked_feed(struct baton_chunked *chunked, const char *bytes, size_t n,
                                  size_t *n_used, struct baton_buf *out) BATON_MUST_CHECK;

#endif
