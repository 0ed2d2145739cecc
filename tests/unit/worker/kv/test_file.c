/* KV blocks in a file: what comes back is what was written, or nothing does. */
#include "worker/kv/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/scratch.h"

enum { N_WORDS = 1500, N_BLOCKS = 12, BLOCK_BYTES = N_WORDS * 4, MAX_BYTES = 1 << 20 };

static const struct baton_block_hash root = {.bytes = {1}}, other_root = {.bytes = {2}};

static struct baton_kv_file_options options_of(const struct baton_block_hash *of, int64_t max_bytes)
{
    return (struct baton_kv_file_options){.dir = in_scratch("kv"),
                                          .max_bytes = max_bytes,
                                          .root = *of,
                                          .block_bytes = BLOCK_BYTES,
                                          .holds = "block"};
}

static struct baton_kv_file *open_with(const struct baton_block_hash *of, int64_t max_bytes)
{
    struct baton_kv_file_options options = options_of(of, max_bytes);
    struct baton_kv_file *file = NULL;
    struct baton_why why = {""};
    if (baton_kv_file_open(&options, &file, &why))
        fail_msg("%s", why.text);
    return file;
}

static struct baton_kv_file *open_one(void)
{
    return open_with(&root, MAX_BYTES);
}

static void assert_refused(const struct baton_block_hash *of, int64_t max_bytes, const char *names)
{
    struct baton_kv_file_options options = options_of(of, max_bytes);
    struct baton_kv_file *file = NULL;
    struct baton_why why = {""};
    assert_int_equal(baton_kv_file_open(&options, &file, &why), BATON_INVALID);
    if (!strstr(why.text, names))
        fail_msg("\"%s\" does not name %s", why.text, names);
}

static const char *path_of(const struct baton_block_hash *of)
{
    char name[64] = "kv/";
    for (int i = 0; i < BATON_BLOCK_HASH_BYTES; i++)
        (void)snprintf(name + 3 + 2 * i, 3, "%02x", of->bytes[i]);
    return in_scratch(strcat(name, ".kv"));
}

static struct baton_block_hash hash_of(uint32_t number)
{
    struct baton_block_hash hash = {{0}};
    memcpy(hash.bytes, &number, sizeof number);
    memcpy(hash.bytes + 8, &number, sizeof number);
    return hash;
}

/* In pieces of two sizes, as the layers of a model are. */
struct block {
    uint32_t words[N_WORDS];
    struct iovec pieces[3];
};

static void fill(struct block *block, uint32_t number)
{
    for (uint32_t i = 0; i < N_WORDS; i++)
        block->words[i] = number * 2654435761u + i;
    block->pieces[0] = (struct iovec){block->words, 400};
    block->pieces[1] = (struct iovec){block->words + 100, 4000};
    block->pieces[2] = (struct iovec){block->words + 1100, 1600};
}

static enum baton_err put_at(struct baton_kv_file *file, uint32_t number, int64_t used_ns)
{
    struct block block;
    struct baton_block_hash hash = hash_of(number);
    bool evicted;
    fill(&block, number);
    return baton_kv_file_write(file, &hash, block.pieces, 3, used_ns, &evicted);
}

static void put(struct baton_kv_file *file, uint32_t number)
{
    assert_ok(put_at(file, number, number + 1));
}

/* NOT_FOUND, CORRUPT, or OK: then it is the block. */
static enum baton_err get(struct baton_kv_file *file, uint32_t number)
{
    struct block block, wanted;
    struct baton_block_hash hash = hash_of(number);
    int64_t slot = baton_kv_file_find(file, &hash);
    if (slot == BATON_KV_NO_SLOT)
        return BATON_NOT_FOUND;
    fill(&block, 0);
    fill(&wanted, number);
    enum baton_err err = baton_kv_file_read(file, slot, &hash, block.pieces, 3);
    if (!err)
        assert_memory_equal(block.words, wanted.words, BLOCK_BYTES);
    return err;
}

TEST(a_block_comes_back_as_it_was_to_every_opener_and_after_a_restart)
{
    struct baton_kv_file *file = open_one(), *other = open_one();
    for (uint32_t i = 0; i < N_BLOCKS; i++)
        put(file, i);
    for (uint32_t i = 0; i < N_BLOCKS; i++)
        assert_ok(get(other, i));
    assert_int_equal(get(file, N_BLOCKS), BATON_NOT_FOUND);
    baton_kv_file_close(file);
    baton_kv_file_close(other);
    file = open_one();
    for (uint32_t i = 0; i < N_BLOCKS; i++)
        assert_ok(get(file, i));
    baton_kv_file_close(file);
}

static int64_t bytes_in_dir(void)
{
    struct stat info;
    return stat(path_of(&root), &info) ? 0 : info.st_size;
}

