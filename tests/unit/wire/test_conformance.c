/* What the transport promises when things go wrong, shown between real processes: the other side is
 * tests/support/wire_peer.c, killed, stopped and fed with garbage; the gateway is played here. */
#include "tests/support/test.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/random.h"
#include "common/wire/frame.h"
#include "tests/support/mailbox.h"
#include "tests/support/process.h"
#include "tests/support/sample_envelope.h"

enum { PATIENCE_MS = 20000, QUEUE = 256, BEAT_MS = 50, SILENCE_MS = 600 };

static const char *const good_token = "s3cret";
static const char good_digit = 'a';

static struct mailbox box; /* the test's own inbox */
static struct process peer;

SETUP(set_up)
{
    return mailbox_open(&box, NULL, QUEUE) ? -1 : 0;
}

TEARDOWN(tear_down)
{
    process_end(&peer);
    mailbox_close(&box);
    return 0;
}

static enum baton_err send_kind(struct baton_link *link, Baton__V1__Envelope__BodyCase kind,
                                const void *payload, size_t n)
{
    struct sample_envelope s;
    sample_envelope_init(&s, kind);
    return baton_link_send(link, &s.envelope, payload, n);
}

/* Waits for room; for senders that outrun their receiver. */
static void send_patiently(struct baton_link *link, Baton__V1__Envelope__BodyCase kind,
                           const void *payload, size_t n)
{
    enum baton_err err;
    int64_t until_ns = baton_now_ns() + PATIENCE_MS * BATON_MS;
    while ((err = send_kind(link, kind, payload, n)) == BATON_AGAIN && baton_now_ns() < until_ns)
        baton_doorbell_wait(&box.bell, BATON_SECOND);
    assert_int_equal(err, BATON_OK);
}

/* ---- a sink: links from here to a process that only counts ---- */

static void start_peer(const char *const *argv, char *url, size_t size)
{
    char line[256];
    assert_true(process_start(&peer, argv));
    assert_true(process_expect(&peer, "url ", line, sizeof line, PATIENCE_MS));
    (void)snprintf(url, size, "%s", strstr(line, "url ") + 4);
}

static struct baton_link *open_sink(bool hold)
{
    const char *const argv[] = {WIRE_PEER, "sink", hold ? "hold" : NULL, NULL};
    char url[128];
    start_peer(argv, url, sizeof url);
    struct baton_link *link = mailbox_dial(&box, url, 1001, 2002, 0);
    assert_non_null(link);
    assert_true(mailbox_await(&box, link, BATON_OUTBOX_UP, PATIENCE_MS));
    return link;
}

static void expect_end(uint64_t n, uint64_t bytes, uint32_t crc)
{
    char line[256], wanted[256];
    assert_true(process_expect(&peer, "end ", line, sizeof line, PATIENCE_MS));
    (void)snprintf(wanted, sizeof wanted, "end n=%" PRIu64 " bytes=%" PRIu64 " gaps=0 crc=%08x", n,
                   bytes, crc);
    assert_string_equal(line, wanted);
}

static double kill_and_notice(void)
{
    struct baton_link *link = open_sink(false);
    int64_t begin_ns = baton_now_ns();
    (void)kill(peer.pid, SIGKILL);
    assert_true(mailbox_await(&box, link, BATON_OUTBOX_DOWN, PATIENCE_MS));
    double noticed_s = baton_seconds(baton_now_ns() - begin_ns);
    assert_int_equal(send_kind(link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0), BATON_CLOSED);
    baton_link_release(link);
    process_end(&peer);
    return noticed_s;
}

/* Every time, but on a busy machine a single one may have had to wait for a processor. */
TEST(a_killed_peer_is_noticed_within_100_ms)
{
    enum { N = 5 };
    int n_quick = 0;
    for (int i = 0; i < N; i++) {
        double noticed_s = kill_and_notice();
        print_message("noticed after %.2f ms\n", noticed_s * 1e3);
        n_quick += noticed_s <= 0.1;
    }
    assert_true(n_quick > N / 2);
}

TEST(a_stopped_peer_makes_no_event)
{
    struct baton_link *link = open_sink(false);
    (void)kill(peer.pid, SIGSTOP);
    assert_false(mailbox_await(&box, link, BATON_OUTBOX_DOWN, 1000));
    (void)kill(peer.pid, SIGCONT);
    assert_int_equal(send_kind(link, BATON__V1__ENVELOPE__BODY_KV_END, NULL, 0), BATON_OK);
    expect_end(1, 0, 0);
    baton_link_release(link);
}

