/* baton run [MODEL] "prompt": writes one answer to stdout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "tools/baton/commands.h"
#include "tools/baton/models/store.h"
#include "tools/baton/talk/reply.h"
#include "tools/support/cli.h"

enum { MAX_WORDS = 1024, PROMPT_MAX_BYTES = 16 << 20 };

struct options {
    struct bt_ask_options ask;
};

static const struct baton_option option_table[] = {
    BT_ASK_OPTIONS(struct options, ask),
    BATON_ROW_BOOL(struct options, ask.raw, "raw", "false",
                   "continue the text as it is, without a chat template"),
};

static const char *operand[MAX_WORDS];
static struct baton_config config;

static enum baton_err refuse_empty(struct baton_why *why)
{
    return baton_fail(why, BATON_INVALID,
                      "no prompt, and nothing on stdin: baton run \"Once upon a time\"; a "
                      "conversation is baton chat");
}

/* Reads all of stdin, or joins the operands by spaces. */
static enum baton_err read_prompt(struct baton_buf *prompt, struct baton_why *why)
{
    char bytes[4096];
    size_t n;
    bool from_stdin = !config.n_operands || (config.n_operands == 1 && !strcmp(operand[0], "-"));
    if (from_stdin && isatty(STDIN_FILENO) && !config.n_operands)
        return refuse_empty(why);
    while (from_stdin && (n = fread(bytes, 1, sizeof bytes, stdin)) > 0)
        baton_buf_append(prompt, bytes, n);
    if (from_stdin && !prompt->len)
        return refuse_empty(why);
    for (size_t i = 0; !from_stdin && i < config.n_operands; i++) {
        if (i)
            baton_buf_putc(prompt, ' ');
        baton_buf_puts(prompt, operand[i]);
    }
    /* A JSON text could hold it, but the API takes a C string. */
    if (prompt->data && strlen(prompt->data) != prompt->len)
        return baton_fail(why, BATON_INVALID, "the prompt holds a zero byte");
    return baton_buf_err(prompt);
}

/* ---- run MODEL PROMPT, as users of other programs type it ---- */

static bool is_served(const struct bt_ask_options *ask, const char *name)
{
    struct bt_server server;
    struct bt_answer answer;
    struct baton_json *root = NULL;
    bt_answer_init(&answer);
    bool served = !bt_ask_find_server(ask, &server, NULL) &&
                  !bt_ask_models(ask, &server, &answer, NULL) &&
                  !baton_json_parse(baton_buf_text(&answer.body), answer.body.len, &root, NULL) &&
                  bt_find_served(baton_json_get(root, "data"), name);
    baton_json_free(root);
    bt_answer_fini(&answer);
    return served;
}

static bool is_on_disk(const char *name)
{
    struct bt_store store;
    if (bt_store_read(getenv("BATON_MODELS"), &store, NULL))
        return false;
    bool found = bt_store_find(&store, name) != NULL;
    bt_store_fini(&store);
    return found;
}

/* "llama3.2" or "qwen3:8b": a word with letters and digits. */
static bool resembles_model(const char *word)
{
    return strpbrk(word, "0123456789") && strcspn(word, "0123456789") > 1 &&
           !strpbrk(word, " \t\n,;!?'\"");
}

/* Takes the first word as the model's name if it is one. A word that only resembles a name, before
 * one other, is refused: it may be either. */
static enum baton_err take_model(struct bt_ask_options *ask, struct baton_why *why)
{
    const char *word = operand[0];
    if (ask->model || !config.n_operands || !strcmp(word, "-"))
        return BATON_OK;
    if (is_served(ask, word)) {
        ask->model = word;
        config.n_operands--;
        memmove(operand, operand + 1, config.n_operands * sizeof *operand);
        return BATON_OK;
    }
    if (ask->url || config.n_operands < 2)
        return BATON_OK;
    if (is_on_disk(word))
        return baton_fail(why, BATON_NOT_FOUND,
                          "no fleet serves \"%s\"; start one with \"%s up --detach --model %s\"",
                          word, bt_called_as(), word);
    if (config.n_operands == 2 && resembles_model(word))
        return baton_fail(why, BATON_NOT_FOUND,
                          "no model \"%s\" is served or on disk; \"%s pull %s\" downloads one. "
                          "Quote a prompt of several words",
                          word, bt_called_as(), word);
    return BATON_OK;
}

/* ---- the answer ---- */

static enum baton_err answer(const struct bt_ask_options *ask, char *prompt, struct baton_why *why)
{
    struct bt_model model;
    struct bt_reply reply;
    struct bt_message messages[2];
    size_t n = 0;
    enum baton_err err = bt_model_open(ask, &model, why);
    if (err)
        return err;
    if (ask->system)
        messages[n++] = (struct bt_message){"system", (char *)ask->system};
    messages[n++] = (struct bt_message){"user", prompt};
    bt_reply_init(&reply);
    bt_reply_catch_interrupts();
    err = bt_reply_get(&reply, &model, ask, messages, n, why);
    if (!err || err == BATON_CANCELED)
        (void)putchar('\n');
    if (err == BATON_CANCELED) {
        bt_exit_status = BATON_EXIT_INTERRUPTED;
        err = BATON_OK;
    }
    bt_reply_fini(&reply);
    return err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct bt_ask_options ask = ((const struct options *)arg)->ask;
    struct baton_buf prompt;
    baton_buf_init(&prompt, PROMPT_MAX_BYTES);
    enum baton_err err = bt_ask_check(&ask, why);
    if (!err)
        err = take_model(&ask, why);
    if (!err)
        err = read_prompt(&prompt, why);
    if (!err)
        err = answer(&ask, prompt.data ? prompt.data : (char[]){""}, why);
    baton_buf_fini(&prompt);
    return err;
}

enum baton_err bt_run(int argc, char **argv, struct baton_why *why)
{
    struct options options = {.ask = {.explain = 0}};
    config = (struct baton_config){.process = "baton run",
                                   .summary = "streams the answer to one prompt to stdout",
                                   .env_prefix = "BATON",
                                   .options = option_table,
                                   .n_options = BATON_N_OF(option_table),
                                   .operands = "[MODEL] [PROMPT | -]",
                                   .operand = operand,
                                   .max_operands = MAX_WORDS};
    bt_ask_forget_model();
    return cli_run(&config, &options, argc, argv, run, why);
}
