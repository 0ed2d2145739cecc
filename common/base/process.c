#include "common/base/process.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/exit_status.h"
#include "common/base/log.h"
#include "common/base/options/config_env.h"

/* LAST_S: the time that a failed process has for its end. */
enum { LAST_S = 3, PREFIX_BYTES = 64 };

/* Prints the reason, which may quote a file: a terminal obeys control characters. */
static void print_failure(const char *process, enum baton_err err, struct baton_why *why)
{
    for (char *c = why->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    (void)fprintf(stderr, "%s: %s\n", process, why->text[0] ? why->text : baton_err_text(err));
}

static void end_now(int signal_number)
{
    (void)signal_number;
    _exit(EXIT_FAILURE);
}

/* Limits the rest of the process's life. A library's own end may wait forever for a thread that
 * could not start: OpenBLAS does where address space is short. */
static void end_soon(void)
{
    (void)signal(SIGALRM, end_now);
    (void)alarm(LAST_S);
}

static void warn_of_env(void *arg, const char *name, const char *nearest)
{
    (void)arg;
    baton_log(BATON_LOG_WARN, "unknown_variable", BATON_S("name", name),
              BATON_S("nearest", nearest), BATON_S("consequence", "it has no effect"));
}

/* Writes "BATON_PREFILL" for "baton-prefill". */
static void make_env_prefix(const char *name, char prefix[PREFIX_BYTES])
{
    (void)snprintf(prefix, PREFIX_BYTES, "%s", name);
    for (char *c = prefix; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
}

static enum baton_err open_log(const struct baton_process *process, struct baton_why *why)
{
    const char *dash = strchr(process->name, '-');
    enum baton_err err = baton_log_init(dash ? dash + 1 : process->name, process->log->level, why);
    return err ? err : baton_log_open(process->log->format, process->log->file, why);
}

int baton_process_main(const struct baton_process *process, int argc, char **argv)
{
    struct baton_why why = {""};
    char env_prefix[PREFIX_BYTES];
    make_env_prefix(process->name, env_prefix);
    struct baton_config config = {.process = process->name,
                                  .summary = process->summary,
                                  .env_prefix = env_prefix,
                                  .options = process->table,
                                  .n_options = process->n_options};
    bool done = false;
    enum baton_err err = baton_config_load(&config, process->options, argc, argv, &done, &why);
    int status = err ? BATON_EXIT_MISUSED : BATON_EXIT_FAILED;
    if (!err && !done)
        err = open_log(process, &why);
    if (!err && !done)
        baton_config_visit_unknown_env(&config, warn_of_env, NULL);
    if (!err && !done)
        err = process->run(process->options, &why);
    baton_config_fini(&config);
    if (err) {
        print_failure(process->name, err, &why);
        end_soon();
    }
    return err ? status : BATON_EXIT_OK;
}
