#include "tools/baton/fleet/fleet.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/base/array.h"
#include "common/base/log.h"
#include "common/base/os/file.h"
#include "common/base/random.h"
#include "tools/baton/fleet/install.h"

enum { FIRST_INBOX_PORT = 7100, FIRST_HTTP_PORT = 8000, TOKEN_WORDS = 2 };

enum role { GATEWAY, PREFILL, DECODE };

/* The parts of --memory: a decode worker holds a context for as long as it makes tokens, a prefill
 * worker while it computes and sends it. Workers divide a host's memory alike. */
enum { PREFILL_PARTS = 1, DECODE_PARTS = 2 };

static const char *const programs[] = {"baton-gateway", "baton-prefill", "baton-decode"};

/* ---- command lines ---- */

static void add(struct bt_command *command, const char *option, const char *value)
{
    command->words[command->n_words++] = option;
    command->words[command->n_words++] = value;
}

static void add_if(struct bt_command *command, const char *option, const char *value)
{
    if (value && *value)
        add(command, option, value);
}

/* more: a model of --more-models, which has its own context; NULL: that of --model. */
static struct bt_command *add_process(struct bt_fleet *fleet, enum role role, const char *name,
                                      const struct bt_more_model *more)
{
    struct bt_command *command = &fleet->commands[fleet->n++];
    (void)snprintf(command->name, sizeof command->name, "%s", name);
    command->n_words = 0;
    command->words[command->n_words++] = fleet->programs[role];
    add(command, "--model", more ? more->path : fleet->model);
    add_if(command, "--pack-dir", fleet->pack_dir);
    if (!more)
        add_if(command, "--context-tokens", fleet->context_tokens);
    return command;
}

/* Processes write logfmt by default, unless their own variables say otherwise. */
static void add_log_format(struct bt_command *command, const struct bt_up_options *options)
{
    if (options->log_format == BATON_LOG_JSON)
        add(command, "--log-format", "json");
}

static void add_gateway(struct bt_fleet *fleet, const struct bt_up_options *options)
{
    struct bt_command *command = add_process(fleet, GATEWAY, "gateway", NULL);
    add(command, "--host", fleet->host);
    add(command, "--port", fleet->port);
    add(command, "--inbox", fleet->inbox);
    add_if(command, "--api-keys", fleet->api_keys);
    add_if(command, "--admin-keys", fleet->admin_keys);
    add_if(command, "--cors-origins", options->cors_origins);
    add_if(command, "--allowed-hosts", options->allowed_hosts);
    add_if(command, "--chat-template", options->chat_template);
    add_if(command, "--served-model-name", options->served_model_name);
    add_if(command, "--more-models", fleet->more_models);
    add_if(command, "--reasoning", options->reasoning);
    add_if(command, "--sampling-defaults", options->sampling_defaults);
    if (*fleet->draft_model)
        add(command, "--speculation", "draft_model");
    add_log_format(command, options);
}

static void add_memory(const struct bt_fleet *fleet, struct bt_command *command, enum role role)
{
    add_if(command, "--kv-tokens", fleet->kv_tokens);
    add_if(command, "--kv-bytes", fleet->kv_bytes);
    add_if(command, "--memory", fleet->memory);
    if (*fleet->memory)
        add(command, "--memory-share", fleet->memory_shares[role == DECODE]);
    add_if(command, "--kv-idle-s", fleet->kv_idle_s);
}

static int64_t n_workers(const struct bt_up_options *options, enum role role,
                         const struct bt_more_model *more)
{
    if (role == DECODE && more)
        return more->is_encoder ? 0 : options->n_decode_of_others;
    return role == PREFILL ? options->n_prefill : options->n_decode;
}

/* Adds the workers of a model, numbered on from *n. */
static void add_workers(struct bt_fleet *fleet, const struct bt_up_options *options, enum role role,
                        const struct bt_more_model *more, int64_t *n)
{
    char name[BT_NAME_BYTES];
    int64_t end = *n + n_workers(options, role, more);
    for (; *n < end; (*n)++) {
        (void)snprintf(name, sizeof name, "%s-%d", role == PREFILL ? "prefill" : "decode", (int)*n);
        struct bt_command *command = add_process(fleet, role, name, more);
        add(command, "--id", command->name);
        add(command, "--gateway", fleet->inbox);
        add_if(command, "--dtype", options->dtype);
        if (!more)
            add_if(command, "--lora", options->lora);
        if (options->enable_lora)
            add(command, "--enable-lora", "true");
        if (role == DECODE && !more)
            add_if(command, "--draft-model", fleet->draft_model);
        add_if(command, "--cores",
               role == PREFILL ? options->prefill_cores : options->decode_cores);
        add_memory(fleet, command, role);
        add_log_format(command, options);
    }
}

