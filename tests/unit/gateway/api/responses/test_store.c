#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/api/responses/store.h"

enum { MANY = 1000, AGE_NS = 100 };

static const struct gw_owner nobody = {{0}}, somebody = {{1}}, other = {{2}};

static struct gw_response_store *create(size_t n, size_t bytes)
{
    struct gw_response_store *store = gw_response_store_create(
        &(struct gw_response_bounds){.n = n, .bytes = bytes, .age_ns = AGE_NS});
    assert_non_null(store);
    return store;
}

/* A conversation of one message with so many bytes. */
static enum baton_err put(struct gw_response_store *store, const struct gw_owner *owner,
                          const char *id, size_t n_bytes, int64_t now_ns)
{
    char *text = calloc(1, n_bytes + 1);
    struct baton_json *messages = baton_json_new_array(), *message = baton_json_new_object();
    struct baton_buf body;
    assert_non_null(text);
    memset(text, 'a', n_bytes);
    assert_true(baton_json_set(message, "content", baton_json_new_string(text)));
    assert_true(baton_json_push(messages, message));
    baton_buf_init(&body, MANY);
    baton_buf_printf(&body, "{\"id\":\"%s\"}", id);
    enum baton_err err = gw_response_store_put(store, owner, id, &body, messages, now_ns);
    baton_buf_fini(&body);
    free(text);
    return err;
}

static bool has(const struct gw_response_store *store, const struct gw_owner *owner, const char *id)
{
    return gw_response_store_get(store, owner, id) != NULL;
}

TEST(a_response_is_found_by_its_owner_alone)
{
    struct gw_response_store *store = create(MANY, 1 << 20);
    assert_ok(put(store, &somebody, "a", 10, 0));
    const struct gw_stored_response *found = gw_response_store_get(store, &somebody, "a");
    assert_non_null(found);
    assert_string_equal(found->body, "{\"id\":\"a\"}");
    assert_int_equal(baton_json_size(found->messages), 1);
    assert_false(has(store, &other, "a") || has(store, &nobody, "a") || has(store, &somebody, "b"));
    assert_false(gw_response_store_remove(store, &other, "a"));
    assert_true(gw_response_store_remove(store, &somebody, "a"));
    assert_false(gw_response_store_remove(store, &somebody, "a"));
    assert_int_equal(gw_response_store_n(store), 0);
    assert_int_equal(gw_response_store_bytes(store), 0);
    gw_response_store_destroy(store);
}

TEST(one_of_the_same_id_is_replaced_and_another_owners_stays)
{
    struct gw_response_store *store = create(MANY, 1 << 20);
    assert_ok(put(store, &somebody, "a", 10, 0));
    assert_ok(put(store, &other, "a", 20, 0));
    assert_ok(put(store, &somebody, "a", 30, 0));
    assert_int_equal(gw_response_store_n(store), 2);
    assert_true(gw_response_store_get(store, &somebody, "a")->bytes >
                gw_response_store_get(store, &other, "a")->bytes);
    gw_response_store_destroy(store);
}

TEST(beyond_the_number_the_greatest_owner_loses_its_oldest)
{
    struct gw_response_store *store = create(4, 1 << 20);
    char id[16];
    assert_ok(put(store, &other, "old", 10, 0));
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        assert_ok(put(store, &somebody, id, 10, i));
        assert_true(gw_response_store_n(store) <= 4 && has(store, &somebody, id));
    }
    assert_true(has(store, &other, "old") && has(store, &somebody, "997"));
    assert_false(has(store, &somebody, "996"));
    gw_response_store_destroy(store);
}

TEST(beyond_the_bytes_the_greatest_owner_loses_its_oldest)
{
    struct gw_response_store *store = create(MANY, 1 << 14);
    assert_ok(put(store, &somebody, "large", 9000, 0));
    for (int i = 0; i < 5; i++)
        assert_ok(put(store, &other, (char[]){(char)('a' + i), 0}, 1000, 0));
    assert_false(has(store, &somebody, "large"));
    assert_true(has(store, &other, "a") && has(store, &other, "e"));
    assert_true(gw_response_store_bytes(store) <= 1 << 14);
    assert_int_equal(put(store, &somebody, "too large", 1 << 14, 0), BATON_LIMIT);
    assert_true(has(store, &other, "a")); /* it cost nobody anything */
    gw_response_store_destroy(store);
}

TEST(what_is_too_old_goes_at_a_tick)
{
    struct gw_response_store *store = create(MANY, 1 << 20);
    for (int i = 0; i < 10; i++) {
        assert_ok(put(store, &somebody, (char[]){(char)('a' + i), 0}, 1, i));
        assert_ok(put(store, &other, (char[]){(char)('a' + i), 0}, 1, 2 * i));
    }
    gw_response_store_tick(store, AGE_NS + 4);
    assert_false(has(store, &somebody, "e") || has(store, &other, "c"));
    assert_true(has(store, &somebody, "f") && has(store, &other, "d"));
    gw_response_store_tick(store, AGE_NS + 9);
    assert_int_equal(gw_response_store_n(store), 5);
    gw_response_store_tick(store, 2 * AGE_NS);
    assert_int_equal(gw_response_store_n(store) + gw_response_store_bytes(store), 0);
    gw_response_store_destroy(store);
}

TEST(a_store_of_none_keeps_none)
{
    struct gw_response_store *store = create(0, 1 << 20);
    assert_false(gw_response_store_is_on(store));
    assert_int_equal(put(store, &somebody, "a", 1, 0), BATON_LIMIT);
    gw_response_store_destroy(store);
}
