/* Requests found by id, attempt and gateway; many share an id. */
#include "tests/support/test.h"

#include "worker/request_table.h"

enum { N_REQUESTS = 6 };

static struct baton_request_table table;
static struct baton_origin origins[N_REQUESTS];
static struct baton_request_node nodes[N_REQUESTS];

static void add(int i, uint64_t gateway_epoch, uint64_t request_id, uint32_t attempt)
{
    origins[i] = (struct baton_origin){
        .gateway_epoch = gateway_epoch, .request_id = request_id, .attempt = attempt};
    baton_request_table_add(&table, &nodes[i], &origins[i]);
}

static baton_envelope envelope_of(int i)
{
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    envelope.src_epoch = origins[i].gateway_epoch;
    envelope.request_id = origins[i].request_id;
    envelope.attempt = origins[i].attempt;
    return envelope;
}

SETUP(set_up)
{
    baton_request_table_init(&table);
    add(0, 1, 7, 1);
    add(1, 1, 7, 2); /* another attempt */
    add(2, 2, 7, 1); /* another gateway */
    add(3, 1, 7 + 1024, 1);
    add(4, 1, 8, 1);
    add(5, 1, UINT64_MAX, UINT32_MAX);
}

TEST(each_request_is_found_by_its_gateway_id_and_attempt)
{
    for (int i = 0; i < N_REQUESTS; i++) {
        baton_envelope envelope = envelope_of(i);
        assert_ptr_equal(baton_request_table_find(&table, &envelope), &nodes[i]);
    }
}

TEST(a_removed_request_is_not_found_and_the_others_still_are)
{
    baton_request_table_remove(&table, &nodes[2]);
    for (int i = 0; i < N_REQUESTS; i++) {
        baton_envelope envelope = envelope_of(i);
        assert_ptr_equal(baton_request_table_find(&table, &envelope), i == 2 ? NULL : &nodes[i]);
    }
}

TEST(a_worker_finds_the_request_of_every_gateway)
{
    baton_envelope envelope = envelope_of(0);
    envelope.src_epoch = 99;
    assert_null(baton_request_table_find(&table, &envelope));
    struct baton_request_node *first = baton_request_table_next(&table, &envelope, NULL);
    struct baton_request_node *second = baton_request_table_next(&table, &envelope, first);
    assert_true((first == &nodes[0] && second == &nodes[2]) ||
                (first == &nodes[2] && second == &nodes[0]));
    assert_null(baton_request_table_next(&table, &envelope, second));
}

EACH_TEST(set_up, NULL)
