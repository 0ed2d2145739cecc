/* Files of others under our names: none is opened, replaced or removed, and each is named. */
#include "common/base/os/own_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/scratch.h"

static const struct baton_own_kind kind = {.magic = "BATNTEST", .forbidden = 077};

static const char *path(void)
{
    return in_scratch("file");
}

static void put(const char *text)
{
    (void)unlink(path());
    write_scratch("file", text);
    assert_int_equal(chmod(path(), 0600), 0);
}

static enum baton_err open_it(int flags, struct baton_why *why)
{
    int fd = -1;
    enum baton_err err =
        baton_own_file_open(AT_FDCWD, path(), path(), O_RDWR | flags, 0600, &kind, &fd, why);
    if (!err)
        assert_int_equal(close(fd), 0);
    return err;
}

static void assert_refused(const char *reason)
{
    struct baton_why why = {""};
    assert_int_equal(open_it(O_CREAT, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, reason));
    assert_non_null(strstr(why.text, path()));
    assert_int_equal(baton_own_file_may_replace(path(), &kind, &why), BATON_INVALID);
    assert_int_equal(baton_own_file_remove(AT_FDCWD, path(), path(), &kind, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, reason));
    struct stat info;
    assert_int_equal(lstat(path(), &info), 0);
}

TEST(a_file_is_ours_by_its_first_bytes_or_those_that_its_maker_has_written)
{
    static const char *const ours[] = {"", "BATN", "BATNTEST", "BATNTEST and more"};
    static const char *const theirs[] = {"x", "BATX", "BATNTES\n", "# Kivy\n", "batntest"};
    assert_int_equal(open_it(0, NULL), BATON_NOT_FOUND);
    assert_ok(baton_own_file_may_replace(path(), &kind, NULL));
    for (size_t i = 0; i < 4; i++) {
        put(ours[i]);
        assert_ok(open_it(0, NULL));
        assert_ok(baton_own_file_may_replace(path(), &kind, NULL));
        assert_ok(baton_own_file_remove(AT_FDCWD, path(), path(), &kind, NULL));
        assert_int_not_equal(access(path(), F_OK), 0);
    }
    for (size_t i = 0; i < 5; i++) {
        put(theirs[i]);
        assert_refused("not a file of Baton's");
    }
    /* Zeros are nobody's magic. */
    put("");
    assert_int_equal(truncate(path(), 4096), 0);
    assert_refused("not a file of Baton's");
}

TEST(what_is_no_plain_file_of_ours_alone_is_refused)
{
    put("BATNTEST");
    assert_int_equal(chmod(path(), 0640), 0);
    assert_refused("mode 640 lets others in; must be 600");
    assert_int_equal(chmod(path(), 0600), 0);
    if (!geteuid()) {
        assert_int_equal(chown(path(), 12345, (gid_t)-1), 0);
        assert_refused("belongs to user 12345");
        assert_int_equal(chown(path(), 0, (gid_t)-1), 0);
    }
    assert_int_equal(link(path(), in_scratch("second")), 0);
    assert_refused("more than one name");
    assert_int_equal(unlink(path()), 0);
    assert_int_equal(symlink(in_scratch("second"), path()), 0);
    assert_refused("not a plain file");
    assert_int_equal(unlink(path()), 0);
    assert_int_equal(mkfifo(path(), 0600), 0);
    assert_refused("not a plain file");
    assert_int_equal(unlink(path()), 0);
    assert_int_equal(mkdir(path(), 0700), 0);
    assert_refused("not a plain file");
}

static void assert_dir(enum baton_err expected, const char *name, const char *reason)
{
    int fd = -1;
    struct baton_why why = {""};
    assert_int_equal(baton_own_dir_open(in_scratch(name), 077, &fd, &why), expected);
    if (!expected)
        assert_int_equal(close(fd), 0);
    assert_non_null(strstr(why.text, reason));
}

TEST(a_directory_is_judged_as_the_link_that_it_is_however_its_name_ends)
{
    static const char *const ends[] = {"", "/", "//", "/.", "/./", "/.//."};
    char name[16];
    assert_int_equal(mkdir(in_scratch("real"), 0700), 0);
    assert_int_equal(symlink("real", in_scratch("link")), 0);
    write_scratch("file", "");
    for (size_t i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "real%s", ends[i]);
        assert_dir(BATON_OK, name, "");
        (void)snprintf(name, sizeof name, "link%s", ends[i]);
        assert_dir(BATON_INVALID, name, "a link or a file");
        (void)snprintf(name, sizeof name, "file%s", ends[i]);
        assert_dir(BATON_INVALID, name, "a link or a file");
    }
    assert_dir(BATON_NOT_FOUND, "none/", "none/");
    assert_int_equal(chmod(in_scratch("real"), 0750), 0);
    assert_dir(BATON_INVALID, "real/", "mode 750");
}

EACH_TEST(make_scratch, remove_scratch)
