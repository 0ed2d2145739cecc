/* Encodes a response's body with gzip, for clients that accept it.
 *
 * Ownership: the caller's buffers.
 * Threading: pure functions; encoding takes ten microseconds for each kilobyte.
 * Errors:    stick in the output buffer.
 */
#ifndef BATON_GATEWAY_HTTP_ENCODE_H
#define BATON_GATEWAY_HTTP_ENCODE_H

#include <stdbool.h>

#include "common/base/buf.h"

/* Whether the value of Accept-Encoding, "" without one, names gzip, and not with a weight of 0
 * (RFC 9110, section 12.5.3). "*" is not taken for it: a program may have sent that unread. */
bool gw_accepts_gzip(const char *accept_encoding);

/* Appends n bytes as one member of gzip. */
void gw_gzip(const void *bytes, size_t n, struct baton_buf *out);

#endif
