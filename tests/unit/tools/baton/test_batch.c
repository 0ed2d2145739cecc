/* The files that `baton batch` reads and writes. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/os/file.h"
#include "tools/baton/batch/file.h"

static struct baton_buf text;

SETUP(init)
{
    baton_buf_init(&text, BATON_BATCH_LINE_MAX_BYTES);
}

TEARDOWN(fini)
{
    baton_buf_fini(&text);
}

/* Opens OUT with that content; the content afterwards is in text. */
static enum baton_err open_out(const char *content, struct baton_why *why)
{
    char dir[] = "/tmp/baton-batch-XXXXXX", in[64], out[64];
    struct bt_batch_file file;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(in, sizeof in, "%s/in", dir);
    (void)snprintf(out, sizeof out, "%s/out", dir);
    FILE *made = fopen(in, "w");
    assert_true(made && !fclose(made));
    made = fopen(out, "w");
    assert_true(made && fputs(content, made) >= 0);
    assert_int_equal(fclose(made), 0);
    enum baton_err err = bt_batch_file_open(&file, in, out, why);
    if (!err)
        bt_batch_file_close(&file);
    baton_buf_reset(&text);
    assert_ok(baton_file_read(out, &text, NULL));
    assert_int_equal(unlink(in) | unlink(out) | rmdir(dir), 0);
    return err;
}

TEST(only_the_begin_of_an_answer_is_cut_off_and_another_file_stays)
{
    static const char answer[] = "{\"id\":\"batch_req_1\",\"custom_id\":\"a\"}\n";
    struct baton_why why;
    char two[128];
    (void)snprintf(two, sizeof two, "%s%.20s", answer, answer);
    assert_ok(open_out(two, &why));
    assert_string_equal(baton_buf_text(&text), answer);
    (void)snprintf(two, sizeof two, "%s", "my notes, in one line without an end");
    assert_int_equal(open_out(two, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "line 1: not an answer of a batch"));
    assert_string_equal(baton_buf_text(&text), two);
    (void)snprintf(two, sizeof two, "%smy notes", answer);
    assert_int_equal(open_out(two, &why), BATON_INVALID);
    assert_string_equal(baton_buf_text(&text), two);
}

EACH_TEST(init, fini)
