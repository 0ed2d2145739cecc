/* Views into borrowed bytes, and the character classes of HTTP that they are made of. A view lives
 * as long as the bytes it points into.
 *
 * Pure.
 */
#ifndef BATON_GATEWAY_HTTP_SYNTAX_H
#define BATON_GATEWAY_HTTP_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>

#include "common/http/chars.h"

struct gw_view {
    const char *p;
    size_t n;
};

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
