#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/baton/fleet/state.h"

static struct bt_state scratch_state(void)
{
    struct bt_state state;
    char dir[] = "/tmp/baton-state-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_ok(bt_state_find(dir, &state, NULL));
    int lock;
    assert_ok(bt_state_make(&state, NULL));
    assert_ok(bt_state_lock(&state, &lock, NULL));
    (void)close(lock);
    return state;
}

static void remove_one(const struct bt_state *state, const char *name)
{
    char path[PATH_MAX];
    assert_ok(bt_state_path(state, name, path, NULL));
    assert_false(unlink(path));
}

static void remove_state(const struct bt_state *state)
{
    char log[PATH_MAX];
    bt_state_clear(state, true);
    remove_one(state, "lock");
    assert_ok(bt_state_path(state, "log", log, NULL));
    assert_false(rmdir(log));
    assert_false(rmdir(state->dir));
}

TEST(a_process_is_known_by_pid_and_start_time)
{
    struct bt_state state = scratch_state();
    char text[40];
    int n_restarts = 0;
    assert_ok(bt_state_write_pid(&state, "gateway.pid", getpid(), 4, NULL));
    assert_int_equal(bt_state_process(&state, "gateway", &n_restarts), getpid());
    assert_int_equal(n_restarts, 4);
    assert_true(bt_state_is_running(&state));
    /* The pid belongs to another process now. */
    (void)snprintf(text, sizeof text, "%d 1 0\n", (int)getpid());
    assert_ok(bt_state_write(&state, "gateway.pid", text, 0644, NULL));
    assert_int_equal(bt_state_process(&state, "gateway", NULL), 0);
    assert_false(bt_state_is_running(&state));
    remove_state(&state);
}

TEST(names_come_in_order_and_others_files_are_none)
{
    static const char *const files[] = {"decode-10.pid", "decode-2.pid", "prefill-0.pid",
                                        "gateway.pid", "notes.pid"};
    struct bt_state state = scratch_state();
    struct bt_names names;
    for (int i = 0; i < 5; i++)
        assert_ok(bt_state_write_pid(&state, files[i], getpid(), 0, NULL));
    bt_state_names(&state, &names);
    assert_int_equal(names.n, 4);
    assert_string_equal(names.names[0], "gateway");
    assert_string_equal(names.names[1], "prefill-0");
    assert_string_equal(names.names[2], "decode-2");
    assert_string_equal(names.names[3], "decode-10");
    bt_state_clear(&state, true);
    remove_one(&state, "notes.pid"); /* it is still there */
    remove_state(&state);
}

TEST(one_supervisor_holds_a_directory)
{
    struct bt_state state = scratch_state();
    struct baton_why why;
    int first, second;
    assert_ok(bt_state_lock(&state, &first, NULL));
    assert_int_equal(bt_state_lock(&state, &second, &why), BATON_AGAIN);
    assert_non_null(strstr(why.text, state.dir));
    (void)close(first);
    assert_ok(bt_state_lock(&state, &second, NULL));
    (void)close(second);
    remove_state(&state);
}

TEST(how_to_reach_a_fleet_is_written_and_read)
{
    struct bt_state state = scratch_state();
    const struct bt_fleet_file wrote = {.host = "::1",
                                        .api_keys = "/etc/a \"b\"/keys",
                                        .port = 8443,
                                        .n_prefill = 2,
                                        .n_decode = 3,
                                        .stop_timeout_s = 1.5,
                                        .tls = true};
    struct bt_fleet_file read;
    assert_ok(bt_fleet_file_write(&state, &wrote, NULL));
    assert_ok(bt_fleet_file_read(&state, &read, NULL));
    assert_string_equal(read.host, wrote.host);
    assert_string_equal(read.api_keys, wrote.api_keys);
    assert_int_equal(read.port, 8443);
    assert_int_equal(read.n_prefill + 10 * read.n_decode, 32);
    assert_true(read.tls && read.stop_timeout_s == 1.5);
    assert_ok(bt_state_write(&state, "fleet.json", "{\"port\":0}", 0644, NULL));
    assert_int_equal(bt_fleet_file_read(&state, &read, NULL), BATON_CORRUPT);
    remove_state(&state);
}

static void put(const struct bt_state *state, const char *name)
{
    char path[PATH_MAX];
    assert_ok(bt_state_path(state, name, path, NULL));
    FILE *file = fopen(path, "w");
    assert_true(file && fputs("somebody's", file) >= 0);
    assert_false(fclose(file));
}

TEST(files_of_others_stay)
{
    static const char *const others[] = {"nginx.pid", "gateway-2.pid", "prefill-x.pid",
                                         "log/app.log", "log/gateway.log.1"};
    struct bt_state state = scratch_state();
    for (int i = 0; i < 5; i++)
        put(&state, others[i]);
    put(&state, "log/prefill-0.log");
    bt_state_clear(&state, true);
    for (int i = 0; i < 5; i++)
        remove_one(&state, others[i]);
    remove_state(&state);
}

/* A directory that the option names by mistake: its files have names that a fleet uses. */
TEST(a_directory_where_no_fleet_ran_is_not_taken_over)
{
    static const char *const names[] = {"gateway.pid", "port", "cluster-token", "log/gateway.log"};
    struct baton_why why;
    struct bt_state state = scratch_state();
    int lock;
    remove_one(&state, "lock");
    for (int i = 0; i < 4; i++) {
        put(&state, names[i]);
        assert_int_equal(bt_state_lock(&state, &lock, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, names[i]));
        bt_state_clear(&state, true);
        remove_one(&state, names[i]);
    }
    put(&state, "lock");
    put(&state, "gateway.pid");
    assert_int_equal(bt_state_lock(&state, &lock, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "lock: not a file of Baton's"));
    bt_state_clear(&state, true);
    remove_one(&state, "gateway.pid");
    remove_one(&state, "lock");
    assert_ok(bt_state_lock(&state, &lock, &why));
    (void)close(lock);
    remove_state(&state);
}

TEST(a_link_or_a_directory_that_others_may_write_gets_no_secrets)
{
    struct baton_why why;
    struct bt_state state = scratch_state(), link = state, shared = state;
    (void)snprintf(link.dir, sizeof link.dir, "%.60s-link", state.dir);
    assert_false(symlink(state.dir, link.dir));
    assert_int_equal(bt_state_make(&link, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "a link or a file"));
    (void)strcat(link.dir, "/");
    assert_int_equal(bt_state_make(&link, &why), BATON_INVALID);
    link.dir[strlen(link.dir) - 1] = 0;
    assert_false(unlink(link.dir));
    assert_false(chmod(shared.dir, 0777));
    assert_int_equal(bt_state_make(&shared, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "mode 777"));
    remove_state(&state);
}
