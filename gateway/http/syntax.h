/* Views of borrowed bytes, and HTTP's character classes on them. A view is valid as long as the
 * bytes it points to.
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

/* True for one or more tchars. */
bool gw_view_is_token(struct gw_view view);
bool gw_view_equals(struct gw_view view, const char *text);
/* Ignores ASCII case. */
bool gw_view_equals_nocase(struct gw_view view, const char *text);
/* Removes the spaces and tabs at both ends. */
struct gw_view gw_view_trim(struct gw_view view);
/* Cuts the view at the first `at`: returns the part before it and leaves the part after it in *view
 * (the whole view, and an empty rest, when it does not occur). */
struct gw_view gw_view_cut(struct gw_view *view, char at);

#endif
