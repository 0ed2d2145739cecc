/* baton run "prompt": writes one answer to stdout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/array.h"
#include "tools/baton/commands.h"
#include "tools/baton/talk/reply.h"
#include "tools/support/cli.h"

enum { MAX_WORDS = 1024, PROMPT_MAX_BYTES = 16 << 20, INTERRUPTED_STATUS = 130 };

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

/* Reads all of stdin, or joins the operands by spaces. */
static enum baton_err read_prompt(struct baton_buf *prompt, struct baton_why *why)
{
    char bytes[4096];
    size_t n;
    bool from_stdin = !config.n_operands || (config.n_operands == 1 && !strcmp(operand[0], "-"));
    if (from_stdin && isatty(STDIN_FILENO) && !config.n_operands)
        return baton_fail(why, BATON_INVALID, "no prompt: baton run \"Once upon a time\"");
    while (from_stdin && (n = fread(bytes, 1, sizeof bytes, stdin)) > 0)
        baton_buf_append(prompt, bytes, n);
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

static enum baton_err answer(const struct options *options, char *prompt, struct baton_why *why)
{
    struct bt_model model;
    struct bt_reply reply;
    struct bt_message messages[2];
    size_t n = 0;
    enum baton_err err = bt_model_open(&options->ask, &model, why);
    if (err)
        return err;
    if (options->ask.system)
        messages[n++] = (struct bt_message){"system", (char *)options->ask.system};
    messages[n++] = (struct bt_message){"user", prompt};
    bt_reply_init(&reply);
    bt_reply_catch_interrupts();
    err = bt_reply_get(&reply, &model, &options->ask, messages, n, why);
    if (!err || err == BATON_CANCELED)
        (void)putchar('\n');
    if (err == BATON_CANCELED) {
        /* Shells expect 128 + SIGINT. */
        bt_exit_status = INTERRUPTED_STATUS;
        err = BATON_OK;
    }
    bt_reply_fini(&reply);
    return err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct baton_buf prompt;
    baton_buf_init(&prompt, PROMPT_MAX_BYTES);
    enum baton_err err = bt_ask_check(&options->ask, why);
    if (!err)
        err = read_prompt(&prompt, why);
    if (!err)
        err = answer(options, prompt.data ? prompt.data : (char[]){""}, why);
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
                                   .operands = "[PROMPT | -]",
                                   .operand = operand,
                                   .max_operands = MAX_WORDS};
    return cli_run(&config, &options, argc, argv, run, why);
}
