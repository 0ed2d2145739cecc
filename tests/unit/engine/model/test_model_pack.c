#include "common/base/array.h"
#include "tests/support/scratch.h"

#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/base/os/once_file.h"
#include "engine/checkpoint/digest/fingerprint.h"
#include "engine/model/layers.h"

#define MODEL "models/tale"

static struct baton_cache_dirs dirs;
static struct baton_fingerprint fingerprint;

SETUP(make_cache)
{
    assert_false(make_scratch(NULL));
    assert_ok(baton_fingerprint_take(MODEL, NULL, true, &fingerprint, NULL));
    baton_cache_dirs_find(scratch, MODEL, &dirs);
}

static struct baton_model *open_model(const char *dtype, const char *kernels,
                                      const struct baton_cache_dirs *cache)
{
    const struct baton_model_options options = {.dtype = dtype,
                                                .kernels = kernels,
                                                .cache = cache,
                                                .fingerprint = &fingerprint,
                                                .n_threads = 3};
    struct baton_model *model = NULL;
    struct baton_why why = {""};
    if (baton_model_open(MODEL, &options, &model, &why))
        print_error("%s\n", why.text);
    assert_non_null(model);
    return model;
}

static void assert_same_weights(const struct baton_model *a, const struct baton_model *b)
{
    assert_int_equal(a->n_taken, b->n_taken);
    assert_memory_equal(a->slab, b->slab, a->n_taken);
}

