/* A prefill worker that keeps blocks on disk: prompts come back from there, to the bit, or are
 * computed. */
#include <dirent.h>
#include <fcntl.h>

#include "tests/support/scratch.h"

#include "tests/unit/prefill_worker/fixture.h"

enum { LONG = 400, CACHED = 384 };

static void open_worker(int64_t kv_tokens)
{
    worker_open(&(struct worker_options){.kv_tokens = kv_tokens,
                                         .kv_disk = {.dir = in_scratch("kv"), .bytes = 64 << 20}});
}

/* Its first token; then nothing runs, and what is to be written is. */
static uint32_t ask(uint64_t id, uint64_t words)
{
    const struct request_params params = {
        .id = id, .n_prompt = LONG, .n_new = 1, .words = words, .hashes = OUR_HASHES};
    say_prompt(&params);
    await(&heard[id].n_first, 1);
    await_idle();
    return heard[id].first_token;
}

TEST(a_prompt_that_memory_has_no_room_for_comes_back_from_disk)
{
    open_worker(N_CONTEXT);
    uint32_t token = ask(1, 1);
    assert_int_equal(heard[1].disk_tokens, 0);
    assert_true(worker_status().kv_disk_written_bytes > 0);
    (void)ask(2, 2); /* takes the first one's blocks */
    struct request_params params = {
        .id = 3, .n_prompt = LONG, .n_new = 9, .words = 1, .hashes = OUR_HASHES, .delivers = true};
    say_prompt(&params);
    await(&n_received, 1);
    await(&heard[3].n_first, 1);
    assert_in_range(heard[3].cached_tokens, heard[3].disk_tokens, CACHED);
    assert_true(heard[3].disk_tokens >= 16); /* how many is a matter of time */
    assert_int_equal(heard[3].first_token, token);
    assert_true(equals_own_run(&params));
    Baton__V1__Status status = worker_status();
    assert_int_equal(status.kv_disk_hit_tokens, heard[3].disk_tokens);
    assert_true(status.kv_disk_read_bytes > 0);
    assert_int_equal(status.kv_disk_errors, 0);
}

TEST(a_worker_finds_what_the_one_before_it_wrote)
{
    open_worker(0);
    uint32_t token = ask(1, 1);
    worker_close();
    open_worker(0);
    assert_int_equal(ask(1, 1), token);
    assert_int_equal(heard[1].disk_tokens, CACHED);
    assert_int_equal(heard[1].cached_tokens, CACHED);
    assert_int_equal(worker_status().kv_disk_written_bytes, 0); /* it is there already */
    assert_int_equal(ask(2, 1), token);
    assert_int_equal(heard[2].cached_tokens, CACHED);
    assert_int_equal(heard[2].disk_tokens, 0); /* memory has it by now */
}

/* Each page of the file's records that was written; which ones are depends on hashes. */
static void damage_all(void)
{
    DIR *dir = opendir(in_scratch("kv"));
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        int fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_NOFOLLOW);
        for (off_t at = lseek(fd, 1 << 16, SEEK_DATA); at >= 0;
             at = lseek(fd, at + 4096, SEEK_DATA))
            (void)!pwrite(fd, "damaged", 7, at + 100);
        if (fd >= 0)
            close(fd);
    }
    closedir(dir);
}

TEST(what_is_damaged_is_computed_and_written_anew)
{
    open_worker(0);
    uint32_t token = ask(1, 1);
    worker_close();
    damage_all();
    open_worker(0);
    assert_int_equal(ask(1, 1), token);
    assert_in_range(heard[1].disk_tokens, 0, CACHED - 16);
    assert_true(worker_status().kv_disk_errors > 0);
    assert_true(worker_status().kv_disk_written_bytes > 0);
}

TEST(a_job_that_is_canceled_while_it_loads_gives_its_blocks_back)
{
    struct request_params params = {.n_prompt = LONG, .n_new = 1, .words = 1, .hashes = OUR_HASHES};
    open_worker(0);
    (void)ask(1, 1);
    worker_close();
    open_worker(0);
    for (params.id = 1; params.id < 9; params.id++) {
        say_prompt(&params);
        work_alone(); /* the reading begins */
        say_cancel(&params);
    }
    await_idle();
    worker_close(); /* every block is free */
}

/* A directory in which nothing can be made: the worker serves without. */
TEST(a_worker_whose_disk_is_of_no_use_serves)
{
    worker_open(
        &(struct worker_options){.kv_disk = {.dir = in_scratch("not/there"), .bytes = 64 << 20}});
    (void)ask(1, 1);
    assert_int_equal(worker_status().kv_disk_written_bytes, 0);
}

TEARDOWN(end)
{
    worker_end(NULL);
    assert_false(remove_scratch(NULL));
}

EACH_TEST(make_scratch, end)
