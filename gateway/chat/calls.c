#include "gateway/chat/calls.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buf.h"

enum { TOLD_MAX_BYTES = 256 << 20, SHORT_ID = 9, NO_CALL = SIZE_MAX };

/* One message with calls and the results after it. */
struct group {
    const struct baton_chat_abilities *abilities;
    struct baton_chat_turns *turns, *out; /* the conversation before and after */
    size_t at, end;                       /* the message with calls; the first one after results */
    struct baton_json *calls;             /* with ids */
    size_t *answers;                      /* [end - at - 1] each result's call, or NO_CALL */
    size_t *n_before;                     /* calls of earlier messages */
};

/* ---- ids ---- */

static bool is_short(const char *id)
{
    size_t n = 0;
    while (isalnum((unsigned char)id[n]))
        n++;
    return n == SHORT_ID && !id[n];
}

/* Writes nine letters and digits that depend on the id alone, so that a call and its results agree
 * and later requests render the same prompt. */
static void shorten(const char *id, char *text)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
    uint64_t hash = 14695981039346656037ULL;
    for (; *id; id++)
        hash = (hash ^ (uint8_t)*id) * 1099511628211ULL;
    for (int i = 0; i < SHORT_ID; i++, hash /= 36)
        text[i] = digits[hash % 36];
    text[SHORT_ID] = 0;
}

static struct baton_json *id_for(const struct baton_chat_abilities *abilities,
                                 const struct baton_json *id)
{
    char text[SHORT_ID + 1];
    const char *given = baton_json_string(id, NULL);
    if (!given || !abilities->wants_short_ids || is_short(given))
        return baton_json_share(id);
    shorten(given, text);
    return baton_json_new_string(text);
}

/* Returns the id that a call without one gets. */
static struct baton_json *new_id(size_t n)
{
    char text[32];
    (void)snprintf(text, sizeof text, "call%05zu", n % 100000);
    return baton_json_new_string(text);
}

static const char *id_of(const struct baton_json *call)
{
    const char *id = baton_json_string(baton_json_get(call, "id"), NULL);
    return id && *id ? id : NULL;
}

static const struct baton_json *name_of(const struct baton_json *call)
{
    return baton_json_get(baton_json_get(call, "function"), "name");
}

/* ---- copies of calls ---- */

static bool copy_members(struct baton_json *to, const struct baton_json *from)
{
    bool ok = to;
    for (void *it = baton_json_first(from); it && ok; it = baton_json_next(from, it))
        ok = baton_json_set(to, baton_json_key(it), baton_json_share(baton_json_member(it)));
    return ok;
}

