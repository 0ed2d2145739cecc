#include "gateway/api/responses/items.h"

#include <stdio.h>

#include "gateway/api/openai/tools.h"
#include "gateway/api/responses/tools.h"
#include "gateway/api/responses/turn.h"

enum { PREFIX_BYTES = 16 };

static struct gw_turn *turn_of(const struct gw_choice *choice)
{
    return choice->completion->options.own;
}

/* ---- items and parts ---- */

/* Writes the id of the last item. The first item has the response's id with another prefix. */
static void put_id(struct baton_json_out *out, const char *key, const struct gw_choice *choice,
                   const char *kind)
{
    char prefix[PREFIX_BYTES], id[GW_ANSWER_ID_BYTES];
    int index = choice->n_parts - 1;
    (void)snprintf(prefix, sizeof prefix, index ? "%s_%d" : "%s", kind, index);
    baton_json_put_string(out, key, gw_choice_id(choice, prefix, id));
}

static bool thinks(const struct gw_choice *choice)
{
    return choice->part == GW_PART_REASONING;
}

static const char *kind_of(const struct gw_choice *choice)
{
    return thinks(choice) ? "rs" : "msg";
}

/* Text or reasoning. */
struct words {
    const char *text;
    size_t n;
    struct baton_buf logprobs; /* of text: an array as JSON; empty: none */
};

static void put_part(struct baton_json_out *out, const char *key, const struct gw_choice *choice,
                     const struct words *words)
{
    baton_json_open(out, key, '{');
    baton_json_put_string(out, "type", thinks(choice) ? "reasoning_text" : "output_text");
    baton_json_put_text(out, "text", words->text, words->n);
    if (!thinks(choice)) {
        baton_json_open(out, "annotations", '[');
        baton_json_close(out, ']');
        if (words->logprobs.len)
            baton_json_put_raw(out, "logprobs", baton_buf_text(&words->logprobs),
                               words->logprobs.len);
        else
            baton_json_put_raw(out, "logprobs", "[]", 2);
    }
    baton_json_close(out, '}');
}

/* The open item; words NULL: without content yet. */
static void put_item(struct baton_json_out *out, const char *key, const struct gw_choice *choice,
                     const char *status, const struct words *words)
{
    baton_json_open(out, key, '{');
    put_id(out, "id", choice, kind_of(choice));
    baton_json_put_string(out, "type", thinks(choice) ? "reasoning" : "message");
    baton_json_put_string(out, "status", status);
    if (thinks(choice)) {
        baton_json_open(out, "summary", '[');
        baton_json_close(out, ']');
    } else {
        baton_json_put_string(out, "role", "assistant");
    }
    baton_json_open(out, "content", '[');
    if (words)
        put_part(out, NULL, choice, words);
    baton_json_close(out, ']');
    baton_json_close(out, '}');
}

static struct gw_response_tool tool_of(const struct gw_choice *choice,
                                       const struct gw_tool_call *call)
{
    return gw_response_tool_find(turn_of(choice)->tools, call->name, call->n_name);
}

static const char *kind_of_call(const struct gw_response_tool *tool)
{
    return tool->is_custom ? "ctc" : "fc";
}

/* Writes the arguments; for a custom tool the value of its only argument. */
static void put_arguments(struct baton_json_out *out, const char *key,
                          const struct gw_response_tool *tool, const struct gw_tool_call *call)
{
    if (tool->is_custom)
        gw_tools_put_input(out, key, call);
    else
        baton_json_put_text(out, key, call->arguments, call->n_arguments);
}

static void put_call(struct baton_json_out *out, const char *key, const struct gw_choice *choice,
                     const struct gw_tool_call *call, bool is_whole)
{
    struct gw_response_tool tool = tool_of(choice, call);
    const char *arguments = tool.is_custom ? "input" : "arguments";
    baton_json_open(out, key, '{');
    put_id(out, "id", choice, kind_of_call(&tool));
    baton_json_put_string(out, "type", tool.is_custom ? "custom_tool_call" : "function_call");
    baton_json_put_string(out, "status",
                          !is_whole      ? "in_progress"
                          : call->is_cut ? "incomplete"
                                         : "completed");
    baton_json_put_string(out, "call_id", call->id);
    if (tool.space)
        baton_json_put_string(out, "namespace", tool.space);
    baton_json_put_text(out, "name", tool.name, tool.n_name);
    if (is_whole)
        put_arguments(out, arguments, &tool, call);
    else
        baton_json_put_string(out, arguments, "");
    baton_json_close(out, '}');
}

