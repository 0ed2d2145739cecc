/* Streams between a source that the test plays and connections of a real server. */
#include "tests/support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "gateway/api/streams/streams.h"
#include "tests/unit/gateway/http/server_fixture.h"

#include "common/base/array.h"

enum { MAX_BYTES = 64 << 10, N_PLACES = 8, WINDOW_MS = 1000, EVENT_BYTES = 1000 };

static const struct gw_owner nobody = {{0}}, somebody = {{1}}, other = {{2}};

/* The calls that a source has received. */
struct source {
    struct gw_stream *stream;
    struct gw_exchange *exchange;
    int n_pauses, n_goes_on, n_abandoned;
    char reason[64];
};

static void on_attached(void *arg, struct gw_exchange *exchange)
{
    struct source *source = arg;
    source->exchange = exchange;
}

static void on_source_full(void *arg, bool full)
{
    struct source *source = arg;
    *(full ? &source->n_pauses : &source->n_goes_on) += 1;
}

static void on_abandoned(void *arg, const char *reason)
{
    struct source *source = arg;
    source->n_abandoned++;
    source->stream = NULL;
    (void)snprintf(source->reason, sizeof source->reason, "%s", reason);
}

static const struct gw_stream_source callbacks = {
    .attached = on_attached, .full = on_source_full, .abandoned = on_abandoned};

/* ---- the server ---- */

static struct fixture f;
static struct gw_streams streams;
static int n_left;

static void on_gone(void *arg, struct gw_exchange *exchange, const char *reason)
{
    struct gw_stream *stream = gw_exchange_data(exchange);
    (void)arg;
    n_left++;
    if (stream && (void *)stream != &f)
        gw_streams_left(stream, reason);
}

static void on_full(void *arg, struct gw_exchange *exchange, bool full)
{
    struct gw_stream *stream = gw_exchange_data(exchange);
    (void)arg;
    if (stream)
        gw_stream_full(stream, full);
}

static void start(size_t stream_bytes, size_t bytes)
{
    n_left = 0;
    gw_streams_init(&streams, &(struct gw_stream_bounds){.stream_bytes = stream_bytes,
                                                         .bytes = bytes,
                                                         .window_ns = WINDOW_MS * BATON_MS});
    fixture_init(&f);
    f.options.on_gone = on_gone;
    f.options.on_full = on_full;
    f.options.pause_bytes = 8 << 10;
    fixture_start(&f);
}

static void stop(void)
{
    gw_streams_drain(&streams);
    fixture_stop(&f);
    gw_streams_fini(&streams);
}

/* An exchange that waits for its answer. */
static struct gw_exchange *ask(int fd, const char *headers)
{
    char head[256];
    int n_before = f.n_requests;
    (void)snprintf(head, sizeof head, "GET /hold HTTP/1.0\r\nHost: x\r\n%s\r\n", headers);
    client_say(&f, fd, head);
    fixture_wait_count(&f, &f.n_requests, n_before + 1);
    return f.held;
}

static struct gw_stream *open_for(const struct gw_owner *owner, struct source *source, int fd,
                                  const char *headers)
{
    struct gw_exchange *exchange = ask(fd, headers);
    *source = (struct source){.exchange = exchange};
    source->stream = gw_streams_open(&streams, exchange, owner, &callbacks, source);
    gw_exchange_stream_begin(exchange, 200, "text/event-stream", "");
    return source->stream;
}

static struct gw_stream *open_stream(struct source *source, int fd)
{
    struct gw_stream *stream =
        open_for(&nobody, source, fd, "X-Request-Id: s\r\nx-baton-resumable: true\r\n");
    if (stream)
        (void)strcpy(stream->id, "s"); /* what the tests read is then known */
    return stream;
}

static void write_events(struct gw_stream *stream, int n)
{
    char event[EVENT_BYTES + 1];
    memset(event, 'x', EVENT_BYTES);
    memcpy(event, "data: ", 6);
    memcpy(event + EVENT_BYTES - 2, "\n\n", 3);
    while (n--)
        gw_stream_write(stream, event, EVENT_BYTES);
}

static void leave(int fd)
{
    int n_before = n_left;
    client_reset(fd);
    fixture_wait_count(&f, &n_left, n_before + 1);
}

static struct gw_exchange *resume(struct gw_stream *stream, int fd, uint64_t after)
{
    struct gw_exchange *exchange = ask(fd, "");
    gw_exchange_stream_begin(exchange, 200, "text/event-stream", "");
    gw_stream_attach(stream, exchange, after);
    return exchange;
}

/* Reads and drops until the events were taken, which only a tick finds out. */
static void drain_client(int fd, const struct gw_stream *stream, const int *count, int n)
{
    char bytes[1 << 16];
    while (*count < n) {
        (void)!recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        fixture_settle(&f);
        gw_streams_tick(&streams, baton_now_ns());
        assert_true(stream->held_bytes <= MAX_BYTES);
    }
}

