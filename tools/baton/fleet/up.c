/* baton up: checks, plans, forks to the background if told to, and supervises. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "tools/baton/commands.h"
#include "tools/baton/fleet/install.h"
#include "tools/baton/fleet/progress.h"
#include "tools/baton/fleet/readiness.h"
#include "tools/baton/fleet/supervisor.h"
#include "tools/baton/models/store.h"
#include "tools/support/cli.h"

/* The first byte that a start in the background reports to its parent; the text for the user
 * follows. */
enum { REPORT_READY = 'R', REPORT_FAILED = 'F', PROGRESS_MS = 250 };

struct up {
    struct bt_up_options options;
    struct bt_fleet fleet;
    char model[PATH_MAX], draft_model[PATH_MAX]; /* the embedded one, or as the options say */
    bool names_state;                            /* the hint for `down` needs --state too */
    FILE *report;                                /* stream for the user's messages */
};

struct example {
    const char *path, *body;
};

/* A first request for a model of this kind. Only an encoder has no decode worker. */
static struct example example_of(const struct bt_up_options *options)
{
    if (options->n_decode)
        return (struct example){"/generate/stream",
                                "{\"prompt\":\"Once upon a time\",\"max_new_tokens\":60,"
                                "\"temperature\":0}"};
    if (options->reranks)
        return (struct example){"/v1/rerank", "{\"query\":\"how deep is the well?\","
                                              "\"documents\":[\"It has nine steps.\",\"A fox.\"]}"};
    return (struct example){"/v1/embeddings", "{\"input\":\"Once upon a time\"}"};
}

static void tell_workers(const struct up *up, const char *model)
{
    const struct bt_up_options *options = &up->options;
    const struct bt_fleet_file *file = &up->fleet.file;
    (void)fprintf(up->report, "Baton is ready: %d prefill ", (int)file->n_prefill);
    if (up->fleet.more.n)
        (void)fprintf(up->report, "and %d decode worker(s), model %s and %d more.",
                      (int)file->n_decode, model, up->fleet.more.n);
    else if (options->n_decode)
        (void)fprintf(up->report, "and %d decode worker(s), model %s.", (int)options->n_decode,
                      model);
    else
        (void)fprintf(up->report, "worker(s), model %s, an encoder, which needs no decode worker.",
                      model);
}

static void report_ready(void *arg, const char *model)
{
    struct up *up = arg;
    const struct bt_up_options *options = &up->options;
    const struct bt_fleet_file *file = &up->fleet.file;
    const char *down = bt_called_as();
    if (options->log_format == BATON_LOG_JSON && !options->detach)
        return; /* prose does not belong among JSON; fleet_ready reports it there */
    if (options->detach)
        (void)fputc(REPORT_READY, up->report);
    struct example example = example_of(options);
    tell_workers(up, model);
    (void)fprintf(up->report,
                  " Try:\n\n"
                  "  curl -N -X POST %s://localhost:%d%s "
                  "-H \"Content-Type: application/json\"%s \\\n"
                  "       -d '%s'\n\n",
                  file->tls ? "https" : "http", (int)file->port, example.path,
                  *file->api_keys ? " -H \"Authorization: Bearer KEY\"" : "", example.body);
    if (options->detach)
        (void)fprintf(up->report, "Running in the background; logs in %s/log. Stop it with: ",
                      up->fleet.state.dir);
    else
        (void)fprintf(up->report, "Ctrl-C stops it, and so does: ");
    (void)fprintf(up->report, "%s down%s%s\n", down, up->names_state ? " --state " : "",
                  up->names_state ? options->state : "");
    (void)fflush(up->report);
    if (options->detach) {
        (void)fclose(up->report);
        up->report = NULL;
    }
}

/* ---- before anything starts ---- */

