#include "tests/support/scratch.h"

#include <sys/stat.h>

#include "engine/checkpoint/cache_dir.h"

static void assert_dir(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
}

TEST(nowhere_is_nowhere)
{
    struct baton_cache_dirs dirs;
    baton_cache_dirs_find("", scratch, &dirs);
    assert_int_equal(dirs.n, 0);
    baton_cache_dirs_find(NULL, scratch, &dirs);
    assert_int_equal(dirs.n, 0);
}

TEST(a_named_directory_is_made_unless_its_parent_is_missing)
{
    struct baton_cache_dirs dirs;
    for (int i = 0; i < 2; i++) {
        baton_cache_dirs_find(in_scratch("packs"), scratch, &dirs);
        assert_int_equal(dirs.n, 1);
        assert_string_equal(dirs.paths[0], in_scratch("packs"));
        assert_dir(dirs.paths[0]);
    }
    baton_cache_dirs_find(in_scratch("no/packs"), scratch, &dirs);
    assert_int_equal(dirs.n, 0);
    write_scratch("file", "");
    baton_cache_dirs_find(in_scratch("file"), scratch, &dirs);
    assert_int_equal(dirs.n, 0);
}

TEST(auto_is_beside_the_model_then_in_the_users_cache)
{
    struct baton_cache_dirs dirs;
    assert_int_equal(setenv("XDG_CACHE_HOME", in_scratch("cache"), 1), 0);
    baton_cache_dirs_find("auto", scratch, &dirs);
    assert_int_equal(dirs.n, 2);
    assert_string_equal(dirs.paths[0], in_scratch(".baton"));
    assert_string_equal(dirs.paths[1], in_scratch("cache/baton"));
    assert_dir(dirs.paths[0]);
    assert_dir(dirs.paths[1]);
    /* A model directory that cannot be written, and the home instead of the variable. */
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_int_equal(setenv("HOME", scratch, 1), 0);
    baton_cache_dirs_find("auto", "/proc", &dirs);
    assert_int_equal(dirs.n, 1);
    assert_string_equal(dirs.paths[0], in_scratch(".cache/baton"));
    assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    baton_cache_dirs_find("auto", "/proc", &dirs);
    assert_int_equal(dirs.n, 0);
}

TEST(a_gguf_files_cache_is_in_the_files_directory)
{
    struct baton_cache_dirs dirs;
    assert_int_equal(setenv("HOME", "/nonexistent", 1), 0);
    assert_int_equal(unsetenv("XDG_CACHE_HOME"), 0);
    write_scratch("model.gguf", "");
    baton_cache_dirs_find("auto", in_scratch("model.gguf"), &dirs);
    assert_int_equal(dirs.n, 1);
    assert_string_equal(dirs.paths[0], in_scratch(".baton"));
    assert_dir(dirs.paths[0]);
}

TEST(nothing_is_put_among_a_packages_files)
{
    struct baton_cache_dirs dirs;
    assert_int_equal(setenv("XDG_CACHE_HOME", in_scratch("cache"), 1), 0);
    assert_int_equal(symlink("/usr/share", in_scratch("link")), 0);
    static const char *const models[] = {"/usr/share", "/usr/bin/env"};
    for (size_t i = 0; i < 3; i++) {
        baton_cache_dirs_find("auto", i < 2 ? models[i] : in_scratch("link"), &dirs);
        assert_int_equal(dirs.n, 1);
        assert_string_equal(dirs.paths[0], in_scratch("cache/baton"));
    }
}

EACH_TEST(make_scratch, remove_scratch)
