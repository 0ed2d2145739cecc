#include "gateway/chat/chat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/os/file.h"
#include "engine/checkpoint/chat_template.h"
#include "gateway/chat/borders.h"
#include "gateway/chat/builtin.h"
#include "gateway/chat/parts.h"
#include "gateway/chat/probe.h"
#include "gateway/chat/turns.h"

enum { FILE_MAX_BYTES = 4 << 20 };

/* Writes "chatml, llama2, ...". */
static void list_builtins(char *list, size_t size)
{
    size_t n = 0;
    list[0] = 0;
    for (const struct baton_chat_builtin *builtin = baton_chat_builtins; builtin->name; builtin++) {
        int length = snprintf(list + n, size - n, "%s%s", n ? ", " : "", builtin->name);
        n += length > 0 && (size_t)length < size - n ? (size_t)length : 0;
    }
}

/* ---- templates ---- */

static enum baton_err parse(const char *source, size_t n, struct baton_chat_jinja *template,
                            struct baton_why *why)
{
    struct baton_jinja *jinja;
    enum baton_err err = baton_jinja_parse(source, n, &jinja, why);
    if (err)
        return err;
    char *text = strndup(source, n);
    if (!text) {
        baton_jinja_free(jinja);
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    }
    *template = (struct baton_chat_jinja){.jinja = jinja,
                                          .text = text,
                                          .tool_format = baton_tool_format_of(source, n),
                                          .reasoning_format = baton_reasoning_format_of(source, n)};
    return BATON_OK;
}

/* Uses the model's own template. One that cannot be read makes chat unavailable, not the
 * gateway. */
static void use_own(struct baton_chat *chat, const struct baton_chat_template *source)
{
    char builtins[200];
    struct baton_why reason = {""};
    list_builtins(builtins, sizeof builtins);
    chat->source = source->jinja ? "model" : "none";
    if (!source->jinja) {
        (void)snprintf(chat->problem, sizeof chat->problem,
                       "this model has no chat template; the gateway's --chat-template can name "
                       "one: a file, or %s",
                       builtins);
        return;
    }
    if (parse(source->jinja, source->n_jinja, &chat->plain, &reason))
        (void)snprintf(chat->problem, sizeof chat->problem,
                       "this model's chat template cannot be read (%.120s); the gateway's "
                       "--chat-template can name another one",
                       reason.text);
    else if (source->tools_jinja &&
             parse(source->tools_jinja, source->n_tools_jinja, &chat->with_tools, &reason))
        (void)snprintf(chat->problem, sizeof chat->problem,
                       "this model's chat template for tools cannot be read (%.160s)", reason.text);
}

static enum baton_err use_file(struct baton_chat *chat, const char *path, struct baton_why *why)
{
    struct baton_buf text;
    struct baton_why reason = {""};
    baton_buf_init(&text, FILE_MAX_BYTES);
    enum baton_err err = baton_file_read(path, &text, why);
    if (!err && (err = parse(baton_buf_text(&text), text.len, &chat->plain, &reason)))
        (void)baton_fail(why, err, "%s: %.250s", path, reason.text);
    baton_buf_fini(&text);
    chat->source = "file";
    return err;
}

static enum baton_err use_builtin(struct baton_chat *chat, const char *name, struct baton_why *why)
{
    char builtins[200];
    const struct baton_chat_builtin *builtin = baton_chat_builtins;
    while (builtin->name && strcmp(builtin->name, name) != 0)
        builtin++;
    if (builtin->name) {
        chat->source = builtin->name;
        return parse(builtin->source, builtin->n, &chat->plain, why);
    }
    list_builtins(builtins, sizeof builtins);
    return baton_fail(why, BATON_INVALID,
                      "\"%.40s\" is not a chat template (known: auto, %s, or a file with a / in "
                      "its name)",
                      name, builtins);
}

static bool is_file(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') || (n > 6 && !strcmp(name + n - 6, ".jinja"));
}

