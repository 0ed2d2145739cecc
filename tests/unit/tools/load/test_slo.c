#include <string.h>

#include "tests/support/test.h"
#include "tools/load/workload/slo.h"

#include "common/base/array.h"

TEST(bounds_are_read_with_their_units)
{
    struct ld_slo slo = {0};
    struct baton_why why;
    assert_ok(ld_slo_parse("--slo", "ttft=200ms,itl=500us,tpot=0.04,e2el=3s", &slo, &why));
    assert_float_equal(slo.ttft_s, 0.2, 1e-9);
    assert_float_equal(slo.itl_s, 0.0005, 1e-9);
    assert_float_equal(slo.tpot_s, 0.04, 1e-9);
    assert_float_equal(slo.e2el_s, 3, 1e-9);
    assert_true(ld_slo_is_set(&slo));
}

TEST(unnamed_figures_have_no_bound)
{
    struct ld_slo slo = {0};
    struct baton_why why;
    assert_false(ld_slo_is_set(&slo));
    assert_ok(ld_slo_parse("--slo", "itl=1", &slo, &why));
    assert_true(slo.ttft_s == 0 && slo.itl_s == 1);
}

TEST(other_forms_are_refused)
{
    static const char *const bad[] = {"",       "ttft",        "ttft=",         "ttft=0",
                                      "ttft=x", "ttft=1h",     "ttft=1ms,",     "latency=1s",
                                      "itl=-1", "itl=1,itl=2", "ttft=1 ,itl=2", "itl=nan",
                                      "itl=.",  "itl=1.2.3",   ",itl=1",        "itl=1e3"};
    struct ld_slo slo = {.ttft_s = 7};
    struct baton_why why;
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        assert_int_equal(ld_slo_parse("--slo", bad[i], &slo, &why), BATON_INVALID);
        assert_non_null(strstr(why.text, "--slo"));
        assert_true(slo.ttft_s == 7);
    }
}