TEST(many_messages_arrive_in_order)
{
    enum { N = 50000 };
    struct baton_link *link = open_sink(false);
    int64_t begin_ns = baton_now_ns();
    for (int i = 1; i < N; i++)
        send_patiently(link, BATON__V1__ENVELOPE__BODY_TOKENS, NULL, 0);
    send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_END, NULL, 0);
    expect_end(N, 0, 0);
    double s = baton_seconds(baton_now_ns() - begin_ns);
    print_message("%d messages in %.3f s: %.0f messages/s\n", N, s, N / s);
    baton_link_release(link);
}

TEST(forty_megabytes_of_context_arrive_intact)
{
    enum { CHUNK = 256 << 10, N_CHUNKS = 160 };
    struct baton_link *link = open_sink(false);
    uint8_t *data = malloc((size_t)CHUNK * N_CHUNKS);
    assert_non_null(data);
    uint64_t x = 88172645463325252;
    for (size_t i = 0; i < (size_t)CHUNK * N_CHUNKS; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        data[i] = (uint8_t)x;
    }
    int64_t begin_ns = baton_now_ns();
    for (size_t i = 0; i < N_CHUNKS; i++)
        send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, data + i * CHUNK, CHUNK);
    send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_END, NULL, 0);
    expect_end(N_CHUNKS + 1, (uint64_t)CHUNK * N_CHUNKS,
               baton_crc32c(0, data, (size_t)CHUNK * N_CHUNKS));
    double s = baton_seconds(baton_now_ns() - begin_ns);
    print_message("40 MiB in %.1f ms: %.2f GB/s\n", s * 1e3, CHUNK * (double)N_CHUNKS / s * 1e-9);
    baton_link_release(link);
    free(data);
}

TEST(back_pressure_reaches_the_sender_and_loses_nothing)
{
    enum { CHUNK = 64 << 10, N_CHUNKS = 3000 }; /* 188 MiB: more than every buffer on the way */
    struct baton_link *link = open_sink(true);
    uint8_t *chunk = calloc(1, CHUNK);
    assert_non_null(chunk);
    uint32_t crc = 0;
    int n = 0;
    for (; n < N_CHUNKS; n++) {
        memset(chunk, n, CHUNK);
        if (send_kind(link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, chunk, CHUNK) == BATON_AGAIN)
            break;
        crc = baton_crc32c(crc, chunk, CHUNK);
    }
    assert_true(n < N_CHUNKS);
    print_message("%.0f MiB until the sender was told to wait\n", n * (CHUNK / 1048576.0));
    process_order(&peer, "go\n");
    for (; n < N_CHUNKS; n++) {
        memset(chunk, n, CHUNK);
        send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, chunk, CHUNK);
        crc = baton_crc32c(crc, chunk, CHUNK);
    }
    send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_END, NULL, 0);
    expect_end(N_CHUNKS + 1, (uint64_t)CHUNK * N_CHUNKS, crc);
    baton_link_release(link);
    free(chunk);
}

TEST(links_closed_and_peers_killed_under_load_leave_the_rest_working)
{
    uint8_t *chunk = calloc(1, 256 << 10);
    assert_non_null(chunk);
    for (int round = 0; round < 20; round++) {
        struct baton_link *link = open_sink(false);
        for (int i = 0; i < 20; i++)
            send_patiently(link, BATON__V1__ENVELOPE__BODY_KV_CHUNK, chunk, 256 << 10);
        if (round % 2)
            baton_link_close(link);
        process_end(&peer);
        assert_true(mailbox_await(&box, link, BATON_OUTBOX_DOWN, PATIENCE_MS));
        baton_link_release(link);
    }
    free(chunk);
}

/* ---- raw bytes ---- */