static enum baton_err choose_template(struct baton_chat *chat,
                                      const struct baton_chat_template *source,
                                      const char *override, struct baton_why *why)
{
    if (is_file(override))
        return use_file(chat, override, why);
    if (strcmp(override, "auto") != 0)
        return use_builtin(chat, override, why);
    use_own(chat, source);
    return BATON_OK;
}

/* ---- the chat ---- */

static void probe(const struct baton_chat *chat, struct baton_chat_jinja *template)
{
    for (int has_tools = 0; has_tools < 2 && template->jinja; has_tools++)
        template->abilities[has_tools] = baton_chat_probe(chat, template, has_tools);
    if (template->jinja)
        baton_chat_find_behind(chat, template);
}

enum baton_err baton_chat_create(struct baton_chat_template *source, const char *override,
                                 struct baton_chat **chat, struct baton_why *why)
{
    struct baton_chat *made = calloc(1, sizeof *made);
    if (!made)
        return baton_fail(why, BATON_NO_MEMORY, "out of memory");
    enum baton_err err = choose_template(made, source, override, why);
    if (err) {
        baton_chat_close(made);
        return err;
    }
    made->bos = source->bos;
    made->eos = source->eos;
    source->bos = source->eos = NULL;
    probe(made, &made->plain);
    probe(made, &made->with_tools);
    if (made->plain.jinja)
        baton_chat_find_turn_end(made);
    *chat = made;
    return BATON_OK;
}

void baton_chat_close(struct baton_chat *chat)
{
    if (!chat)
        return;
    baton_jinja_free(chat->plain.jinja);
    baton_jinja_free(chat->with_tools.jinja);
    free(chat->plain.text);
    free(chat->with_tools.text);
    free(chat->bos);
    free(chat->eos);
    free(chat);
}

const char *baton_chat_source(const struct baton_chat *chat)
{
    return chat->source;
}

const char *baton_chat_template_text(const struct baton_chat *chat)
{
    return chat->plain.text ? chat->plain.text : "";
}

const char *baton_chat_tool_form(const struct baton_chat *chat)
{
    const struct baton_tool_format *format =
        chat->with_tools.jinja ? chat->with_tools.tool_format : chat->plain.tool_format;
    return format ? format->name : NULL;
}

bool baton_chat_has_reasoning(const struct baton_chat *chat)
{
    return chat->plain.reasoning_format;
}

void baton_chat_put_abilities(const struct baton_chat *chat, struct baton_json_out *out,
                              const char *key)
{
    const struct baton_chat_jinja *tools =
        chat->with_tools.jinja ? &chat->with_tools : &chat->plain;
    if (!chat->plain.jinja) {
        baton_json_put_null(out, key);
        return;
    }
    baton_json_open(out, key, '{');
    baton_chat_abilities_put(out, "without_tools", &chat->plain.abilities[false]);
    baton_chat_abilities_put(out, "with_tools", &tools->abilities[true]);
    baton_json_close(out, '}');
}

const char *baton_chat_problem(const struct baton_chat *chat)
{
    return chat->plain.jinja ? NULL : chat->problem;
}

static bool is_continued(const struct baton_chat_input *input)
{
    const struct baton_json *last =
        baton_json_at(input->messages, baton_json_size(input->messages) - 1);
    return input->continues && !baton_chat_is_blank(baton_json_get(last, "content"));
}

/* True when the answer begins within reasoning: that of the message that is continued, or one that
 * the prompt's end opens. */
static bool opens_reasoning(const struct baton_reasoning_format *format,
                            const struct baton_chat_input *input, const char *prompt, size_t n)
{
    const struct baton_json *last =
        baton_json_at(input->messages, baton_json_size(input->messages) - 1);
    if (!format || !is_continued(input))
        return baton_reasoning_is_open(format, prompt, n);
    struct baton_json *text = baton_chat_words(baton_json_get(last, "content"));
    const char *words = baton_json_string(text, NULL);
    bool is_open = words && strstr(words, format->begin) && !strstr(words, format->end);
    baton_json_free(text);
    return is_open;
}