/* The path of the one pack file there is. */
static const char *the_pack(void)
{
    static char path[PATH_MAX];
    glob_t found = {0};
    assert_int_equal(glob(in_scratch("*"), 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    (void)snprintf(path, sizeof path, "%s", found.gl_pathv[0]);
    assert_non_null(strstr(path, ".pack"));
    globfree(&found);
    return path;
}

static ino_t inode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

TEST(a_packed_model_is_the_model_in_every_dtype)
{
    static const char *const dtypes[] = {"f32", "bf16", "q8", "q4"};
    for (size_t i = 0; i < BATON_N_OF(dtypes); i++) {
        struct baton_model *alone = open_model(dtypes[i], "auto", NULL);
        struct baton_model *packed = open_model(dtypes[i], "auto", &dirs);
        struct baton_model *mapped = open_model(dtypes[i], "auto", &dirs);
        assert_null(alone->pack.payload);
        assert_non_null(packed->pack.payload);
        assert_non_null(mapped->pack.payload);
        assert_same_weights(alone, packed);
        assert_same_weights(alone, mapped);
        assert_string_equal(baton_model_info(mapped)->dtype, dtypes[i]);
        baton_model_close(alone);
        baton_model_close(packed);
        baton_model_close(mapped);
        assert_int_equal(unlink(the_pack()), 0);
    }
}

TEST_ALONE(any_number_of_threads_packs_the_same)
{
    const struct baton_model_options options = {.dtype = "q4", .n_threads = 1};
    struct baton_model *by_three = open_model("q4", "auto", NULL), *by_one = NULL;
    assert_ok(baton_model_open(MODEL, &options, &by_one, NULL));
    assert_same_weights(by_three, by_one);
    baton_model_close(by_three);
    baton_model_close(by_one);
}

TEST_ALONE(the_default_dtype_is_f32_and_auto_is_the_kernels_fastest)
{
    const struct baton_kernels *kernels;
    for (int i = 0; (kernels = baton_kernels_at(i)); i++) {
        struct baton_model *usual = open_model(NULL, kernels->name, NULL);
        struct baton_model *fastest = open_model("auto", kernels->name, NULL);
        assert_non_null(kernels->dtypes[kernels->fastest].linear);
        assert_string_equal(baton_model_info(usual)->dtype, "f32");
        assert_string_equal(baton_model_info(fastest)->dtype, baton_dtype_name(kernels->fastest));
        baton_model_close(fastest);
        baton_model_close(usual);
    }
}

TEST(each_dtype_and_layout_has_its_own_file)
{
    glob_t found = {0};
    baton_model_close(open_model("f32", "portable", &dirs));
    baton_model_close(open_model("f32", "openblas", &dirs));
    baton_model_close(open_model("q8", "portable", &dirs));
    assert_int_equal(glob(in_scratch("*.pack"), 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 3);
    globfree(&found);
}

TEST(a_file_is_packed_once)
{
    baton_model_close(open_model("bf16", "auto", &dirs));
    ino_t made = inode_of(the_pack());
    baton_model_close(open_model("bf16", "auto", &dirs));
    assert_int_equal(inode_of(the_pack()), made);
}

TEST(a_spoiled_file_is_packed_again)
{
    struct baton_model *alone = open_model("f32", "auto", NULL);
    for (int i = 0; i < 2; i++) {
        baton_model_close(open_model("f32", "auto", &dirs));
        FILE *file = fopen(the_pack(), i ? "r+" : "w"); /* a flipped byte; an empty file */
        assert_int_equal(fseek(file, 100000, SEEK_SET), 0);
        assert_true(!i || fputc('x', file) == 'x');
        assert_int_equal(fclose(file), 0);
        struct baton_model *again = open_model("f32", "auto", &dirs);
        assert_non_null(again->pack.payload);
        assert_same_weights(alone, again);
        baton_model_close(again);
    }
    baton_model_close(alone);
}

static void let_others_write(const char *path)
{
    assert_int_equal(chmod(path, 0666), 0);
}

static void give_away(const char *path)
{
    assert_int_equal(chown(path, 12345, (gid_t)-1), 0); /* only root can */
}

static void put_link(const char *path)
{
    char elsewhere[PATH_MAX];
    (void)snprintf(elsewhere, sizeof elsewhere, "%s", in_scratch(".elsewhere"));
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
}

TEST(a_file_that_others_may_have_written_is_packed_again)
{
    struct stat info;
    baton_model_close(open_model("f32", "auto", &dirs));
    ino_t before = inode_of(the_pack());
    let_others_write(the_pack());
    struct baton_model *again = open_model("f32", "auto", &dirs);
    assert_non_null(again->pack.payload);
    assert_int_not_equal(inode_of(the_pack()), before);
    assert_int_equal(lstat(the_pack(), &info), 0);
    assert_int_equal(info.st_uid, geteuid());
    assert_int_equal(info.st_mode, S_IFREG | 0644);
    baton_model_close(again);
}

static void write_notes(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_true(file && fputs("notes", file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Not even read, and the weights are packed privately. */
TEST(a_file_that_is_not_ours_is_left_as_it_is)
{
    void (*const spoil[])(const char *path) = {write_notes, give_away, put_link};
    for (size_t i = 0; i < BATON_N_OF(spoil); i++) {
        struct stat before, after;
        if (spoil[i] == give_away && geteuid())
            continue;
        baton_model_close(open_model("f32", "auto", &dirs));
        spoil[i](the_pack());
        assert_int_equal(lstat(the_pack(), &before), 0);
        struct baton_model *again = open_model("f32", "auto", &dirs);
        assert_null(again->pack.payload);
        assert_int_equal(lstat(the_pack(), &after), 0);
        assert_int_equal(after.st_ino, before.st_ino);
        assert_int_equal(after.st_size, before.st_size);
        assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
        baton_model_close(again);
        assert_int_equal(unlink(the_pack()), 0);
    }
}

TEST(a_file_of_the_directorys_owner_is_used)
{
    struct baton_cache_dirs theirs = dirs;
    if (geteuid())
        return;
    baton_model_close(open_model("f32", "auto", &dirs));
    assert_int_equal(chown(the_pack(), 12345, (gid_t)-1), 0);
    ino_t before = inode_of(the_pack());
    theirs.owners[0] = 12345;
    baton_model_close(open_model("f32", "auto", &theirs));
    assert_int_equal(inode_of(the_pack()), before);
}

TEST(a_model_outlives_its_file)
{
    struct baton_model *alone = open_model("f32", "auto", NULL);
    struct baton_model *mapped = open_model("f32", "auto", &dirs);
    assert_int_equal(unlink(the_pack()), 0);
    assert_same_weights(alone, mapped);
    baton_model_close(alone);
    baton_model_close(mapped);
}

TEST(without_a_writable_directory_the_weights_are_private)
{
    struct baton_cache_dirs unwritable = {.n = 1, .paths = {"/proc"}};
    struct baton_model *model = open_model("f32", "auto", &unwritable);
    assert_null(model->pack.payload);
    baton_model_close(model);
}

/* A read-only directory of packed weights, such as a mount, before a writable one. */
TEST(a_file_that_can_only_be_read_is_used)
{
    struct baton_cache_dirs both = {.n = 2};
    baton_model_close(open_model("f32", "auto", &dirs));
    (void)snprintf(both.paths[0], PATH_MAX, "/proc");
    (void)snprintf(both.paths[1], PATH_MAX, "%s", scratch);
    ino_t made = inode_of(the_pack());
    struct baton_model *model = open_model("f32", "auto", &both);
    assert_non_null(model->pack.payload);
    assert_int_equal(inode_of(the_pack()), made);
    baton_model_close(model);
}

TEST(processes_that_pack_at_once_share_one_file)
{
    enum { N_PROCESSES = 4 };
    for (int i = 0; i < N_PROCESSES; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid)
            continue;
        _exit(open_model("f32", "auto", &dirs)->pack.payload ? 0 : 1);
    }
    for (int i = 0; i < N_PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    ino_t made = inode_of(the_pack());
    struct baton_model *alone = open_model("f32", "auto", NULL);
    struct baton_model *mapped = open_model("f32", "auto", &dirs);
    assert_int_equal(inode_of(the_pack()), made);
    assert_same_weights(alone, mapped);
    baton_model_close(alone);
    baton_model_close(mapped);
}

TEST(a_killed_packer_does_not_block)
{
    char path[PATH_MAX], byte;
    int ready[2];
    baton_model_close(open_model("f32", "auto", &dirs));
    (void)snprintf(path, sizeof path, "%s", the_pack());
    assert_int_equal(unlink(path), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (!pid) {
        struct baton_once_file held;
        if (!baton_once_file_begin(path, BATON_PACK_MAGIC, 0, &held, NULL) &&
            write(held.fd, "BATN", 4) == 4 && write(ready[1], "x", 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(ready[1]);
    struct baton_model *model = open_model("f32", "auto", &dirs);
    assert_non_null(model->pack.payload);
    assert_string_equal(the_pack(), path);
    baton_model_close(model);
}

TEST_ALONE(an_option_without_meaning_is_refused_with_those_that_have_one)
{
    struct baton_model_options options = {.dtype = "f16"};
    struct baton_model *model = NULL;
    struct baton_why why;
    assert_int_equal(baton_model_open(MODEL, &options, &model, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "dtype: \"f16\" is none of auto, f32, bf16, q8"));
    options = (struct baton_model_options){.kernels = "abacus"};
    assert_int_equal(baton_model_open(MODEL, &options, &model, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "kernels: this CPU cannot run \"abacus\""));
    assert_non_null(strstr(why.text, "portable"));
    options = (struct baton_model_options){.dtype = "q8", .kernels = "openblas"};
    assert_int_equal(baton_model_open(MODEL, &options, &model, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "do not compute in q8"));
    options = (struct baton_model_options){.n_threads = -1};
    assert_int_equal(baton_model_open(MODEL, &options, &model, &why), BATON_INVALID);
    assert_null(model);
}

EACH_TEST(make_cache, remove_scratch)
