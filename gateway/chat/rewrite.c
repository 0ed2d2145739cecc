#include "gateway/chat/rewrite.h"

#include <string.h>

#include "gateway/chat/calls.h"
#include "gateway/chat/tell.h"
#include "gateway/chat/turns.h"

/* ---- systems and neighbours ---- */

struct settling {
    const struct baton_chat_abilities *abilities;
    struct baton_chat_turns out;
    size_t n_head;     /* system messages at the beginning */
    bool takes_system; /* the template writes the first one in this conversation */
};

static bool is_system(const struct baton_chat_turn *turn)
{
    return turn->role == BATON_CHAT_SYSTEM || turn->role == BATON_CHAT_DEVELOPER;
}

static bool is_role(const struct baton_chat_turn *turn, enum baton_chat_role role)
{
    return turn && turn->role == role;
}

static void push(struct settling *settling, struct baton_chat_turn *turn)
{
    struct baton_chat_turn moved = *turn;
    turn->content = turn->calls = turn->id = turn->name = NULL;
    baton_chat_turns_push(&settling->out, moved);
}

static void join(struct settling *settling, const struct baton_chat_turn *turn)
{
    struct baton_chat_turn *open = baton_chat_turns_last(&settling->out);
    if (open)
        baton_chat_turn_join(&settling->out, open, turn->content);
}

static void push_empty(struct settling *settling, enum baton_chat_role role)
{
    baton_chat_turns_push(&settling->out, (struct baton_chat_turn){
                                              .role = role, .content = baton_json_new_string("")});
}

/* Adds a system message that the template does not take at its place: the user says it. */
static void say_system(struct settling *settling, struct baton_chat_turn *turn)
{
    struct baton_chat_turn *open = baton_chat_turns_last(&settling->out);
    bool after_user = is_role(open, BATON_CHAT_USER);
    if (after_user ||
        (is_role(open, BATON_CHAT_TOOL) && !settling->abilities->takes_user_after_result)) {
        join(settling, turn);
        open->is_made = after_user;
        return;
    }
    turn->role = BATON_CHAT_USER;
    turn->given = NULL;
    turn->is_made = true;
    push(settling, turn);
}

static void settle_system(struct settling *settling, struct baton_chat_turn *turn, size_t i)
{
    const struct baton_chat_abilities *abilities = settling->abilities;
    bool is_head = i < settling->n_head;
    if (is_head ? !settling->takes_system : !abilities->takes_later_systems)
        say_system(settling, turn);
    else if (is_head && i && !abilities->takes_systems)
        join(settling, turn);
    else
        push(settling, turn);
}

/* A text that was made of a system message is part of the user's turn, whatever the template
 * takes. */
static void settle_user(struct settling *settling, struct baton_chat_turn *turn)
{
    const struct baton_chat_abilities *abilities = settling->abilities;
    const struct baton_chat_turn *open = baton_chat_turns_last(&settling->out);
    bool joins = is_role(open, BATON_CHAT_USER)
                     ? open->is_made || !abilities->takes_user_pairs
                     : is_role(open, BATON_CHAT_TOOL) && !abilities->takes_user_after_result;
    if (joins)
        join(settling, turn);
    else
        push(settling, turn);
}

static bool is_first(const struct settling *settling)
{
    for (size_t i = 0; i < settling->out.n; i++)
        if (!is_system(&settling->out.items[i]))
            return false;
    return true;
}

static void settle_assistant(struct settling *settling, struct baton_chat_turn *turn)
{
    const struct baton_chat_abilities *abilities = settling->abilities;
    const struct baton_chat_turn *open = baton_chat_turns_last(&settling->out);
    if (is_role(open, BATON_CHAT_ASSISTANT) && !abilities->takes_assistant_pairs && !open->calls &&
        !turn->calls) {
        join(settling, turn);
        return;
    }
    if (!abilities->takes_leading_assistant && is_first(settling))
        push_empty(settling, BATON_CHAT_USER);
    push(settling, turn);
}

static size_t count_head(const struct baton_chat_turns *turns)
{
    size_t n = 0;
    while (n < turns->n && is_system(&turns->items[n]))
        n++;
    return n;
}

/* The role of the last message, as the template will get it. */
static enum baton_chat_role end_of(const struct baton_chat_abilities *abilities,
                                   const struct baton_chat_turns *turns, size_t n_head)
{
    const struct baton_chat_turn *last = &turns->items[turns->n - 1];
    if (turns->n > n_head && is_system(last) && !abilities->takes_later_systems)
        return BATON_CHAT_USER;
    return last->role == BATON_CHAT_DEVELOPER ? BATON_CHAT_SYSTEM : last->role;
}

