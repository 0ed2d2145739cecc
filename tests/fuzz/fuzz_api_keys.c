/* A key file is either refused with a reason that names the file, or each of its keys, and nothing
 * longer or shorter, opens the door, and is an operator's exactly if its line is marked. */
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

/* Whether a word of the line after its key is "admin". */
static bool is_marked(const char *line, size_t n)
{
    char words[1 << 12];
    if (n + 3 > sizeof words)
        return false;
    (void)snprintf(words, sizeof words, "%.*s ", (int)n, line);
    for (char *c = words; *c; c++)
        if (strchr("\t\r\v\f", *c))
            *c = ' ';
    return strstr(words, " admin ");
}

/* Whether a line between begin and line has the same key. Lines end with zeros. */
static bool is_repeated(const char *begin, const char *line, size_t n_key)
{
    for (; begin < line; begin += strlen(begin) + 1)
        if (!strncmp(begin, line, n_key) && strchr(" \t\r\v\f", begin[n_key]))
            return true;
    return false;
}

static void check_mark(const struct gw_keys *keys, const char *line, size_t n_key, size_t n)
{
    char header[GW_KEY_MAX_BYTES + 16];
    (void)snprintf(header, sizeof header, "Bearer %.*s", (int)n_key, line);
    const struct gw_key *key = gw_keys_find(keys, header);
    check(n > 4000 || gw_key_is_admin(key) == is_marked(line, n));
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
        size_t n_line = n;
        n = strcspn(line, " ") < n ? strcspn(line, " ") : n;
        check(is_admitted(keys, line, n, ""));
        if (!is_repeated(text, line, n)) /* the first line of a key decides */
            check_mark(keys, line, n, n_line);
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
