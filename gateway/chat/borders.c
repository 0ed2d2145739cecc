#include "gateway/chat/borders.h"

#include <string.h>

struct finder {
    const struct baton_chat *chat;
    const struct baton_chat_input *input;
    time_t now;
    const struct baton_chat_text *text;
    size_t ends[BATON_CHAT_MAX_BORDERS]; /* bytes of the text, ascending */
    int n_ends;
};

/* ---- conversations that may come ---- */

static bool push(struct baton_json *messages, const char *role)
{
    struct baton_json *message = baton_json_new_object();
    bool ok = baton_json_set(message, "role", baton_json_new_string(role)) &&
              baton_json_set(message, "content", baton_json_new_string("~"));
    return baton_json_push(messages, message) && ok;
}

static bool push_messages(struct baton_json *made, const struct baton_json *messages, size_t first,
                          size_t end)
{
    bool ok = made;
    for (size_t i = first; ok && i < end; i++)
        ok = baton_json_push(made, baton_json_share(baton_json_at(messages, i)));
    return ok;
}

/* A conversation that may come: the first n messages, those from `again` on once more, and short
 * ones of these roles, up to NULL. */
struct future {
    size_t n, again;
    const char *const *roles;
};

/* NULL without memory. */
static struct baton_json *messages_of(const struct baton_json *messages,
                                      const struct future *future)
{
    struct baton_json *made = baton_json_new_array();
    bool ok = push_messages(made, messages, 0, future->n) &&
              push_messages(made, messages, future->again, baton_json_size(messages));
    for (const char *const *roles = future->roles; ok && *roles; roles++)
        ok = push(made, *roles);
    if (ok)
        return made;
    baton_json_free(made);
    return NULL;
}

static size_t count_common(const struct baton_buf *a, const struct baton_buf *b)
{
    size_t n = 0, most = a->len < b->len ? a->len : b->len;
    while (n < most && a->data[n] == b->data[n])
        n++;
    return n;
}

static void render(const struct finder *finder, const struct baton_json *messages,
                   struct baton_chat_text *text)
{
    const struct baton_chat_jinja *template = baton_chat_template_of(finder->chat, finder->input);
    struct baton_chat_abilities abilities = template->abilities[finder->input->tools != NULL];
    struct baton_chat_rewritten rewritten = {0};
    struct baton_chat_input input = *finder->input;
    input.messages = messages;
    input.no_generation_prompt = true;
    input.continues = false;
    if (finder->text->is_narrow) /* as later prompts of the conversation will be */
        abilities = baton_chat_narrow(&abilities);
    if (!baton_chat_rewrite(&abilities, &input, &rewritten) &&
        baton_chat_run(finder->chat, template, &rewritten.input, finder->now, text, NULL, NULL))
        baton_chat_text_cut(text, 0);
    baton_chat_rewritten_fini(&rewritten);
}

static void add_end(struct finder *finder, size_t end)
{
    int i = finder->n_ends;
    while (i > 0 && finder->ends[i - 1] >= end)
        i--;
    if (!end || (i < finder->n_ends && finder->ends[i] == end))
        return;
    memmove(finder->ends + i + 1, finder->ends + i,
            (size_t)(finder->n_ends - i) * sizeof finder->ends[0]);
    finder->ends[i] = end;
    finder->n_ends++;
}

static void part_from(struct finder *finder, struct future future)
{
    struct baton_json *messages = messages_of(finder->input->messages, &future);
    struct baton_chat_text text;
    if (!messages)
        return;
    baton_chat_text_init(&text);
    render(finder, messages, &text);
    add_end(finder, count_common(&text.bytes, &finder->text->bytes));
    baton_chat_text_fini(&text);
    baton_json_free(messages);
}

static bool has_role(const struct baton_json *messages, size_t i, const char *role)
{
    return baton_json_is(baton_json_get(baton_json_at(messages, i), "role"), role);
}

/* The end of the last message of the role behind the first ones; these, if there is none. */
static size_t end_of_last(const struct baton_json *messages, size_t first, const char *role)
{
    size_t end = baton_json_size(messages);
    while (end > first && !has_role(messages, end - 1, role))
        end--;
    return end;
}

static void part_from_all(struct finder *finder)
{
    static const char *const asks[] = {"user", NULL}, *const none[] = {NULL},
                             *const goes_on[] = {"assistant", "user", NULL};
    const struct baton_json *messages = finder->input->messages;
    size_t n = baton_json_size(messages), n_system = 0;
    while (n_system < n &&
           (has_role(messages, n_system, "system") || has_role(messages, n_system, "developer")))
        n_system++;
    size_t asked = end_of_last(messages, n_system, "user"),
           called = end_of_last(messages, asked, "assistant");
    bool is_answered = n && has_role(messages, n - 1, "assistant");
    if (n_system || finder->input->tools)
        part_from(finder, (struct future){n_system, n, asks});
    if (asked > n_system + 1)
        part_from(finder, (struct future){asked - 1, n, asks});
    part_from(finder, (struct future){n, n, is_answered ? asks : goes_on});
    if (called > asked && !is_answered) /* more calls of tools before the answer */
        part_from(finder, (struct future){n, called - 1, none});
}

/* ---- tokens ---- */

/* The tokens that lie within the first bytes, without one at whose end other text might join. */
static size_t count_tokens(const struct baton_tokenizer *tokenizer, const uint32_t *ids, size_t n,
                           size_t n_bytes)
{
    size_t i = 0, at = 0, length;
    for (; i < n; i++, at += length)
        if (!baton_tokenizer_bytes(tokenizer, ids[i], &length) || at + length > n_bytes)
            break;
    return i && !baton_tokenizer_is_special(tokenizer, ids[i - 1]) ? i - 1 : i;
}

void baton_chat_find_borders(const struct baton_chat *chat, const struct baton_tokenizer *tokenizer,
                             const struct baton_chat_input *input, time_t now,
                             const struct baton_chat_text *text, const uint32_t *ids, size_t n,
                             struct baton_chat_borders *borders)
{
    struct finder finder = {.chat = chat, .input = input, .now = now, .text = text};
    *borders = (struct baton_chat_borders){0};
    part_from_all(&finder);
    for (int i = 0; i < finder.n_ends; i++) {
        uint32_t at = (uint32_t)count_tokens(tokenizer, ids, n, finder.ends[i]);
        if (at > (borders->n ? borders->at[borders->n - 1] : 0))
            borders->at[borders->n++] = at;
    }
}