static void settle_turns(const struct baton_chat_abilities *abilities,
                         struct baton_chat_turns *turns)
{
    size_t n_head = count_head(turns);
    struct settling settling = {.abilities = abilities, .out.ok = turns->ok, .n_head = n_head};
    if (turns->n)
        settling.takes_system = abilities->takes_system[end_of(abilities, turns, n_head)];
    if (abilities->wants_system && !(n_head && settling.takes_system))
        push_empty(&settling, BATON_CHAT_SYSTEM);
    for (size_t i = 0; i < turns->n; i++) {
        struct baton_chat_turn *turn = &turns->items[i];
        if (is_system(turn))
            settle_system(&settling, turn, i);
        else if (turn->role == BATON_CHAT_USER)
            settle_user(&settling, turn);
        else if (turn->role == BATON_CHAT_ASSISTANT)
            settle_assistant(&settling, turn);
        else
            push(&settling, turn);
    }
    baton_chat_turns_replace(turns, &settling.out);
}

/* ---- before that ---- */

static void name_developers(const struct baton_chat_abilities *abilities,
                            struct baton_chat_turns *turns)
{
    for (size_t i = 0; i < turns->n && !abilities->takes_developer; i++)
        if (turns->items[i].role == BATON_CHAT_DEVELOPER)
            turns->items[i].role = BATON_CHAT_SYSTEM;
}

/* Adds an assistant's text to its calls in the next message, if the template takes no two of its
 * messages. */
static void join_text_to_calls(const struct baton_chat_abilities *abilities,
                               struct baton_chat_turns *turns)
{
    struct baton_chat_turns out = {.ok = turns->ok};
    for (size_t i = 0; i < turns->n; i++) {
        struct baton_chat_turn turn = turns->items[i];
        struct baton_chat_turn *last = baton_chat_turns_last(&out);
        turns->items[i] = (struct baton_chat_turn){0};
        if (!abilities->takes_assistant_pairs && turn.calls && last && !last->calls &&
            turn.role == BATON_CHAT_ASSISTANT && last->role == BATON_CHAT_ASSISTANT) {
            baton_chat_turn_join(&out, last, turn.content);
            last->calls = turn.calls;
            baton_json_free(turn.content);
        } else {
            baton_chat_turns_push(&out, turn);
        }
    }
    baton_chat_turns_replace(turns, &out);
}

/* The text of a message that is continued is one text, whose end is the place to go on at. An empty
 * one begins the answer as if it were not there. */
static void settle_last(struct baton_chat_turns *turns, struct baton_chat_input *input)
{
    struct baton_chat_turn *last = baton_chat_turns_last(turns);
    if (!input->continues || !last)
        return;
    if (turns->n > 1 && !last->calls && baton_chat_is_blank(last->content)) {
        baton_json_free(last->content);
        turns->n--;
        input->continues = false;
        return;
    }
    struct baton_json *words = baton_chat_words(last->content);
    baton_json_free(last->content);
    last->content = words;
    turns->ok = turns->ok && words;
}

/* ---- tools ---- */

static bool copy_known(struct baton_json *to, const struct baton_json *from)
{
    bool ok = to;
    for (void *it = baton_json_first(from); it && ok; it = baton_json_next(from, it))
        if (baton_json_kind(baton_json_member(it)) != BATON_JSON_NULL)
            ok = baton_json_set(to, baton_json_key(it), baton_json_share(baton_json_member(it)));
    return ok;
}

static struct baton_json *no_parameters(void)
{
    struct baton_json *made = baton_json_new_object();
    bool ok = baton_json_set(made, "type", baton_json_new_string("object"));
    if (baton_json_set(made, "properties", baton_json_new_object()) && ok)
        return made;
    baton_json_free(made);
    return NULL;
}

