#include "gateway/api/responses/tools.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/buf.h"
#include "gateway/api/json_util.h"
#include "gateway/api/openai/tools.h"

enum { MAX_TOOLS = 1024, NAME_MAX_BYTES = 1024, PLACE_BYTES = 48 };

static const char between[] = "__"; /* joins a namespace and a name, as MCP's clients do */

/* ---- names ---- */

/* Appends the prefix of names in that namespace. */
static void put_space(struct baton_buf *out, const struct baton_json *space)
{
    size_t n = 0, n_between = strlen(between);
    const char *text = baton_json_string(space, &n);
    if (!text || !n)
        return;
    baton_buf_append(out, text, n);
    if (n < n_between || memcmp(text + n - n_between, between, n_between) != 0)
        baton_buf_append(out, between, n_between);
}

static struct baton_json *joined(const struct baton_json *space, const struct baton_json *name)
{
    struct baton_buf text;
    struct baton_json *made;
    size_t n = 0;
    const char *last = baton_json_string(name, &n);
    baton_buf_init(&text, NAME_MAX_BYTES);
    put_space(&text, space);
    baton_buf_append(&text, last, n);
    made = baton_buf_err(&text) ? NULL : baton_json_new_text(baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
    return made;
}

struct baton_json *gw_response_tool_name(const struct baton_json *item)
{
    const struct baton_json *space = baton_json_get(item, "namespace"),
                            *name = baton_json_get(item, "name");
    if (!gw_json_is_string(name))
        return NULL;
    return gw_json_is_string(space) ? joined(space, name) : baton_json_share(name);
}

/* Whether a tool, in that namespace or in none, was translated into the function of that name. */
static bool became(const struct baton_json *tool, const char *space, const char *prefix,
                   size_t n_prefix, const char *name, size_t n_name, struct gw_response_tool *found)
{
    size_t n = 0;
    const char *own = baton_json_string(baton_json_get(tool, "name"), &n);
    if (!own || n_prefix + n != n_name || memcmp(name, prefix, n_prefix) != 0 ||
        memcmp(name + n_prefix, own, n) != 0)
        return false;
    *found = (struct gw_response_tool){
        .space = space, .name = own, .n_name = n, .is_custom = gw_json_is_type(tool, "custom")};
    return true;
}

static bool became_within(const struct baton_json *space, const char *name, size_t n_name,
                          struct gw_response_tool *found)
{
    const struct baton_json *of = baton_json_get(space, "name"),
                            *tools = baton_json_get(space, "tools");
    struct baton_buf prefix;
    bool is_found = false;
    baton_buf_init(&prefix, NAME_MAX_BYTES);
    put_space(&prefix, of);
    for (size_t i = 0; i < baton_json_size(tools) && !is_found && !baton_buf_err(&prefix); i++)
        is_found = became(baton_json_at(tools, i), baton_json_string(of, NULL),
                          baton_buf_text(&prefix), prefix.len, name, n_name, found);
    baton_buf_fini(&prefix);
    return is_found;
}

struct gw_response_tool gw_response_tool_find(const struct baton_json *tools, const char *name,
                                              size_t n_name)
{
    struct gw_response_tool found = {.name = name, .n_name = n_name};
    for (size_t i = 0; i < baton_json_size(tools); i++) {
        const struct baton_json *tool = baton_json_at(tools, i);
        if (gw_json_is_type(tool, "namespace") ? became_within(tool, name, n_name, &found)
                                               : became(tool, NULL, "", 0, name, n_name, &found))
            break;
    }
    return found;
}

/* ---- functions ---- */

/* The array of functions that is made, and the place of its tools in the body. */
struct walk {
    struct gw_fields *fields;
    struct baton_json *functions, *left_out;
    const struct baton_json *space; /* the namespace's name; NULL: none */
    size_t outer;                   /* the namespace's index */
};

static void name_place(const struct walk *walk, size_t i, char place[PLACE_BYTES])
{
    if (walk->space)
        (void)snprintf(place, PLACE_BYTES, "tools[%zu].tools[%zu]", walk->outer, i);
    else
        (void)snprintf(place, PLACE_BYTES, "tools[%zu]", i);
}

static void refuse(const struct walk *walk, const char *place, const struct baton_json *tool)
{
    const char *type = baton_json_string(baton_json_get(tool, "type"), NULL);
    gw_fields_fail(walk->fields, "tools", "unsupported_field",
                   "%s: must be {\"type\":\"function\",\"name\":...}, not of type \"%.40s\"; the "
                   "server runs no tools of its own",
                   place, type ? type : "");
}

/* Sets the function's members besides its name. */
static void add_members(const struct walk *walk, struct baton_json *function,
                        const struct baton_json *tool)
{
    static const char *const members[] = {"description", "parameters", "strict"};
    for (size_t m = 0; m < BATON_N_OF(members); m++) {
        const struct baton_json *member = baton_json_get(tool, members[m]);
        if (baton_json_kind(member) != BATON_JSON_NULL)
            gw_json_set(walk->fields, function, members[m], baton_json_share(member));
    }
}

static void add_function(const struct walk *walk, const char *place, const struct baton_json *tool)
{
    const struct baton_json *own = baton_json_get(tool, "name");
    struct baton_json *function, *made,
        *name = gw_json_is_string(own) ? joined(walk->space, own) : NULL;
    if (!name) {
        refuse(walk, place, tool);
        return;
    }
    made = gw_json_function(walk->fields, name, &function);
    baton_json_free(name);
    if (function && gw_json_is_type(tool, "custom"))
        gw_tools_add_input(walk->fields, function, baton_json_get(tool, "description"),
                           baton_json_get(baton_json_get(tool, "format"), "definition"));
    else if (function)
        add_members(walk, function, tool);
    gw_json_push(walk->fields, walk->functions, made);
}

static void add_tools(struct walk *walk, const struct baton_json *tools);

static void add_space(const struct walk *walk, const char *place, size_t i,
                      const struct baton_json *space)
{
    struct walk inner = *walk;
    inner.space = baton_json_get(space, "name");
    inner.outer = i;
    if (gw_json_is_string(inner.space) &&
        baton_json_kind(baton_json_get(space, "tools")) == BATON_JSON_ARRAY)
        add_tools(&inner, baton_json_get(space, "tools"));
    else
        gw_fields_fail(walk->fields, "tools", "invalid_value",
                       "%s: a namespace has a name, a string, and tools, an array", place);
}

static void add_tool(struct walk *walk, size_t i, const struct baton_json *tool)
{
    char place[PLACE_BYTES];
    name_place(walk, i, place);
    if (baton_json_get(tool, "function")) /* in the form of chats already, and checked with them */
        gw_json_push(walk->fields, walk->functions, baton_json_share(tool));
    else if (gw_json_is_type(tool, "function") || gw_json_is_type(tool, "custom"))
        add_function(walk, place, tool);
    else if (gw_json_is_type(tool, "namespace") && !walk->space)
        add_space(walk, place, i, tool);
    else if (walk->left_out && gw_json_is_string(baton_json_get(tool, "type")))
        gw_json_set(walk->fields, walk->left_out, place, baton_json_share(tool));
    else
        refuse(walk, place, tool);
}

static void add_tools(struct walk *walk, const struct baton_json *tools)
{
    size_t n = baton_json_size(tools);
    if (baton_json_kind(tools) != BATON_JSON_ARRAY || n > MAX_TOOLS)
        gw_fields_fail(walk->fields, "tools", "invalid_type",
                       "tools: must be an array of up to %d objects", MAX_TOOLS);
    for (size_t i = 0; i < n && !walk->fields->failed; i++)
        add_tool(walk, i, baton_json_at(tools, i));
    if (baton_json_size(walk->functions) > MAX_TOOLS)
        gw_fields_fail(walk->fields, "tools", "invalid_value",
                       "tools: must be up to %d with those of its namespaces", MAX_TOOLS);
}

struct baton_json *gw_response_tools(struct gw_fields *fields, const struct baton_json *tools,
                                     struct baton_json *left_out)
{
    struct walk walk = {
        .fields = fields, .functions = baton_json_new_array(), .left_out = left_out};
    add_tools(&walk, tools);
    if (!fields->failed)
        return walk.functions;
    baton_json_free(walk.functions);
    return NULL;
}

struct baton_json *gw_response_tool_choice(struct gw_fields *fields,
                                           const struct baton_json *choice)
{
    const char *type = baton_json_string(baton_json_get(choice, "type"), NULL);
    bool is_named = gw_json_is_type(choice, "function") || gw_json_is_type(choice, "custom");
    if (!gw_json_is_object(choice) || baton_json_get(choice, "function") ||
        gw_json_is_type(choice, "allowed_tools")) /* gw_tools_restrict reads it */
        return baton_json_share(choice);
    struct baton_json *made = NULL, *function, *name = gw_response_tool_name(choice);
    if (is_named && name)
        made = gw_json_function(fields, name, &function);
    else
        gw_fields_fail(fields, "tool_choice", "unsupported_field",
                       "tool_choice: an object must be {\"type\":\"function\",\"name\":...}, not "
                       "of type \"%.40s\"",
                       type ? type : "");
    baton_json_free(name);
    return made;
}
