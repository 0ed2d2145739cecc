#include "tests/support/scratch.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/base/os/file.h"
#include "common/base/os/once_file.h"

static void assert_holds(const char *name, const char *text)
{
    struct baton_buf bytes;
    baton_buf_init(&bytes, 64);
    assert_ok(baton_file_read(in_scratch(name), &bytes, NULL));
    assert_string_equal(baton_buf_text(&bytes), text);
    baton_buf_fini(&bytes);
}

/* A process that has begun FILE, written to it, and waits to be killed. */
static pid_t start_holder(void)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (!pid) {
        struct baton_once_file held;
        if (baton_once_file_begin(in_scratch("file"), "ma", 0, &held, NULL) ||
            write(held.fd, "made by the dead", 16) != 16 || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void stop_holder(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(a_file_appears_only_when_it_is_committed)
{
    struct baton_once_file once;
    assert_ok(baton_once_file_begin(in_scratch("file"), "ma", 0, &once, NULL));
    assert_int_equal(write(once.fd, "made", 4), 4);
    assert_int_not_equal(access(in_scratch("file"), F_OK), 0);
    assert_ok(baton_once_file_commit(&once, NULL));
    assert_holds("file", "made");
    assert_int_not_equal(access(in_scratch("file.tmp"), F_OK), 0);
}

TEST(an_aborted_file_leaves_nothing_and_the_old_one_stays)
{
    struct baton_once_file once;
    write_scratch("file", "mad");
    assert_ok(baton_once_file_begin(in_scratch("file"), "ma", 0, &once, NULL));
    assert_int_equal(write(once.fd, "man", 3), 3);
    baton_once_file_abort(&once);
    assert_holds("file", "mad");
    assert_int_not_equal(access(in_scratch("file.tmp"), F_OK), 0);
}

TEST(one_that_waits_longer_than_it_may_is_told)
{
    struct baton_once_file once;
    struct baton_why why;
    pid_t holder = start_holder();
    assert_int_equal(baton_once_file_begin(in_scratch("file"), "ma", 0.03, &once, &why),
                     BATON_TIMEOUT);
    assert_non_null(strstr(why.text, "file.tmp: another process"));
    stop_holder(holder);
}

TEST(a_killed_maker_does_not_block_and_leaves_nothing_behind)
{
    struct baton_once_file once;
    stop_holder(start_holder());
    assert_int_equal(access(in_scratch("file.tmp"), F_OK), 0);
    assert_ok(baton_once_file_begin(in_scratch("file"), "ma", 0, &once, NULL));
    assert_int_equal(write(once.fd, "made", 4), 4);
    assert_ok(baton_once_file_commit(&once, NULL));
    assert_holds("file", "made");
}

/* Each of many processes makes the file unless it is there, and appends nothing to another's. */
TEST(of_many_processes_one_makes_it)
{
    enum { N_PROCESSES = 8 };
    int n_made = 0, begun[2];
    char bytes[N_PROCESSES];
    assert_int_equal(pipe(begun), 0);
    for (int i = 0; i < N_PROCESSES; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid)
            continue;
        struct baton_once_file once;
        if (write(begun[1], bytes, 1) != 1 ||
            baton_once_file_begin(in_scratch("file"), "ma", 60, &once, NULL))
            _exit(2);
        if (!access(in_scratch("file"), F_OK)) {
            baton_once_file_abort(&once);
            _exit(0);
        }
        for (int n = 0; n < N_PROCESSES; n++) /* so that the others also wait, or are about to */
            if (read(begun[0], bytes, 1) != 1)
                _exit(2);
        _exit(write(once.fd, "made", 4) == 4 && !baton_once_file_commit(&once, NULL) ? 1 : 2);
    }
    for (int i = 0; i < N_PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
        n_made += WEXITSTATUS(status);
    }
    close(begun[0]);
    close(begun[1]);
    assert_int_equal(n_made, 1);
    assert_holds("file", "made");
    assert_int_not_equal(access(in_scratch("file.tmp"), F_OK), 0);
}

/* The process that made it may still have it open. */
TEST(what_others_may_write_to_is_not_taken_over)
{
    struct baton_once_file once;
    struct baton_why why;
    write_scratch("file.tmp", "");
    assert_int_equal(chmod(in_scratch("file.tmp"), 0666), 0);
    assert_int_equal(baton_once_file_begin(in_scratch("file"), "ma", 0, &once, &why), BATON_IO);
    assert_non_null(strstr(why.text, "mode 666 lets others in"));
}

TEST(a_file_of_somebody_else_is_neither_taken_over_nor_replaced)
{
    struct baton_once_file once;
    struct baton_why why;
    write_scratch("file.tmp", "notes");
    assert_int_equal(baton_once_file_begin(in_scratch("file"), "ma", 0, &once, &why), BATON_IO);
    assert_non_null(strstr(why.text, "file.tmp: not a file of Baton's"));
    assert_holds("file.tmp", "notes");
    assert_int_equal(unlink(in_scratch("file.tmp")), 0);
    write_scratch("file", "notes");
    assert_ok(baton_once_file_begin(in_scratch("file"), "ma", 0, &once, &why));
    assert_int_equal(baton_once_file_may_commit(&once, &why), BATON_IO);
    assert_int_equal(write(once.fd, "made", 4), 4);
    assert_int_equal(baton_once_file_commit(&once, &why), BATON_IO);
    assert_non_null(strstr(why.text, "file: not a file of Baton's"));
    assert_holds("file", "notes");
    assert_int_not_equal(access(in_scratch("file.tmp"), F_OK), 0);
}

TEST_ALONE(without_a_writable_directory_it_says_so)
{
    struct baton_once_file once;
    struct baton_why why;
    assert_int_equal(baton_once_file_begin("/proc/file", "ma", 1, &once, &why), BATON_IO);
    assert_non_null(strstr(why.text, "/proc/file.tmp: "));
}

EACH_TEST(make_scratch, remove_scratch)
