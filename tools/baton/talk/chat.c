/* baton chat: a conversation in the terminal, or with the lines of a pipe. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "tools/baton/commands.h"
#include "tools/baton/fleet/state.h"
#include "tools/baton/talk/conversation.h"
#include "tools/baton/talk/line_editor.h"
#include "tools/baton/talk/reply.h"
#include "tools/support/cli.h"

struct options {
    struct bt_ask_options ask;
};

static const struct baton_option option_table[] = {
    BT_ASK_OPTIONS(struct options, ask),
    BATON_ROW_INT(struct options, ask.explain, "explain", "5", 0, 20, "candidates",
                  "candidates per token that /explain shows; 0 = none"),
};

struct chat {
    struct bt_ask_options options;
    struct bt_model model;
    struct bt_conversation conversation;
    struct bt_reply reply;
    struct bt_line_editor *editor;
    bool over;
};

static void complain(enum baton_err err, const struct baton_why *why)
{
    (void)fflush(stdout);
    (void)fprintf(stderr, "baton: %s\n", *why->text ? why->text : baton_err_text(err));
}

/* ---- an answer ---- */

/* Writes the durations of an answer, if a person reads along. */
static void put_figures(const struct chat *chat)
{
    const struct bt_reply *reply = &chat->reply;
    bool coloured = !getenv("NO_COLOR");
    double after_first_s = baton_seconds(reply->end_ns - reply->first_ns);
    if (!bt_line_editor_is_interactive(chat->editor) || !reply->first_ns)
        return;
    (void)fputs(coloured ? "\033[2m[" : "[", stdout);
    if (reply->n_tokens > 1 && after_first_s > 0)
        (void)printf("%d tokens, %.1f a second, ", (int)reply->n_tokens,
                     (double)(reply->n_tokens - 1) / after_first_s);
    (void)printf("the first after %.2f s", baton_seconds(reply->first_ns - reply->begin_ns));
    if (!strcmp(reply->finish_reason, "length"))
        (void)fputs(", cut at the limit", stdout);
    (void)puts(coloured ? "]\033[0m" : "]");
}

/* Requests the answer to the conversation. Without any answer, removes the last question. */
static enum baton_err answer(struct chat *chat)
{
    struct baton_why why = {.text = ""};
    enum baton_err err = bt_reply_get(&chat->reply, &chat->model, &chat->options,
                                      chat->conversation.messages, chat->conversation.n, &why);
    if (chat->reply.text.len || err == BATON_CANCELED)
        (void)puts(err == BATON_CANCELED ? " [stopped]" : "");
    if (err && err != BATON_CANCELED)
        complain(err, &why);
    else
        put_figures(chat);
    (void)fflush(stdout);
    /* A model must not see two turns of the user in a row. */
    if (!chat->reply.text.len && err) {
        (void)bt_conversation_drop_last(&chat->conversation, "user");
        if (err == BATON_PEER && bt_line_editor_is_interactive(chat->editor))
            (void)puts("What you said last is taken back; /clear begins a new conversation.");
        return BATON_OK;
    }
    return bt_conversation_add(&chat->conversation, "assistant", baton_buf_text(&chat->reply.text));
}

static enum baton_err say(struct chat *chat, const char *text)
{
    enum baton_err err = bt_conversation_add(&chat->conversation, "user", text);
    return err ? err : answer(chat);
}

/* ---- commands ---- */

struct chat_command {
    const char *name, *arguments, *summary;
    enum baton_err (*run)(struct chat *chat, const char *argument);
};

static enum baton_err run_help(struct chat *chat, const char *argument);

static enum baton_err run_system(struct chat *chat, const char *argument)
{
    if (!*argument) {
        const char *text = bt_conversation_system(&chat->conversation);
        (void)puts(text ? text : "the model is told nothing; /system TEXT changes that");
        return BATON_OK;
    }
    return bt_conversation_set_system(&chat->conversation,
                                      strcmp(argument, "-") != 0 ? argument : NULL);
}

static enum baton_err run_clear(struct chat *chat, const char *argument)
{
    (void)argument;
    bt_conversation_clear(&chat->conversation);
    (void)puts("a new conversation");
    return BATON_OK;
}

static enum baton_err run_retry(struct chat *chat, const char *argument)
{
    (void)argument;
    (void)bt_conversation_drop_last(&chat->conversation, "assistant");
    if (chat->conversation.n &&
        !strcmp(chat->conversation.messages[chat->conversation.n - 1].role, "user"))
        return answer(chat);
    (void)puts("nothing was said yet");
    return BATON_OK;
}

static enum baton_err run_save(struct chat *chat, const char *argument)
{
    struct baton_why why = {.text = ""};
    if (!*argument) {
        (void)puts("/save needs the name of a file");
        return BATON_OK;
    }
    enum baton_err err =
        bt_conversation_save(&chat->conversation, chat->model.name, argument, &why);
    if (err)
        complain(err, &why);
    else
        (void)printf("saved to %s\n", argument);
    return BATON_OK;
}

