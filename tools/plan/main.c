#include "common/base/array.h"
#include "tools/plan/plan.h"

static const struct cli_command commands[] = {
    {"simulate", "fleets that this machine cannot run, from costs measured on it", plan_simulate,
     NULL},
    {"calibrate", "costs of a server or of the engine in this process, as a file", plan_calibrate,
     NULL},
    {"advise", "the layout a workload needs, and what its clients would wait", plan_advise, NULL},
};

static const struct cli_program program = {
    .name = "baton-plan",
    .summary = "predicts fleets from measured costs",
    .commands = commands,
    .n_commands = BATON_N_OF(commands),
};

int main(int argc, char **argv)
{
    return cli_dispatch(&program, argc, argv);
}
