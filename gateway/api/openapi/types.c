#include "gateway/api/openapi/types.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { REF_BYTES = 96 };

static void put_name(struct baton_json_out *out, const char *name, size_t n)
{
    char ref[REF_BYTES];
    if (isupper((unsigned char)*name)) {
        (void)snprintf(ref, sizeof ref, "#/components/schemas/%.*s", (int)n, name);
        baton_json_put_string(out, "$ref", ref);
    } else if (strncmp(name, "any", n) != 0) {
        baton_json_put_text(out, "type", name, n);
    }
}

/* The bytes of a type up to the next one of a union, or the end of all. */
static size_t length_of(const char *type)
{
    int depth = 0;
    size_t n = 0;
    for (; type[n] && type[n] != ' ' && (depth || (type[n] != '|' && type[n] != ']')); n++)
        depth += type[n] == '[' ? 1 : type[n] == ']' ? -1 : 0;
    return n;
}

/* Writes a type and returns the place behind it. */
static const char *put_type(struct baton_json_out *out, const char *key, const char *type);

static const char *put_one(struct baton_json_out *out, const char *type)
{
    size_t n = length_of(type);
    if (*type == '[') {
        baton_json_put_string(out, "type", "array");
        (void)put_type(out, "items", type + 1);
    } else {
        put_name(out, type, n);
    }
    return type + n;
}

static const char *put_type(struct baton_json_out *out, const char *key, const char *type)
{
    baton_json_open(out, key, '{');
    bool is_union = type[length_of(type)] == '|';
    if (is_union)
        baton_json_open(out, "anyOf", '[');
    while (is_union && *type && *type != ' ' && *type != ']') {
        baton_json_open(out, NULL, '{');
        type = put_one(out, type);
        baton_json_close(out, '}');
        type += *type == '|';
    }
    if (is_union)
        baton_json_close(out, ']');
    else
        type = put_one(out, type);
    baton_json_close(out, '}');
    return type;
}

void gw_type_put(struct baton_json_out *out, const char *key, const char *type)
{
    (void)put_type(out, key, type);
}

/* The bytes of a member's name, with its ? where it has one. */
static size_t name_length(const char *member)
{
    return strcspn(member, ":");
}

static const char *next_member(const char *member)
{
    member += strcspn(member, " ");
    return member + strspn(member, " ");
}

static void put_properties(struct baton_json_out *out, const char *members)
{
    char name[REF_BYTES];
    baton_json_open(out, "properties", '{');
    for (const char *member = members; *member; member = next_member(member)) {
        size_t n = name_length(member);
        (void)snprintf(name, sizeof name, "%.*s", (int)(n - (member[n - 1] == '?')), member);
        (void)put_type(out, name, member + n + 1);
    }
    baton_json_close(out, '}');
}

void gw_type_put_members(struct baton_json_out *out, const char *key, const char *members)
{
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "type", "object");
    put_properties(out, members);
    baton_json_open(out, "required", '[');
    for (const char *member = members; *member; member = next_member(member))
        if (member[name_length(member) - 1] != '?')
            baton_json_put_text(out, NULL, member, name_length(member));
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}