/* Adds a role's workers of all models, and returns their number. */
static int64_t add_role(struct bt_fleet *fleet, const struct bt_up_options *options, enum role role)
{
    int64_t n = 0;
    add_workers(fleet, options, role, NULL, &n);
    for (int i = 0; i < fleet->more.n; i++)
        add_workers(fleet, options, role, &fleet->more.list[i], &n);
    return n;
}

static enum baton_err check_number(const struct bt_fleet *fleet,
                                   const struct bt_up_options *options, struct baton_why *why)
{
    for (int role = PREFILL; role <= DECODE; role++) {
        int64_t n = n_workers(options, (enum role)role, NULL);
        for (int i = 0; i < fleet->more.n; i++)
            n += n_workers(options, (enum role)role, &fleet->more.list[i]);
        if (n > BT_MAX_WORKERS)
            return baton_fail(why, BATON_INVALID,
                              "--more-models: %lld %s workers of all models together, but at most "
                              "%d may be",
                              (long long)n, role == PREFILL ? "prefill" : "decode", BT_MAX_WORKERS);
    }
    return BATON_OK;
}

/* ---- addresses and paths ---- */

static enum baton_err choose_ports(struct bt_fleet *fleet, const struct bt_up_options *options,
                                   struct baton_why *why)
{
    enum baton_err err =
        options->port ? bt_port_claim(fleet->host, (int)options->port, &fleet->http_port, why)
                      : bt_port_choose(fleet->host, FIRST_HTTP_PORT, &fleet->http_port, why);
    if (!err)
        err = bt_port_choose("127.0.0.1", FIRST_INBOX_PORT, &fleet->inbox_port, why);
    if (err)
        return err;
    (void)snprintf(fleet->port, sizeof fleet->port, "%d", fleet->http_port.number);
    (void)snprintf(fleet->inbox, sizeof fleet->inbox, "tcp://127.0.0.1:%d",
                   fleet->inbox_port.number);
    return BATON_OK;
}

enum baton_err bt_make_absolute(const char *option, const char *from, char to[PATH_MAX],
                                struct baton_why *why)
{
    char cwd[PATH_MAX];
    to[0] = '\0';
    if (!from || !*from)
        return BATON_OK;
    if (access(from, F_OK) || (*from != '/' && !getcwd(cwd, sizeof cwd)))
        return baton_fail(why, BATON_INVALID, "--%s %s: %s", option, from, strerror(errno));
    if (*from != '/')
        return baton_file_path(to, cwd, from, why);
    int n = snprintf(to, PATH_MAX, "%s", from);
    return n < PATH_MAX ? BATON_OK : baton_fail(why, BATON_INVALID, "--%s: too long", option);
}

static enum baton_err find_programs(struct bt_fleet *fleet, const char *bin, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    for (int role = GATEWAY; role <= DECODE && !err; role++)
        err = bt_find_program(bin, programs[role], fleet->programs[role], why);
    return err;
}

/* Writes nothing for 0. */
static void put_number(char *text, size_t size, int64_t n)
{
    text[0] = '\0';
    if (n)
        (void)snprintf(text, size, "%lld", (long long)n);
}

/* Workers get what is left of --memory without the processes, and their part of it. */
static void put_memory(struct bt_fleet *fleet, const struct bt_up_options *options)
{
    int64_t n = 1 + options->n_prefill + options->n_decode,
            n_parts = PREFILL_PARTS * options->n_prefill + DECODE_PARTS * options->n_decode;
    put_number(fleet->kv_tokens, sizeof fleet->kv_tokens, options->kv_tokens);
    put_number(fleet->kv_bytes, sizeof fleet->kv_bytes, options->kv_bytes);
    put_number(fleet->memory, sizeof fleet->memory,
               options->memory ? options->memory - n * BT_PROCESS_BYTES : 0);
    (void)snprintf(fleet->memory_shares[0], sizeof fleet->memory_shares[0], "%.4f",
                   (double)PREFILL_PARTS / (double)n_parts);
    (void)snprintf(fleet->memory_shares[1], sizeof fleet->memory_shares[1], "%.4f",
                   (double)DECODE_PARTS / (double)n_parts);
    (void)snprintf(fleet->kv_idle_s, sizeof fleet->kv_idle_s, "%g", options->kv_idle_s);
}

static void put_numbers(struct bt_fleet *fleet, const struct bt_up_options *options)
{
    put_number(fleet->context_tokens, sizeof fleet->context_tokens, options->context_tokens);
    put_memory(fleet, options);
}

