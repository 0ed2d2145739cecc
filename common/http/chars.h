/* The character classes of HTTP (RFC 9110 section 5).
 *
 * Ownership: nothing.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_COMMON_HTTP_CHARS_H
#define BATON_COMMON_HTTP_CHARS_H

#include <stdbool.h>

/* True for tchar, the characters of methods and header names. */
bool baton_http_is_token_char(char c);
/* True for characters of a header's value: HTAB, SP, VCHAR and bytes above 0x7f; no control
 * characters. */
bool baton_http_is_field_char(char c);
/* Returns 0..15, or -1 when c is not a hexadecimal digit. */
int baton_http_hex_value(char c);

#endif
