#include "tests/support/test.h"

#include "engine/sampling/history.h"

static const struct baton_seen *find(const struct baton_history *history, uint32_t id)
{
    for (size_t i = 0; i < history->n_seen; i++)
        if (history->seen[i].id == id)
            return &history->seen[i];
    return NULL;
}

TEST(prompt_tokens_are_seen_once_and_outputs_counted)
{
    const uint32_t prompt[] = {7, 7, 3, UINT32_MAX, 0, 7};
    struct baton_history history;
    assert_ok(baton_history_init(&history, 6));
    baton_history_add_prompt(&history, prompt, 6);
    baton_history_add_output(&history, 3);
    baton_history_add_output(&history, 9);
    baton_history_add_output(&history, 3);
    assert_int_equal(history.n_seen, 5);
    assert_int_equal(history.seen[0].id, 7); /* in order of first appearance */
    assert_int_equal(history.seen[4].id, 9);
    assert_int_equal(find(&history, 7)->n_output, 0);
    assert_int_equal(find(&history, 3)->n_output, 2);
    assert_int_equal(find(&history, UINT32_MAX)->n_output, 0);
    assert_int_equal(find(&history, 9)->n_output, 1);
    baton_history_fini(&history);
}

TEST(outputs_are_dropped_in_reverse_order)
{
    enum { N = 64 };
    const uint32_t prompt[] = {0, 5 << 20};
    struct baton_history history;
    assert_ok(baton_history_init(&history, N));
    baton_history_add_prompt(&history, prompt, 2);
    baton_history_add_output(&history, 1);
    for (uint32_t i = 0; i < N - 1; i++)
        baton_history_add_output(&history, i << 20);
    for (uint32_t i = N - 1; i-- > 1;)
        baton_history_drop_output(&history, i << 20);
    assert_int_equal(history.n_seen, 3); /* those of the prompt stay */
    assert_int_equal(find(&history, 0)->n_output, 1);
    assert_int_equal(find(&history, 5 << 20)->n_output, 0);
    assert_int_equal(find(&history, 1)->n_output, 1);
    baton_history_add_output(&history, 9);
    assert_int_equal(find(&history, 9)->n_output, 1);
    baton_history_fini(&history);
}

TEST(a_full_table_of_colliding_ids_finds_each_of_them)
{
    enum { N = 1000 };
    struct baton_history history;
    assert_ok(baton_history_init(&history, N));
    for (int round = 0; round < 3; round++)
        for (uint32_t i = 0; i < N; i++)
            baton_history_add_output(&history, i << 20);
    assert_int_equal(history.n_seen, N);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(history.seen[i].id, i << 20);
        assert_int_equal(history.seen[i].n_output, 3);
    }
    baton_history_fini(&history);
}

TEST(an_absurd_size_is_refused_and_an_empty_history_is_fine)
{
    struct baton_history history = {.n_seen = 5};
    assert_int_equal(baton_history_init(&history, SIZE_MAX / 2), BATON_NO_MEMORY);
    assert_int_equal(history.n_seen, 5);
    assert_ok(baton_history_init(&history, 0));
    baton_history_add_prompt(&history, NULL, 0);
    assert_int_equal(history.n_seen, 0);
    baton_history_fini(&history);
    baton_history_fini(&history);
}