TEST(a_file_is_never_larger_than_wanted_and_the_oldest_block_goes_first)
{
    struct baton_kv_file *file = open_with(&root, 100000);
    uint32_t n = (uint32_t)baton_kv_file_n_slots(file);
    assert_in_range(n, 8, 11); /* 8 KiB each */
    for (uint32_t i = 0; i < n; i++)
        put(file, i);
    struct baton_block_hash first = hash_of(0);
    baton_kv_file_touch(file, baton_kv_file_find(file, &first), 1000);
    for (uint32_t i = n; i < n + 3; i++)
        put(file, i);
    assert_ok(get(file, 0));
    for (uint32_t i = 1; i < 4; i++)
        assert_int_equal(get(file, i), BATON_NOT_FOUND);
    for (uint32_t i = 4; i < n + 3; i++)
        assert_ok(get(file, i));
    assert_in_range(bytes_in_dir(), 1, 100000);
    baton_kv_file_close(file);
}

static void flip(off_t at)
{
    uint8_t byte;
    int fd = open(path_of(&root), O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static off_t slot_at(const struct baton_kv_file *file, int64_t slot)
{
    return bytes_in_dir() - (off_t)(baton_kv_file_n_slots(file) - slot) * 8192;
}

/* Every field of the header, the block from its first byte to its last, the second generation. */
TEST(a_record_with_any_bit_changed_is_not_read_and_is_forgotten)
{
    struct baton_kv_file *file = open_one();
    const struct baton_block_hash hash = hash_of(5);
    for (off_t at = 0; at < 64 + BLOCK_BYTES + 8;
         at += at < 64 || at >= 64 + BLOCK_BYTES - 4 ? 1 : 371) {
        put(file, 5);
        flip(slot_at(file, baton_kv_file_find(file, &hash)) + at);
        assert_int_equal(get(file, 5), BATON_CORRUPT);
        assert_int_equal(get(file, 5), BATON_NOT_FOUND);
    }
    baton_kv_file_close(file);
}

/* A process that dies while it writes leaves the end of one record behind the begin of another, at
 * any place. */
TEST(a_record_of_two_halves_is_not_read)
{
    struct baton_kv_file *file = open_one();
    const struct baton_block_hash hashes[2] = {hash_of(1), hash_of(2)};
    char bytes[2][8192];
    int fd = open(path_of(&root), O_RDWR);
    off_t at[2];
    for (uint32_t i = 0; i < 2; i++) {
        put(file, i + 1);
        at[i] = slot_at(file, baton_kv_file_find(file, &hashes[i]));
        assert_int_equal(pread(fd, bytes[i], sizeof bytes[i], at[i]), sizeof bytes[i]);
    }
    for (size_t n = 512; n < BLOCK_BYTES; n += 512) {
        assert_int_equal(pwrite(fd, bytes[1], n, at[0]), n);
        assert_int_equal(get(file, 1), BATON_CORRUPT);
        baton_kv_file_close(file);
        file = open_one(); /* the place of block 1 is free */
        put(file, 1);
        at[0] = slot_at(file, baton_kv_file_find(file, &hashes[0]));
    }
    /* A whole record of another block. */
    assert_int_equal(pwrite(fd, bytes[1], sizeof bytes[1], at[0]), sizeof bytes[1]);
    assert_int_equal(get(file, 1), BATON_NOT_FOUND);
    close(fd);
    baton_kv_file_close(file);
}

TEST(a_directory_or_file_that_others_could_write_is_refused)
{
    struct baton_kv_file *file;
    assert_int_equal(mkdir(in_scratch("kv"), 0755), 0);
    assert_refused(&root, MAX_BYTES, "mode 755");
    assert_int_equal(chmod(in_scratch("kv"), 0700), 0);
    const char *target = in_scratch("target");
    write_scratch("target", "planted");
    assert_int_equal(symlink(target, path_of(&root)), 0);
    assert_refused(&root, MAX_BYTES, "not a plain file");
    assert_refused(&other_root, MAX_BYTES, "not a plain file");
    assert_int_equal(unlink(path_of(&root)), 0);
    assert_int_equal(chmod(in_scratch("target"), 0600), 0);
    assert_int_equal(link(in_scratch("target"), path_of(&root)), 0);
    assert_refused(&root, MAX_BYTES, "more than one name");
    assert_int_equal(unlink(in_scratch("target")), 0);
    assert_int_equal(chmod(path_of(&root), 0644), 0);
    assert_refused(&root, MAX_BYTES, "mode 644");
    assert_int_equal(unlink(path_of(&root)), 0);
    assert_int_equal(mkfifo(path_of(&root), 0600), 0);
    assert_refused(&root, MAX_BYTES, "not a plain file");
    assert_int_equal(unlink(path_of(&root)), 0);
    file = open_one();
    baton_kv_file_close(file);
    assert_int_equal(rename(in_scratch("kv"), in_scratch("real")), 0);
    assert_int_equal(symlink("real", in_scratch("kv")), 0);
    assert_refused(&root, MAX_BYTES, "must be a directory");
}

static void put_foreign(const char *name, const char *text)
{
    write_scratch(name, text);
    assert_int_equal(chmod(in_scratch(name), 0600), 0);
}

static void assert_text(const char *name, const char *text)
{
    char bytes[64] = "";
    FILE *file = fopen(in_scratch(name), "r");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes - 1, file), strlen(text));
    assert_int_equal(fclose(file), 0);
    assert_string_equal(bytes, text);
}

