#include "tools/baton/talk/reply.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"

enum {
    BODY_MAX_BYTES = 64 << 20,
    TEXT_MAX_BYTES = 16 << 20,
    STEPS_MAX_BYTES = 64 << 20,
    HTTP_OK = 200
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

void bt_reply_catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = on_interrupt};
    sigset_t interrupt;
    (void)sigemptyset(&interrupt);
    (void)sigaddset(&interrupt, SIGINT);
    /* Blocked, the signal can only arrive inside a wait, which it ends: none is lost in between. */
    (void)sigprocmask(SIG_BLOCK, &interrupt, NULL);
    (void)sigaction(SIGINT, &action, NULL);
}

void bt_reply_init(struct bt_reply *reply)
{
    *reply = (struct bt_reply){.is_terminal = isatty(STDOUT_FILENO)};
    baton_buf_init(&reply->text, TEXT_MAX_BYTES);
    baton_buf_init(&reply->steps, STEPS_MAX_BYTES);
}

void bt_reply_fini(struct bt_reply *reply)
{
    baton_buf_fini(&reply->text);
    baton_buf_fini(&reply->steps);
}

static void reset(struct bt_reply *reply)
{
    baton_buf_reset(&reply->text);
    baton_buf_reset(&reply->steps);
    reply->n_steps = 0;
    reply->n_tokens = 0;
    reply->finish_reason[0] = '\0';
    reply->begin_ns = baton_now_ns();
    reply->first_ns = reply->end_ns = 0;
}

/* ---- events ---- */

/* Writes text, without the control characters that a terminal would obey. */
static enum baton_err show(const struct bt_reply *reply, const char *text)
{
    for (const char *p = text; *p; p++) {
        unsigned char c = (unsigned char)*p;
        bool harmless = (c >= ' ' && c != 0x7f) || c == '\n' || c == '\t';
        (void)putchar(harmless || !reply->is_terminal ? c : '?');
    }
    return fflush(stdout) ? BATON_IO : BATON_OK;
}

static enum baton_err add_text(struct bt_reply *reply, const char *text)
{
    if (!*text)
        return BATON_OK;
    if (!reply->first_ns)
        reply->first_ns = baton_now_ns();
    baton_buf_puts(&reply->text, text);
    return show(reply, text);
}

static void add_steps(struct bt_reply *reply, const struct baton_json *steps)
{
    for (size_t i = 0; i < baton_json_size(steps); i++) {
        struct baton_json_out out = baton_json_out(&reply->steps);
        if (reply->n_steps++)
            baton_buf_putc(&reply->steps, ',');
        baton_json_put_value(&out, NULL, baton_json_at(steps, i));
    }
}

static enum baton_err add_choice(struct bt_reply *reply, const struct baton_json *choice)
{
    const struct baton_json *delta = baton_json_get(choice, "delta");
    const char *text = delta ? baton_json_string(baton_json_get(delta, "content"), NULL)
                             : baton_json_string(baton_json_get(choice, "text"), NULL);
    const char *reason = baton_json_string(baton_json_get(choice, "finish_reason"), NULL);
    add_steps(reply, baton_json_get(choice, "steps"));
    if (reason)
        (void)snprintf(reply->finish_reason, sizeof reply->finish_reason, "%s", reason);
    return text ? add_text(reply, text) : BATON_OK;
}

struct reading {
    struct bt_reply *reply;
    struct baton_why *why;
};

static enum baton_err on_event(void *arg, const struct ld_event *event)
{
    struct reading *reading = arg;
    struct baton_json *root = NULL;
    if (!strcmp(event->data, "[DONE]"))
        return BATON_OK;
    enum baton_err err = baton_json_parse(event->data, event->n_data, &root, reading->why);
    if (err)
        return err;
    const struct baton_json *choice = baton_json_at(baton_json_get(root, "choices"), 0);
    const struct baton_json *error = baton_json_get(root, "error");
    const struct baton_json *n = baton_json_get(baton_json_get(root, "timings"), "predicted_n");
    if (error) {
        const char *message = baton_json_string(baton_json_get(error, "message"), NULL);
        err = baton_fail(reading->why, BATON_PEER, "%s", message ? message : "the server failed");
    } else if (choice) {
        err = add_choice(reading->reply, choice);
    }
    if (baton_json_kind(n) == BATON_JSON_INT)
        reading->reply->n_tokens = baton_json_int(n);
    baton_json_free(root);
    return err;
}

/* ---- the request ---- */

static enum baton_err exchange(struct bt_reply *reply, const struct bt_model *model,
                               const char *body, struct baton_why *why)
{
    struct reading reading = {reply, why};
    struct bt_answer answer;
    char reason[400];
    struct bt_request request = {.method = "POST",
                                 .path = bt_ask_path(model),
                                 .body = body,
                                 .timeout_ms = -1,
                                 .stop = &interrupted,
                                 .on_event = on_event,
                                 .arg = &reading};
    bt_answer_init(&answer);
    enum baton_err err = bt_http_do(&model->server, &request, &answer, why);
    if (!err && answer.status != HTTP_OK) {
        bt_answer_reason(&answer, reason, sizeof reason);
        err = baton_fail(why, BATON_PEER, "%s", reason);
    }
    bt_answer_fini(&answer);
    return err;
}

enum baton_err bt_reply_get(struct bt_reply *reply, const struct bt_model *model,
                            const struct bt_ask_options *options, const struct bt_message *messages,
                            size_t n, struct baton_why *why)
{
    struct baton_buf body;
    reset(reply);
    interrupted = 0;
    baton_buf_init(&body, BODY_MAX_BYTES);
    bt_ask_body(model, options, messages, n, &body);
    enum baton_err err = baton_buf_err(&body);
    if (!err)
        err = exchange(reply, model, body.data, why);
    baton_buf_fini(&body);
    reply->end_ns = baton_now_ns();
    if (!err)
        err = baton_buf_err(&reply->text);
    return err;
}
