/* baton: a fleet on one machine, and what people do with it. */
#include <stdlib.h>

#include "tools/baton/commands.h"
#include "tools/cli/cli.h"

static const struct cli_command commands[] = {
    {"up", "run a gateway and its workers, and keep them running", bt_up},
    {"down", "stop what `up` started", bt_down},
    {"status", "processes, readiness, workers", bt_status},
    {"logs", "the ends of the logs of a fleet in the background", bt_logs},
    {"run", "the answer to one prompt, to stdout", bt_run},
    {"chat", "a conversation in the terminal", bt_chat},
    {"pull", "download a model", bt_pull},
    {"bench", "measure the engine and the link: baton-bench", bt_bench},
    {"load", "measure a server under load: baton-load", bt_load},
};

const char *bt_called_as(void)
{
    const char *name = getenv("BATON_CALLED_AS");
    return name && *name ? name : "baton";
}

int main(int argc, char **argv)
{
    int status = cli_dispatch("baton", commands, sizeof commands / sizeof commands[0], argc, argv);
    return status ? status : bt_exit_status;
}
