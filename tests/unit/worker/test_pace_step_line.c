#include "tests/support/test.h"

#include "worker/pace.h"

static void expect(const struct baton_step_line *line, double base_s, double row_s, double part)
{
    double base, row;
    baton_step_line_fit(line, &base, &row);
    assert_true(base >= base_s * (1 - part) && base <= base_s * (1 + part));
    assert_true(row >= row_s * (1 - part) && row <= row_s * (1 + part));
}

TEST(steps_of_several_sizes_give_base_and_slope)
{
    struct baton_step_line line = {0};
    for (int i = 0; i < 400; i++) {
        double rows = 1 + i % 16;
        baton_step_line_add(&line, rows, 0.009 + 0.001 * rows);
    }
    expect(&line, 0.009, 0.001, 0.01);
}

TEST(steps_of_one_size_divide_the_time_by_the_assumed_ratio)
{
    struct baton_step_line line = {0};
    for (int i = 0; i < 50; i++)
        baton_step_line_add(&line, 1, 0.011);
    expect(&line, 0.010, 0.001, 1e-6);
}

TEST(nothing_is_known_of_nothing)
{
    struct baton_step_line line = {0};
    expect(&line, 0, 0, 0);
    baton_step_line_add(&line, 0, 0.1); /* a step without rows */
    expect(&line, 0, 0, 0);
}

TEST(neither_part_is_negative_whatever_was_measured)
{
    struct baton_step_line falling = {0}, steep = {0};
    double base, row;
    for (int i = 0; i < 100; i++) {
        double rows = 1 + i % 8;
        baton_step_line_add(&falling, rows, 0.1 / rows);
        baton_step_line_add(&steep, rows, 0.001 * rows * rows);
    }
    baton_step_line_fit(&falling, &base, &row);
    assert_true(row == 0 && base > 0);
    baton_step_line_fit(&steep, &base, &row);
    assert_true(base >= 0 && row > 0);
}

TEST(nor_is_it_by_a_rounding_error)
{
    unsigned random = 1;
    for (int i = 0; i < 300000; i++) {
        struct baton_step_line line = {0};
        double base, row;
        for (int n = 0; n <= i % 20; n++) {
            random = random * 1664525 + 1013904223;
            double rows = 1 + random % 512, spread = 0.9 + (random >> 16) % 100 * 0.002;
            baton_step_line_add(&line, rows, 1e-5 * rows * (rows > 100 ? 1.3 : 0.7) * spread);
        }
        baton_step_line_fit(&line, &base, &row);
        assert_true(base >= 0 && row >= 0);
    }
}

TEST(old_steps_are_forgotten)
{
    struct baton_step_line line = {0};
    for (int i = 0; i < 2000; i++)
        baton_step_line_add(&line, 1 + i % 4, 0.05);
    for (int i = 0; i < 40000; i++) {
        double rows = 1 + i % 4;
        baton_step_line_add(&line, rows, 0.002 + 0.001 * rows);
    }
    expect(&line, 0.002, 0.001, 0.05);
    baton_step_line_add(&line, 3, 100); /* longer than the memory */
    expect(&line, 100.0 * 10 / 13, 100.0 / 13, 1e-6);
}