bool baton_chat_opens_unwanted(const struct baton_chat_jinja *template,
                               const struct baton_chat_input *input,
                               const struct baton_chat_text *text)
{
    return !input->continues && baton_chat_wants_no_reasoning(input) &&
           baton_reasoning_is_open(template->reasoning_format, baton_buf_text(&text->bytes),
                                   text->bytes.len);
}

struct baton_answer_form baton_chat_form(const struct baton_chat *chat,
                                         const struct baton_chat_input *input,
                                         const struct baton_chat_text *text)
{
    const struct baton_chat_jinja *template = baton_chat_template_of(chat, input);
    const struct baton_tool_format *tools = template->tool_format;
    const char *prompt = baton_buf_text(&text->bytes);
    /* The rendered prompt may end with the beginning of a call. */
    size_t n = text->bytes.len, n_begin = tools && tools->text_begin ? strlen(tools->begin) : 0;
    bool opens_call =
        n_begin && n >= n_begin && !memcmp(prompt + n - n_begin, tools->begin, n_begin);
    bool opens = opens_reasoning(template->reasoning_format, input, prompt, n);
    bool is_closed = baton_reasoning_is_closed(template->reasoning_format, prompt, n);
    bool is_unwanted = !opens && baton_chat_wants_no_reasoning(input);
    return (struct baton_answer_form){
        .tools = input->tools || opens_call ? tools : NULL,
        .reasoning = template->reasoning_format,
        .opens_reasoning = opens,
        .skips_reasoning = is_unwanted || (!opens && (is_continued(input) || is_closed)),
        .unwanted_reasoning = is_unwanted && !is_closed && !is_continued(input),
        .behind_reasoning = template->behind_reasoning,
        .is_continued = !opens && is_continued(input),
        .opens_call = opens_call,
        .functions = input->tools};
}

enum baton_err baton_chat_encode(const struct baton_chat *chat, struct baton_tokenizer *tokenizer,
                                 const struct baton_chat_input *input, size_t max_tokens,
                                 struct baton_tokens *out, struct baton_answer_form *form,
                                 struct baton_chat_borders *borders, struct baton_why *why)
{
    struct baton_chat_text text;
    size_t n_before = out->n;
    time_t now = time(NULL);
    baton_chat_text_init(&text);
    enum baton_err err = baton_chat_render(chat, input, now, &text, why);
    if (!err)
        err = baton_tokenizer_encode_spans(tokenizer, baton_buf_text(&text.bytes), text.bytes.len,
                                           text.spans, text.n_spans, max_tokens, out, why);
    if (!err && form)
        *form = baton_chat_form(chat, input, &text);
    if (!err && borders)
        baton_chat_find_borders(chat, tokenizer, input, now, &text, out->ids + n_before,
                                out->n - n_before, borders);
    baton_chat_text_fini(&text);
    return err;
}

size_t baton_chat_stop_ids(const struct baton_chat *chat, const struct baton_tokenizer *tokenizer,
                           const struct baton_tool_format *tools, uint32_t *ids, size_t max)
{
    const struct baton_reasoning_format *reasoning = chat->plain.reasoning_format;
    /* Other text may follow the special token: try shorter and shorter prefixes. */
    size_t n = strlen(chat->turn_end);
    while (n && max && !baton_tokenizer_special_id(tokenizer, chat->turn_end, n, ids))
        n--;
    if (tools && tools->open_ends_turn && !strncmp(tools->open, chat->turn_end, n))
        return 0; /* what follows it tells whether it ends the turn */
    /* A token that ends reasoning as well would end the answer before it begins. */
    return n && max && !(reasoning && !strncmp(reasoning->end, chat->turn_end, n));
}