/* ---- events ---- */

TEST(events_have_numbers_and_go_out_once)
{
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    int fd = client_open(&f, 0), again = client_open(&f, 0);
    struct gw_stream *stream = open_stream(&source, fd);
    gw_stream_write(stream, "data: a\n\nevent: e\ndata: b\ndata:\n\n", 33);
    gw_stream_write(stream, "data: c\n\n", 9);
    static const char all[] = "id: s-1\ndata: a\n\nid: s-2\nevent: e\ndata: b\ndata:\n\nid: s-3\n"
                              "data: c\n\n";
    const char *got = client_read(&f, fd, "data: c\n\n");
    assert_non_null(strstr(got, "\r\nx-baton-stream: "));
    assert_string_equal(strstr(got, "\r\n\r\n") + 4, all);
    leave(fd);
    assert_null(source.exchange);
    gw_stream_write(stream, "data: d\n\n", 9);
    resume(stream, again, 2);
    assert_ptr_equal(source.exchange, stream->exchange);
    gw_stream_keep_alive(stream, ": here\n\n", 8);
    gw_stream_end(stream);
    got = client_read_all(&f, again);
    assert_string_equal(strstr(got, "\r\n\r\n") + 4,
                        "id: s-3\ndata: c\n\nid: s-4\ndata: d\n\n: here\n\n");
    assert_int_equal(source.n_abandoned, 0);
    close(again);
    stop();
}

TEST(what_there_is_after_an_event_is_known)
{
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    int fd = client_open(&f, 0);
    struct gw_stream *stream = open_stream(&source, fd);
    assert_int_equal(gw_stream_has_after(stream, 0), GW_STREAM_HAS); /* it will have */
    assert_int_equal(gw_stream_has_after(stream, 1), GW_STREAM_NEVER_HAD);
    write_events(stream, 3);
    for (uint64_t after = 0; after <= 3; after++)
        assert_int_equal(gw_stream_has_after(stream, after), GW_STREAM_HAS);
    gw_stream_end(stream);
    assert_int_equal(gw_stream_has_after(stream, 2), GW_STREAM_HAS);
    assert_int_equal(gw_stream_has_after(stream, 3), GW_STREAM_HAS_ALL);
    assert_int_equal(gw_stream_has_after(stream, 4), GW_STREAM_NEVER_HAD);
    close(fd);
    stop();
}

TEST(an_events_id_is_read_strictly)
{
    static const char *const wrong[] = {"",     "s",     "s-",   "s-x",  "t-1",
                                        "s--1", "s-1 2", "s- 1", "s-+1", "s-1000000000000000000"};
    const struct gw_stream stream = {.id = "s"};
    uint64_t number = 7;
    for (size_t i = 0; i < BATON_N_OF(wrong); i++)
        assert_false(gw_stream_read_event_id(&stream, wrong[i], &number));
    assert_int_equal(number, 7);
    assert_true(gw_stream_read_event_id(&stream, "s-0", &number) && !number);
    assert_true(gw_stream_read_event_id(&stream, "s-999999999999999999", &number));
    assert_int_equal(number, 999999999999999999);
}

/* ---- bounds ---- */

TEST(without_a_client_the_source_is_paused_and_then_the_stream_is_lost)
{
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    int fd = client_open(&f, 0);
    struct gw_stream *stream = open_stream(&source, fd);
    write_events(stream, 1);
    leave(fd);
    while (!source.n_pauses)
        write_events(stream, 1);
    assert_in_range(stream->held_bytes, MAX_BYTES / 2, MAX_BYTES / 2 + 2 * EVENT_BYTES);
    while (!stream->is_lost) { /* it does not stand still */
        assert_in_range(stream->held_bytes, 1, MAX_BYTES);
        assert_int_equal(gw_stream_has_after(stream, 0), GW_STREAM_HAS);
        write_events(stream, 1);
    }
    assert_int_equal(stream->held_bytes, 0);
    assert_int_equal(gw_stream_has_after(stream, 0), GW_STREAM_HAD);
    write_events(stream, 1); /* nobody is called from inside its own write */
    assert_int_equal(source.n_abandoned, 0);
    gw_streams_tick(&streams, baton_now_ns());
    assert_int_equal(source.n_abandoned, 1);
    assert_int_equal(streams.counts[GW_STREAM_COUNT_lost], 1);
    stop();
}

