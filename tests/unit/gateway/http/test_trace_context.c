/* The traceparent headers that are accepted, by the examples and rules of W3C Trace Context. */
#include <string.h>

#include "common/base/array.h"
#include "gateway/http/trace_context.h"
#include "tests/support/test.h"

#define TRACE  "0af7651916cd43dd8448eb211c80319c"
#define PARENT "b7ad6b7169203331"

TEST(a_traceparent_is_read)
{
    struct gw_trace trace;
    char text[GW_TRACEPARENT_BYTES];
    gw_trace_read(&trace, "00-" TRACE "-" PARENT "-01");
    assert_string_equal(trace.id, TRACE);
    assert_string_equal(trace.parent_id, PARENT);
    assert_true(trace.is_sampled && strlen(trace.span_id) == 16);
    assert_string_not_equal(trace.span_id, PARENT);
    assert_true(!strncmp(gw_trace_put(&trace, text), "00-" TRACE "-", 36));
    assert_string_equal(text + 52, "-01");
    gw_trace_read(&trace, "00-" TRACE "-" PARENT "-00");
    assert_true(*trace.id && !trace.is_sampled);
    gw_trace_read(&trace, "cc-" TRACE "-" PARENT "-09-what-the-future-brings");
    assert_true(*trace.id && trace.is_sampled);
}

TEST(what_is_none_counts_as_absent)
{
    static const char *const bad[] = {"",
                                      "00",
                                      "00-" TRACE "-" PARENT "-01-more",
                                      "cc-" TRACE "-" PARENT "-01.more",
                                      "ff-" TRACE "-" PARENT "-01",
                                      "00-" TRACE "-0000000000000000-01",
                                      "00-00000000000000000000000000000000-" PARENT "-01",
                                      "00-0AF7651916CD43DD8448EB211C80319C-" PARENT "-01",
                                      "00-" TRACE "-" PARENT "-0x",
                                      "00_" TRACE "-" PARENT "-01",
                                      "00-" TRACE "-" PARENT "-0"};
    for (size_t i = 0; i < BATON_N_OF(bad); i++) {
        struct gw_trace trace;
        gw_trace_read(&trace, bad[i]);
        assert_true(!*trace.id && !*trace.parent_id && !trace.is_sampled);
    }
}

TEST(a_trace_that_begins_here_has_no_parent)
{
    struct gw_trace trace, other;
    gw_trace_begin(&trace);
    gw_trace_begin(&other);
    assert_true(strlen(trace.id) == 32 && !*trace.parent_id && trace.is_sampled);
    assert_string_not_equal(trace.id, other.id);
    assert_string_not_equal(trace.span_id, other.span_id);
}
