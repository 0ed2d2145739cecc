#include "tests/support/test.h"

#include "gateway/http/crowds.h"

enum { N_PLACES = 8 };

static struct gw_crowds crowds;
static struct gw_crowd a, b;
static struct gw_place of_a[N_PLACES], of_b[N_PLACES];

SETUP(begin)
{
    gw_crowds_init(&crowds);
    gw_crowd_init(&a);
    gw_crowd_init(&b);
    for (int i = 0; i < N_PLACES; i++)
        of_a[i] = of_b[i] = (struct gw_place){.crowd = NULL};
}

static void enter(struct gw_crowd *crowd, struct gw_place *places, int n)
{
    for (int i = 0; i < n; i++)
        gw_crowds_enter(&crowds, crowd, &places[i], GW_RANK_FIRST);
}

TEST(without_places_nobody_gives_way)
{
    assert_null(gw_crowds_fullest(&crowds));
    gw_crowds_leave(&crowds, &of_a[0]);
    enter(&a, of_a, 1);
    gw_crowds_leave(&crowds, &of_a[0]);
    assert_null(gw_crowds_fullest(&crowds));
}

TEST(the_fullest_is_found_while_sizes_change)
{
    enter(&a, of_a, 3);
    enter(&b, of_b, 5);
    assert_ptr_equal(gw_crowds_fullest(&crowds), &b);
    for (int i = 0; i < 3; i++)
        gw_crowds_leave(&crowds, &of_b[i]);
    assert_ptr_equal(gw_crowds_fullest(&crowds), &a);
    assert_int_equal(gw_crowd_size(&b), 2);
}

TEST(the_oldest_of_the_first_rank_gives_way_first)
{
    gw_crowds_enter(&crowds, &a, &of_a[0], GW_RANK_SECOND);
    gw_crowds_enter(&crowds, &a, &of_a[1], GW_RANK_FIRST);
    gw_crowds_enter(&crowds, &a, &of_a[2], GW_RANK_FIRST);
    assert_ptr_equal(gw_crowd_first(&a), &of_a[1]);
    assert_ptr_equal(gw_crowd_next(&of_a[1]), &of_a[2]);
    assert_ptr_equal(gw_crowd_next(&of_a[2]), &of_a[0]);
    assert_null(gw_crowd_next(&of_a[0]));
}

TEST(a_place_that_enters_again_is_the_newest)
{
    enter(&a, of_a, 2);
    gw_crowds_enter(&crowds, &a, &of_a[0], GW_RANK_FIRST);
    assert_int_equal(gw_crowd_size(&a), 2);
    assert_ptr_equal(gw_crowd_first(&a), &of_a[1]);
}

TEST(more_places_than_are_told_apart_count_as_equally_many)
{
    static struct gw_place many[GW_MAX_CROWD + 10];
    enter(&a, many, GW_MAX_CROWD + 10);
    enter(&b, of_b, 2);
    assert_ptr_equal(gw_crowds_fullest(&crowds), &a);
    for (int i = 0; i < GW_MAX_CROWD + 9; i++)
        gw_crowds_leave(&crowds, &many[i]);
    assert_ptr_equal(gw_crowds_fullest(&crowds), &b);
    gw_crowds_leave(&crowds, &many[GW_MAX_CROWD + 9]);
}

EACH_TEST(begin, NULL)
