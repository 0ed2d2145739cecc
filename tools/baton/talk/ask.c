#include "tools/baton/talk/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/baton/commands.h"
#include "tools/baton/fleet/readiness.h"
#include "tools/baton/fleet/state.h"

enum { HTTP_OK = 200, DEFAULT_CONTINUATION_TOKENS = 256 };

/* ---- the server ---- */

/* Finds the fleet that runs with the state directory; NOT_FOUND when there is none. */
static enum baton_err find_fleet(const char *option, struct bt_server *server,
                                 struct baton_why *why)
{
    struct bt_state state;
    struct bt_fleet_file file;
    enum baton_err err = bt_state_find(option, &state, why);
    /* A supervisor that was killed leaves its fleet.json behind. */
    if (!err && !bt_state_pid(&state, "supervisor", NULL))
        err = BATON_NOT_FOUND;
    if (!err)
        err = bt_fleet_file_read(&state, &file, why);
    return err ? err : bt_fleet_server(&file, server, why);
}

enum baton_err bt_ask_find_server(const struct bt_ask_options *options, struct bt_server *server,
                                  struct baton_why *why)
{
    enum baton_err err = BATON_NOT_FOUND;
    if (!options->url)
        err = find_fleet(options->state, server, why);
    if (err == BATON_NOT_FOUND)
        err = bt_server_parse("--url", options->url ? options->url : "http://127.0.0.1:8000",
                              server, why);
    if (!err && options->api_keys) {
        server->key[0] = '\0';
        err = bt_server_read_key(server, options->api_keys, why);
    }
    return err;
}

void bt_ask_forget_model(void)
{
    (void)unsetenv("BATON_MODEL");
}

const struct baton_json *bt_find_served(const struct baton_json *models, const char *name)
{
    for (size_t i = 0; i < baton_json_size(models); i++) {
        const struct baton_json *model = baton_json_at(models, i);
        const char *id = baton_json_string(baton_json_get(model, "id"), NULL);
        if (id && !strcasecmp(id, name))
            return model;
    }
    return NULL;
}

/* Takes the model that was asked for, else the first. */
static enum baton_err read_model(const struct bt_answer *answer, const char *wanted,
                                 struct bt_model *model, struct baton_why *why)
{
    struct baton_json *root = NULL;
    enum baton_err err =
        baton_json_parse(baton_buf_text(&answer->body), answer->body.len, &root, why);
    if (err)
        return err;
    const struct baton_json *models = baton_json_get(root, "data");
    const struct baton_json *found = wanted ? bt_find_served(models, wanted) : NULL;
    const struct baton_json *chosen = found ? found : baton_json_at(models, 0);
    const char *id = baton_json_string(baton_json_get(chosen, "id"), NULL);
    const char *template = baton_json_string(baton_json_get(chosen, "chat_template"), NULL);
    if (id)
        (void)snprintf(model->name, sizeof model->name, "%s", wanted && !found ? wanted : id);
    else
        err = baton_fail(why, BATON_PEER, "%s serves no model", model->server.url.authority);
    /* Other servers do not send the field: they accept chats. */
    model->has_template = !template || strcmp(template, "none") != 0;
    baton_json_free(root);
    return err;
}

/* Whoever gives no address expects a fleet on this machine. */
static enum baton_err hint(const struct bt_ask_options *options, enum baton_err err,
                           struct baton_why *why)
{
    if (!why || options->url || (err != BATON_IO && err != BATON_NOT_FOUND))
        return err;
    const struct baton_why reason = *why;
    return baton_fail(why, err, "%.500s; no fleet runs here: start one with \"%s up\"", reason.text,
                      bt_called_as());
}

