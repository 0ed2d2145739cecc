#include "gateway/api/access/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/base/os/file.h"
#include "gateway/http/syntax.h"

enum { FILE_MAX_BYTES = 1 << 20, MAX_DIGITS = 9 };

struct digest {
    uint8_t bytes[BATON_SHA256_BYTES];
};

/* The bounds that a line may name. */
enum bound {
    BOUND_MAX,
#define X(name) BOUND_##name,
    GW_LIMITS(X)
#undef X
        N_BOUNDS
};

struct bounds {
    bool has[N_BOUNDS];
    size_t n[N_BOUNDS];
};

struct gw_key {
    struct digest digest;
    struct bounds bounds;
    char name[GW_KEY_NAME_BYTES];
    bool is_admin;
    bool has_priority;
    enum baton_priority priority;
    struct gw_account *account;
    size_t n_open;
    size_t n_tables; /* tables that list it: during a reload two */
};

struct gw_keys {
    size_t n;
    struct gw_key *items[GW_KEYS_MAX];
};

static void free_unused(struct gw_key *key)
{
    if (key->n_tables || key->n_open)
        return;
    gw_account_put(key->account);
    free(key);
}

/* NULL, or the error. */
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

/* "name=123"; false: it is not. */
static bool read_bound(struct gw_view text, struct bounds *bounds)
{
    static const char *const names[N_BOUNDS] = {[BOUND_MAX] = "max",
#define X(name) [BOUND_##name] = #name "_per_s",
                                                GW_LIMITS(X)
#undef X
    };
    struct gw_view number = text, name = gw_view_cut(&number, '=');
    int bound = 0;
    while (bound < N_BOUNDS && !gw_view_equals(name, names[bound]))
        bound++;
    if (bound == N_BOUNDS || bounds->has[bound] || !number.n || number.n > MAX_DIGITS)
        return false;
    bounds->has[bound] = true;
    for (size_t i = 0; i < number.n; i++) {
        if (number.p[i] < '0' || number.p[i] > '9')
            return false;
        bounds->n[bound] = bounds->n[bound] * 10 + (size_t)(number.p[i] - '0');
    }
    return true;
}

/* "name=TEXT"; false: it is not, or the key has a name already. */
static bool read_name(struct gw_view text, char name[GW_KEY_NAME_BYTES])
{
    static const char chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    struct gw_view value = text;
    if (!gw_view_equals(gw_view_cut(&value, '='), "name") || *name || !value.n ||
        value.n >= GW_KEY_NAME_BYTES)
        return false;
    for (size_t i = 0; i < value.n; i++)
        if (!value.p[i] || !strchr(chars, value.p[i]))
            return false;
    memcpy(name, value.p, value.n);
    name[value.n] = 0;
    return true;
}

/* "priority=CLASS"; false: it is not, or the key has a class already. */
static bool read_priority(struct gw_view text, struct gw_key *key)
{
    struct gw_view value = text;
    if (!gw_view_equals(gw_view_cut(&value, '='), "priority") || key->has_priority)
        return false;
    for (int i = 0; i < BATON_N_PRIORITIES; i++)
        if (gw_view_equals(value, baton_priority_name((enum baton_priority)i))) {
            key->has_priority = true;
            key->priority = (enum baton_priority)i;
        }
    return key->has_priority;
}

/* "admin"; false: it is not, or the key has the mark already. */
static bool read_admin(struct gw_view text, struct gw_key *key)
{
    if (!gw_view_equals(text, "admin") || key->is_admin)
        return false;
    key->is_admin = true;
    return true;
}

/* Reads the words after the key on its line. Returns NULL, or the error. */
static const char *read_rest(struct gw_view rest, struct gw_key *key)
{
    for (rest = gw_view_trim(rest); rest.n; rest = gw_view_trim(rest)) {
        struct gw_view word = gw_view_cut(&rest, ' ');
        if (!read_bound(word, &key->bounds) && !read_name(word, key->name) &&
            !read_priority(word, key) && !read_admin(word, key))
            return "after a key there may only be name=TEXT of at most 64 letters, digits and "
                   ". _ -, admin, priority=interactive, priority=batch, max=N, requests_per_s=N, "
                   "tokens_per_s=N and bytes_per_s=N, each once, "
                   "with N of at most 9 digits";
    }
    return NULL;
}

