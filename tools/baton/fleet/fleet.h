/* The processes of a fleet: their names and command lines.
 *
 * Ownership: command lines borrow the options' texts; the rest belongs to the struct, which must
 *            not move.
 * Threading: one thread.
 * Errors:    NOT_FOUND, IO; LIMIT: no port is free.
 */
#ifndef BATON_TOOLS_BATON_FLEET_FLEET_H
#define BATON_TOOLS_BATON_FLEET_FLEET_H

#include "tools/baton/fleet/more_models.h"
#include "tools/baton/fleet/ports.h"
#include "tools/baton/fleet/state.h"
#include "tools/baton/fleet/up_options.h"

enum { BT_MAX_WORDS = 48, BT_MAX_PROCESSES = 1 + 2 * BT_MAX_WORKERS };

struct bt_command {
    char name[BT_NAME_BYTES]; /* gateway, prefill-0, decode-0, ... */
    const char *words[BT_MAX_WORDS + 1];
    int n_words;
};

struct bt_fleet {
    struct bt_state state;
    struct bt_command commands[BT_MAX_PROCESSES]; /* the gateway is the first */
    int n;
    char programs[3][PATH_MAX];
    char model[PATH_MAX], draft_model[PATH_MAX], pack_dir[PATH_MAX];
    struct bt_more_models more;
    char more_models[1 << 16];
    char api_keys[PATH_MAX], admin_keys[PATH_MAX];
    char inbox[40], port[8], context_tokens[16];
    char kv_tokens[24], kv_bytes[24], memory[24], memory_shares[2][16], kv_idle_s[24];
    const char *host;                     /* numeric */
    struct bt_port http_port, inbox_port; /* kept while this process lives */
    struct bt_fleet_file file;
};

/* Makes the path of an existing file absolute: the fleet's file tells it to programs in other
 * directories. Links stay, because a model's name and its other files are found by the path that
 * was given. */
enum baton_err bt_make_absolute(const char *option, const char *from, char to[PATH_MAX],
                                struct baton_why *why) BATON_MUST_CHECK;

/* Plans the paths and command lines of a fleet. `options` are checked and outlive the fleet. */
enum baton_err bt_fleet_plan(struct bt_fleet *fleet, const struct bt_up_options *options,
                             struct baton_why *why) BATON_MUST_CHECK;

/* Prepares the environment that the processes share: a new cluster token in a file, and none of the
 * addresses and names that we choose. To be called before there are threads. */
enum baton_err bt_fleet_environment(const struct bt_fleet *fleet,
                                    struct baton_why *why) BATON_MUST_CHECK;

#endif