static int connect_raw(const char *url)
{
    int port = 0;
    assert_int_equal(sscanf(url, "tcp://127.0.0.1:%d", &port), 1);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* The handshake of an SP "push" peer, then a message length that need not be true. */
static int connect_push(const char *url, uint64_t announced_bytes)
{
    static const uint8_t greeting[8] = {0, 'S', 'P', 0, 0, 0x50, 0, 0};
    uint8_t answer[8], length[8];
    int fd = connect_raw(url);
    assert_int_equal(write(fd, greeting, sizeof greeting), sizeof greeting);
    assert_int_equal(recv(fd, answer, sizeof answer, MSG_WAITALL), sizeof answer);
    assert_memory_equal(answer, greeting, 5);
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(announced_bytes >> (56 - 8 * i));
    assert_int_equal(write(fd, length, sizeof length), sizeof length);
    return fd;
}

/* One well-formed message with whatever numbers it carries, over a connection of its own. */
static int push_raw(const char *url, const baton_envelope *envelope)
{
    uint8_t frame[1024];
    size_t header_bytes = baton__v1__envelope__get_packed_size(envelope);
    size_t n = baton_frame_size(header_bytes, 0);
    assert_true(n && n <= sizeof frame);
    baton__v1__envelope__pack(envelope, frame + BATON_FRAME_HEAD_BYTES);
    baton_frame_seal(frame, header_bytes, 0);
    int fd = connect_push(url, n);
    assert_int_equal(write(fd, frame, n), n);
    return fd;
}

static void expect_hung_up(int fd)
{
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    uint8_t byte;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    while (read(fd, &byte, 1) == 1)
        ;
    assert_true(recv(fd, &byte, 1, MSG_DONTWAIT) <= 0);
    close(fd);
}

/* A well-behaved sender, to show that the inbox still works. */
static void expect_inbox_alive(void)
{
    struct baton_message message;
    struct baton_link *link = mailbox_dial(&box, baton_inbox_url(box.inbox), 1001, 2002, 0);
    assert_non_null(link);
    assert_int_equal(send_kind(link, BATON__V1__ENVELOPE__BODY_STATUS, NULL, 0), BATON_OK);
    assert_true(mailbox_take(&box, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->link, baton_link_id(link));
    baton_message_fini(&message);
    baton_link_release(link);
}

TEST(garbage_on_the_port_disturbs_nobody)
{
    static const char *const garbage[] = {"", "\0", "GET / HTTP/1.1\r\n\r\n", "\0SP\0\0\x31\0\0",
                                          "\xff\xff\xff\xff\xff\xff\xff\xff\xff"};
    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
            int fd = connect_raw(baton_inbox_url(box.inbox));
            ssize_t n = write(fd, garbage[i], i == 3 ? 8 : strlen(garbage[i]));
            (void)n;
            close(fd);
        }
    expect_inbox_alive();
}

TEST(a_garbage_message_costs_its_sender_the_connection)
{
    struct baton_message message;
    struct baton_inbox_stats stats;
    const char *url = baton_inbox_url(box.inbox);
    uint8_t bytes[100];
    memset(bytes, 0x5a, sizeof bytes);
    int fd = connect_push(url, sizeof bytes);
    assert_int_equal(write(fd, bytes, sizeof bytes), sizeof bytes);
    assert_false(mailbox_take(&box, &message, 300));
    expect_hung_up(fd);
    fd = connect_push(url, 0); /* an empty message is no better */
    assert_false(mailbox_take(&box, &message, 300));
    expect_hung_up(fd);
    baton_inbox_get_stats(box.inbox, &stats);
    assert_int_equal(stats.n_rejected, 2);
    expect_inbox_alive();
}

TEST(an_announced_huge_message_is_not_waited_for)
{
    const char *url = baton_inbox_url(box.inbox);
    size_t max_bytes = baton_frame_size(BATON_FRAME_MAX_HEADER, BATON_FRAME_MAX_PAYLOAD);
    expect_hung_up(connect_push(url, max_bytes + 1));
    expect_hung_up(connect_push(url, UINT64_C(1) << 40));
    expect_hung_up(connect_push(url, UINT64_MAX));
    expect_inbox_alive();
}

/* ---- a gateway, played here, and a worker in its own process ---- */

struct gateway {
    uint64_t epoch;
    struct baton_link *link; /* to the one worker; NULL before and after */
    bool mute;               /* says nothing, not even a heartbeat */
    int64_t beat_ns;
};

static void beat(struct gateway *gateway)
{
    Baton__V1__Status status = BATON__V1__STATUS__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    if (!gateway->link || gateway->mute || baton_now_ns() < gateway->beat_ns)
        return;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_STATUS;
    envelope.status = &status;
    if (baton_link_send(gateway->link, &envelope, NULL, 0))
        return;
    gateway->beat_ns = baton_now_ns() + BEAT_MS * BATON_MS;
}

/* Drops what is not for us, as gateways do: what belongs to no link costs its sender the pipe. */
static bool is_fresh(struct gateway *gateway, const struct baton_message *message)
{
    bool hello = message->envelope->body_case == BATON__V1__ENVELOPE__BODY_HELLO;
    if (gateway->link && message->envelope->link == baton_link_id(gateway->link))
        return baton_link_accept(gateway->link, message->envelope, baton_now_ns()) ==
               BATON_LINK_FRESH;
    if (!hello)
        baton_inbox_reject(box.inbox, message);
    return hello;
}

/* Beats and takes until a message of that kind comes, which is then the caller's to finish. */
static bool gateway_take(struct gateway *gateway, Baton__V1__Envelope__BodyCase kind,
                         struct baton_message *message, int timeout_ms)
{
    int64_t until_ns = baton_now_ns() + timeout_ms * BATON_MS;
    while (baton_now_ns() < until_ns) {
        beat(gateway);
        if (!mailbox_take(&box, message, BEAT_MS))
            continue;
        if (is_fresh(gateway, message) && message->envelope->body_case == kind)
            return true;
        baton_message_fini(message);
    }
    return false;
}

static void open_back(struct gateway *gateway, const struct baton_message *hello)
{
    char url[128];
    assert_int_equal(baton_link_resolve_url(hello->envelope->hello->inbox_url, hello->peer_host,
                                            url, sizeof url, NULL),
                     BATON_OK);
    gateway->link =
        mailbox_dial(&box, url, gateway->epoch, hello->envelope->src_epoch, hello->envelope->link);
    assert_non_null(gateway->link);
    assert_int_equal(baton_link_accept(gateway->link, hello->envelope, baton_now_ns()),
                     BATON_LINK_FRESH);
}

static void drop_link(struct gateway *gateway)
{
    if (gateway->link)
        baton_link_close(gateway->link);
    baton_link_release(gateway->link);
    gateway->link = NULL;
}

/* Waits for a Hello, answers it, and sees the worker joined. Returns the worker's epoch. */
static uint64_t welcome(struct gateway *gateway)
{
    struct baton_message message;
    assert_true(gateway_take(gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, PATIENCE_MS));
    uint64_t epoch = message.envelope->src_epoch;
    open_back(gateway, &message);
    baton_message_fini(&message);
    assert_int_equal(send_kind(gateway->link, BATON__V1__ENVELOPE__BODY_WELCOME, NULL, 0),
                     BATON_OK);
    assert_true(gateway_take(gateway, BATON__V1__ENVELOPE__BODY_STATUS, &message, PATIENCE_MS));
    baton_message_fini(&message);
    assert_true(process_expect(&peer, "joined 1", NULL, 0, PATIENCE_MS));
    return epoch;
}

static void start_worker(const char *token, char digit, const char *inbox_url, char *url,
                         size_t size)
{
    const char digits[2] = {digit, 0};
    const char *const argv[] = {WIRE_PEER, "member", baton_inbox_url(box.inbox), token, digits,
                                inbox_url, NULL};
    start_peer(argv, url, size);
}

static uint64_t start_joined(struct gateway *gateway, char *url, size_t size)
{
    *gateway = (struct gateway){.epoch = baton_random_id()};
    start_worker(good_token, good_digit, "tcp://127.0.0.1:0", url, size);
    return welcome(gateway);
}

static void expect_answer(struct gateway *gateway)
{
    struct baton_message message;
    assert_int_equal(send_kind(gateway->link, BATON__V1__ENVELOPE__BODY_RESERVE, NULL, 0),
                     BATON_OK);
    assert_true(gateway_take(gateway, BATON__V1__ENVELOPE__BODY_RESERVED, &message, PATIENCE_MS));
    assert_int_equal(message.envelope->request_id, 42);
    baton_message_fini(&message);
}

TEST(a_worker_joins_answers_and_leaves_when_everything_is_acked)
{
    struct gateway gateway;
    struct baton_message message;
    char url[128];
    start_joined(&gateway, url, sizeof url);
    expect_answer(&gateway);
    process_order(&peer, "leave\n");
    assert_true(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_GOODBYE, &message, PATIENCE_MS));
    baton_message_fini(&message);
    assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, 4 * BEAT_MS));
    assert_true(process_expect(&peer, "drained", NULL, 0, PATIENCE_MS));
    drop_link(&gateway);
}

