#include "tests/support/test.h"

#include <stdio.h>

#include "bench/handoff/emulation.h"
#include "common/base/array.h"

/* 24 MiB: more than the credit, so that the sender has to wait for acknowledgements. */
static const struct ho_geometry large = {.n_layers = 6, .block_bytes = 64 << 10, .max_blocks = 64};
static const struct ho_geometry small = {.n_layers = 3, .block_bytes = 1000, .max_blocks = 7};

static struct ho_lane *open_lane(const struct ho_geometry *geometry)
{
    struct ho_lane *lane = NULL;
    struct baton_why why = {""};
    enum baton_err err = ho_lane_open(geometry, &lane, &why);
    if (err)
        fail_msg("%s", why.text);
    return lane;
}

/* Runs if the kernel and our rights allow it; a skip has the reason. It comes first: it forks this
 * process, which must have no threads yet. */
TEST(an_emulated_network_is_as_slow_as_it_was_ordered)
{
    struct ho_order order = {.network = {.bytes_per_s = 20e6},
                             .geometry = {.n_layers = 2, .block_bytes = 64 << 10, .max_blocks = 32},
                             .chunk_bytes = 512 << 10,
                             .n_runs = 1,
                             .n_lengths = 2,
                             .n_blocks = {1, 32}};
    struct ho_emulation emulation = {0};
    struct ho_times times[HO_MAX_LENGTHS];
    struct baton_why why = {""};
    assert_ok(ho_emulation_start(&emulation, &why));
    enum baton_err err = ho_emulation_run(&emulation, &order, times, &why);
    if (err == BATON_IO || err == BATON_NOT_FOUND) {
        print_message("emulation skipped: %s\n", why.text);
    } else {
        assert_ok(err);
        assert_true(times[1].transfer_s > 0.15); /* 4 MiB, less what a bucket holds */
        assert_true(times[1].transfer_s > 2 * times[0].transfer_s);
        assert_ok(ho_emulation_run(&emulation, &order, times, &why));
    }
    ho_emulation_stop(&emulation);
    ho_emulation_stop(&emulation); /* again is nothing */
}

TEST(every_byte_arrives_and_is_counted)
{
    struct ho_lane *lane = open_lane(&large);
    struct ho_times times;
    assert_ok(ho_lane_send(lane, 64, 512 << 10, &times, NULL));
    assert_int_equal(times.n_bytes, 24 << 20);
    assert_int_equal(times.n_chunks, 48);
    assert_true(times.crc_s > 0 && times.crc_s < times.transfer_s);
    ho_lane_close(lane);
}

TEST(through_shared_memory_every_byte_arrives_as_well)
{
    struct ho_lane *lane = open_lane(&large);
    struct ho_times times;
    ho_lane_share(lane, true);
    assert_ok(ho_lane_send(lane, 64, 512 << 10, &times, NULL));
    assert_int_equal(times.n_bytes, 24 << 20);
    assert_int_equal(times.n_chunks, 48);
    ho_lane_share(lane, false);
    assert_ok(ho_lane_send(lane, 7, 512 << 10, &times, NULL));
    ho_lane_close(lane);
}

TEST(chunks_are_whole_blocks_of_one_layer)
{
    static const struct {
        size_t chunk_bytes;
        int n_blocks;
        uint32_t n_chunks;
    } cases[] = {{1, 7, 21}, {1999, 7, 21}, {2000, 7, 12}, {1 << 20, 7, 3}, {3000, 1, 3}};
    struct ho_lane *lane = open_lane(&small);
    struct ho_times times;
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        assert_ok(ho_lane_send(lane, cases[i].n_blocks, cases[i].chunk_bytes, &times, NULL));
        assert_int_equal(times.n_chunks, cases[i].n_chunks);
        assert_int_equal(times.n_bytes, 3000 * cases[i].n_blocks);
    }
    ho_lane_close(lane);
}

TEST(a_lane_measures_many_in_turn)
{
    struct ho_lane *lane = open_lane(&small);
    struct ho_times times;
    assert_ok(ho_lane_measure(lane, 7, 2000, 101, &times, NULL));
    assert_true(times.transfer_s > 0);
    ho_lane_close(lane);
}
