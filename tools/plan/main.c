#include "tools/plan/plan.h"

static const struct cli_command commands[] = {
    {"simulate", "fleets that this machine cannot run, from costs measured on it", plan_simulate},
    {"calibrate", "costs of a server or of the engine in this process, as a file", plan_calibrate},
    {"advise", "the layout a workload needs, and what its clients would wait", plan_advise},
};

int main(int argc, char **argv)
{
    return cli_dispatch("baton-plan", commands, sizeof commands / sizeof commands[0], argc, argv);
}