static void refuse(const char *token, char digit, Baton__V1__Refused__Code code, const char *reason)
{
    struct gateway gateway = {.epoch = baton_random_id()};
    struct baton_message message;
    struct sample_envelope s;
    char url[128], line[512];
    start_worker(token, digit, "tcp://127.0.0.1:0", url, sizeof url);
    assert_true(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, PATIENCE_MS));
    const Baton__V1__Hello *hello = message.envelope->hello;
    assert_true(strcmp(hello->cluster_token, good_token) != 0 ||
                hello->fingerprint->weights[0] != good_digit);
    open_back(&gateway, &message);
    baton_message_fini(&message);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_REFUSED);
    s.body.refused.code = code;
    s.body.refused.reason = baton_envelope_text(reason);
    assert_int_equal(baton_link_send(gateway.link, &s.envelope, NULL, 0), BATON_OK);
    assert_true(process_expect(&peer, "ev=gateway_refused", line, sizeof line, PATIENCE_MS));
    assert_non_null(strstr(line, reason));
    drop_link(&gateway);
    assert_true(/* it tries again */
                gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, PATIENCE_MS));
    baton_message_fini(&message);
    process_end(&peer);
}

TEST(the_wrong_model_and_the_wrong_token_are_refused_with_the_reason)
{
    refuse(good_token, 'b', BATON__V1__REFUSED__CODE__OTHER_MODEL,
           "weights bbbb are not aaaa, which this fleet serves");
    refuse("guess", good_digit, BATON__V1__REFUSED__CODE__BAD_TOKEN, "the cluster token is wrong");
}

