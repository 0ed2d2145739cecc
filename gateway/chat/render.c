/* Renders a conversation with a template. */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/chat/parts.h"
#include "gateway/chat/rewrite.h"
#include "gateway/chat/witness.h"

/* Enough for conversations of many megabytes; a template that needs more does not terminate. */
static const struct baton_jinja_limits limits = {.max_steps = 5000000,
                                                 .max_depth = 800,
                                                 .max_text_bytes = 64 << 20,
                                                 .max_memory_bytes = 256 << 20};

static void put(void *arg, const char *bytes, size_t n, bool own)
{
    baton_chat_text_put(arg, bytes, n, own);
}

enum baton_err baton_chat_run(const struct baton_chat *chat,
                              const struct baton_chat_jinja *template,
                              const struct baton_chat_input *input, time_t now,
                              struct baton_chat_text *text, bool *raised, struct baton_why *why)
{
    struct jinja_run *run = baton_jinja_begin(template->jinja, &limits, now);
    enum baton_err err = BATON_NO_MEMORY;
    if (raised)
        *raised = false;
    if (run) {
        baton_chat_set_values(run, chat, input);
        err = baton_jinja_render(run, put, text, raised, why);
    }
    baton_jinja_end(run);
    return err;
}

/* ---- continuing the last message ---- */

static bool is_blank(char c)
{
    return c && strchr(" \t\r\n", c);
}

/* Returns the end of bytes from .. to - 1 without trailing blanks. */
static size_t trimmed_end(const char *bytes, size_t from, size_t to)
{
    while (to > from && is_blank(bytes[to - 1]))
        to--;
    return to;
}

const char *baton_chat_last_words(const struct baton_chat_input *input, size_t *n)
{
    const struct baton_json *last =
        baton_json_at(input->messages, baton_json_size(input->messages) - 1);
    const struct baton_json *content = baton_json_get(last, "content");
    if (baton_json_kind(content) == BATON_JSON_ARRAY)
        content = baton_json_get(baton_json_at(content, 0), "text");
    return baton_json_string(content, n);
}

/* Finds the end of the last message's content in the text; SIZE_MAX when the text does not have it.
 * Only foreign text is searched: "end" also occurs in <|im_end|>. Trailing blanks stay as far as
 * the template kept them. */
static size_t end_of_last(const struct baton_chat_input *input, const struct baton_chat_text *text)
{
    size_t n_given = 0, from, to = text->bytes.len;
    const char *words = baton_chat_last_words(input, &n_given);
    size_t n = words ? trimmed_end(words, 0, n_given) : 0, n_blanks = n_given - n;
    /* A template may trim the content on both sides. */
    for (; n && is_blank(*words); n--)
        words++;
    for (size_t i = text->n_spans + 1; n && i-- > 0; to = i ? text->spans[i - 1].start : 0) {
        from = i ? text->spans[i - 1].end : 0;
        size_t end = trimmed_end(text->bytes.data, from, to);
        if (end - from < n || memcmp(text->bytes.data + end - n, words, n) != 0)
            continue;
        bool kept = to - end <= n_blanks && !memcmp(text->bytes.data + end, words + n, to - end);
        return kept ? to : end;
    }
    return SIZE_MAX;
}

static enum baton_err cut_last(const struct baton_chat_input *input, struct baton_chat_text *text,
                               struct baton_why *why)
{
    size_t end = end_of_last(input, text);
    if (end == SIZE_MAX)
        return baton_fail(why, BATON_INVALID,
                          "the last message has no text that could be continued");
    baton_chat_text_cut(text, end);
    return BATON_OK;
}

/* ---- a conversation ---- */

static enum baton_err fail_render(enum baton_err err, bool raised, const struct baton_why *reason,
                                  struct baton_why *why)
{
    if (err == BATON_NO_MEMORY)
        return baton_fail(why, err, "out of memory");
    return baton_fail(why, BATON_INVALID, "this model's chat template %s: %.220s",
                      raised ? "refuses the conversation" : "fails", reason->text);
}