TEST(a_file_that_its_maker_has_only_begun_is_made_anew)
{
    static const char *const contents[] = {"", "BATN", "BATNKVFL", "BATNKVFL and nothing else"};
    assert_int_equal(mkdir(in_scratch("kv"), 0700), 0);
    for (int i = 0; i < 4; i++) {
        int fd = open(path_of(&root), O_RDWR | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, contents[i], strlen(contents[i])), strlen(contents[i]));
        close(fd);
        struct baton_kv_file *file = open_one();
        assert_int_equal(get(file, 1), BATON_NOT_FOUND);
        put(file, 1);
        assert_ok(get(file, 1));
        baton_kv_file_close(file);
    }
}

TEST(files_of_others_are_neither_removed_nor_written_over)
{
    static const char *const names[] = {"kv/main.kv", "kv/.kv", "kv/0123.kv",
                                        "kv/0123456789ABCDEF0123456789ABCDEF.kv",
                                        "kv/0123456789abcdef0123456789abcdef.kv.kv"};
    assert_int_equal(mkdir(in_scratch("kv"), 0700), 0);
    for (int i = 0; i < 5; i++)
        put_foreign(names[i], "#:kivy 1.0\n");
    baton_kv_file_close(open_one());
    for (int i = 0; i < 5; i++)
        assert_text(names[i], "#:kivy 1.0\n");
    /* Under a name of ours: this model's, or another one's. */
    for (int i = 0; i < 2; i++) {
        const char *name = path_of(&root) + strlen(scratch) + 1;
        char own[64];
        (void)snprintf(own, sizeof own, "%s", name);
        assert_int_equal(unlink(path_of(&root)), 0);
        put_foreign(own, "planted");
        assert_refused(i ? &other_root : &root, MAX_BYTES, own);
        assert_refused(i ? &other_root : &root, MAX_BYTES, "not a file of Baton's");
        assert_text(own, "planted");
    }
}

TEST(a_directory_is_judged_as_a_link_with_a_slash_behind_it_too)
{
    struct baton_kv_file *file = NULL;
    static const char *const ends[] = {"kv/", "kv/.", "kv//"};
    assert_int_equal(mkdir(in_scratch("real"), 0700), 0);
    assert_int_equal(symlink("real", in_scratch("kv")), 0);
    for (int i = 0; i < 3; i++) {
        struct baton_kv_file_options options = options_of(&root, MAX_BYTES);
        struct baton_why why = {""};
        options.dir = in_scratch(ends[i]);
        assert_int_equal(baton_kv_file_open(&options, &file, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "must be a directory"));
    }
}

TEST(a_limit_below_one_block_is_refused)
{
    assert_refused(&root, 8192 + 8191, "--kv-disk-bytes: must be 16384 or more");
    baton_kv_file_close(open_with(&root, 16384));
    assert_refused(&root, 1, "--kv-disk-bytes");
}

TEST(files_of_other_models_go_unless_they_are_in_use)
{
    struct baton_kv_file *file = open_with(&other_root, 100000), *mine;
    assert_refused(&root, 100000, "in use");
    mine = open_with(&root, 300000);
    assert_in_range(bytes_in_dir(), 1, 200000);
    assert_int_equal(access(path_of(&other_root), F_OK), 0);
    baton_kv_file_close(file);
    baton_kv_file_close(mine);
    mine = open_with(&root, 100000);
    assert_int_not_equal(access(path_of(&other_root), F_OK), 0);
    baton_kv_file_close(mine);
}

