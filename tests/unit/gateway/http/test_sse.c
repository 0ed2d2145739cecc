#include "tests/support/test.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gateway/http/sse.h"

#include "common/base/array.h"

enum { MAX_BYTES = 4096 };

static struct baton_buf wire;

/* A client after the standard's section 9.2.6, one stream at a time. */
struct client {
    struct baton_buf event, data;
    char last_event[64];
    struct baton_buf last_data;
    int n_events;
};

static void client_init(struct client *client)
{
    *client = (struct client){.n_events = 0};
    baton_buf_init(&client->event, MAX_BYTES);
    baton_buf_init(&client->data, MAX_BYTES);
    baton_buf_init(&client->last_data, MAX_BYTES);
}

static void client_fini(struct client *client)
{
    baton_buf_fini(&client->event);
    baton_buf_fini(&client->data);
    baton_buf_fini(&client->last_data);
}

static void dispatch(struct client *client)
{
    if (client->data.len) {
        const char *name = client->event.len ? baton_buf_text(&client->event) : "message";
        client->n_events++;
        (void)snprintf(client->last_event, sizeof client->last_event, "%s", name);
        baton_buf_reset(&client->last_data);
        baton_buf_append(&client->last_data, client->data.data, client->data.len - 1);
    }
    baton_buf_reset(&client->event);
    baton_buf_reset(&client->data);
}

static void read_line(struct client *client, const char *line, size_t n)
{
    const char *colon = memchr(line, ':', n);
    size_t name_n = colon ? (size_t)(colon - line) : n;
    const char *value = colon ? colon + 1 : line + n;
    if (value < line + n && *value == ' ')
        value++;
    size_t value_n = (size_t)(line + n - value);
    if (!n) {
        dispatch(client);
    } else if (name_n == 5 && !memcmp(line, "event", 5)) {
        baton_buf_reset(&client->event);
        baton_buf_append(&client->event, value, value_n);
    } else if (name_n == 4 && !memcmp(line, "data", 4)) {
        baton_buf_append(&client->data, value, value_n);
        baton_buf_putc(&client->data, '\n');
    } else {
        assert_int_equal(name_n, 0); /* a comment; we write no other field */
    }
}

static void client_read(struct client *client, const char *bytes, size_t n)
{
    for (size_t start = 0, i = 0; i < n; i++) {
        if (bytes[i] != '\r' && bytes[i] != '\n')
            continue;
        read_line(client, bytes + start, i - start);
        if (bytes[i] == '\r' && i + 1 < n && bytes[i + 1] == '\n')
            i++;
        start = i + 1;
    }
}

static void assert_arrives_n(const char *event, const char *data, size_t n, const char *want,
                             size_t want_n)
{
    struct client client;
    client_init(&client);
    baton_buf_reset(&wire);
    gw_sse_event(&wire, event, data, n);
    client_read(&client, wire.data, wire.len);
    assert_int_equal(client.n_events, 1);
    assert_string_equal(client.last_event, event ? event : "message");
    assert_int_equal(client.last_data.len, want_n);
    assert_memory_equal(baton_buf_text(&client.last_data), want, want_n);
    client_fini(&client);
}

static void assert_arrives(const char *data, const char *want)
{
    assert_arrives_n("token", data, strlen(data), want, strlen(want));
}

TEST(an_event_is_its_name_its_data_and_an_empty_line)
{
    baton_buf_reset(&wire);
    gw_sse_event(&wire, "token", "a b", 3);
    assert_string_equal(baton_buf_text(&wire), "event: token\ndata: a b\n\n");
}

TEST(an_event_without_a_name_is_a_message)
{
    assert_arrives_n(NULL, "[DONE]", 6, "[DONE]", 6);
}

TEST(a_newline_in_the_data_becomes_a_further_data_line)
{
    baton_buf_reset(&wire);
    gw_sse_event(&wire, NULL, "a\nb\n", 4);
    assert_string_equal(baton_buf_text(&wire), "data: a\ndata: b\ndata: \n\n");
}

TEST(text_with_newlines_arrives_as_it_was)
{
    static const char *const texts[] = {"\n",     "\n\n",      "a\n",   "\na",
                                        "a\n\nb", "a\nb\nc\n", "no end"};
    for (size_t i = 0; i < BATON_N_OF(texts); i++)
        assert_arrives(texts[i], texts[i]);
}

TEST(every_kind_of_line_end_arrives_as_a_newline)
{
    assert_arrives("a\r\nb", "a\nb");
    assert_arrives("a\rb", "a\nb");
    assert_arrives("\r", "\n");
    assert_arrives("a\r\r\nb\n\rc", "a\n\nb\n\nc");
}

TEST(a_lone_cr_never_smuggles_a_field)
{
    assert_arrives("a\revent: error\r\rdata: x", "a\nevent: error\n\ndata: x");
}

TEST(leading_spaces_and_colons_survive)
{
    assert_arrives(" two", " two");
    assert_arrives("  ", "  ");
    assert_arrives(": a", ": a");
    assert_arrives("data: a", "data: a");
}

TEST(zero_bytes_and_utf8_survive)
{
    assert_arrives_n("token", "a\0b", 3, "a\0b", 3);
    assert_arrives("\xf0\x9f\x98\x80\n\xc3\xa4", "\xf0\x9f\x98\x80\n\xc3\xa4");
}

TEST(no_data_arrives_as_an_empty_event)
{
    assert_arrives_n("done", NULL, 0, "", 0);
}

TEST(a_comment_is_no_event)
{
    struct client client;
    client_init(&client);
    baton_buf_reset(&wire);
    gw_sse_comment(&wire, "keep-alive");
    assert_string_equal(baton_buf_text(&wire), ": keep-alive\n\n");
    client_read(&client, wire.data, wire.len);
    assert_int_equal(client.n_events, 0);
    client_fini(&client);
}

SETUP(setup)
{
    baton_buf_init(&wire, MAX_BYTES);
}

TEARDOWN(teardown)
{
    baton_buf_fini(&wire);
}

ALL_TESTS(setup, teardown)
