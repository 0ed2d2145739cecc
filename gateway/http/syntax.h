/* The character classes of HTTP and views into bytes that somebody else owns (RFC 9110 section 5).
 *
 * Ownership: a view borrows; it lives as long as the bytes it points into.
 * Threading: pure functions.
 * Errors:    none.
 */
#ifndef BATON_GATEWAY_HTTP_SYNTAX_H
#define BATON_GATEWAY_HTTP_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

struct gw_view {
    const char *p;
    size_t n;
};

/* tchar: what methods and header names are made of. */
bool gw_is_token_char(char c);
/* What a header's value may hold: HTAB, SP, VCHAR and bytes above 0x7f; no control characters. */
bool gw_is_field_char(char c);
/* 0..15, or -1 when c is no hexadecimal digit. */
int gw_hex_value(char c);

/* One or more tchars. */
bool gw_view_is_token(struct gw_view view);
bool gw_view_equals(struct gw_view view, const char *text);
/* Without regard to ASCII case. */
bool gw_view_equals_nocase(struct gw_view view, const char *text);
/* Without the spaces and tabs at both ends. */
struct gw_view gw_view_trim(struct gw_view view);
/* Cuts the view at the first `at`: returns what is before it and leaves in *view what is after it
 * (the whole view, and an empty rest, when it does not occur). */
struct gw_view gw_view_cut(struct gw_view *view, char at);

#endif
