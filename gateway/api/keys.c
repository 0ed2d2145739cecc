#include "gateway/api/keys.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/base/file.h"
#include "gateway/http/syntax.h"

enum { FILE_MAX_BYTES = 1 << 20 };

struct digest {
    uint8_t bytes[BATON_SHA256_BYTES];
};

struct gw_keys {
    size_t n;
    struct digest digests[GW_KEYS_MAX];
};

/* NULL, or what is wrong with the key. */
static const char *problem_of(struct gw_view key)
{
    if (key.n < GW_KEY_MIN_BYTES || key.n > GW_KEY_MAX_BYTES)
        return "a key has 8 to 256 characters";
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= ' ' || key.p[i] > '~')
            return "a key holds printable ASCII characters only, and no spaces";
    return NULL;
}

static struct gw_view trim_end(struct gw_view line)
{
    while (line.n && strchr(" \t\r\v\f", line.p[line.n - 1]) && line.p[line.n - 1])
        line.n--;
    return line;
}

static enum baton_err add_line(struct gw_keys *keys, const char *path, size_t number,
                               struct gw_view line, struct baton_why *why)
{
    if (!line.n || line.p[0] == '#')
        return BATON_OK;
    const char *problem = problem_of(line);
    if (problem)
        return baton_fail(why, BATON_INVALID, "%s: line %zu: %s", path, number, problem);
    if (keys->n == GW_KEYS_MAX)
        return baton_fail(why, BATON_LIMIT, "%s: line %zu: more than %d keys", path, number,
                          GW_KEYS_MAX);
    enum baton_err err = baton_sha256_of(line.p, line.n, keys->digests[keys->n].bytes);
    if (err)
        return baton_fail(why, err, "%s: out of memory", path);
    keys->n++;
    return BATON_OK;
}

static enum baton_err add_lines(struct gw_keys *keys, const char *path, struct gw_view text,
                                struct baton_why *why)
{
    for (size_t number = 1; text.n; number++) {
        struct gw_view line = trim_end(gw_view_cut(&text, '\n'));
        enum baton_err err = add_line(keys, path, number, line, why);
        if (err)
            return err;
    }
    if (!keys->n)
        return baton_fail(why, BATON_INVALID, "%s: holds no key", path);
    return BATON_OK;
}

enum baton_err gw_keys_parse(const char *path, const char *text, size_t n, struct gw_keys **keys,
                             struct baton_why *why)
{
    struct gw_keys *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    enum baton_err err = add_lines(made, path, (struct gw_view){text, n}, why);
    if (err)
        gw_keys_free(made);
    else
        *keys = made;
    return err;
}

enum baton_err gw_keys_read(const char *path, struct gw_keys **keys, struct baton_why *why)
{
    struct baton_buf text;
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err)
        err = gw_keys_parse(path, baton_buf_text(&text), text.len, keys, why);
    baton_buf_fini(&text);
    return err;
}

void gw_keys_free(struct gw_keys *keys)
{
    free(keys);
}

size_t gw_keys_n(const struct gw_keys *keys)
{
    return keys->n;
}

bool gw_keys_admit(const struct gw_keys *keys, const char *authorization)
{
    struct gw_view key = {authorization, strlen(authorization)};
    struct gw_view scheme = gw_view_cut(&key, ' ');
    struct digest presented;
    bool known = false;
    key = gw_view_trim(key);
    if (!gw_view_equals_nocase(scheme, "Bearer") || problem_of(key) ||
        baton_sha256_of(key.p, key.n, presented.bytes))
        return false;
    for (size_t i = 0; i < keys->n; i++)
        known |= baton_equal_constant_time(keys->digests[i].bytes, presented.bytes,
                                           sizeof presented.bytes);
    return known;
}
