#include "gateway/api/params/lenient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/api/params/grammar.h"

enum { MAX_DROPS = 16, MAX_HOPS = 32, MAX_VISITS = 10000 };

/* ---- the place that a problem names ---- */

/* Reads the next part of a path, with RFC 6901's escapes, up to *end. */
static bool next_part(const char **path, const char *end, char *part, size_t cap)
{
    size_t n = 0;
    const char *at = *path;
    if (at >= end || *at != '/')
        return false;
    for (at++; at < end && *at != '/' && n + 1 < cap; at++)
        part[n++] = *at != '~' ? *at : *++at == '0' ? '~' : '/';
    part[n] = '\0';
    *path = at;
    return true;
}

static const struct baton_json *follow(const struct baton_json *at, const char *part)
{
    return baton_json_kind(at) == BATON_JSON_ARRAY ? baton_json_at(at, strtoul(part, NULL, 10))
                                                   : baton_json_get(at, part);
}

/* A search through a schema, bounded because references may form circles. */
struct search {
    const struct baton_json *root;
    int n_visits;
};

static const struct baton_json *walk(struct search *search, const char *path, const char *end,
                                     int hops);

/* Returns a schema that the one at hand is merged of and that has the member: itself, the target of
 * its reference, or a part of its allOf. */
static const struct baton_json *owner_of(struct search *search, const struct baton_json *at,
                                         const char *member, int hops)
{
    const struct baton_json *all = baton_json_get(at, "allOf"), *found = NULL;
    const char *ref = baton_json_string(baton_json_get(at, "$ref"), NULL);
    if (hops > MAX_HOPS || ++search->n_visits > MAX_VISITS)
        return NULL;
    if (follow(at, member))
        return at;
    if (ref && *ref == '#')
        found =
            owner_of(search, walk(search, ref + 1, ref + strlen(ref), hops + 1), member, hops + 1);
    for (size_t i = 0; i < baton_json_size(all) && !found; i++)
        found = owner_of(search, baton_json_at(all, i), member, hops + 1);
    return found;
}

static const struct baton_json *walk(struct search *search, const char *path, const char *end,
                                     int hops)
{
    char part[128];
    const struct baton_json *at = search->root;
    while (at && next_part(&path, end, part, sizeof part))
        at = follow(owner_of(search, at, part, hops), part);
    return at;
}

/* ---- the schema without it ---- */

struct drop {
    const struct baton_json *owner;
    char keyword[64];
};

static void put_without(struct baton_json_out *out, const char *key, const struct baton_json *at,
                        const struct drop *drop)
{
    enum baton_json_kind kind = baton_json_kind(at);
    if (kind != BATON_JSON_ARRAY && kind != BATON_JSON_OBJECT) {
        baton_json_put_value(out, key, at);
        return;
    }
    baton_json_open(out, key, kind == BATON_JSON_ARRAY ? '[' : '{');
    for (size_t i = 0; kind == BATON_JSON_ARRAY && i < baton_json_size(at); i++)
        put_without(out, NULL, baton_json_at(at, i), drop);
    for (void *it = baton_json_first(at); it; it = baton_json_next(at, it)) {
        bool is_it = at == drop->owner && !strcmp(baton_json_key(it), drop->keyword);
        bool is_choice = is_it && !strcmp(drop->keyword, "oneOf") && !baton_json_get(at, "anyOf");
        if (!is_it || is_choice)
            put_without(out, is_choice ? "anyOf" : baton_json_key(it), baton_json_member(it), drop);
    }
    baton_json_close(out, kind == BATON_JSON_ARRAY ? ']' : '}');
}

/* Reads the place and the keyword of a problem: "#/properties/a: contains is not supported". */
static bool read_problem(const struct baton_json *schema, const char *why, struct drop *drop,
                         char *place, size_t cap)
{
    const char *colon = strstr(why, ": ");
    if (*why != '#' || !colon)
        return false;
    size_t n = strcspn(colon + 2, " :");
    bool is_pattern = !strncmp(colon, ": pattern:", 10);
    if (n >= sizeof drop->keyword || (!is_pattern && !strstr(colon, "not supported")))
        return false;
    (void)snprintf(drop->keyword, sizeof drop->keyword, "%.*s", (int)n, colon + 2);
    (void)snprintf(place, cap, "%.*s/%s", (int)(colon - why) - 1, why + 1, drop->keyword);
    struct search search = {.root = schema};
    const struct baton_json *at = walk(&search, why + 1, colon, 0);
    drop->owner = owner_of(&search, at, drop->keyword, 0);
    if (!drop->owner && !strcmp(drop->keyword, "not")) /* of the condition, in the other case */
        drop->owner = owner_of(&search, at, strcpy(drop->keyword, "if"), 0);
    return drop->owner;
}

/* Returns the schema without the keyword of the problem; NULL if there is no such place, or no
 * memory. */
static struct baton_json *without(const struct baton_json *schema, const struct drop *drop)
{
    struct baton_json *made = NULL;
    struct baton_buf buf;
    baton_buf_init(&buf, (size_t)BATON_GRAMMAR_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    put_without(&out, NULL, schema, drop);
    if (baton_buf_err(&buf) || baton_json_parse(buf.data, buf.len, &made, NULL))
        made = NULL;
    baton_buf_fini(&buf);
    return made;
}

struct baton_json *gw_schema_lenient(const struct baton_json *schema, gw_dropped_fn *dropped,
                                     void *arg)
{
    struct baton_json *at = baton_json_share(schema);
    for (int i = 0; i < MAX_DROPS && at; i++) {
        char place[320];
        struct drop drop;
        struct baton_why why = {""};
        if (gw_grammar_judge_schema(at, &why) != BATON_INVALID ||
            !read_problem(at, why.text, &drop, place, sizeof place))
            return at;
        struct baton_json *next = without(at, &drop);
        baton_json_free(at);
        at = next;
        if (dropped)
            dropped(arg, place);
    }
    return at;
}
