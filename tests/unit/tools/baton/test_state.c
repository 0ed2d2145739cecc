#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/baton/fleet/state.h"

static struct bt_state scratch_state(void)
{
    struct bt_state state;
    char dir[] = "/tmp/baton-state-XXXXXX";
    assert_non_null(mkdtemp(dir));
    assert_ok(bt_state_find(dir, &state, NULL));
    assert_ok(bt_state_make(&state, NULL));
    return state;
}

static void remove_state(const struct bt_state *state)
{
    char log[PATH_MAX];
    bt_state_clear(state, true);
    bt_state_remove(state, "lock");
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