static enum baton_err add_line(struct gw_keys *keys, const char *path, size_t number,
                               struct gw_view line, struct baton_why *why)
{
    struct gw_key read = {.n_tables = 1};
    if (!line.n || line.p[0] == '#')
        return BATON_OK;
    struct gw_view text = gw_view_cut(&line, ' ');
    const char *problem = problem_of(text);
    if (!problem)
        problem = read_rest(line, &read);
    if (problem)
        return baton_fail(why, BATON_INVALID, "%s: line %zu: %s", path, number, problem);
    if (!*read.name)
        (void)snprintf(read.name, sizeof read.name, "line-%zu", number);
    if (keys->n == GW_KEYS_MAX)
        return baton_fail(why, BATON_LIMIT, "%s: line %zu: more than %d keys", path, number,
                          GW_KEYS_MAX);
    struct gw_key *key = malloc(sizeof *key);
    read.account = gw_account_create(GW_OF_KEY, &(struct gw_limits){0});
    if (!key || !read.account || baton_sha256_of(text.p, text.n, read.digest.bytes)) {
        gw_account_put(read.account);
        free(key);
        return baton_fail(why, BATON_NO_MEMORY, "%s: out of memory", path);
    }
    *key = read;
    keys->items[keys->n++] = key;
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
    for (size_t i = 0; keys && i < keys->n; i++) {
        keys->items[i]->n_tables--;
        free_unused(keys->items[i]);
    }
    free(keys);
}

size_t gw_keys_n(const struct gw_keys *keys)
{
    return keys->n;
}

static struct gw_key *find(const struct gw_keys *keys, const struct digest *digest)
{
    struct gw_key *found = NULL;
    /* Does not stop at a match, because the duration would then reveal the key's place. */
    for (size_t i = 0; i < keys->n; i++) {
        struct gw_key *key = keys->items[i];
        bool same =
            baton_equal_constant_time(key->digest.bytes, digest->bytes, sizeof digest->bytes);
        found = same && !found ? key : found;
    }
    return found;
}

void gw_keys_limit(struct gw_keys *keys, const struct gw_limits *otherwise)
{
    for (size_t i = 0; i < keys->n; i++) {
        const struct bounds *bounds = &keys->items[i]->bounds;
        double *per_s = keys->items[i]->account->limits.per_s;
#define X(name)                                                                                    \
    per_s[GW_LIMIT_##name] = bounds->has[BOUND_##name] ? (double)bounds->n[BOUND_##name]           \
                                                       : otherwise->per_s[GW_LIMIT_##name];
        GW_LIMITS(X)
#undef X
    }
}

void gw_keys_inherit(struct gw_keys *keys, const struct gw_keys *old)
{
    for (size_t i = 0; i < keys->n; i++) {
        struct gw_key *fresh = keys->items[i];
        struct gw_key *known = find(old, &fresh->digest);
        if (!known)
            continue;
        known->bounds = fresh->bounds;
        known->priority = fresh->priority;
        known->is_admin = fresh->is_admin;
        memcpy(known->name, fresh->name, sizeof known->name);
        known->n_tables++;
        keys->items[i] = known;
        gw_account_put(fresh->account);
        free(fresh);
    }
}

static struct gw_key *find_key(const struct gw_keys *keys, struct gw_view key)
{
    struct digest presented;
    key = gw_view_trim(key);
    if (problem_of(key) || baton_sha256_of(key.p, key.n, presented.bytes))
        return NULL;
    return find(keys, &presented);
}

struct gw_key *gw_keys_find(const struct gw_keys *keys, const char *authorization)
{
    struct gw_view key = {authorization, strlen(authorization)};
    struct gw_view scheme = gw_view_cut(&key, ' ');
    return gw_view_equals_nocase(scheme, "Bearer") ? find_key(keys, key) : NULL;
}

struct gw_key *gw_keys_find_bare(const struct gw_keys *keys, const char *value)
{
    return find_key(keys, (struct gw_view){value, strlen(value)});
}

struct gw_key *gw_keys_find_digest(const struct gw_keys *keys, const uint8_t *bytes)
{
    struct digest digest;
    memcpy(digest.bytes, bytes, sizeof digest.bytes);
    return keys ? find(keys, &digest) : NULL;
}

const char *gw_key_name(const struct gw_key *key)
{
    return key->name;
}

const uint8_t *gw_key_digest(const struct gw_key *key)
{
    return key->digest.bytes;
}

size_t gw_key_max(const struct gw_key *key, size_t otherwise)
{
    return key->bounds.has[BOUND_MAX] ? key->bounds.n[BOUND_MAX] : otherwise;
}

enum baton_priority gw_key_priority(const struct gw_key *key)
{
    return key ? key->priority : BATON_PRIORITY_INTERACTIVE;
}

bool gw_key_is_admin(const struct gw_key *key)
{
    return key->is_admin;
}

struct gw_account *gw_key_account(const struct gw_key *key)
{
    return key->account;
}

size_t gw_key_n_open(const struct gw_key *key)
{
    return key->n_open;
}

void gw_key_take(struct gw_key *key, size_t n)
{
    if (key)
        key->n_open += n;
}

void gw_key_give(struct gw_key *key, size_t n)
{
    if (!key)
        return;
    key->n_open -= n;
    free_unused(key);
}
