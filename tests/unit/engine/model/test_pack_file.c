#include "common/base/array.h"
#include "tests/support/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "engine/model/pack_file.h"

enum { N_BYTES = 300007, HEADER_BYTES = 4096 };

static struct baton_pool *pool;

static struct baton_pack_key key_of(const char *weights, const char *config)
{
    return (struct baton_pack_key){.weights = weights,
                                   .config = config,
                                   .dtype = "bf16",
                                   .layout = BATON_PANELS,
                                   .signature = 42,
                                   .n_bytes = N_BYTES};
}

#define SIXTEEN(c) c c c c c c c c c c c c c c c c
#define HEX(c)     SIXTEEN(c) SIXTEEN(c) SIXTEEN(c) SIXTEEN(c)

static struct baton_pack_key usual_key(void)
{
    return key_of(HEX("a"), HEX("b"));
}

static char byte_at(size_t i)
{
    return (char)(i * 31 + i / 256);
}

static void write_pack(const struct baton_pack_key *key)
{
    struct baton_pack_file file;
    int fd = open(in_scratch("pack"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_ok(baton_pack_file_create(fd, key, &file, NULL));
    assert_int_equal((uintptr_t)file.payload % 64, 0);
    for (size_t i = 0; i < N_BYTES; i++) {
        assert_int_equal(file.payload[i], 0);
        file.payload[i] = byte_at(i);
    }
    baton_pack_file_seal(&file, key, pool);
    baton_pack_file_unmap(&file);
    close(fd);
}

static enum baton_err map(const struct baton_pack_key *key, struct baton_pack_file *file,
                          struct baton_why *why)
{
    *file = (struct baton_pack_file){0};
    return baton_pack_file_map(in_scratch("pack"), geteuid(), key, pool, file, why);
}

SETUP(make_pack)
{
    struct baton_pack_key key = usual_key();
    assert_false(make_scratch(NULL));
    assert_ok(baton_pool_create(2, &pool, NULL));
    write_pack(&key);
}

TEARDOWN(remove_pack)
{
    baton_pool_destroy(pool);
    assert_false(remove_scratch(NULL));
}

TEST(packed_weights_are_mapped)
{
    struct baton_pack_key key = usual_key();
    struct baton_pack_file file;
    assert_ok(map(&key, &file, NULL));
    for (size_t i = 0; i < N_BYTES; i++)
        assert_int_equal(file.payload[i], byte_at(i));
    baton_pack_file_unmap(&file);
    baton_pack_file_unmap(&file); /* of nothing */
}

TEST(an_empty_payload_is_a_payload)
{
    struct baton_pack_key key = usual_key();
    struct baton_pack_file file;
    key.n_bytes = 0;
    int fd = open(in_scratch("pack"), O_RDWR | O_TRUNC);
    assert_ok(baton_pack_file_create(fd, &key, &file, NULL));
    baton_pack_file_seal(&file, &key, pool);
    baton_pack_file_unmap(&file);
    close(fd);
    assert_ok(map(&key, &file, NULL));
    baton_pack_file_unmap(&file);
}

TEST(a_file_of_anything_else_is_refused)
{
    struct baton_pack_key others[] = {
        key_of(HEX("c"), HEX("b")),
        key_of(HEX("a"), HEX("c")),
        usual_key(),
        usual_key(),
        usual_key(),
    };
    struct baton_pack_file file;
    struct baton_why why;
    others[2].dtype = "q8";
    others[3].layout = BATON_ROWS;
    others[4].signature++;
    for (size_t i = 0; i < BATON_N_OF(others); i++) {
        assert_int_equal(map(&others[i], &file, &why), BATON_CORRUPT);
        assert_non_null(strstr(why.text, "/pack: the file was packed from other weights"));
        assert_null(file.payload);
    }
}

static void spoil(off_t offset)
{
    char byte;
    int fd = open(in_scratch("pack"), O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte = (char)(byte ^ 4);
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
    close(fd);
}

TEST(a_flipped_bit_anywhere_is_found)
{
    const struct {
        off_t offset;
        const char *reason;
    } cases[] = {
        {0, "the header's checksum"},
        {9, "the header's checksum"},
        {12, "the header's checksum"},
        {16, "the header's checksum"},
        {144, "the header's checksum"},
        {170, "the header's checksum"},
        {200, "the header's checksum"},
        {HEADER_BYTES, "the weights' checksum"},
        {HEADER_BYTES + 123456, "the weights' checksum"},
        {HEADER_BYTES + N_BYTES - 1, "the weights' checksum"},
    };
    struct baton_pack_key key = usual_key();
    struct baton_pack_file file;
    struct baton_why why;
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        spoil(cases[i].offset);
        assert_int_equal(map(&key, &file, &why), BATON_CORRUPT);
        assert_non_null(strstr(why.text, cases[i].reason));
        spoil(cases[i].offset);
        assert_ok(map(&key, &file, &why));
        baton_pack_file_unmap(&file);
    }
}

TEST(a_file_of_another_size_is_refused)
{
    static const off_t sizes[] = {0, 1, HEADER_BYTES, HEADER_BYTES + N_BYTES - 1,
                                  HEADER_BYTES + N_BYTES + 1};
    struct baton_pack_key key = usual_key();
    struct baton_pack_file file;
    struct baton_why why;
    for (size_t i = 0; i < BATON_N_OF(sizes); i++) {
        assert_int_equal(truncate(in_scratch("pack"), sizes[i]), 0);
        assert_int_equal(map(&key, &file, &why), BATON_CORRUPT);
        assert_non_null(strstr(why.text, "the file's size is wrong"));
    }
}

TEST(a_path_other_than_a_file_is_refused)
{
    struct baton_pack_key key = usual_key();
    struct baton_pack_file file;
    assert_int_equal(unlink(in_scratch("pack")), 0);
    assert_int_equal(map(&key, &file, NULL), BATON_NOT_FOUND);
    assert_int_equal(mkfifo(in_scratch("pack"), 0600), 0);
    assert_int_equal(map(&key, &file, NULL), BATON_INVALID);
    assert_int_equal(unlink(in_scratch("pack")), 0);
    assert_int_equal(mkdir(in_scratch("pack"), 0700), 0);
    assert_int_equal(map(&key, &file, NULL), BATON_INVALID);
}

TEST(a_payload_without_space_fails_when_it_is_created)
{
    struct baton_pack_key key = usual_key();
    struct baton_pack_file file;
    struct baton_why why;
    key.n_bytes = (size_t)1 << 60;
    int fd = open(in_scratch("pack"), O_RDWR | O_TRUNC);
    assert_int_equal(baton_pack_file_create(fd, &key, &file, &why), BATON_IO);
    key.n_bytes = SIZE_MAX;
    assert_int_equal(baton_pack_file_create(fd, &key, &file, &why), BATON_LIMIT);
    close(fd);
}

TEST_ALONE(a_name_has_the_digests_dtype_and_layout)
{
    struct baton_pack_key key = usual_key();
    char name[BATON_PACK_NAME_BYTES];
    baton_pack_file_name(&key, name);
    assert_string_equal(name, "aaaaaaaaaaaaaaaa-bbbbbbbb-bf16-panels.pack");
}

EACH_TEST(make_pack, remove_pack)