enum baton_err bt_ask_models(const struct bt_ask_options *options, const struct bt_server *server,
                             struct bt_answer *answer, struct baton_why *why)
{
    char reason[300];
    enum baton_err err = bt_fleet_get(server, "/v1/models", answer, why);
    if (err)
        return hint(options, err, why);
    if (answer->status == HTTP_OK)
        return BATON_OK;
    bt_answer_reason(answer, reason, sizeof reason);
    return baton_fail(why, BATON_PEER, "%s: HTTP %d: %s", server->url.authority, answer->status,
                      reason);
}

enum baton_err bt_model_open(const struct bt_ask_options *options, struct bt_model *model,
                             struct baton_why *why)
{
    struct bt_answer answer;
    *model = (struct bt_model){.name = ""};
    enum baton_err err = bt_ask_find_server(options, &model->server, why);
    if (err)
        return err;
    bt_answer_init(&answer);
    err = bt_ask_models(options, &model->server, &answer, why);
    if (!err)
        err = read_model(&answer, options->model, model, why);
    if (!err && options->raw)
        model->has_template = false;
    bt_answer_fini(&answer);
    return err;
}

/* ---- requests ---- */

/* Accepts a number as JSON writes it; the server checks its range. */
static enum baton_err check_number(const char *option, const char *text, struct baton_why *why)
{
    char *end;
    if (!text)
        return BATON_OK;
    (void)strtod(text, &end);
    if (end == text || *end || strspn(text, "-0123456789.eE") != strlen(text))
        return baton_fail(why, BATON_INVALID, "--%s must be a number, not \"%.60s\"", option, text);
    return BATON_OK;
}

enum baton_err bt_ask_check(const struct bt_ask_options *options, struct baton_why *why)
{
    enum baton_err err = check_number("temperature", options->temperature, why);
    if (!err)
        err = check_number("top-p", options->top_p, why);
    if (!err)
        err = check_number("seed", options->seed, why);
    return err;
}

static void put_number(struct baton_json_out *out, const char *key, const char *text)
{
    if (text)
        baton_json_put_raw(out, key, text, strlen(text));
}

static void put_settings(const struct bt_model *model, const struct bt_ask_options *options,
                         struct baton_json_out *out)
{
    int64_t max_tokens = options->max_tokens;
    /* Without turns a continuation has no natural end. */
    if (!max_tokens && !model->has_template)
        max_tokens = DEFAULT_CONTINUATION_TOKENS;
    if (max_tokens)
        baton_json_put_int(out, "max_tokens", max_tokens);
    put_number(out, "temperature", options->temperature);
    put_number(out, "top_p", options->top_p);
    put_number(out, "seed", options->seed);
    if (options->explain)
        baton_json_put_int(out, "explain", options->explain);
    baton_json_put_bool(out, "stream", true);
}

static void put_messages(const struct bt_message *messages, size_t n, struct baton_json_out *out)
{
    baton_json_open(out, "messages", '[');
    for (size_t i = 0; i < n; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "role", messages[i].role);
        baton_json_put_string(out, "content", messages[i].text);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

/* Writes the text of all messages as one prompt, for a model without a chat template. */
static void put_text(const struct bt_message *messages, size_t n, struct baton_json_out *out)
{
    struct baton_buf text;
    baton_buf_init(&text, out->buf->max_bytes);
    for (size_t i = 0; i < n; i++)
        baton_buf_puts(&text, messages[i].text);
    baton_json_put_text(out, "prompt", baton_buf_text(&text), text.len);
    baton_buf_fini(&text);
}

void bt_ask_body(const struct bt_model *model, const struct bt_ask_options *options,
                 const struct bt_message *messages, size_t n, struct baton_buf *body)
{
    struct baton_json_out out = baton_json_out(body);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "model", model->name);
    if (model->has_template)
        put_messages(messages, n, &out);
    else
        put_text(messages, n, &out);
    put_settings(model, options, &out);
    baton_json_close(&out, '}');
}

const char *bt_ask_path(const struct bt_model *model)
{
    return model->has_template ? "/v1/chat/completions" : "/v1/completions";
}