TEST(the_two_files_of_a_model_share_the_limit_and_leave_each_other_alone)
{
    struct baton_kv_file_options blocks = options_of(&root, MAX_BYTES),
                                 states = options_of(&other_root, MAX_BYTES);
    struct baton_kv_file *file, *alone = open_one();
    struct baton_why why = {""};
    int64_t n_alone = baton_kv_file_n_slots(alone);
    baton_kv_file_close(alone);
    blocks.beside = &other_root;
    states.beside = &root;
    for (int i = 0; i < 4; i++) { /* each of them opens alone, and beside the other's file */
        assert_ok(baton_kv_file_open(i % 2 ? &states : &blocks, &file, &why));
        assert_in_range(baton_kv_file_n_slots(file), n_alone / 2 - 1, n_alone / 2);
        if (i < 2)
            put(file, (uint32_t)i);
        assert_ok(get(file, (uint32_t)(i % 2)));
        baton_kv_file_close(file);
    }
    states.max_bytes = 4 * BLOCK_BYTES;
    states.holds = "state";
    assert_int_equal(baton_kv_file_open(&states, &file, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "or more for one state of this model"));
}

TEST(a_file_in_use_is_shared_as_it_is_but_not_when_it_is_larger_than_wanted)
{
    struct baton_kv_file *file = open_with(&root, 100000), *larger = open_with(&root, 200000);
    assert_int_equal(baton_kv_file_n_slots(larger), baton_kv_file_n_slots(file));
    assert_refused(&root, 50000, "--kv-disk-bytes");
    baton_kv_file_close(file);
    baton_kv_file_close(larger);
    file = open_with(&root, 50000);
    assert_in_range(bytes_in_dir(), 1, 50000);
    baton_kv_file_close(file);
}

TEST(a_slot_that_another_process_reads_or_writes_is_left_alone)
{
    struct baton_kv_file *file = open_with(&root, 16384);
    const struct baton_block_hash hash = hash_of(1);
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 8192, .l_len = 8192};
    put(file, 1);
    int fd = open(path_of(&root), O_RDWR);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    assert_ok(get(file, 1));
    assert_int_equal(put_at(file, 2, 2), BATON_AGAIN);
    lock.l_type = F_WRLCK;
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    assert_int_equal(get(file, 1), BATON_NOT_FOUND);
    close(fd);
    assert_ok(get(file, 1));
    assert_int_not_equal(baton_kv_file_find(file, &hash), BATON_KV_NO_SLOT);
    baton_kv_file_close(file);
}

/* A file may not grow past the limit of its process: as on a disk that is full. */
TEST(a_full_disk_is_an_error_and_written_records_stay)
{
    struct baton_kv_file *file = open_one();
    put(file, 1);
    pid_t pid = fork();
    if (!pid) {
        struct rlimit limit = {.rlim_cur = 20000, .rlim_max = 20000};
        (void)signal(SIGXFSZ, SIG_IGN);
        bool is_full = !setrlimit(RLIMIT_FSIZE, &limit) && put_at(file, 2, 2) == BATON_LIMIT;
        for (uint32_t i = 3; is_full && i < 20; i++)
            is_full = put_at(file, i, i) == BATON_LIMIT;
        _exit(is_full ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_ok(get(file, 1));
    assert_int_equal(get(file, 2), BATON_NOT_FOUND);
    baton_kv_file_close(file);
}

/* Writes for ever, and tells the parent of the first round. */
static pid_t start_writer(uint32_t seed, int *ready)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (!pid) {
        struct baton_kv_file *file = open_with(&root, 100000);
        for (uint32_t i = seed;; i = i * 1664525 + 1013904223) {
            uint32_t number = (i >> 16) % 20;
            if (get(file, number) == BATON_NOT_FOUND)
                (void)put_at(file, number, 1 + (i >> 8));
            (void)!write(ends[1], "x", 1);
        }
    }
    close(ends[1]);
    *ready = ends[0];
    return pid;
}

/* The file has room for fewer blocks than there are, so places change hands all the time. */
TEST(writers_that_are_killed_leave_no_wrong_block)
{
    for (uint32_t round = 0; round < 20; round++) {
        int ready[2], status;
        char bytes[64];
        pid_t pids[2] = {start_writer(round, &ready[0]), start_writer(round + 99, &ready[1])};
        struct baton_kv_file *file = open_with(&root, 100000);
        for (int i = 0; i < 2; i++)
            assert_true(read(ready[i], bytes, 1) == 1);
        for (uint32_t i = 0; i < 200; i++) { /* beside them */
            enum baton_err err = get(file, i % 20);
            assert_true(!err || err == BATON_NOT_FOUND);
        }
        for (int i = 0; i < 2; i++) {
            assert_int_equal(kill(pids[i], SIGKILL), 0);
            assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
            close(ready[i]);
        }
        for (uint32_t i = 0; i < 20; i++) {
            enum baton_err err = get(file, i);
            assert_true(!err || err == BATON_NOT_FOUND);
        }
        baton_kv_file_close(file);
    }
}

EACH_TEST(make_scratch, remove_scratch)
