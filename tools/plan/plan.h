/* baton-plan: what a fleet that is not there would do, from costs measured on one that is.
 *
 * Ownership: each subcommand owns what it opens.
 * Threading: the main thread, plus the engine's compute pool while it is measured.
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
