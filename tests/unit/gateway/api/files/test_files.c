/* The directory of --files-dir, and what stands in it when a gateway opens it. */
#include "tests/support/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "gateway/api/files/files.h"
#include "tests/support/scratch.h"

#define NAME "file-00112233445566778899aabbccddeeff"

static struct gw_files files;
static struct baton_why why;
static const struct gw_owner alice = {{1}}, bob = {{2}};

static void open_files(uint64_t max_bytes)
{
    assert_ok(gw_files_open(&files, scratch, max_bytes, &why));
}

/* Writes a file of Alice's to the disk, as an upload does. */
static struct gw_file *add(const char *id, const char *contents, int64_t expires_s)
{
    struct gw_file file = {.owner = alice, .created_s = 5, .expires_s = expires_s};
    struct baton_buf header;
    (void)snprintf(file.id, sizeof file.id, "%s", id);
    (void)snprintf(file.filename, sizeof file.filename, "a \"b\".jsonl");
    (void)snprintf(file.purpose, sizeof file.purpose, "batch");
    file.bytes = strlen(contents);
    baton_buf_init(&header, GW_DISK_HEADER_MAX_BYTES);
    gw_file_put_header(&header, &file);
    assert_ok(gw_disk_create(&files.disk, id, &header, contents, file.bytes, &file.begin, &why));
    baton_buf_fini(&header);
    return gw_files_add(&files, &file);
}

TEST(files_are_found_again_by_their_owner_alone)
{
    open_files(1 << 20);
    assert_non_null(add(NAME, "contents", 99));
    gw_files_close(&files);
    open_files(1 << 20);
    const struct gw_file *file = gw_files_find(&files, &alice, NAME);
    assert_non_null(file);
    assert_null(gw_files_find(&files, &bob, NAME));
    assert_string_equal(file->filename, "a \"b\".jsonl");
    assert_string_equal(file->purpose, "batch");
    assert_int_equal(file->bytes, 8);
    assert_int_equal(file->created_s, 5);
    assert_int_equal(file->expires_s, 99);
    gw_files_close(&files);
}

TEST(what_is_not_ours_stays_and_is_no_file)
{
    static const char *const names[] = {"notes", NAME, "file-0011.new",
                                        "file-ffffffffffffffffffffffffffffffff.new"};
    for (size_t i = 0; i < 4; i++)
        write_scratch(names[i], "somebody's own text, longer than a magic");
    open_files(1 << 20);
    assert_int_equal(files.list.n, 0);
    assert_int_equal(gw_disk_remove(&files.disk, NAME, &why), BATON_INVALID);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(access(in_scratch(names[i]), F_OK), 0);
    gw_files_close(&files);
}

TEST(what_a_crash_left_of_a_new_file_is_removed)
{
    write_scratch(NAME ".new", "baton-file 1 00");
    assert_int_equal(chmod(in_scratch(NAME ".new"), 0600), 0);
    open_files(1 << 20);
    assert_int_not_equal(access(in_scratch(NAME ".new"), F_OK), 0);
    gw_files_close(&files);
}

TEST(a_damaged_header_is_skipped)
{
    static const char *const texts[] = {"baton-file 1 ",
                                        "baton-file 1 00000002\n",
                                        "baton-file 1 00000002\n{}",
                                        "baton-file 1 00000002\n{}\n",
                                        "baton-file 1 99999999\n{}\n",
                                        "baton-file 1 0000000x\n{}\n"};
    for (size_t i = 0; i < 6; i++) {
        write_scratch(NAME, texts[i]);
        assert_int_equal(chmod(in_scratch(NAME), 0600), 0);
        open_files(1 << 20);
        assert_int_equal(files.list.n, 0);
        gw_files_close(&files);
    }
}

TEST(one_gateway_has_the_directory)
{
    struct gw_disk other;
    open_files(1 << 20);
    assert_int_equal(gw_disk_open(&other, scratch, &why), BATON_AGAIN);
    gw_disk_close(&other);
    gw_files_close(&files);
}

TEST(a_key_has_at_most_half_and_nobody_more_than_all)
{
    open_files(100 << 10);
    assert_true(gw_files_may_grow(&files, &alice, 40 << 10));
    assert_false(gw_files_may_grow(&files, &alice, 60 << 10));
    char *contents = calloc(1, (44 << 10) + 1);
    memset(contents, 'x', 44 << 10);
    assert_non_null(add(NAME, contents, 0));
    free(contents);
    assert_false(gw_files_may_grow(&files, &alice, 8 << 10));
    assert_true(gw_files_may_grow(&files, &bob, 40 << 10));
    gw_files_remove(&files, gw_files_find(&files, &alice, NAME));
    assert_true(gw_files_may_grow(&files, &alice, 40 << 10));
    assert_int_not_equal(access(in_scratch(NAME), F_OK), 0);
    gw_files_close(&files);
}

TEST(expired_files_are_removed)
{
    open_files(1 << 20);
    assert_non_null(add(NAME, "a", 1000));
    gw_files_tick(&files, 999);
    assert_int_equal(files.list.n, 1);
    gw_files_tick(&files, 1020);
    assert_int_equal(files.list.n, 0);
    assert_int_not_equal(access(in_scratch(NAME), F_OK), 0);
    gw_files_close(&files);
}

EACH_TEST(make_scratch, remove_scratch)