/* Closes reasoning that the prompt has opened, as templates do whose switch is off. */
static void close_reasoning(const struct baton_chat_jinja *template, struct baton_chat_text *text)
{
    const char *end = template->reasoning_format->end;
    if (text->bytes.data[text->bytes.len - 1] == '\n')
        baton_chat_text_put(text, "\n", 1, true);
    baton_chat_text_put(text, end, strlen(end), true);
    baton_chat_text_put(text, template->behind_reasoning, strlen(template->behind_reasoning), true);
}

/* Renders messages that the template takes. */
static enum baton_err write_out(const struct baton_chat *chat,
                                const struct baton_chat_jinja *template,
                                const struct baton_chat_input *input, time_t now,
                                struct baton_chat_text *text, struct baton_why *why)
{
    bool raised;
    struct baton_why reason = {""};
    enum baton_err err = baton_chat_run(chat, template, input, now, text, &raised, &reason);
    if (err)
        return fail_render(err, raised, &reason, why);
    if (input->continues && (err = cut_last(input, text, why)))
        return err;
    if (baton_chat_opens_unwanted(template, input, text))
        close_reasoning(template, text);
    err = baton_buf_err(&text->bytes);
    return err ? baton_fail(why, err, "the conversation is too long, or out of memory") : BATON_OK;
}

struct baton_chat_abilities baton_chat_narrow(const struct baton_chat_abilities *abilities)
{
    struct baton_chat_abilities narrow = {.told_form = abilities->told_form,
                                          .wants_system = abilities->wants_system,
                                          .wants_tools = abilities->wants_tools,
                                          .wants_whole_tools = abilities->wants_whole_tools,
                                          .names_thinking = abilities->names_thinking};
    memcpy(narrow.wants_a_part, abilities->wants_a_part, sizeof narrow.wants_a_part);
    return narrow;
}

const struct baton_chat_jinja *baton_chat_template_of(const struct baton_chat *chat,
                                                      const struct baton_chat_input *input)
{
    return input->tools && chat->with_tools.jinja ? &chat->with_tools : &chat->plain;
}

static enum baton_err check(const struct baton_chat *chat, const struct baton_chat_input *input,
                            struct baton_why *why)
{
    const struct baton_chat_jinja *template = baton_chat_template_of(chat, input);
    if (!template->jinja || (input->tools && template == &chat->plain && *chat->problem))
        return baton_fail(why, BATON_INVALID, "%s", chat->problem);
    if (!baton_json_size(input->messages))
        return baton_fail(why, BATON_INVALID, "a conversation needs at least one message");
    return BATON_OK;
}

/* Rewrites the input for the template. Probes cannot foresee every combination; where the template
 * does not write this conversation whole, it gets the narrowest form, if that is better. */
static enum baton_err rewrite(const struct baton_chat *chat,
                              const struct baton_chat_jinja *template,
                              const struct baton_chat_input *input,
                              struct baton_chat_rewritten *rewritten,
                              struct baton_chat_witness *witness)
{
    const struct baton_chat_abilities *abilities = &template->abilities[input->tools != NULL];
    const struct baton_chat_abilities narrowest = baton_chat_narrow(abilities);
    struct baton_chat_rewritten other;
    enum baton_err err = baton_chat_rewrite(abilities, input, rewritten);
    if (err)
        return err;
    *witness = baton_chat_witness(chat, template, &rewritten->input);
    if (witness->verdict <= BATON_CHAT_DISORDERED)
        return BATON_OK;
    struct baton_chat_witness second = {BATON_CHAT_REFUSED, 0};
    if (!baton_chat_rewrite(&narrowest, input, &other))
        second = baton_chat_witness(chat, template, &other.input);
    if (second.verdict < witness->verdict) {
        struct baton_chat_rewritten first = *rewritten;
        *rewritten = other;
        rewritten->is_narrow = true;
        other = first;
        *witness = second;
    }
    baton_chat_rewritten_fini(&other);
    return BATON_OK;
}

/* Templates refuse words for an effort that they do not know, such as "none" where theirs is
 * "no_think". Gives the template the nearest word that it takes, or no word. */
