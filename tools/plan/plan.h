/* baton-plan: predicts a fleet that does not exist, from costs measured on one that does.
 *
 * Ownership: each subcommand owns the files that it opens.
 * Threading: the main thread, plus the engine's compute pool during a measurement.
 * Errors:    a message on stderr; the program ends with status 1.
 */
#ifndef BATON_TOOLS_PLAN_PLAN_H
#define BATON_TOOLS_PLAN_PLAN_H

#include "tools/support/cli.h"

/* argv[0] is the subcommand's name. */
enum baton_err plan_simulate(int argc, char **argv, struct baton_why *why);
enum baton_err plan_calibrate(int argc, char **argv, struct baton_why *why);
enum baton_err plan_advise(int argc, char **argv, struct baton_why *why);

#endif