TEST(a_restarted_worker_is_another_life_and_nothing_of_the_old_one_reaches_it)
{
    struct gateway gateway, old;
    struct baton_message message;
    struct sample_envelope s;
    char url[128];
    uint64_t old_epoch = start_joined(&gateway, url, sizeof url);
    old = gateway;
    process_end(&peer);
    assert_true(mailbox_await(&box, old.link, BATON_OUTBOX_DOWN, 1000));

    gateway.link = NULL;
    start_worker(good_token, good_digit, url, url, sizeof url); /* the same port */
    assert_true(welcome(&gateway) != old_epoch);
    assert_int_equal(send_kind(old.link, BATON__V1__ENVELOPE__BODY_RESERVE, NULL, 0), BATON_CLOSED);

    /* A message of the old life that was on its way all the time: dropped without an answer. */
    struct baton_link *late = mailbox_dial(&box, url, gateway.epoch, old_epoch, 0);
    assert_int_equal(send_kind(late, BATON__V1__ENVELOPE__BODY_RESERVE, NULL, 0), BATON_OK);
    assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_RESERVED, &message, 300));
    expect_answer(&gateway);

    /* And one the other way. */
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.envelope.src_epoch = old_epoch;
    s.envelope.dst_epoch = gateway.epoch;
    s.envelope.link = baton_link_id(gateway.link);
    s.envelope.link_seq = 1000;
    assert_int_equal(baton_link_accept(gateway.link, &s.envelope, baton_now_ns()),
                     BATON_LINK_STALE);
    baton_link_release(late);
    baton_link_release(old.link);
    drop_link(&gateway);
}

TEST(a_stopped_worker_falls_silent_and_joins_again_when_it_goes_on)
{
    struct gateway gateway;
    struct baton_message message;
    char url[128];
    uint64_t epoch = start_joined(&gateway, url, sizeof url);
    uint64_t link_id = baton_link_id(gateway.link);
    (void)kill(peer.pid, SIGSTOP);
    while (gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_STATUS, &message, 2 * BEAT_MS))
        baton_message_fini(&message); /* what it said before */
    while (baton_now_ns() - baton_link_heard_ns(gateway.link) < SILENCE_MS * BATON_MS)
        assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_STATUS, &message, BEAT_MS));
    assert_int_equal(baton_link_state(gateway.link), BATON_OUTBOX_UP); /* only silence tells */
    drop_link(&gateway);
    (void)kill(peer.pid, SIGCONT);
    assert_true(welcome(&gateway) == epoch);
    assert_true(baton_link_id(gateway.link) != link_id);
    expect_answer(&gateway);
    drop_link(&gateway);
}

