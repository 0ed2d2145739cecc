#include "gateway/chat/witness.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/chat/turns.h"

enum { MARKER_BYTES = 24, N_DIGITS = 8 };
#define BEGIN "70913"
#define END   "31907"

/* The marked copy: each marker's message, and how often it is met. */
struct marks {
    struct mark {
        size_t message, n_met;
    } * items;
    size_t n, cap, message;
    bool ok;
};

/* ---- the copy ---- */

static struct baton_json *new_marker(struct marks *marks)
{
    char text[MARKER_BYTES];
    if (BATON_RESERVE(marks->items, marks->cap, marks->n + 1))
        return NULL;
    marks->items[marks->n] = (struct mark){.message = marks->message};
    (void)snprintf(text, sizeof text, BEGIN "%0*zu" END, N_DIGITS, marks->n++);
    return baton_json_new_string(text);
}

static bool copy_but(struct baton_json *to, const struct baton_json *from, const char *without)
{
    bool ok = to;
    for (void *it = baton_json_first(from); it && ok; it = baton_json_next(from, it))
        if (strcmp(baton_json_key(it), without) != 0)
            ok = baton_json_set(to, baton_json_key(it), baton_json_share(baton_json_member(it)));
    return ok;
}

/* Returns a copy of the object in which the member is the value; takes the value. */
static struct baton_json *with(const struct baton_json *object, const char *key,
                               struct baton_json *value)
{
    struct baton_json *made = baton_json_new_object();
    bool ok = copy_but(made, object, key);
    if (baton_json_set(made, key, value) && ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static struct baton_json *mark_text(struct marks *marks, const struct baton_json *text)
{
    return baton_chat_is_blank(text) ? baton_json_share(text) : new_marker(marks);
}

static struct baton_json *mark_part(struct marks *marks, const struct baton_json *part)
{
    const struct baton_json *text = baton_json_get(part, "text");
    return text ? with(part, "text", mark_text(marks, text)) : baton_json_share(part);
}

static struct baton_json *mark_each(struct marks *marks, const struct baton_json *array,
                                    struct baton_json *(*mark)(struct marks *,
                                                               const struct baton_json *))
{
    struct baton_json *made = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(array); i++)
        marks->ok = baton_json_push(made, mark(marks, baton_json_at(array, i))) && marks->ok;
    return made;
}

static struct baton_json *mark_map(struct marks *marks)
{
    struct baton_json *map = baton_json_new_object();
    marks->ok = baton_json_set(map, "key", new_marker(marks)) && marks->ok;
    return map;
}

static struct baton_json *mark_arguments(struct marks *marks, const struct baton_json *arguments)
{
    char text[MARKER_BYTES + 16];
    if (baton_json_kind(arguments) == BATON_JSON_OBJECT)
        return baton_json_size(arguments) ? mark_map(marks) : baton_json_share(arguments);
    if (baton_chat_is_blank(arguments) || baton_json_is(arguments, "{}"))
        return baton_json_share(arguments);
    struct baton_json *marker = new_marker(marks);
    const char *word = baton_json_string(marker, NULL);
    (void)snprintf(text, sizeof text, "{\"key\": \"%s\"}", word ? word : "");
    baton_json_free(marker);
    return baton_json_new_string(text);
}

static struct baton_json *mark_call(struct marks *marks, const struct baton_json *call)
{
    const struct baton_json *function = baton_json_get(call, "function");
    const struct baton_json *arguments = baton_json_get(function, "arguments");
    if (!arguments)
        return baton_json_share(call);
    return with(call, "function", with(function, "arguments", mark_arguments(marks, arguments)));
}

static struct baton_json *mark_message(struct marks *marks, const struct baton_json *message)
{
    const struct baton_json *content = baton_json_get(message, "content");
    const struct baton_json *calls = baton_json_get(message, "tool_calls");
    struct baton_json *made = content && baton_json_kind(content) == BATON_JSON_ARRAY
                                  ? with(message, "content", mark_each(marks, content, mark_part))
                              : content ? with(message, "content", mark_text(marks, content))
                                        : baton_json_share(message);
    if (calls) {
        struct baton_json *whole = with(made, "tool_calls", mark_each(marks, calls, mark_call));
        baton_json_free(made);
        made = whole;
    }
    marks->message++;
    return made;
}

/* One tool suffices: templates write all in one loop. */
static struct baton_json *first_of(struct marks *marks, const struct baton_json *tools)
{
    struct baton_json *made = baton_json_new_array();
    if (baton_json_size(tools))
        marks->ok = baton_json_push(made, baton_json_share(baton_json_at(tools, 0))) && marks->ok;
    return made;
}

/* ---- what came out ---- */

/* Reads the marker at the text; SIZE_MAX: it is none. */
static size_t marker_at(const char *text)
{
    size_t n = 0, at = 0;
    for (text += strlen(BEGIN); at < N_DIGITS && isdigit((unsigned char)text[at]); at++)
        n = n * 10 + (size_t)(text[at] - '0');
    return at == N_DIGITS && !strncmp(text + at, END, strlen(END)) ? n : SIZE_MAX;
}

/* Counts the markers. Returns true when they are in the order of their messages, apart from those
 * of a first system message. */
static bool meet(struct marks *marks, const struct baton_buf *text, bool skips_first)
{
    size_t last = 0;
    bool in_order = true;
    const char *at = baton_buf_text(text), *end = at + text->len;
    for (; (at = memmem(at, (size_t)(end - at), BEGIN, strlen(BEGIN))); at++) {
        size_t i = marker_at(at);
        if (i >= marks->n)
            continue;
        size_t message = marks->items[i].message;
        marks->items[i].n_met++;
        if (message || !skips_first) {
            in_order = in_order && message >= last;
            last = message;
        }
    }
    return in_order;
}

static struct baton_chat_witness judge(const struct marks *marks, bool in_order)
{
    struct baton_chat_witness witness = {in_order ? BATON_CHAT_WHOLE : BATON_CHAT_DISORDERED, 0};
    for (size_t i = 0; i < marks->n; i++)
        if (!marks->items[i].n_met)
            return (struct baton_chat_witness){BATON_CHAT_LOST, marks->items[i].message};
        else if (marks->items[i].n_met > 1)
            witness.verdict = BATON_CHAT_DOUBLED;
    return witness;
}

struct baton_chat_witness baton_chat_witness(const struct baton_chat *chat,
                                             const struct baton_chat_jinja *template,
                                             const struct baton_chat_input *input)
{
    struct marks marks = {.ok = true};
    struct baton_chat_text text;
    struct baton_chat_witness witness = {.verdict = BATON_CHAT_REFUSED};
    struct baton_chat_input marked = *input;
    struct baton_json *messages = mark_each(&marks, input->messages, mark_message);
    struct baton_json *tools = input->tools ? first_of(&marks, input->tools) : NULL;
    const struct baton_json *first = baton_json_get(baton_json_at(messages, 0), "role");
    marked.messages = messages;
    marked.tools = tools;
    baton_chat_text_init(&text);
    if (marks.ok && !baton_chat_run(chat, template, &marked, 0, &text, NULL, NULL))
        witness = judge(&marks,
                        meet(&marks, &text.bytes,
                             baton_json_is(first, "system") || baton_json_is(first, "developer")));
    baton_chat_text_fini(&text);
    baton_json_free(messages);
    baton_json_free(tools);
    free(marks.items);
    return witness;
}
