#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#include "gateway/observe/handoff_stats.h"

#include "common/base/array.h"

static const struct gw_handoff some = {.n_bytes = 3000000,
                                       .n_shared_bytes = 1000000,
                                       .n_chunks = 6,
                                       .transfer_s = 0.002,
                                       .overlap_s = 0.0015,
                                       .exposed_s = 0.0004,
                                       .crc_s = 0.0001};

static void assert_has(const struct baton_buf *out, const char *text)
{
    if (!strstr(baton_buf_text(out), text))
        fail_msg("\"%s\" is not in: %s", text, baton_buf_text(out));
}

TEST(an_answer_tells_of_its_hand_off)
{
    struct baton_buf buf;
    baton_buf_init(&buf, 1 << 16);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    gw_handoff_put(&out, &some);
    baton_json_close(&out, '}');
    assert_string_equal(baton_buf_text(&buf),
                        "{\"handoff\":{\"bytes\":3000000,\"chunks\":6,\"path\":\"both\","
                        "\"transfer_s\":0.002,"
                        "\"gb_per_s\":1.5,\"crc_s\":0.0001,\"overlap_s\":0.0015,"
                        "\"overlap_share\":0.75,\"exposed_s\":0.0004}}");
    baton_buf_fini(&buf);
}

TEST(a_context_that_did_not_travel_is_null_and_enters_nothing)
{
    struct gw_handoff_stats handoff_stats = {0};
    const struct gw_handoff none = {.exposed_s = 1};
    struct baton_buf buf;
    baton_buf_init(&buf, 1 << 16);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    gw_handoff_put(&out, &none);
    baton_json_close(&out, '}');
    assert_string_equal(baton_buf_text(&buf), "{\"handoff\":null}");
    gw_handoff_stats_note(&handoff_stats, &none);
    assert_int_equal(handoff_stats.exposed.n, 0);
    baton_buf_fini(&buf);
}

TEST(a_transfer_without_a_measurable_time_has_no_pace)
{
    const struct gw_handoff instant = {.n_bytes = 1, .n_chunks = 1};
    struct baton_buf buf;
    baton_buf_init(&buf, 1 << 16);
    struct baton_json_out out = baton_json_out(&buf);
    gw_handoff_put(&out, &instant);
    assert_has(&buf, "\"gb_per_s\":null");
    assert_has(&buf, "\"overlap_share\":null");
    baton_buf_fini(&buf);
}

TEST(it_tells_which_path_a_context_took)
{
    static const struct {
        uint64_t n_shared_bytes;
        const char *path;
    } cases[] = {{0, "\"path\":\"wire\""}, {1, "\"path\":\"both\""}, {9, "\"path\":\"shared\""}};
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        struct baton_buf buf;
        baton_buf_init(&buf, 1 << 16);
        struct baton_json_out out = baton_json_out(&buf);
        gw_handoff_put(
            &out, &(struct gw_handoff){.n_bytes = 9, .n_shared_bytes = cases[i].n_shared_bytes});
        assert_has(&buf, cases[i].path);
        baton_buf_fini(&buf);
    }
}

TEST(the_ledger_sums_them_up)
{
    struct gw_handoff_stats handoff_stats = {0};
    struct baton_buf out;
    baton_buf_init(&out, 1 << 16);
    gw_handoff_stats_note(&handoff_stats, &some);
    gw_handoff_stats_note(&handoff_stats, &some);
    gw_handoff_stats_write(&handoff_stats, &out);
    assert_has(&out, "\nbaton_kv_transfer_bytes_total 6000000\n");
    assert_has(&out, "\nbaton_kv_transfer_shared_bytes_total 2000000\n");
    assert_has(&out, "\nbaton_kv_transfer_chunks_total 12\n");
    assert_has(&out, "\nbaton_kv_transfer_crc_seconds_total 0.0002\n");
    assert_has(&out, "\nbaton_kv_transfer_overlap_seconds_total 0.003\n");
    assert_has(&out, "\nbaton_kv_transfer_exposed_seconds_sum 0.0008\n");
    assert_has(&out, "\nbaton_kv_transfer_exposed_seconds_count 2\n");
    baton_buf_fini(&out);
}

/* Told by a worker: whatever it says of the overlap, it is a part of the transfer. */
TEST(no_more_overlaps_than_there_is)
{
    Baton__V1__DecodeBegan began = BATON__V1__DECODE_BEGAN__INIT;
    began.kv_bytes = 10;
    began.kv_transfer_s = 0.5;
    began.kv_overlap_s = 0.75;
    began.kv_exposed_s = 0.6;
    struct gw_handoff handoff = gw_handoff_of(&began);
    assert_true(handoff.overlap_s == 0.5);
    assert_true(handoff.exposed_s == 0.6);
}