static struct baton_json_out items_of(struct gw_turn *turn)
{
    struct baton_json_out out = baton_json_out(&turn->items);
    out.comma = turn->items.len > 0;
    return out;
}

/* ---- events ---- */

static void put_index(struct gw_turn_event *event, const struct gw_choice *choice)
{
    baton_json_put_int(&event->out, "output_index", choice->n_parts - 1);
}

/* Writes the place of an event: item, index and part. */
static void put_place(struct gw_turn_event *event, const struct gw_choice *choice)
{
    put_id(&event->out, "item_id", choice, kind_of(choice));
    put_index(event, choice);
    baton_json_put_int(&event->out, "content_index", 0);
}

static void write_open(const struct gw_choice *choice)
{
    struct gw_turn *turn = turn_of(choice);
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn, "response.output_item.added");
    put_index(&event, choice);
    put_item(&event.out, "item", choice, "in_progress", NULL);
    gw_turn_event_end(&event, turn);
    gw_turn_event_begin(&event, turn, "response.content_part.added");
    put_place(&event, choice);
    put_part(&event.out, "part", choice, &(struct words){.text = ""});
    gw_turn_event_end(&event, turn);
}

static void write_delta(struct gw_choice *choice, const char *text, size_t n)
{
    struct gw_turn *turn = turn_of(choice);
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn,
                        thinks(choice) ? "response.reasoning_text.delta"
                                       : "response.output_text.delta");
    put_place(&event, choice);
    baton_json_put_text(&event.out, "delta", text, n);
    if (!thinks(choice))
        gw_logprobs_put_entries(&choice->logprobs, &event.out, "logprobs",
                                choice->completion->api->tokenizer);
    gw_choice_put_steps(choice, &event.out);
    gw_turn_event_end(&event, turn);
}

static void write_done(struct gw_choice *choice, const char *status, const struct words *words)
{
    struct gw_turn *turn = turn_of(choice);
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn,
                        thinks(choice) ? "response.reasoning_text.done"
                                       : "response.output_text.done");
    put_place(&event, choice);
    baton_json_put_text(&event.out, "text", words->text, words->n);
    if (!thinks(choice))
        baton_json_put_raw(&event.out, "logprobs", baton_buf_text(&words->logprobs),
                           words->logprobs.len);
    gw_choice_put_steps(choice, &event.out);
    gw_turn_event_end(&event, turn);
    gw_turn_event_begin(&event, turn, "response.content_part.done");
    put_place(&event, choice);
    put_part(&event.out, "part", choice, words);
    gw_turn_event_end(&event, turn);
    gw_turn_event_begin(&event, turn, "response.output_item.done");
    put_index(&event, choice);
    put_item(&event.out, "item", choice, status, words);
    gw_turn_event_end(&event, turn);
}

/* Writes the next piece of a call's arguments, or in the end all of them. */
static void write_arguments(const struct gw_choice *choice, const struct gw_tool_call *call,
                            bool is_done)
{
    struct gw_response_tool tool = tool_of(choice, call);
    struct gw_turn *turn = turn_of(choice);
    struct gw_turn_event event;
    char name[64];
    (void)snprintf(name, sizeof name, "response.%s.%s",
                   tool.is_custom ? "custom_tool_call_input" : "function_call_arguments",
                   is_done ? "done" : "delta");
    gw_turn_event_begin(&event, turn, name);
    put_id(&event.out, "item_id", choice, kind_of_call(&tool));
    put_index(&event, choice);
    if (is_done && !tool.is_custom)
        baton_json_put_text(&event.out, "name", tool.name, tool.n_name);
    put_arguments(&event.out,
                  !is_done         ? "delta"
                  : tool.is_custom ? "input"
                                   : "arguments",
                  &tool, call);
    gw_turn_event_end(&event, turn);
}

static void write_call(const struct gw_choice *choice, const struct gw_tool_call *call,
                       bool is_whole)
{
    struct gw_turn *turn = turn_of(choice);
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn,
                        is_whole ? "response.output_item.done" : "response.output_item.added");
    put_index(&event, choice);
    put_call(&event.out, "item", choice, call, is_whole);
    gw_turn_event_end(&event, turn);
}

/* ---- pieces of output ---- */

/* Writes the logprobs of every token of the open item, also of those that a stream has already
 * sent. */