TEST(a_worker_that_was_stopped_does_not_blame_its_gateway)
{
    struct gateway gateway;
    char url[128];
    start_joined(&gateway, url, sizeof url);
    uint64_t link_id = baton_link_id(gateway.link);
    struct baton_message message;
    (void)kill(peer.pid, SIGSTOP);
    int64_t until_ns = baton_now_ns() + 2 * SILENCE_MS * BATON_MS; /* but this gateway is patient */
    while (baton_now_ns() < until_ns)
        if (gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_STATUS, &message, BEAT_MS))
            baton_message_fini(&message);
    (void)kill(peer.pid, SIGCONT);
    expect_answer(&gateway);
    assert_true(baton_link_id(gateway.link) == link_id);
    drop_link(&gateway);
}

TEST(a_silent_gateway_is_left_and_found_again)
{
    struct gateway gateway;
    char url[128], wanted[64];
    start_joined(&gateway, url, sizeof url);
    gateway.mute = true;
    (void)snprintf(wanted, sizeof wanted, "lost %016" PRIx64, gateway.epoch);
    assert_true(process_expect(&peer, "reason=silence", NULL, 0, PATIENCE_MS));
    assert_true(process_expect(&peer, wanted, NULL, 0, PATIENCE_MS));
    drop_link(&gateway);
    gateway.mute = false;
    welcome(&gateway);
    expect_answer(&gateway);
    drop_link(&gateway);
}

TEST(a_hole_in_the_sequence_ends_the_link_and_begins_another)
{
    struct gateway gateway;
    struct sample_envelope s;
    char url[128];
    uint64_t epoch = start_joined(&gateway, url, sizeof url);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.envelope.src_epoch = gateway.epoch;
    s.envelope.dst_epoch = epoch;
    s.envelope.link = baton_link_id(gateway.link);
    s.envelope.link_seq = 1000000;
    expect_hung_up(push_raw(url, &s.envelope));
    assert_true(process_expect(&peer, "a message was lost", NULL, 0, PATIENCE_MS));
    assert_true(process_expect(&peer, "lost ", NULL, 0, PATIENCE_MS));
    drop_link(&gateway);
    welcome(&gateway);
    expect_answer(&gateway);
    drop_link(&gateway);
}

TEST(a_repeated_hello_and_an_old_message_change_nothing)
{
    struct gateway gateway;
    struct sample_envelope s;
    struct baton_message message;
    char url[128];
    uint64_t epoch = start_joined(&gateway, url, sizeof url);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_HELLO);
    s.envelope.src_epoch = epoch;
    s.envelope.dst_epoch = 0;
    s.envelope.link = baton_link_id(gateway.link);
    int to_gateway = push_raw(baton_inbox_url(box.inbox), &s.envelope);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_RESERVE);
    s.envelope.src_epoch = gateway.epoch;
    s.envelope.dst_epoch = epoch;
    s.envelope.link = baton_link_id(gateway.link);
    int to_worker = push_raw(url, &s.envelope); /* link_seq 1 was the Welcome */
    assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_HELLO, &message, 300));
    assert_false(gateway_take(&gateway, BATON__V1__ENVELOPE__BODY_RESERVED, &message, 300));
    expect_answer(&gateway);
    close(to_gateway);
    close(to_worker);
    drop_link(&gateway);
}

#define RUN(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN(a_killed_peer_is_noticed_within_100_ms),
        RUN(a_stopped_peer_makes_no_event),
        RUN(many_messages_arrive_in_order),
        RUN(forty_megabytes_of_context_arrive_intact),
        RUN(back_pressure_reaches_the_sender_and_loses_nothing),
        RUN(links_closed_and_peers_killed_under_load_leave_the_rest_working),
        RUN(garbage_on_the_port_disturbs_nobody),
        RUN(a_garbage_message_costs_its_sender_the_connection),
        RUN(an_announced_huge_message_is_not_waited_for),
        RUN(a_worker_joins_answers_and_leaves_when_everything_is_acked),
        RUN(the_wrong_model_and_the_wrong_token_are_refused_with_the_reason),
        RUN(a_restarted_worker_is_another_life_and_nothing_of_the_old_one_reaches_it),
        RUN(a_stopped_worker_falls_silent_and_joins_again_when_it_goes_on),
        RUN(a_worker_that_was_stopped_does_not_blame_its_gateway),
        RUN(a_silent_gateway_is_left_and_found_again),
        RUN(a_hole_in_the_sequence_ends_the_link_and_begins_another),
        RUN(a_repeated_hello_and_an_old_message_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