static enum baton_err run_explain(struct chat *chat, const char *argument)
{
    struct baton_why why = {.text = ""};
    char *end = NULL;
    unsigned long nth = *argument ? strtoul(argument, &end, 10) : 1;
    if ((end && *end) || !nth || *argument == '-') {
        (void)printf("/explain takes a number from 1, the last token, not \"%s\"\n", argument);
        return BATON_OK;
    }
    enum baton_err err = bt_reply_explain(&chat->reply, nth - 1, stdout, &why);
    if (err)
        complain(err, &why);
    return BATON_OK;
}

static enum baton_err run_quit(struct chat *chat, const char *argument)
{
    (void)argument;
    chat->over = true;
    return BATON_OK;
}

static const struct chat_command chat_commands[] = {
    {"/help", "", "shows this", run_help},
    {"/system", "[TEXT]", "what the model is told at first; - takes it back", run_system},
    {"/clear", "", "begins a new conversation", run_clear},
    {"/retry", "", "another answer to the last question", run_retry},
    {"/explain", "[N]", "why the last token, or the Nth from the end", run_explain},
    {"/save", "FILE", "writes the conversation as JSON", run_save},
    {"/quit", "", "ends the program, as Ctrl-D does", run_quit},
};
enum { N_CHAT_COMMANDS = BATON_N_OF(chat_commands) };

static enum baton_err run_help(struct chat *chat, const char *argument)
{
    (void)chat;
    (void)argument;
    for (int i = 0; i < N_CHAT_COMMANDS; i++)
        (void)printf("  %-9s%-7s %s\n", chat_commands[i].name, chat_commands[i].arguments,
                     chat_commands[i].summary);
    (void)puts("A line that ends in \\ goes on in the next one. Ctrl-C stops an answer.");
    return BATON_OK;
}

static enum baton_err run_command(struct chat *chat, const char *line)
{
    size_t n = strcspn(line, " \t");
    const char *argument = line + n + strspn(line + n, " \t");
    for (int i = 0; i < N_CHAT_COMMANDS; i++)
        if (strlen(chat_commands[i].name) == n && !memcmp(chat_commands[i].name, line, n))
            return chat_commands[i].run(chat, argument);
    (void)printf("there is no %.*s; /help shows what there is\n", (int)n, line);
    return BATON_OK;
}

/* ---- the loop ---- */

static void greet(const struct chat *chat)
{
    if (!bt_line_editor_is_interactive(chat->editor))
        return;
    (void)printf("%s at %s. /help shows the commands.\n", chat->model.name,
                 chat->model.server.url.authority);
    if (!chat->model.has_template)
        (void)puts("It does not converse: it continues what you write.");
}

static enum baton_err converse(struct chat *chat)
{
    const char *line;
    enum baton_err err = BATON_OK;
    greet(chat);
    while (!err && !chat->over && (line = bt_line_editor_read(chat->editor, "> "))) {
        if (*line == '/')
            err = run_command(chat, line);
        else if (line[strspn(line, " \t\n")])
            err = say(chat, line);
        (void)fflush(stdout);
    }
    if (!err && !chat->over && bt_line_editor_is_interactive(chat->editor))
        (void)putchar('\n');
    return err;
}

/* The history lies in the user's own state directory, whatever --state says. */
static enum baton_err history_path(char path[PATH_MAX], struct baton_why *why)
{
    struct bt_state own;
    enum baton_err err = bt_state_find(NULL, &own, why);
    if (!err)
        err = bt_state_make(&own, why);
    return err ? err : bt_state_path(&own, "chat-history", path, why);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct chat chat = {.options = ((const struct options *)arg)->ask};
    char history[PATH_MAX];
    enum baton_err err = bt_ask_check(&chat.options, why);
    if (!err)
        err = bt_model_open(&chat.options, &chat.model, why);
    if (err)
        return err;
    bt_reply_init(&chat.reply);
    bt_reply_catch_interrupts();
    /* A conversation works without a history. */
    if (history_path(history, NULL))
        history[0] = '\0';
    err = bt_line_editor_create("baton", history, &chat.editor, why);
    if (!err)
        err = bt_conversation_set_system(&chat.conversation, chat.options.system);
    if (!err)
        err = converse(&chat);
    bt_line_editor_destroy(chat.editor);
    bt_reply_fini(&chat.reply);
    bt_conversation_fini(&chat.conversation);
    return err;
}

enum baton_err bt_chat(int argc, char **argv, struct baton_why *why)
{
    struct options options = {.ask = {.raw = false}};
    struct baton_config config = {.process = "baton chat",
                                  .summary = "a conversation with the model, in the terminal",
                                  .env_prefix = "BATON",
                                  .options = option_table,
                                  .n_options = BATON_N_OF(option_table)};
    bt_ask_forget_model();
    return cli_run(&config, &options, argc, argv, run, why);
}
