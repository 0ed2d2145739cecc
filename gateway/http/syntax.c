#include "gateway/http/syntax.h"

#include <string.h>
#include <strings.h>

bool gw_view_is_token(struct gw_view view)
{
    for (size_t i = 0; i < view.n; i++)
        if (!baton_http_is_token_char(view.p[i]))
            return false;
    return view.n > 0;
}

bool gw_view_equals(struct gw_view view, const char *text)
{
    return view.n == strlen(text) && !memcmp(view.p, text, view.n);
}

bool gw_view_equals_nocase(struct gw_view view, const char *text)
{
    return view.n == strlen(text) && !strncasecmp(view.p, text, view.n);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

struct gw_view gw_view_trim(struct gw_view view)
{
    while (view.n && is_space(view.p[0])) {
        view.p++;
        view.n--;
    }
    while (view.n && is_space(view.p[view.n - 1]))
        view.n--;
    return view;
}

struct gw_view gw_view_cut(struct gw_view *view, char at)
{
    struct gw_view before = *view;
    const char *found = view->n ? memchr(view->p, at, view->n) : NULL;
    if (found)
        before.n = (size_t)(found - view->p);
    size_t skip = found ? before.n + 1 : before.n;
    view->p += skip;
    view->n -= skip;
    return before;
}
