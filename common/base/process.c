#include "common/base/process.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"

/* The reason may quote a file, and a terminal obeys control characters. */
static void print_failure(const char *process, enum baton_err err, struct baton_why *why)
{
    for (char *c = why->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    (void)fprintf(stderr, "%s: %s\n", process, why->text[0] ? why->text : baton_err_text(err));
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
        err = process->run(process->options, &why);
    baton_config_fini(&process->config);
    if (err)
        print_failure(process->config.process, err, &why);
    return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
