#include "gateway/api/completion/tool_calls.h"

#include <stdlib.h>

enum { JSON_MAX_BYTES = 64 << 20 };

/* FNV-1a: ids only have to be distinct within one conversation. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        hash = (hash ^ (value >> (8 * i) & 0xff)) * 0x100000001b3;
    return hash;
}

static void write_id(uint64_t number, char id[GW_TOOL_CALL_ID_BYTES])
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    for (int i = 0; i < GW_TOOL_CALL_ID_BYTES - 1; i++, number /= 36)
        id[i] = digits[number % 36];
    id[GW_TOOL_CALL_ID_BYTES - 1] = 0;
}

void gw_tool_calls_init(struct gw_tool_calls *calls, const struct baton_answer_form *form,
                        const char *request_id, int choice)
{
    *calls = (struct gw_tool_calls){.seed = mix(0xcbf29ce484222325, (uint64_t)choice)};
    for (; *request_id; request_id++)
        calls->seed = mix(calls->seed, (uint8_t)*request_id);
    /* Allocated only if needed, because a parser is large and most completions have none. */
    if (form->tools || form->reasoning)
        calls->parser = malloc(sizeof *calls->parser);
    if (calls->parser)
        baton_tool_parser_init(calls->parser, form);
    baton_buf_init(&calls->json, JSON_MAX_BYTES);
    baton_buf_init(&calls->thought, JSON_MAX_BYTES);
    baton_buf_init(&calls->name, BATON_TOOL_NAME_MAX_BYTES);
    baton_buf_init(&calls->arguments, JSON_MAX_BYTES);
}

void gw_tool_calls_fini(struct gw_tool_calls *calls)
{
    if (calls->parser)
        baton_tool_parser_fini(calls->parser);
    free(calls->parser);
    baton_buf_fini(&calls->json);
    baton_buf_fini(&calls->thought);
    baton_buf_fini(&calls->name);
    baton_buf_fini(&calls->arguments);
}

void gw_tool_calls_restart(struct gw_tool_calls *calls)
{
    if (calls->parser)
        baton_tool_parser_restart(calls->parser);
    baton_buf_reset(&calls->json);
    baton_buf_reset(&calls->thought);
    calls->has_answer = false;
    baton_buf_reset(&calls->name);
    baton_buf_reset(&calls->arguments);
    calls->n = 0;
    calls->n_reasoning_tokens = 0;
}

bool gw_tool_calls_in_reasoning(const struct gw_tool_calls *calls)
{
    return calls->parser && baton_tool_parser_in_reasoning(calls->parser);
}

/* ---- from the parser to the writer ---- */

struct route {
    struct gw_choice *choice;
    struct gw_tool_calls *calls;
    const struct gw_parts *parts;
};

static void pass_text(void *user, const char *text, size_t n)
{
    struct route *route = user;
    route->calls->has_answer = true;
    route->parts->text(route->choice, text, n);
}

static void pass_reasoning(void *user, const char *text, size_t n)
{
    struct route *route = user;
    if (!route->calls->has_answer)
        baton_buf_append(&route->calls->thought, text, n);
    route->parts->reasoning(route->choice, text, n);
}

static void pass_call(void *user, const char *name, size_t n_name, const char *arguments, size_t n)
{
    struct route *route = user;
    char id[GW_TOOL_CALL_ID_BYTES];
    int index = route->calls->n++;
    route->calls->has_answer = true;
    write_id(mix(route->calls->seed, (uint64_t)index), id);
    const struct gw_tool_call call = {.index = index,
                                      .id = id,
                                      .name = name,
                                      .n_name = n_name,
                                      .arguments = arguments,
                                      .n_arguments = n};
    route->parts->call(route->choice, &call);
}

/* The open call, with this piece of its arguments; id has room for its id. */
static struct gw_tool_call open_call(const struct gw_tool_calls *calls, char *id,
                                     const char *arguments, size_t n)
{
    write_id(mix(calls->seed, (uint64_t)calls->n), id);
    return (struct gw_tool_call){.index = calls->n,
                                 .id = id,
                                 .name = baton_buf_text(&calls->name),
                                 .n_name = calls->name.len,
                                 .arguments = arguments,
                                 .n_arguments = n};
}

static bool pass_begin(void *user, const char *name, size_t n_name)
{
    struct route *route = user;
    struct gw_tool_calls *calls = route->calls;
    char id[GW_TOOL_CALL_ID_BYTES];
    baton_buf_reset(&calls->arguments);
    baton_buf_reset(&calls->name);
    baton_buf_append(&calls->name, name, n_name);
    const struct gw_tool_call call = open_call(calls, id, "", 0);
    bool is_taken = route->parts->call_begin(route->choice, &call);
    calls->has_answer |= is_taken;
    return is_taken;
}

static void pass_more(void *user, const char *arguments, size_t n)
{
    struct route *route = user;
    char id[GW_TOOL_CALL_ID_BYTES];
    const struct gw_tool_call call = open_call(route->calls, id, arguments, n);
    baton_buf_append(&route->calls->arguments, arguments, n);
    route->parts->call_more(route->choice, &call);
}

static void pass_end(void *user, bool is_cut)
{
    struct route *route = user;
    const struct baton_buf *all = &route->calls->arguments;
    char id[GW_TOOL_CALL_ID_BYTES];
    struct gw_tool_call call = open_call(route->calls, id, baton_buf_text(all), all->len);
    call.is_cut = is_cut;
    route->parts->call_end(route->choice, &call);
    route->calls->n++;
}

static struct baton_tool_sink sink_of(struct route *route)
{
    bool in_pieces = route->parts->call_begin;
    return (struct baton_tool_sink){.user = route,
                                    .text = pass_text,
                                    .reasoning = pass_reasoning,
                                    .call = pass_call,
                                    .call_begin = in_pieces ? pass_begin : NULL,
                                    .call_more = pass_more,
                                    .call_end = pass_end};
}

void gw_tool_calls_push(struct gw_choice *choice, struct gw_tool_calls *calls, const char *text,
                        size_t n, const struct gw_parts *parts)
{
    struct route route = {choice, calls, parts};
    const struct baton_tool_sink sink = sink_of(&route);
    if (calls->parser)
        baton_tool_parser_push(calls->parser, text, n, &sink);
    else
        parts->text(choice, text, n);
}

void gw_tool_calls_end(struct gw_choice *choice, struct gw_tool_calls *calls, bool is_whole,
                       const struct gw_parts *parts)
{
    struct route route = {choice, calls, parts};
    const struct baton_tool_sink sink = sink_of(&route);
    bool is_open = gw_tool_calls_in_reasoning(calls);
    if (calls->parser)
        baton_tool_parser_end(calls->parser, &sink);
    /* Clients show an answer without text as nothing at all. */
    if (is_whole && is_open && !calls->has_answer && calls->thought.len)
        parts->text(choice, calls->thought.data, calls->thought.len);
}