TEST(a_lasting_stream_goes_on_without_a_client_and_keeps_its_latest_events)
{
    enum { N_EVENTS = 3 * MAX_BYTES / EVENT_BYTES, LASTING_MS = 5000 };
    static const char id[] = "0123456789abcdef0123456789abcdef";
    struct source source = {0};
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    streams.bounds.lasting_ns = LASTING_MS * BATON_MS;
    int fd = client_open(&f, 0);
    source.exchange = ask(fd, "");
    struct gw_stream *stream =
        gw_streams_open_lasting(&streams, source.exchange, &nobody, id, &callbacks, &source);
    gw_exchange_stream_begin(source.exchange, 200, "text/event-stream", "");
    leave(fd);
    write_events(stream, N_EVENTS);
    gw_streams_tick(&streams, stream->left_ns + WINDOW_MS * BATON_MS);
    assert_ptr_equal(gw_streams_find(&streams, &nobody, id), stream);
    assert_int_equal(source.n_pauses + source.n_abandoned, 0);
    assert_in_range(stream->held_bytes, MAX_BYTES / 2, MAX_BYTES);
    uint64_t first = gw_stream_first_kept(stream);
    assert_in_range(first, N_EVENTS / 2, N_EVENTS);
    assert_int_equal(gw_stream_has_after(stream, first - 2), GW_STREAM_HAD);
    assert_int_equal(gw_stream_has_after(stream, first - 1), GW_STREAM_HAS);
    gw_stream_end(stream);
    gw_streams_tick(&streams, stream->left_ns + LASTING_MS * BATON_MS - 1);
    assert_int_equal(streams.list.n, 1);
    gw_streams_tick(&streams, stream->left_ns + LASTING_MS * BATON_MS);
    assert_int_equal(streams.list.n, 0);
    stop();
}

TEST(a_client_that_reads_never_pauses_the_source)
{
    enum { N_EVENTS = 800, AT_ONCE = 8, N_HELD = MAX_BYTES / 4 / (EVENT_BYTES + 100) };
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    int fd = client_open(&f, 0);
    char bytes[1 << 16];
    struct gw_stream *stream = open_stream(&source, fd);
    for (int i = 0; i < N_EVENTS; i += AT_ONCE) {
        write_events(stream, AT_ONCE);
        while (gw_exchange_untaken_bytes(stream->exchange)) {
            fixture_settle(&f);
            (void)!recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        }
    }
    assert_int_equal(source.n_pauses, 0);
    assert_int_equal(gw_stream_has_after(stream, N_EVENTS - N_HELD), GW_STREAM_HAS);
    assert_int_equal(gw_stream_has_after(stream, 0), GW_STREAM_HAD);
    close(fd);
    stop();
}

/* The kernel took it all, and the client nothing: it would be lost with the connection. */
TEST(what_a_client_has_not_taken_stays)
{
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    int fd = client_open(&f, 4096);
    struct gw_stream *stream = open_stream(&source, fd);
    while (!source.n_pauses) {
        write_events(stream, 1);
        fixture_settle(&f);
        assert_in_range(stream->held_bytes, 0, MAX_BYTES);
    }
    assert_int_equal(gw_stream_has_after(stream, 8), GW_STREAM_HAS);
    drain_client(fd, stream, &source.n_goes_on, 1);
    write_events(stream, 1);
    close(fd);
    stop();
}

TEST(an_event_may_be_as_large_as_it_is_while_its_client_is_there)
{
    enum { LARGE = 8 * MAX_BYTES };
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    char *event = malloc(LARGE);
    assert_non_null(event);
    memset(event, 'x', LARGE);
    memcpy(event, "data: ", 6);
    memcpy(event + LARGE - 2, "\n\n", 2);
    int fd = client_open(&f, 4096);
    struct gw_stream *stream = open_stream(&source, fd);
    write_events(stream, 20);
    gw_stream_write(stream, event, LARGE);
    assert_in_range(stream->held_bytes, 0, MAX_BYTES);
    gw_stream_write(stream, "data: end\n\n", 11);
    gw_stream_end(stream);
    const char *got = client_read_all(&f, fd);
    assert_non_null(strstr(got, "id: s-22\ndata: end\n\n"));
    assert_in_range(strlen(got), LARGE + 20 * EVENT_BYTES, LARGE + 21 * EVENT_BYTES + 1000);
    free(event);
    close(fd);
    stop();
}

/* Clients come, read, go and come back at random. */
TEST(a_source_that_stands_still_when_it_is_told_to_loses_nothing)
{
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    for (unsigned seed = 1; seed <= 30; seed++) {
        struct source source;
        unsigned state = seed;
        int fd = client_open(&f, 4096);
        struct gw_stream *stream = open_stream(&source, fd);
        for (int i = 0; i < 300 && !stream->is_lost; i++) {
            char bytes[8192];
            uint64_t after = 0;
            switch (rand_r(&state) % 8) {
            case 0:
                leave(fd);
                fd = client_open(&f, 4096);
                while (gw_stream_has_after(stream, after) == GW_STREAM_HAD)
                    after++;
                resume(stream, fd, after);
                break;
            case 1:
            case 2:
            case 3:
                (void)!recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
                break;
            default:
                if (!stream->is_paused)
                    write_events(stream, 1 + rand_r(&state) % 8);
            }
            fixture_settle(&f);
            gw_streams_tick(&streams, baton_now_ns());
            assert_in_range(stream->held_bytes, 0, MAX_BYTES);
        }
        assert_false(stream->is_lost); /* a source that stands still when told loses nothing */
        gw_stream_end(stream);
        close(fd);
        fixture_wait_connections(&f, 0);
    }
    stop();
}

