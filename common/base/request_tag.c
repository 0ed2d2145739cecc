#include "common/base/request_tag.h"

#include <stdio.h>
#include <string.h>

bool baton_is_client_id(const char *text)
{
    size_t n = strnlen(text, BATON_CLIENT_ID_BYTES + 1);
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\')
            return false;
    return n && n <= BATON_CLIENT_ID_BYTES;
}

bool baton_is_trace_id(const char *text)
{
    return strnlen(text, BATON_TRACE_ID_BYTES + 1) == BATON_TRACE_ID_BYTES &&
           strspn(text, "0123456789abcdef") == BATON_TRACE_ID_BYTES &&
           strspn(text, "0") < BATON_TRACE_ID_BYTES;
}

void baton_request_tag_set(struct baton_request_tag *tag, const char *id, const char *trace_id)
{
    bool has_id = id && baton_is_client_id(id), has_trace = trace_id && baton_is_trace_id(trace_id);
    (void)snprintf(tag->id, sizeof tag->id, "%s", has_id ? id : "");
    (void)snprintf(tag->trace_id, sizeof tag->trace_id, "%s", has_trace ? trace_id : "");
}