static enum baton_err check_port(const struct bt_fleet_file *file, struct baton_why *why)
{
    struct bt_server server;
    struct bt_answer answer;
    struct bt_fleet_file in_clear = *file;
    /* Any answer shows that the port is in use, so the probe needs neither TLS nor a key. */
    in_clear.tls = false;
    in_clear.api_keys[0] = '\0';
    enum baton_err err = bt_fleet_server(&in_clear, &server, why);
    if (err)
        return err;
    bt_answer_init(&answer);
    enum baton_err failed = bt_fleet_get(&server, "/live", &answer, NULL);
    bt_answer_fini(&answer);
    /* Only a failed connection shows that the port is free. */
    if (failed != BATON_IO)
        return baton_fail(why, BATON_INVALID,
                          "--port %d: another process listens there already; choose another",
                          (int)file->port);
    return BATON_OK;
}

static enum baton_err claim_state(struct up *up, int *lock, struct baton_why *why)
{
    const struct bt_state *state = &up->fleet.state;
    enum baton_err err = bt_state_make(state, why);
    if (!err)
        err = bt_state_lock(state, lock, why);
    /* Workers may have outlived a supervisor that was killed. */
    if (err == BATON_AGAIN || (!err && bt_state_is_running(state)))
        return baton_fail(why, BATON_AGAIN, "already running with --state %s; %s down stops it",
                          state->dir, bt_called_as());
    if (!err)
        err = check_port(&up->fleet.file, why);
    if (err)
        return err;
    bt_state_clear(state, true);
    err = bt_fleet_environment(&up->fleet, why);
    return err ? err : bt_fleet_file_write(state, &up->fleet.file, why);
}

/* ---- running ---- */

static enum baton_err supervise(struct up *up, struct baton_why *why)
{
    const struct bt_state *state = &up->fleet.state;
    struct bt_supervision supervision = {.fleet = &up->fleet,
                                         .detached = up->options.detach,
                                         .as_json = up->options.log_format == BATON_LOG_JSON,
                                         .on_ready = report_ready,
                                         .arg = up};
    enum baton_err err = bt_state_write_pid(state, "supervisor", getpid(), 0, why);
    if (!err)
        err = bt_supervise(&supervision, why);
    bt_state_clear(state, false);
    return err;
}

/* Leaves the terminal's session, and writes the log to a file. */
static enum baton_err leave_terminal(const struct up *up, struct baton_why *why)
{
    int log = -1;
    enum baton_err err = bt_state_open_log(&up->fleet.state, "baton", &log, why);
    if (err)
        return err;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return baton_fail(why, BATON_IO, "/dev/null: %s", strerror(errno));
    (void)setsid();
    (void)dup2(null, STDIN_FILENO);
    (void)dup2(log, STDOUT_FILENO);
    (void)dup2(log, STDERR_FILENO);
    return BATON_OK;
}

_Noreturn static void run_in_background(struct up *up, int report_fd)
{
    struct baton_why why = {.text = ""};
    up->report = fdopen(report_fd, "w");
    enum baton_err err = up->report ? leave_terminal(up, &why) : BATON_NO_MEMORY;
    if (!err)
        err = supervise(up, &why);
    if (err && up->report) {
        (void)fputc(REPORT_FAILED, up->report);
        (void)fputs(*why.text ? why.text : baton_err_text(err), up->report);
        (void)fclose(up->report);
    }
    /* Without exit handlers, which would flush buffers copied from the parent. */
    _exit(err ? 1 : 0);
}

static pid_t background_pid;

static void forward_signal(int number)
{
    (void)number;
    (void)kill(background_pid, SIGTERM);
}

