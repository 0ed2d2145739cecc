/* A key file is either refused with a reason that names the file, or each of its keys, and nothing
 * longer or shorter, opens the door. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#include "gateway/api/access/keys.h"

static int is_admitted(const struct gw_keys *keys, const char *key, size_t n, const char *more)
{
    char header[GW_KEY_MAX_BYTES + 16];
    check(n <= GW_KEY_MAX_BYTES);
    (void)snprintf(header, sizeof header, "Bearer %.*s%s", (int)n, key, more);
    return gw_keys_find(keys, header) != NULL;
}

/* The same lines by simpler means; returns how many are keys. */
static size_t check_lines(const struct gw_keys *keys, char *text)
{
    size_t n_keys = 0;
    for (char *line = text, *end; line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = 0;
        size_t n = strlen(line);
        while (n && strchr(" \t\r\v\f", line[n - 1]))
            n--;
        if (!n || *line == '#')
            continue;
        n_keys++;
        n = strcspn(line, " ") < n ? strcspn(line, " ") : n;
        check(is_admitted(keys, line, n, ""));
        check(!is_admitted(keys, line, n, " x"));
        check(!is_admitted(keys, line, GW_KEY_MIN_BYTES - 1, ""));
    }
    return n_keys;
}

FUZZ(data, size)
{
    struct gw_keys *keys = NULL;
    struct baton_why why = {""};
    if (gw_keys_parse("file", (const char *)data, size, &keys, &why)) {
        check(!keys && !strncmp(why.text, "file: ", 6));
        return;
    }
    char *text = fuzz_text(data, size);
    check(strlen(text) == size || memchr(data, '#', size) != NULL);
    if (strlen(text) == size)
        check(check_lines(keys, text) == gw_keys_n(keys));
    check(gw_keys_n(keys) > 0 && gw_keys_n(keys) <= GW_KEYS_MAX);
    free(text);
    gw_keys_free(keys);
}
