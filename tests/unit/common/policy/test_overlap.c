#include "common/policy/overlap.h"

#include "tests/support/test.h"

TEST(long_prompts_overlap_and_short_ones_do_not)
{
    assert_true(baton_overlap_applies(BATON_OVERLAP_AUTO, 128));
    assert_false(baton_overlap_applies(BATON_OVERLAP_AUTO, 127));
}

TEST(on_and_off_hold_for_every_prompt)
{
    assert_true(baton_overlap_applies(BATON_OVERLAP_ON, 1));
    assert_false(baton_overlap_applies(BATON_OVERLAP_OFF, 100000));
}