/* Waits for the report of the process in the background about its start. */
static enum baton_err await_start(int report_fd, const struct bt_state *state,
                                  struct baton_why *why)
{
    char text[4096];
    struct bt_progress progress;
    size_t used = 0;
    /* Without SA_RESTART: the signal interrupts the read, which is then repeated. */
    const struct sigaction action = {.sa_handler = forward_signal};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    bt_progress_begin(&progress, state);
    while (used < sizeof text - 1) {
        struct pollfd report = {.fd = report_fd, .events = POLLIN};
        bt_progress_show(&progress);
        if (!poll(&report, 1, PROGRESS_MS))
            continue;
        ssize_t n = read(report_fd, text + used, sizeof text - 1 - used);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        used += n > 0 ? (size_t)n : 0;
    }
    text[used] = '\0';
    bt_progress_end(&progress);
    if (*text == REPORT_READY)
        return fputs(text + 1, stdout) < 0 ? BATON_IO : BATON_OK;
    return baton_fail(why, BATON_PEER, "%s", *text ? text + 1 : "it ended while it started");
}

static enum baton_err start_in_background(struct up *up, struct baton_why *why)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return baton_fail(why, BATON_IO, "pipe: %s", strerror(errno));
    background_pid = fork();
    if (background_pid == 0)
        run_in_background(up, ends[1]);
    /* The report ends only when no process holds this end open. */
    (void)close(ends[1]);
    enum baton_err err = background_pid < 0 ? baton_fail(why, BATON_IO, "fork: %s", strerror(errno))
                                            : await_start(ends[0], &up->fleet.state, why);
    (void)close(ends[0]);
    if (err && background_pid > 0) /* it ends only after the processes that it started */
        (void)waitpid(background_pid, NULL, 0);
    return err;
}

/* Finds the model that the option names. */
static enum baton_err find_model(const struct up *up, const char *option, const char **model,
                                 char path[PATH_MAX], struct baton_why *why)
{
    struct baton_why reason = {.text = ""};
    enum baton_err err = bt_store_resolve(up->options.models, *model, path, &reason);
    *model = path;
    return err ? baton_fail(why, BATON_INVALID, "--%s %s", option, reason.text) : BATON_OK;
}

static enum baton_err find_models(struct up *up, struct baton_why *why)
{
    struct bt_up_options *options = &up->options;
    enum baton_err err = BATON_OK;
    if (options->model) {
        err = find_model(up, "model", &options->model, up->model, why);
    } else {
        err = bt_find_data("models/tale", "models/tale", up->model, why);
        options->model = up->model;
    }
    if (!err && options->draft_model && strcmp(options->draft_model, "mtp") != 0)
        err = find_model(up, "draft-model", &options->draft_model, up->draft_model, why);
    return err;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    struct up *up = calloc(1, sizeof *up);
    int lock = -1;
    if (!up)
        return BATON_NO_MEMORY;
    up->options = *(const struct bt_up_options *)arg;
    up->report = stdout;
    enum baton_err err = baton_log_open(up->options.log_format, "", why);
    if (!err)
        err = find_models(up, why);
    /* A --state from the environment holds for `down` too, so the hint omits it. */
    const char *usual = getenv("BATON_STATE");
    up->names_state = up->options.state && (!usual || strcmp(usual, up->options.state) != 0);
    if (!err)
        err = bt_up_check(&up->options, why);
    if (!err)
        bt_up_fit(&up->options);
    if (!err)
        err = bt_fleet_plan(&up->fleet, &up->options, why);
    if (!err)
        err = claim_state(up, &lock, why);
    if (!err)
        err = up->options.detach ? start_in_background(up, why) : supervise(up, why);
    if (lock >= 0)
        (void)close(lock);
    free(up);
    return err;
}

enum baton_err bt_up(int argc, char **argv, struct baton_why *why)
{
    struct bt_up_options options;
    struct baton_config config = {.process = "baton up",
                                  .summary =
                                      "runs a gateway and its workers, and keeps them running",
                                  .env_prefix = "BATON",
                                  .options = bt_up_option_table,
                                  .n_options = bt_up_n_options};
    enum baton_err err = baton_log_init("baton", "info", why);
    return err ? err : cli_run(&config, &options, argc, argv, run, why);
}