static void write_logprobs(struct gw_choice *choice, struct baton_buf *out)
{
    struct baton_json_out json = baton_json_out(out);
    choice->logprobs.n_taken = turn_of(choice)->first_logprob;
    gw_logprobs_put_entries(&choice->logprobs, &json, NULL, choice->completion->api->tokenizer);
}

/* The status of the last item is that of the response: both are incomplete if the output was
 * cut. */
void gw_response_close_item(struct gw_choice *choice, bool is_last)
{
    struct gw_turn *turn = turn_of(choice);
    const struct baton_buf *all = thinks(choice) ? &choice->reasoning : &choice->text;
    size_t begin = thinks(choice) ? turn->reasoning_begin : turn->text_begin;
    const char *status = is_last ? gw_response_status(choice) : "completed";
    struct words words = {.text = baton_buf_text(all) + begin, .n = all->len - begin};
    baton_buf_init(&words.logprobs, GW_ANSWER_MAX_BYTES);
    if (!thinks(choice))
        write_logprobs(choice, &words.logprobs);
    if (choice->completion->options.streaming)
        write_done(choice, status, &words);
    struct baton_json_out out = items_of(turn);
    put_item(&out, NULL, choice, status, &words);
    if (baton_buf_err(&words.logprobs))
        turn->items.err = baton_buf_err(&words.logprobs);
    baton_buf_fini(&words.logprobs);
}

void gw_response_open_item(struct gw_choice *choice)
{
    struct gw_turn *turn = turn_of(choice);
    turn->text_begin = choice->text.len;
    turn->reasoning_begin = choice->reasoning.len;
    turn->first_logprob = choice->n_parts > 1 ? choice->logprobs.n_before : 0;
    choice->logprobs.n_taken = turn->first_logprob;
    if (choice->completion->options.streaming)
        write_open(choice);
}

void gw_response_write_text(struct gw_choice *choice, const char *text, size_t n)
{
    baton_buf_append(thinks(choice) ? &choice->reasoning : &choice->text, text, n);
    write_delta(choice, text, n);
}

/* Keeps the call for the stored conversation. */
static void keep_call(struct gw_turn *turn, const struct gw_tool_call *call)
{
    struct baton_json *function = baton_json_new_object(), *made = baton_json_new_object();
    bool ok = baton_json_set(function, "name", baton_json_new_text(call->name, call->n_name)) &&
              baton_json_set(function, "arguments",
                             baton_json_new_text(call->arguments, call->n_arguments)) &&
              baton_json_set(made, "id", baton_json_new_string(call->id)) &&
              baton_json_set(made, "type", baton_json_new_string("function"));
    ok = baton_json_set(made, "function", function) && ok;
    if (!turn->calls)
        turn->calls = baton_json_new_array();
    ok = baton_json_push(turn->calls, made) && ok;
    turn->lost_call |= !ok;
}

/* The input of a custom tool is the value of an argument. */
bool gw_response_wants_whole(const struct gw_choice *choice, const struct gw_tool_call *call)
{
    return tool_of(choice, call).is_custom;
}

void gw_response_begin_call(struct gw_choice *choice, const struct gw_tool_call *call)
{
    write_call(choice, call, false);
}

void gw_response_write_arguments(struct gw_choice *choice, const struct gw_tool_call *call)
{
    write_arguments(choice, call, false);
}

static void keep_item(struct gw_choice *choice, const struct gw_tool_call *call)
{
    struct gw_turn *turn = turn_of(choice);
    struct baton_json_out out = items_of(turn);
    put_call(&out, NULL, choice, call, true);
    if (turn->stores && !call->is_cut) /* no template could show half of one */
        keep_call(turn, call);
}

void gw_response_end_call(struct gw_choice *choice, const struct gw_tool_call *call)
{
    write_arguments(choice, call, true);
    write_call(choice, call, true);
    keep_item(choice, call);
}

void gw_response_add_call(struct gw_choice *choice, const struct gw_tool_call *call)
{
    if (!choice->completion->options.streaming) {
        keep_item(choice, call);
        return;
    }
    gw_response_begin_call(choice, call);
    gw_response_write_arguments(choice, call);
    gw_response_end_call(choice, call);
}

const char *gw_response_status(const struct gw_choice *choice)
{
    return choice->request->output.finish == GW_FINISH_LENGTH ? "incomplete" : "completed";
}
