/* baton: runs a fleet on one machine, and holds the commands of its users. */
#include "common/base/array.h"
#include "tools/baton/commands.h"
#include "tools/support/cli.h"

static const struct cli_command commands[] = {
    {"up", "run a gateway and its workers, and keep them running", bt_up, NULL},
    {"down", "stop what `up` started", bt_down, NULL},
    {"status", "processes, readiness, workers", bt_status, NULL},
    {"logs", "the ends of the logs of a fleet in the background", bt_logs, NULL},
    {"ps", "the fleets that run here", bt_ps, NULL},
    {"list", "the models on disk", bt_list, NULL},
    {"show", "what a model on disk is", bt_show, NULL},
    {"rm", "remove a model from disk", bt_rm, NULL},
    {"run", "the answer to one prompt, to stdout", bt_run, NULL},
    {"chat", "a conversation in the terminal", bt_chat, NULL},
    {"batch", "the answers to a file of requests", bt_batch, NULL},
    {"pull", "download a model", bt_pull, "get-model"},
    {"bench", "measure the engine and the link", bt_bench, "baton-bench"},
    {"load", "measure a server under load", bt_load, "baton-load"},
};

/* The words of other servers' users. */
static const struct cli_alias aliases[] = {{"serve", "up"}, {"stop", "down"}, {"ls", "list"}};

static const struct cli_program program = {
    .name = "baton",
    .summary = "serves language models from a fleet of processes",
    .commands = commands,
    .n_commands = BATON_N_OF(commands),
    .aliases = aliases,
    .n_aliases = BATON_N_OF(aliases),
};

int main(int argc, char **argv)
{
    int status = cli_dispatch(&program, argc, argv);
    return status ? status : bt_exit_status;
}
