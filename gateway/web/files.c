#include "gateway/web/files.h"

#include <string.h>

const struct gw_web_file *gw_web_find(const char *name)
{
    for (size_t i = 0; i < gw_web_n_files; i++)
        if (!strcmp(gw_web_files[i].name, name))
            return &gw_web_files[i];
    return NULL;
}

bool gw_web_etag_matches(const char *if_none_match, const char *etag)
{
    static const char between[] = " \t,";
    const char *at = if_none_match + strspn(if_none_match, between);
    size_t n_etag = strlen(etag);
    if (at[0] == '*' && !at[1])
        return true;
    while (*at) {
        if (at[0] == 'W' && at[1] == '/')
            at += 2;
        const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
        if (!end)
            return false;
        size_t n = (size_t)(end - at) + 1;
        if (n == n_etag && !memcmp(at, etag, n))
            return true;
        at = end + 1 + strspn(end + 1, between);
    }
    return false;
}
