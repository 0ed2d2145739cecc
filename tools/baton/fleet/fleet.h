/* The processes of a fleet: their names and command lines.
 *
 * Ownership: command lines borrow the options' texts; the rest is the struct's, which must not
 * move. Threading: one thread. Errors: NOT_FOUND, IO; LIMIT: no free port.
 */
#ifndef BATON_TOOLS_BATON_FLEET_FLEET_H
#define BATON_TOOLS_BATON_FLEET_FLEET_H

#include "tools/baton/fleet/state.h"
#include "tools/baton/fleet/up_options.h"

enum { BT_MAX_WORDS = 32, BT_MAX_PROCESSES = 1 + 2 * BT_MAX_WORKERS };

struct bt_command {
    char name[BT_NAME_BYTES]; /* gateway, prefill-0, decode-0, ... */
    const char *words[BT_MAX_WORDS + 1];
    int n_words;
};

struct bt_fleet {
    struct bt_state state;
    struct bt_command commands[BT_MAX_PROCESSES]; /* the gateway's first */
    int n;
    char programs[3][PATH_MAX];
    char model[PATH_MAX], draft_model[PATH_MAX], pack_dir[PATH_MAX], api_keys[PATH_MAX];
    char inbox[40], port[8], context_tokens[16];
    int inbox_hold; /* keeps the inbox's port ours while this process lives */
    struct bt_fleet_file file;
};

/* Where the processes of a fleet on these options are and what they are called with. `options` are
 * checked and outlive the fleet. */
enum baton_err bt_fleet_plan(struct bt_fleet *fleet, const struct bt_up_options *options,
                             struct baton_why *why) BATON_MUST_CHECK;

/* What the processes share by the environment: a new cluster token in a file, and none of the
 * addresses and names that are ours to choose. Before there are threads. */
enum baton_err bt_fleet_environment(const struct bt_fleet *fleet,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
