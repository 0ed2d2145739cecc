/* A batch on the disk: what it says of itself, and its journal after any crash. */
#include "tests/support/test.h"

#include "gateway/api/batches/batch.h"
#include "gateway/api/batches/check.h"
#include "tests/support/scratch.h"

#define NAME "batch_00112233445566778899aabbccddeeff"

static struct gw_disk disk;
static struct baton_why why;

static void write_batch(const struct gw_batch *batch, const char *journal, size_t n)
{
    struct baton_buf header;
    uint64_t begin;
    (void)!gw_disk_remove(&disk, NAME, NULL);
    baton_buf_init(&header, GW_DISK_HEADER_MAX_BYTES);
    gw_batch_put_header(&header, batch);
    assert_ok(gw_disk_create(&disk, NAME, &header, journal, n, &begin, &why));
    baton_buf_fini(&header);
}

TEST(a_journal_that_is_cut_off_anywhere_tells_the_last_whole_status)
{
    struct gw_batch batch = {.owner = {{7}},
                             .endpoint = "/v1/completions",
                             .window = "24h",
                             .input = "file-1",
                             .output = "file-2",
                             .error = "file-3",
                             .created_s = 10,
                             .expires_s = 20};
    struct baton_buf journal;
    size_t first;
    baton_buf_init(&journal, 1 << 20);
    assert_ok(gw_disk_open(&disk, scratch, &why));
    batch.total = 3;
    gw_batch_set(&batch, GW_BATCH_in_progress, &journal);
    first = journal.len;
    batch.completed = 2;
    batch.failed = 1;
    gw_batch_set(&batch, GW_BATCH_completed, &journal);
    for (size_t n = 0; n <= journal.len; n++) {
        write_batch(&batch, journal.data, n);
        struct gw_batch *found = gw_batch_load(&disk, NAME);
        enum gw_batch_status wanted = n + 1 >= journal.len ? GW_BATCH_completed
                                      : n + 1 >= first     ? GW_BATCH_in_progress
                                                           : GW_BATCH_validating;
        assert_non_null(found);
        assert_int_equal(found->status, wanted);
        assert_int_equal(found->completed, wanted == GW_BATCH_completed ? 2 : 0);
        assert_string_equal(found->output, "file-2");
        assert_string_equal(found->endpoint, "/v1/completions");
        assert_int_equal(found->expires_s, 20);
        assert_true(gw_owner_is_same(&found->owner, &batch.owner));
        gw_batch_free(found);
    }
    baton_buf_fini(&journal);
    gw_disk_close(&disk);
}

/* Checks a file of lines; {code, line} of its errors. */
static size_t check_lines(const char *text, const char *codes[8], int64_t lines[8])
{
    static struct baton_lines reader;
    static struct baton_json *errors;
    uint64_t total;
    write_scratch("lines", text);
    FILE *file = fopen(in_scratch("lines"), "r");
    assert_non_null(file);
    baton_lines_init(&reader, fileno(file));
    baton_json_free(errors);
    errors = NULL;
    assert_ok(gw_batch_check(&reader, "/v1/completions", &total, &errors));
    assert_int_equal(fclose(file), 0);
    size_t n = baton_json_size(errors);
    for (size_t i = 0; i < n && i < 8; i++) {
        const struct baton_json *error = baton_json_at(errors, i);
        codes[i] = baton_json_string(baton_json_get(error, "code"), NULL);
        lines[i] = baton_json_int(baton_json_get(error, "line"));
    }
    return n;
}

#define LINE(id, url)                                                                              \
    "{\"custom_id\":\"" id "\",\"method\":\"POST\",\"url\":\"" url "\",\"body\":{}}\n"
#define GOOD(id) LINE(id, "/v1/completions")

TEST(every_wrong_line_is_told_by_its_number)
{
    const char *codes[8];
    int64_t lines[8];
    assert_int_equal(check_lines(GOOD("a") GOOD("b") "\n \n", codes, lines), 0);
    assert_int_equal(check_lines("\n\n", codes, lines), 1);
    assert_string_equal(codes[0], "empty_file");
    assert_int_equal(
        check_lines(GOOD("a") "\n" GOOD("a") LINE("c", "/v1/embeddings") "{}\n", codes, lines), 4);
    static const char *const wanted[] = {"invalid_request", "duplicate_custom_id",
                                         "mismatched_endpoint", "invalid_request"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(codes[i], wanted[i]);
        assert_int_equal(lines[i], i + 2);
    }
}

EACH_TEST(make_scratch, remove_scratch)
