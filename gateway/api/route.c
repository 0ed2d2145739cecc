#include "gateway/api/route.h"

#include <string.h>

bool gw_route_is_below(const char *path, const char *top)
{
    size_t n = strlen(top);
    return !strncmp(path, top, n) && (!path[n] || path[n] == '/');
}

bool gw_route_takes_body(const struct gw_route *route)
{
    return !strcmp(route->method, "POST") && !(route->answers & GW_TAKES_NO_BODY);
}
