/* Renders a conversation with a template. */
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "gateway/chat/parts.h"

/* Enough for conversations of many megabytes; a template that needs more does not terminate. */
static const struct baton_jinja_limits limits = {.max_steps = 5000000,
                                                 .max_depth = 800,
                                                 .max_text_bytes = 64 << 20,
                                                 .max_memory_bytes = 256 << 20};

static void put(void *arg, const char *bytes, size_t n, bool own)
{
    baton_chat_text_put(arg, bytes, n, own);
}

static enum baton_err run_template(const struct baton_chat *chat,
                                   const struct baton_chat_jinja *template,
                                   const struct baton_chat_input *input, time_t now,
                                   bool parse_arguments, struct baton_chat_text *text, bool *raised,
                                   struct baton_why *why)
{
    struct baton_chat_parsed *parsed = calloc(1, sizeof *parsed);
    /* parsed outlives the run, whose values borrow its trees. */
    struct jinja_run *run = baton_jinja_begin(template->jinja, &limits, now);
    enum baton_err err = BATON_NO_MEMORY;
    *raised = false;
    if (parsed && run) {
        baton_chat_set_values(run, chat, template, input, parse_arguments, parsed);
        err = baton_jinja_render(run, put, text, raised, why);
    }
    baton_jinja_end(run);
    if (parsed)
        baton_chat_parsed_free(parsed);
    free(parsed);
    return err;
}

static bool has_calls(const struct baton_json *messages)
{
    for (size_t i = 0; i < baton_json_size(messages); i++)
        if (baton_json_size(baton_json_get(baton_json_at(messages, i), "tool_calls")))
            return true;
    return false;
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

/* Finds the end of the last message's content in the text; SIZE_MAX when the text does not have it.
 * Only foreign text is searched: "end" also occurs in <|im_end|>. Trailing blanks stay as far as
 * the template kept them. */
static size_t end_of_last(const struct baton_chat_input *input, const struct baton_chat_text *text)
{
    const struct baton_json *last =
        baton_json_at(input->messages, baton_json_size(input->messages) - 1);
    size_t n_given = 0, from, to = text->bytes.len;
    const char *words = baton_json_string(baton_json_get(last, "content"), &n_given);
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

enum baton_err baton_chat_run(const struct baton_chat *chat,
                              const struct baton_chat_jinja *template,
                              const struct baton_chat_input *input, time_t now,
                              struct baton_chat_text *text)
{
    bool raised;
    return run_template(chat, template, input, now, true, text, &raised, NULL);
}

/* Renders messages that the template accepts. */
static enum baton_err write_out(const struct baton_chat *chat,
                                const struct baton_chat_jinja *template,
                                const struct baton_chat_input *input, time_t now,
                                struct baton_chat_text *text, struct baton_why *why)
{
    bool raised, raised_again;
    struct baton_why reason = {""}, second = {""};
    enum baton_err err = run_template(chat, template, input, now, true, text, &raised, &reason);
    /* Some templates expect the arguments of calls as text. */
    if (err == BATON_INVALID && !raised && has_calls(input->messages) &&
        !run_template(chat, template, input, now, false, text, &raised_again, &second))
        err = BATON_OK;
    if (err)
        return fail_render(err, raised, &reason, why);
    if (input->continues && (err = cut_last(input, text, why)))
        return err;
    err = baton_buf_err(&text->bytes);
    return err ? baton_fail(why, err, "the conversation is too long, or out of memory") : BATON_OK;
}

enum baton_err baton_chat_render(const struct baton_chat *chat,
                                 const struct baton_chat_input *input, time_t now,
                                 struct baton_chat_text *text, struct baton_why *why)
{
    bool with_tools = input->tools && chat->with_tools.jinja;
    const struct baton_chat_jinja *template = with_tools ? &chat->with_tools : &chat->plain;
    if (!template->jinja || (input->tools && !with_tools && *chat->problem))
        return baton_fail(why, BATON_INVALID, "%s", chat->problem);
    if (!baton_json_size(input->messages))
        return baton_fail(why, BATON_INVALID, "a conversation needs at least one message");
    struct baton_json *settled;
    struct baton_chat_input taken = *input;
    if (baton_chat_settle_systems(template, input->messages, &settled))
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    if (settled)
        taken.messages = settled;
    enum baton_err err = write_out(chat, template, &taken, now, text, why);
    baton_json_free(settled);
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

/* ---- content beside calls ---- */

/* Counts how often the template prints None or null; -1 when it fails. */
static int count_nulls(const struct baton_chat *chat, struct baton_chat_jinja *template,
                       const struct baton_chat_input *input, bool wants_content)
{
    static const char *const nulls[] = {"None", "null"};
    struct baton_chat_text text;
    struct baton_why why;
    bool raised;
    int n = -1;
    baton_chat_text_init(&text);
    template->wants_content = wants_content;
    if (!run_template(chat, template, input, 0, true, &text, &raised, &why) ||
        !run_template(chat, template, input, 0, false, &text, &raised, &why)) {
        n = 0;
        for (size_t i = 0; i < BATON_N_OF(nulls); i++)
            for (const char *met = baton_buf_text(&text.bytes); (met = strstr(met, nulls[i]));
                 met++)
                n++;
    }
    baton_chat_text_fini(&text);
    return n;
}

void baton_chat_find_wants_content(const struct baton_chat *chat, struct baton_chat_jinja *template)
{
    static const char talk[] =
        "[{\"role\":\"user\",\"content\":\"Is it ten?\"},{\"role\":\"assistant\",\"content\":null,"
        "\"tool_calls\":[{\"id\":\"a1b2c3d4e\",\"type\":\"function\",\"function\":{\"name\":"
        "\"now\","
        "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"a1b2c3d4e\",\"name\":"
        "\"now\","
        "\"content\":\"Ten.\"}]";
    struct baton_json *messages = NULL;
    if (!template->jinja || baton_json_parse(talk, sizeof talk - 1, &messages, NULL))
        return;
    const struct baton_chat_input input = {.messages = messages};
    int n_null = count_nulls(chat, template, &input, false);
    int n_empty = count_nulls(chat, template, &input, true);
    /* An empty text is better where null is printed, or where null makes the template fail. */
    template->wants_content = n_empty >= 0 && (n_null<0 || n_null> n_empty);
    baton_json_free(messages);
}