/* Returns a copy in which each parameter has a description. */
static struct baton_json *described(const struct baton_json *properties)
{
    struct baton_json *made = baton_json_new_object();
    bool ok = made;
    for (void *it = baton_json_first(properties); it && ok; it = baton_json_next(properties, it)) {
        const struct baton_json *given = baton_json_member(it);
        struct baton_json *property = baton_json_kind(given) == BATON_JSON_OBJECT
                                          ? baton_json_new_object()
                                          : baton_json_share(given);
        if (baton_json_kind(given) == BATON_JSON_OBJECT)
            ok = copy_known(property, given) &&
                 (baton_json_get(property, "description") ||
                  baton_json_set(property, "description", baton_json_new_string("")));
        ok = baton_json_set(made, baton_json_key(it), property) && ok;
    }
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static struct baton_json *whole_parameters(const struct baton_json *given)
{
    const struct baton_json *properties = baton_json_get(given, "properties");
    if (!given)
        return no_parameters();
    if (baton_json_kind(given) != BATON_JSON_OBJECT)
        return baton_json_share(given);
    struct baton_json *made = baton_json_new_object();
    bool ok =
        copy_known(made, given) && (baton_json_get(made, "type") ||
                                    baton_json_set(made, "type", baton_json_new_string("object")));
    if (baton_json_set(made, "properties", described(properties)) && ok)
        return made;
    baton_json_free(made);
    return NULL;
}

/* Returns the function without nulls, which clients send for members that they leave out. */
static struct baton_json *function_for(const struct baton_chat_abilities *abilities,
                                       const struct baton_json *function)
{
    struct baton_json *made = baton_json_new_object();
    bool fills = abilities->wants_whole_tools, ok = copy_known(made, function);
    if (fills && ok && !baton_json_get(made, "description"))
        ok = baton_json_set(made, "description", baton_json_new_string(""));
    if (fills && ok)
        ok = baton_json_set(made, "parameters",
                            whole_parameters(baton_json_get(made, "parameters")));
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static struct baton_json *tool_for(const struct baton_chat_abilities *abilities,
                                   const struct baton_json *tool)
{
    const struct baton_json *function = baton_json_get(tool, "function");
    struct baton_json *made = baton_json_new_object();
    bool ok = copy_known(made, tool) &&
              (!function || baton_json_set(made, "function", function_for(abilities, function)));
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static struct baton_json *tools_for(const struct baton_chat_abilities *abilities,
                                    const struct baton_json *tools)
{
    struct baton_json *made = baton_json_new_array();
    for (size_t i = 0; i < baton_json_size(tools); i++)
        if (!baton_json_push(made, tool_for(abilities, baton_json_at(tools, i)))) {
            baton_json_free(made);
            return NULL;
        }
    return made;
}

/* Adds a text about the tools to the first system message, or as one. */
static void tell_tools(const struct baton_tool_format *form, const struct baton_json *tools,
                       struct baton_chat_turns *turns)
{
    struct baton_chat_turns out = {.ok = turns->ok};
    struct baton_json *told = baton_chat_tell_tools(form, tools);
    if (told && turns->n && is_system(&turns->items[0])) {
        baton_chat_turn_join(turns, &turns->items[0], told);
        baton_json_free(told);
        return;
    }
    out.ok = out.ok && told;
    baton_chat_turns_push(&out,
                          (struct baton_chat_turn){.role = BATON_CHAT_SYSTEM, .content = told});
    for (size_t i = 0; i < turns->n; i++) {
        baton_chat_turns_push(&out, turns->items[i]);
        turns->items[i] = (struct baton_chat_turn){0};
    }
    baton_chat_turns_replace(turns, &out);
}

/* ---- the conversation ---- */

enum baton_err baton_chat_rewrite(const struct baton_chat_abilities *abilities,
                                  const struct baton_chat_input *input,
                                  struct baton_chat_rewritten *rewritten)
{
    struct baton_chat_turns turns;
    *rewritten = (struct baton_chat_rewritten){.input = *input};
    baton_chat_turns_read(&turns, input->messages);
    if (input->tools && abilities->told_form)
        tell_tools(abilities->told_form, input->tools, &turns);
    settle_last(&turns, &rewritten->input);
    name_developers(abilities, &turns);
    join_text_to_calls(abilities, &turns);
    baton_chat_settle_calls(abilities, &turns);
    settle_turns(abilities, &turns);
    rewritten->messages = baton_chat_turns_write(&turns, abilities);
    baton_chat_turns_fini(&turns);
    if (input->tools || abilities->wants_tools)
        rewritten->tools = tools_for(abilities, input->tools);
    rewritten->input.messages = rewritten->messages;
    rewritten->input.tools = rewritten->tools;
    bool ok = rewritten->messages && (rewritten->tools || !input->tools);
    return ok ? BATON_OK : BATON_NO_MEMORY;
}

void baton_chat_rewritten_fini(struct baton_chat_rewritten *rewritten)
{
    baton_json_free(rewritten->messages);
    baton_json_free(rewritten->tools);
    *rewritten = (struct baton_chat_rewritten){0};
}