static struct baton_json *text_of_json(const struct baton_json *value)
{
    struct baton_buf text;
    baton_buf_init(&text, TOLD_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_put_value(&out, NULL, value);
    struct baton_json *made =
        baton_buf_err(&text) ? NULL : baton_json_new_text(baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
    return made;
}

/* Returns arguments as the map or the text that the template wants; text that is no map stays. */
static struct baton_json *arguments_for(const struct baton_chat_abilities *abilities,
                                        const struct baton_json *arguments)
{
    size_t n = 0;
    struct baton_json *map = NULL;
    const char *text = baton_json_string(arguments, &n);
    if (!text && abilities->wants_text_arguments)
        return text_of_json(arguments);
    if (!text || abilities->wants_text_arguments)
        return baton_json_share(arguments);
    if (!n)
        return baton_json_new_object();
    if (!baton_json_parse(text, n, &map, NULL) && baton_json_kind(map) == BATON_JSON_OBJECT)
        return map;
    baton_json_free(map);
    return baton_json_share(arguments);
}

static struct baton_json *no_arguments(const struct baton_chat_abilities *abilities)
{
    return abilities->wants_text_arguments ? baton_json_new_string("{}") : baton_json_new_object();
}

static struct baton_json *function_for(const struct group *group, const struct baton_json *function)
{
    const struct baton_json *arguments = baton_json_get(function, "arguments");
    struct baton_json *made = baton_json_new_object();
    struct baton_json *form = baton_json_kind(arguments) == BATON_JSON_NULL
                                  ? no_arguments(group->abilities)
                                  : arguments_for(group->abilities, arguments);
    bool ok = copy_members(made, function);
    ok = baton_json_set(made, "arguments", form) && ok;
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static struct baton_json *call_for(const struct group *group, const struct baton_json *call)
{
    const struct baton_json *function = baton_json_get(call, "function");
    struct baton_json *made = baton_json_new_object();
    struct baton_json *given =
        id_of(call) ? baton_json_share(baton_json_get(call, "id")) : new_id(*group->n_before);
    bool ok = copy_members(made, call) &&
              baton_json_set(made, "id", id_for(group->abilities, given)) &&
              (baton_json_get(call, "type") ||
               baton_json_set(made, "type", baton_json_new_string("function"))) &&
              (!function || baton_json_set(made, "function", function_for(group, function)));
    baton_json_free(given);
    ++*group->n_before;
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static struct baton_json *calls_for(const struct group *group, const struct baton_json *calls)
{
    struct baton_json *made = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(calls); i++)
        if (!baton_json_push(made, call_for(group, baton_json_at(calls, i))))
            group->out->ok = false;
    return made;
}

/* ---- which result answers which call ---- */

static bool is_answered(const struct group *group, size_t n_results, size_t call)
{
    for (size_t i = 0; i < n_results; i++)
        if (group->answers[i] == call)
            return true;
    return false;
}

/* Finds the call of a result by its id, or else the first one without a result, of its name if it
 * has one. */
static size_t call_of(const struct group *group, size_t n_known,
                      const struct baton_chat_turn *result, const struct baton_json *given)
{
    const char *id = baton_json_string(result->id, NULL);
    const char *name = baton_json_string(result->name, NULL);
    for (size_t i = 0; i < baton_json_size(given); i++) {
        const struct baton_json *call = baton_json_at(given, i);
        bool fits = id && *id && id_of(call) ? !strcmp(id, id_of(call))
                    : name && !(id && *id)   ? baton_json_is(name_of(call), name)
                                             : true;
        if (fits && !is_answered(group, n_known, i))
            return i;
    }
    return NO_CALL;
}

static void find_answers(struct group *group)
{
    size_t n = group->end - group->at - 1;
    group->answers = calloc(n ? n : 1, sizeof *group->answers);
    group->out->ok = group->out->ok && group->answers;
    for (size_t i = 0; i < n && group->answers; i++)
        group->answers[i] = call_of(group, i, &group->turns->items[group->at + 1 + i],
                                    group->turns->items[group->at].calls);
}

/* ---- calls and results as text ---- */

static void tell_call(struct baton_buf *text, const struct baton_json *call)
{
    const struct baton_json *function = baton_json_get(call, "function");
    struct baton_json *arguments =
        arguments_for(&(struct baton_chat_abilities){0}, baton_json_get(function, "arguments"));
    baton_buf_puts(text, text->len ? "\n<tool_call>\n" : "<tool_call>\n");
    struct baton_json_out out = baton_json_out(text);
    baton_json_open(&out, NULL, '{');
    baton_json_put_value(&out, "name", name_of(call));
    baton_json_put_value(&out, "arguments", arguments);
    baton_json_close(&out, '}');
    baton_buf_puts(text, "\n</tool_call>");
    baton_json_free(arguments);
}

static void append_words(struct baton_buf *text, const struct baton_json *content)
{
    size_t n = 0;
    struct baton_json *words = baton_chat_words(content);
    const char *bytes = baton_json_string(words, &n);
    baton_buf_append(text, bytes ? bytes : "", n);
    baton_json_free(words);
}

static struct baton_json *told(struct baton_buf *text)
{
    struct baton_json *made =
        baton_buf_err(text) ? NULL : baton_json_new_text(baton_buf_text(text), text->len);
    baton_buf_fini(text);
    return made;
}

static void push_told_calls(struct group *group, const struct baton_chat_turn *turn)
{
    struct baton_buf text;
    baton_buf_init(&text, TOLD_MAX_BYTES);
    append_words(&text, turn->content);
    for (size_t i = 0; i < baton_json_size(group->calls); i++)
        tell_call(&text, baton_json_at(group->calls, i));
    baton_chat_turns_push(
        group->out,
        (struct baton_chat_turn){.role = turn->role, .content = told(&text), .given = turn->given});
}

static void push_told_result(struct baton_chat_turns *out, const struct baton_chat_turn *result)
{
    struct baton_buf text;
    baton_buf_init(&text, TOLD_MAX_BYTES);
    baton_buf_puts(&text, "<tool_result>\n");
    append_words(&text, result->content);
    baton_buf_puts(&text, "\n</tool_result>");
    baton_chat_turns_push(
        out, (struct baton_chat_turn){.role = BATON_CHAT_USER, .content = told(&text)});
}

/* ---- calls and results as messages ---- */

static void push_empty(struct baton_chat_turns *out, enum baton_chat_role role)
{
    baton_chat_turns_push(
        out, (struct baton_chat_turn){.role = role, .content = baton_json_new_string("")});
}

/* Pushes the result with the id and the name of its call, which it answers. */
static void push_result(struct group *group, size_t call, const struct baton_chat_turn *result)
{
    const struct baton_json *answered = baton_json_at(group->calls, call);
    struct baton_chat_turn turn = {.role = BATON_CHAT_TOOL,
                                   .id = baton_json_share(baton_json_get(answered, "id")),
                                   .name = baton_json_share(name_of(answered))};
    if (result) {
        turn.given = result->given;
        turn.content = baton_json_share(result->content);
    } else {
        turn.content = baton_json_new_string("");
    }
    baton_chat_turns_push(group->out, turn);
}

static void push_orphan(const struct baton_chat_abilities *abilities, struct baton_chat_turns *out,
                        const struct baton_chat_turn *result)
{
    if (!abilities->takes_orphans) {
        push_told_result(out, result);
        return;
    }
    struct baton_chat_turn turn = *result;
    turn.content = baton_json_share(result->content);
    turn.id = id_for(abilities, result->id);
    turn.name = baton_json_share(result->name);
    baton_chat_turns_push(out, turn);
}

/* Pushes the results of the calls first .. last - 1, and empty ones for calls without a result. */
static void push_results(struct group *group, size_t first, size_t last)
{
    size_t n = group->end - group->at - 1;
    bool fills = !group->abilities->takes_unanswered && group->at + 1 < group->turns->n;
    for (size_t i = 0; i < n && group->answers; i++)
        if (group->answers[i] >= first && group->answers[i] < last)
            push_result(group, group->answers[i], &group->turns->items[group->at + 1 + i]);
    for (size_t call = first; call < last && fills && group->answers; call++)
        if (!is_answered(group, n, call))
            push_result(group, call, NULL);
}

static struct baton_json *only(const struct baton_json *calls, size_t i)
{
    struct baton_json *made = baton_json_new_array();
    (void)!baton_json_push(made, baton_json_share(baton_json_at(calls, i)));
    return made;
}

static void push_calls(struct group *group, struct baton_chat_turn turn)
{
    size_t n = baton_json_size(group->calls);
    if (n < 2 || group->abilities->parallel == BATON_CHAT_CALLS_TOGETHER) {
        turn.calls = baton_json_share(group->calls);
        baton_chat_turns_push(group->out, turn);
        push_results(group, 0, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        turn.calls = only(group->calls, i);
        baton_chat_turns_push(group->out, turn);
        push_results(group, i, i + 1);
        turn = (struct baton_chat_turn){.role = BATON_CHAT_ASSISTANT};
    }
}

/* Pushes the text of a message with calls as a message of its own. Returns the message of the
 * calls, without the text. */
static struct baton_chat_turn part_text(struct group *group, struct baton_chat_turn turn)
{
    baton_chat_turns_push(group->out, turn);
    if (group->abilities->beside == BATON_CHAT_BESIDE_TURNS)
        push_empty(group->out, BATON_CHAT_USER);
    return (struct baton_chat_turn){.role = BATON_CHAT_ASSISTANT};
}

static void settle_group(struct group *group)
{
    const struct baton_chat_abilities *abilities = group->abilities;
    const struct baton_chat_turn *given = &group->turns->items[group->at];
    bool has_text = !baton_chat_is_blank(given->content);
    bool is_told = !abilities->takes_calls ||
                   (baton_json_size(group->calls) > 1 && !abilities->parallel) ||
                   (has_text && !abilities->beside);
    struct baton_chat_turn turn = {.role = BATON_CHAT_ASSISTANT, .given = given->given};
    if (is_told) {
        push_told_calls(group, given);
    } else {
        turn.content = baton_json_share(given->content);
        if (has_text && abilities->beside != BATON_CHAT_BESIDE_TOGETHER)
            turn = part_text(group, turn);
        push_calls(group, turn);
    }
    for (size_t i = group->at + 1; i < group->end && group->answers; i++)
        if (is_told)
            push_told_result(group->out, &group->turns->items[i]);
        else if (group->answers[i - group->at - 1] == NO_CALL)
            push_orphan(abilities, group->out, &group->turns->items[i]);
}

/* ---- a conversation ---- */

/* Moves a turn to another conversation. */
static void move(struct baton_chat_turns *out, struct baton_chat_turn *turn)
{
    struct baton_chat_turn moved = *turn;
    turn->content = turn->calls = turn->id = turn->name = NULL;
    baton_chat_turns_push(out, moved);
}

static size_t end_of_results(const struct baton_chat_turns *turns, size_t at)
{
    size_t end = at + 1;
    while (end < turns->n && turns->items[end].role == BATON_CHAT_TOOL)
        end++;
    return end;
}

void baton_chat_settle_calls(const struct baton_chat_abilities *abilities,
                             struct baton_chat_turns *turns)
{
    size_t n_before = 0;
    struct baton_chat_turns out = {.ok = turns->ok};
    for (size_t i = 0; i < turns->n; i++) {
        struct baton_chat_turn *turn = &turns->items[i];
        if (turn->role == BATON_CHAT_TOOL) {
            push_orphan(abilities, &out, turn);
        } else if (turn->role != BATON_CHAT_ASSISTANT || !turn->calls) {
            move(&out, turn);
        } else {
            struct group group = {.abilities = abilities,
                                  .turns = turns,
                                  .out = &out,
                                  .at = i,
                                  .end = end_of_results(turns, i),
                                  .n_before = &n_before};
            group.calls = calls_for(&group, turn->calls);
            find_answers(&group);
            settle_group(&group);
            baton_json_free(group.calls);
            free(group.answers);
            i = group.end - 1;
        }
    }
    baton_chat_turns_replace(turns, &out);
}
