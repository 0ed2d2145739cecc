/* The events of a response's stream. */
#include "tests/support/test.h"

#include <string.h>

#include "gateway/api/responses/turn.h"
#include "gateway/api/responses/writer.h"

static struct baton_buf sent;

void __wrap_gw_completion_send(struct gw_completion *completion, struct gw_choice *choice,
                               const struct baton_buf *events);

void __wrap_gw_completion_send(struct gw_completion *completion, struct gw_choice *choice,
                               const struct baton_buf *events)
{
    (void)completion;
    (void)choice;
    baton_buf_append(&sent, events->data, events->len);
}

static void put(struct gw_turn *turn, const char *name)
{
    struct gw_turn_event event;
    gw_turn_event_begin(&event, turn, name);
    gw_turn_event_end(&event, turn);
}

TEST(no_event_follows_the_error_that_stands_for_one_too_large)
{
    struct gw_turn turn = {.n_events = 0};
    struct gw_completion completion = {.options.own = &turn, .put_error = gw_error_put};
    struct gw_choice choice = {.completion = &completion};
    baton_buf_init(&sent, 4096);
    baton_buf_init(&turn.events, 300);
    put(&turn, "response.created");
    gw_responses_writer.flush(&choice);
    assert_non_null(strstr(baton_buf_text(&sent), "event: response.created"));
    for (int i = 0; i < 10; i++)
        put(&turn, "response.output_text.delta");
    for (int i = 0; i < 3; i++) {
        gw_responses_writer.flush(&choice);
        put(&turn, "response.completed");
    }
    assert_null(strstr(baton_buf_text(&sent), "delta"));
    assert_null(strstr(baton_buf_text(&sent), "completed"));
    const char *error = strstr(baton_buf_text(&sent), "event: error");
    assert_non_null(error);
    assert_null(strstr(error + 1, "event: "));
    assert_non_null(strstr(error, "the answer is too large"));
    baton_buf_fini(&turn.events);
    baton_buf_fini(&sent);
}
