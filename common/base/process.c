#include "common/base/process.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/options/config_env.h"

/* What a process that has failed may take for its end. */
enum { LAST_S = 3 };

/* The reason may quote a file, and a terminal obeys control characters. */
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

/* A library's own end may wait for ever for a thread that never had what it wanted: OpenBLAS's do
 * where address space is short. */
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

int baton_process_main(struct baton_process *process, int argc, char **argv)
{
    struct baton_why why = {""};
    bool done = false;
    enum baton_err err =
        baton_config_load(&process->config, process->options, argc, argv, &done, &why);
    if (!err && !done)
        err = baton_log_init(process->log_name, *process->log_level, &why);
    if (!err && !done)
        err = baton_log_open(*process->log_format, *process->log_file, &why);
    if (!err && !done)
        baton_config_visit_unknown_env(&process->config, warn_of_env, NULL);
    if (!err && !done)
        err = process->run(process->options, &why);
    baton_config_fini(&process->config);
    if (err) {
        print_failure(process->config.process, err, &why);
        end_soon();
    }
    return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