/* ---- the table ---- */

static int open_many(const struct gw_owner *owner, struct source *sources, int *fds, int n)
{
    int n_open = 0;
    for (int i = 0; i < n; i++) {
        fds[i] = client_open(&f, 0);
        n_open += open_for(owner, &sources[i], fds[i], "x-baton-resumable: true\r\n") != NULL;
    }
    return n_open;
}

TEST(an_owner_has_half_of_the_room_and_all_have_no_more_than_it_all)
{
    struct source sources[3][N_PLACES];
    int fds[3][N_PLACES];
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    assert_int_equal(open_many(&somebody, sources[0], fds[0], N_PLACES), N_PLACES / 2);
    assert_int_equal(open_many(&other, sources[1], fds[1], N_PLACES - 1), N_PLACES / 2);
    assert_int_equal(open_many(&nobody, sources[2], fds[2], 1), 0);
    assert_int_equal(streams.counts[GW_STREAM_COUNT_refused], N_PLACES);
    gw_stream_end(sources[0][0].stream); /* it makes room for anybody */
    close(fds[2][0]);
    assert_int_equal(open_many(&nobody, sources[2], fds[2], 2), 1);
    for (int i = 0; i < N_PLACES; i++)
        close(fds[0][i]);
    for (int i = 0; i < N_PLACES - 1; i++)
        close(fds[1][i]);
    for (int i = 0; i < 2; i++)
        close(fds[2][i]);
    stop();
}

TEST(a_stream_is_found_by_its_owner_alone_until_its_window_is_over)
{
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    int fd = client_open(&f, 0);
    struct gw_stream *stream =
        open_for(&somebody, &source, fd, "X-Request-Id: s\r\nx-baton-resumable: true\r\n");
    assert_ptr_equal(gw_streams_find(&streams, &somebody, stream->id), stream);
    assert_null(gw_streams_find(&streams, &somebody, "t"));
    assert_null(gw_streams_find(&streams, &somebody, ""));
    assert_null(gw_streams_find(&streams, &other, stream->id));
    assert_null(gw_streams_find(&streams, &nobody, stream->id));
    leave(fd);
    gw_streams_tick(&streams, stream->left_ns + WINDOW_MS * BATON_MS - 1);
    assert_int_equal(source.n_abandoned, 0);
    gw_streams_tick(&streams, stream->left_ns + WINDOW_MS * BATON_MS);
    assert_int_equal(source.n_abandoned, 1);
    assert_string_equal(source.reason, "its client did not come back");
    assert_int_equal(streams.list.n, 0);
    stop();
}

TEST(a_stream_is_opened_if_it_is_asked_for)
{
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    int fds[] = {client_open(&f, 0), client_open(&f, 0), client_open(&f, 0)};
    assert_null(open_for(&nobody, &source, fds[0], ""));
    assert_null(open_for(&nobody, &source, fds[1], "x-baton-resumable: false\r\n"));
    struct gw_stream *stream =
        open_for(&nobody, &source, fds[2], "X-Request-Id: a/b\r\nx-baton-resumable: true\r\n");
    assert_non_null(stream);
    assert_int_equal(strspn(stream->id, "0123456789abcdef"), 32); /* not the request's a/b */
    for (size_t i = 0; i < 3; i++)
        close(fds[i]);
    stop();
}

TEST(who_resumes_takes_the_stream_from_who_had_it)
{
    struct source source;
    start(MAX_BYTES, N_PLACES * MAX_BYTES);
    int first = client_open(&f, 0), second = client_open(&f, 0);
    struct gw_stream *stream = open_stream(&source, first);
    write_events(stream, 2);
    struct gw_exchange *exchange = resume(stream, second, 1);
    assert_ptr_equal(source.exchange, exchange);
    fixture_wait_count(&f, &n_left, 1);
    char byte;
    while (recv(first, &byte, 1, 0) > 0)
        ;
    assert_int_equal(streams.counts[GW_STREAM_COUNT_detached], 0);
    gw_stream_end(stream);
    assert_non_null(strstr(client_read_all(&f, second), "\r\n\r\nid: s-2\n"));
    close(first);
    close(second);
    stop();
}