static void rename_effort(const struct baton_chat *chat, const struct baton_chat_jinja *template,
                          struct baton_chat_input *input, struct baton_chat_witness *witness)
{
    static const char *const words[] = {"no_think", "none", "minimal", "low",
                                        "medium",   "high", "xhigh",   "max"};
    const int n = (int)BATON_N_OF(words);
    const char *asked = input->reasoning_effort;
    int at = 0;
    while (at < n && strcmp(words[at], asked) != 0)
        at++;
    /* 2 n steps around the asked word: one below, one above, two below, ...; then without a word */
    for (int i = 2; at < n && i < 2 * n && witness->verdict == BATON_CHAT_REFUSED; i++) {
        int other = i % 2 ? at + i / 2 : at - i / 2;
        if (other < 0 || other >= n)
            continue;
        input->reasoning_effort = words[other];
        *witness = baton_chat_witness(chat, template, input);
    }
    if (witness->verdict == BATON_CHAT_REFUSED) {
        input->reasoning_effort = NULL;
        *witness = baton_chat_witness(chat, template, input);
    }
    if (witness->verdict == BATON_CHAT_REFUSED)
        input->reasoning_effort = asked; /* it was not the reason */
}

static enum baton_err fail_lost(const struct baton_json *messages, size_t lost,
                                struct baton_why *why)
{
    const struct baton_json *role = baton_json_get(baton_json_at(messages, lost), "role");
    return baton_fail(why, BATON_INVALID,
                      "this model's chat template leaves out the text of a message of the %s",
                      baton_json_string(role, NULL));
}

enum baton_err baton_chat_adapt(const struct baton_chat *chat, const struct baton_chat_input *input,
                                struct baton_chat_rewritten *rewritten, struct baton_why *why)
{
    struct baton_chat_witness witness;
    *rewritten = (struct baton_chat_rewritten){0};
    enum baton_err err = check(chat, input, why);
    if (err)
        return err;
    const struct baton_chat_jinja *template = baton_chat_template_of(chat, input);
    if (rewrite(chat, template, input, rewritten, &witness))
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    if (witness.verdict == BATON_CHAT_REFUSED && input->reasoning_effort)
        rename_effort(chat, template, &rewritten->input, &witness);
    if (witness.verdict == BATON_CHAT_LOST)
        return fail_lost(rewritten->messages, witness.lost, why);
    return BATON_OK;
}

enum baton_err baton_chat_render(const struct baton_chat *chat,
                                 const struct baton_chat_input *input, time_t now,
                                 struct baton_chat_text *text, struct baton_why *why)
{
    struct baton_chat_rewritten rewritten;
    enum baton_err err = baton_chat_adapt(chat, input, &rewritten, why);
    text->is_narrow = rewritten.is_narrow;
    if (!err)
        err =
            write_out(chat, baton_chat_template_of(chat, input), &rewritten.input, now, text, why);
    baton_chat_rewritten_fini(&rewritten);
    return err;
}

/* ---- the end of a turn ---- */

/* Reads the text after the answer in a rendered conversation, without leading white space; "" when
 * there is none. */
static void read_end(struct baton_chat *chat, const char *conversation, const char *answer)
{
    struct baton_json *messages = NULL;
    struct baton_chat_text text;
    baton_chat_text_init(&text);
    if (!baton_json_parse(conversation, strlen(conversation), &messages, NULL)) {
        struct baton_chat_input input = {.messages = messages, .no_generation_prompt = true};
        if (!baton_chat_render(chat, &input, 0, &text, NULL)) {
            const char *found = strstr(baton_buf_text(&text.bytes), answer);
            found = found ? found + strlen(answer) : "";
            found += strspn(found, " \t\r\n");
            size_t n = strnlen(found, sizeof chat->turn_end - 1);
            memcpy(chat->turn_end, found, n);
            chat->turn_end[n] = 0;
        }
    }
    baton_json_free(messages);
    baton_chat_text_fini(&text);
}

void baton_chat_find_turn_end(struct baton_chat *chat)
{
    /* An answer that no template contains, so that its place is certain. */
    static const char answer[] = "Yes, thirty.";
#define TALK                                                                                       \
    "{\"role\":\"user\",\"content\":\"Is it ten?\"},"                                              \
    "{\"role\":\"assistant\",\"content\":\"Yes, thirty.\"}"
    read_end(chat, "[" TALK "]", answer);
    /* Some templates close a turn only when another one follows. */
    if (!*chat->turn_end)
        read_end(chat, "[" TALK ",{\"role\":\"user\",\"content\":\"More?\"}]", answer);
}
