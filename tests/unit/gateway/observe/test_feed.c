#include "tests/support/test.h"

#include <string.h>

#include "gateway/observe/feed.h"

static const struct gw_request queued = {
    .id = 0x123456789abcdef0, .state = GW_QUEUED, .params = {.max_new_tokens = 7}};

TEST(nothing_is_written_while_nobody_reads)
{
    struct gw_feed feed;
    gw_feed_init(&feed);
    gw_feed_request(&feed, &queued, "");
    assert_true(!feed.batch.len);
    gw_feed_fini(&feed);
}

TEST(a_request_is_an_event_with_its_state)
{
    struct gw_feed feed;
    gw_feed_init(&feed);
    feed.is_read = true;
    gw_feed_request(&feed, &queued, "the batch is full");
    const char *text = baton_buf_text(&feed.batch);
    assert_true(!strncmp(text, "event: request\ndata: {\"t_us\":", 29));
    assert_true(strstr(text, "\"request\":\"123456789abcdef0\",\"state\":\"queued\""));
    assert_true(strstr(text, "\"prefill\":null,\"decode\":null"));
    assert_true(strstr(text, "\"reason\":\"the batch is full\"}\n\n"));
    gw_feed_fini(&feed);
}

TEST(a_full_batch_is_lost_and_the_next_one_is_not)
{
    struct gw_feed feed;
    gw_feed_init(&feed);
    feed.is_read = true;
    for (int i = 0; i < GW_FEED_BATCH_BYTES / 100 && !gw_feed_has_lost(&feed); i++)
        gw_feed_request(&feed, &queued, "");
    assert_true(gw_feed_has_lost(&feed) && feed.batch.len <= GW_FEED_BATCH_BYTES);
    gw_feed_next(&feed);
    gw_feed_request(&feed, &queued, "");
    assert_true(!gw_feed_has_lost(&feed) && feed.batch.len);
    gw_feed_fini(&feed);
}
