#include <math.h>
#include <string.h>

#include "tests/support/test.h"
#include "tools/load/workload/lengths.h"

#include "common/base/array.h"

enum { N_DRAWS = 20000 };

static struct ld_lengths parsed(const char *text)
{
    struct ld_lengths lengths = {.min = 0};
    struct baton_why why;
    assert_ok(ld_lengths_parse("--x", text, &lengths, &why));
    return lengths;
}

/* Mean of many draws, all of which are checked to be within bounds. */
static double mean_of(const char *text, int64_t min, int64_t max)
{
    struct ld_lengths lengths = parsed(text);
    struct ld_rng rng = ld_rng(1, LD_STREAM_REQUEST, 0);
    double sum = 0;
    for (int i = 0; i < N_DRAWS; i++) {
        int64_t n = ld_lengths_draw(&lengths, &rng);
        assert_in_range(n, min, max);
        sum += (double)n;
    }
    return sum / N_DRAWS;
}

TEST(a_number_is_every_length)
{
    assert_true(mean_of("64", 64, 64) == 64);
}

TEST(uniform_lengths_lie_between_their_ends)
{
    assert_true(fabs(mean_of("uniform:16-512", 16, 512) - 264) < 5);
    assert_true(mean_of("uniform:7-7", 7, 7) == 7);
}

TEST(normal_lengths_have_their_mean)
{
    assert_true(fabs(mean_of("normal:256,64", 1, 1024) - 256) < 3);
    assert_true(mean_of("normal:2,10", 1, 100) > 2); /* cut at 1 */
    assert_true(mean_of("normal:40,0", 40, 40) == 40);
}

TEST(zipf_prefers_short_lengths)
{
    /* A density of 1/n between 16 and 513 has the mean 497 / ln(513 / 16), less a half by rounding.
     */
    assert_true(fabs(mean_of("zipf:1,16-512", 16, 512) - (497 / log(513.0 / 16) - 0.5)) < 4);
    assert_true(mean_of("zipf:2,16-512", 16, 512) < 70);
    assert_true(fabs(mean_of("zipf:0,1-9", 1, 9) - 5) < 0.1);
}

TEST(equal_seeds_draw_equal_lengths)
{
    struct ld_lengths lengths = parsed("uniform:1-1000000");
    struct ld_rng a = ld_rng(5, LD_STREAM_REQUEST, 3), b = ld_rng(5, LD_STREAM_REQUEST, 3);
    struct ld_rng c = ld_rng(5, LD_STREAM_REQUEST, 4), d = ld_rng(5, LD_STREAM_PROMPT, 3);
    int64_t first = ld_lengths_draw(&lengths, &a);
    assert_int_equal(first, ld_lengths_draw(&lengths, &b));
    assert_int_not_equal(first, ld_lengths_draw(&lengths, &c));
    assert_int_not_equal(first, ld_lengths_draw(&lengths, &d));
}

TEST(other_forms_are_refused_by_name)
{
    static const char *const bad[] = {"",
                                      "0",
                                      "-1",
                                      "64x",
                                      "uniform:",
                                      "uniform:9-8",
                                      "uniform:0-8",
                                      "uniform:1-99999999",
                                      "normal:256",
                                      "normal:0,4",
                                      "normal:inf,1",
                                      "zipf:11,1-2",
                                      "zipf:1.2",
                                      "99999999999999999999",
                                      "pareto:1,2"};
    struct ld_lengths lengths = {.min = 77};
    struct baton_why why;
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        assert_int_equal(ld_lengths_parse("--prompt-tokens", bad[i], &lengths, &why),
                         BATON_INVALID);
        assert_non_null(strstr(why.text, "--prompt-tokens"));
        assert_int_equal(lengths.min, 77);
    }
}

TEST(ranges_are_checked_against_their_bounds)
{
    int64_t first = -1, last = -1;
    struct baton_why why;
    assert_ok(ld_range_parse("--vocab", "16-2000", 0, 5000, &first, &last, &why));
    assert_int_equal(first, 16);
    assert_int_equal(last, 2000);
    assert_int_equal(ld_range_parse("--vocab", "16-5001", 0, 5000, &first, &last, &why),
                     BATON_INVALID);
    assert_int_equal(ld_range_parse("--vocab", "16", 0, 5000, &first, &last, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "--vocab"));
}
