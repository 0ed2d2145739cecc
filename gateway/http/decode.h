/* Decodes the body of a request that has a Content-Encoding: gzip, deflate or zstd.
 *
 * Ownership: the body is the caller's buffer; what is decoded replaces it.
 * Threading: pure functions; decoding takes a millisecond for each megabyte that comes out.
 * Errors:    of gw_decode.
 */
#ifndef BATON_GATEWAY_HTTP_DECODE_H
#define BATON_GATEWAY_HTTP_DECODE_H

#include "common/base/buf.h"

enum gw_coding { GW_CODING_NONE, GW_CODING_GZIP, GW_CODING_DEFLATE, GW_CODING_ZSTD, GW_N_CODINGS };

/* The value of Content-Encoding that names all codings, for messages. */
#define GW_CODINGS "gzip, deflate, zstd or identity"

/* Reads the header's value; "" is NONE. Returns GW_N_CODINGS for any other coding, and for several
 * of them. */
enum gw_coding gw_coding_of(const char *content_encoding);

/* Decodes the body in place, to at most max_bytes. LIMIT: it has more. INVALID: it is malformed or
 * not complete. NO_MEMORY. After an error the body is empty. */
enum baton_err gw_decode(enum gw_coding coding, struct baton_buf *body,
                         size_t max_bytes) BATON_MUST_CHECK;

#endif
