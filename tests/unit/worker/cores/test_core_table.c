#include "tests/support/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "worker/cores/table.h"

static const char *path(void)
{
    return in_scratch("table");
}

static struct baton_core_view open_view(void)
{
    struct baton_core_view view;
    struct baton_why why = {""};
    if (baton_core_view_open(path(), &view, &why))
        fail_msg("%s", why.text);
    return view;
}

static void assert_refused(enum baton_err expected, const char *text)
{
    struct baton_core_view view;
    struct baton_why why = {""};
    assert_int_equal(baton_core_view_open(path(), &view, &why), expected);
    if (!strstr(why.text, text))
        fail_msg("\"%s\" does not say \"%s\"", why.text, text);
}

TEST(a_table_is_made_for_its_owner_alone_and_found_again)
{
    struct stat info;
    struct baton_core_view one = open_view(), two = open_view();
    assert_int_equal(stat(path(), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(info.st_size, sizeof(struct baton_core_table));
    assert_int_not_equal(one.slot, two.slot);
    atomic_store(&one.table->generation, 7);
    assert_int_equal(atomic_load(&two.table->generation), 7);
    baton_core_view_close(&one);
    baton_core_view_close(&two);
}

TEST(a_slot_is_free_when_its_holder_leaves_or_dies)
{
    int status;
    struct baton_core_view view = open_view();
    pid_t pid = fork();
    if (!pid) {
        struct baton_core_view held = open_view();
        (void)raise(held.slot == 1 ? SIGKILL : SIGTERM);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_true(baton_core_view_try_lock(&view, 1));
    baton_core_view_unlock(&view, 1);
    struct baton_core_view next = open_view();
    assert_int_equal(next.slot, 1);
    assert_false(baton_core_view_try_lock(&view, 1));
    baton_core_view_close(&next);
    baton_core_view_close(&view);
}

TEST(there_are_64_slots)
{
    struct baton_core_view views[BATON_CORE_WORKERS_MAX];
    for (int i = 0; i < BATON_CORE_WORKERS_MAX; i++) {
        views[i] = open_view();
        assert_int_equal(views[i].slot, i);
    }
    assert_refused(BATON_LIMIT, "64 workers share it already");
    for (int i = 0; i < BATON_CORE_WORKERS_MAX; i++)
        baton_core_view_close(&views[i]);
}

/* The answer of a child process: its slot, or the reason why it has none. */
enum { NOT_OPENED = 127, NOT_ALONE = 126 };

static pid_t start_opener(const int *go, const int *said)
{
    char byte;
    pid_t pid = fork();
    if (pid)
        return pid;
    struct baton_core_view view;
    close(go[1]);
    (void)!read(go[0], &byte, 1);
    if (baton_core_view_open(path(), &view, NULL))
        byte = NOT_OPENED;
    else
        byte =
            atomic_fetch_add(&view.table->slots[view.slot].beats, 1) ? NOT_ALONE : (char)view.slot;
    (void)!write(said[1], &byte, 1);
    for (;;)
        (void)pause();
}

/* Starts them all at once; the slots they took. */
static uint64_t open_at_once(pid_t *pids, int n)
{
    uint64_t taken = 0;
    int go[2], said[2];
    assert_int_equal(pipe(go) | pipe(said), 0);
    for (int i = 0; i < n; i++)
        pids[i] = start_opener(go, said);
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < n; i++) {
        char slot;
        assert_int_equal(read(said[0], &slot, 1), 1);
        assert_in_range(slot, 0, BATON_CORE_WORKERS_MAX - 1);
        assert_false(taken >> slot & 1);
        taken |= UINT64_C(1) << slot;
    }
    close(said[0]);
    close(said[1]);
    return taken;
}

/* Whether they come to nothing or to a half-made table. */
TEST(each_of_many_processes_gets_a_slot_of_one_table)
{
    enum { N_PROCESSES = 12, N_ROUNDS = 20 };
    pid_t pids[N_PROCESSES];
    for (int round = 0; round < N_ROUNDS; round++) {
        (void)unlink(path());
        if (round % 2) {
            write_scratch("table", "BATNCOR");
            assert_int_equal(chmod(path(), 0600), 0);
        }
        uint64_t taken = open_at_once(pids, N_PROCESSES);
        struct baton_core_view view = open_view();
        for (int i = 0; i < BATON_CORE_WORKERS_MAX; i++)
            assert_int_equal(atomic_load(&view.table->slots[i].beats), taken >> i & 1);
        baton_core_view_close(&view);
        for (int i = 0; i < N_PROCESSES; i++) {
            assert_int_equal(kill(pids[i], SIGKILL), 0);
            assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
        }
    }
}

TEST(a_table_of_others_is_refused)
{
    write_scratch("table", "");
    assert_int_equal(chmod(path(), 0620), 0);
    assert_refused(BATON_INVALID, "mode 620 lets others in; must be 600");
    assert_int_equal(chmod(path(), 0600), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path(), 12345, (gid_t)-1), 0);
        assert_refused(BATON_INVALID, "belongs to user 12345");
        assert_int_equal(chown(path(), 0, (gid_t)-1), 0);
    }
    assert_int_equal(link(path(), in_scratch("second name")), 0);
    assert_refused(BATON_INVALID, "more than one name");
    assert_int_equal(unlink(path()), 0);
    assert_int_equal(symlink(in_scratch("second name"), path()), 0);
    assert_refused(BATON_INVALID, "table: ");
    assert_int_equal(unlink(path()), 0);
    assert_int_equal(mkfifo(path(), 0600), 0);
    assert_refused(BATON_INVALID, "not a plain file");
}

TEST(a_table_of_another_version_is_refused_while_it_is_used_and_then_replaced)
{
    struct baton_core_view other = open_view();
    other.table->version++;
    assert_refused(BATON_VERSION, "in use by workers of another version");
    baton_core_view_close(&other);
    struct baton_core_view view = open_view();
    assert_int_equal(view.table->version, BATON_CORE_TABLE_VERSION);
    baton_core_view_close(&view);
}

TEST(a_table_that_its_maker_has_only_begun_is_made_again)
{
    write_scratch("table", "BATNCORE and not a whole table");
    assert_int_equal(chmod(path(), 0600), 0);
    struct baton_core_view view = open_view();
    assert_int_equal(atomic_load(&view.table->generation), 0);
    baton_core_view_close(&view);
}

TEST(another_file_of_this_user_is_left_as_it_is)
{
    char bytes[8] = "";
    write_scratch("table", "notes");
    assert_int_equal(chmod(path(), 0600), 0);
    assert_refused(BATON_INVALID, "table: not a file of Baton's");
    int fd = open(path(), O_RDONLY);
    assert_int_equal(read(fd, bytes, sizeof bytes), 5);
    assert_string_equal(bytes, "notes");
    close(fd);
}

TEST(a_maker_that_hangs_is_not_waited_for_for_ever)
{
    struct flock first = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = open(path(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &first), 0);
    assert_refused(BATON_TIMEOUT, "another process is still making it");
    close(fd);
}

EACH_TEST(make_scratch, remove_scratch)