/* Fills the file for `status`. A wildcard address becomes the loopback address. */
static void describe(struct bt_fleet *fleet, const struct bt_up_options *options)
{
    struct bt_fleet_file *file = &fleet->file;
    const char *certificate = getenv("BATON_GATEWAY_SSL_CERTFILE");
    const char *host = !strcmp(fleet->host, "0.0.0.0") ? "127.0.0.1"
                       : !strcmp(fleet->host, "::")    ? "::1"
                                                       : fleet->host;
    *file = (struct bt_fleet_file){.port = fleet->http_port.number,
                                   .stop_timeout_s = options->stop_timeout_s,
                                   .tls = certificate && *certificate};
    (void)snprintf(file->host, sizeof file->host, "%s", host);
    (void)snprintf(file->api_keys, sizeof file->api_keys, "%s", fleet->api_keys);
}

enum baton_err bt_fleet_plan(struct bt_fleet *fleet, const struct bt_up_options *options,
                             struct baton_why *why)
{
    const char *keys = options->api_keys ? options->api_keys : getenv("BATON_GATEWAY_API_KEYS");
    fleet->n = 0;
    fleet->host = strcasecmp(options->host, "localhost") != 0 ? options->host : "127.0.0.1";
    put_numbers(fleet, options);
    enum baton_err err = bt_state_find(options->state, &fleet->state, why);
    if (!err)
        err = find_programs(fleet, options->bin, why);
    if (!err)
        err = bt_make_absolute("model", options->model, fleet->model, why);
    if (!err && options->draft_model && !strcmp(options->draft_model, "mtp"))
        (void)snprintf(fleet->draft_model, sizeof fleet->draft_model, "mtp");
    else if (!err)
        err = bt_make_absolute("draft-model", options->draft_model, fleet->draft_model, why);
    if (!err)
        err = bt_make_absolute("api-keys", keys, fleet->api_keys, why);
    if (!err)
        err = bt_make_absolute("admin-keys", options->admin_keys, fleet->admin_keys, why);
    if (!err)
        err = bt_more_models_find(options, &fleet->more, why);
    if (!err)
        err = bt_more_models_put(&fleet->more, fleet->more_models, sizeof fleet->more_models, why);
    if (!err)
        err = check_number(fleet, options, why);
    if (!err)
        err = choose_ports(fleet, options, why);
    if (err)
        return err;
    (void)snprintf(fleet->pack_dir, sizeof fleet->pack_dir, "%s",
                   options->pack_dir ? options->pack_dir : "");
    describe(fleet, options);
    add_gateway(fleet, options);
    fleet->file.n_prefill = add_role(fleet, options, PREFILL);
    fleet->file.n_decode = add_role(fleet, options, DECODE);
    return BATON_OK;
}

/* ---- the environment ---- */

static enum baton_err make_token(const struct bt_fleet *fleet, struct baton_why *why)
{
    char token[TOKEN_WORDS * 16 + 2];
    size_t used = 0;
    for (int i = 0; i < TOKEN_WORDS; i++)
        used += (size_t)snprintf(token + used, sizeof token - used, "%016llx",
                                 (unsigned long long)baton_random_id());
    token[used++] = '\n';
    token[used] = '\0';
    return bt_state_write(&fleet->state, "cluster-token", token, 0600, why);
}

enum baton_err bt_fleet_environment(const struct bt_fleet *fleet, struct baton_why *why)
{
    /* A variable of the user's shell must not connect our processes to another fleet. */
    static const char *const roles[] = {"GATEWAY", "PREFILL", "DECODE"};
    static const char *const ours[] = {"CLUSTER_TOKEN", "ID",   "INBOX",          "ADVERTISE",
                                       "GATEWAY",       "BULK", "BULK_ADVERTISE", "ALIVE_FILE"};
    char path[PATH_MAX], name[64];
    enum baton_err err = make_token(fleet, why);
    if (!err)
        err = bt_state_path(&fleet->state, "cluster-token", path, why);
    for (int role = GATEWAY; role <= DECODE && !err; role++) {
        for (size_t i = 0; i < BATON_N_OF(ours); i++) {
            (void)snprintf(name, sizeof name, "BATON_%s_%s", roles[role], ours[i]);
            (void)unsetenv(name);
        }
        /* The token is passed in a file, since every user can read a command line. */
        (void)snprintf(name, sizeof name, "BATON_%s_CLUSTER_TOKEN_FILE", roles[role]);
        if (setenv(name, path, 1))
            err = BATON_NO_MEMORY;
    }
    return err;
}
