/* The subcommands of `baton`. Each receives argv with its own name first.
 *
 * Ownership: nothing is kept.
 * Threading: the main thread.
 * Errors:    with a message for the user.
 */
#ifndef BATON_TOOLS_BATON_COMMANDS_H
#define BATON_TOOLS_BATON_COMMANDS_H

#include "common/base/exit_status.h"
#include "common/base/options/config.h"

/* Exit status of the program when its command succeeds (enum baton_exit). */
extern int bt_exit_status;

enum baton_err bt_up(int argc, char **argv, struct baton_why *why);
enum baton_err bt_down(int argc, char **argv, struct baton_why *why);
enum baton_err bt_status(int argc, char **argv, struct baton_why *why);
enum baton_err bt_logs(int argc, char **argv, struct baton_why *why);
enum baton_err bt_ps(int argc, char **argv, struct baton_why *why);
enum baton_err bt_list(int argc, char **argv, struct baton_why *why);
enum baton_err bt_show(int argc, char **argv, struct baton_why *why);
enum baton_err bt_rm(int argc, char **argv, struct baton_why *why);
enum baton_err bt_run(int argc, char **argv, struct baton_why *why);
enum baton_err bt_chat(int argc, char **argv, struct baton_why *why);
enum baton_err bt_batch(int argc, char **argv, struct baton_why *why);
/* These replace the process by another program. */
enum baton_err bt_pull(int argc, char **argv, struct baton_why *why);
enum baton_err bt_bench(int argc, char **argv, struct baton_why *why);
enum baton_err bt_load(int argc, char **argv, struct baton_why *why);

/* Returns how the user calls this program, for hints: "baton", or the script that calls it. */
const char *bt_called_as(void);

#endif
