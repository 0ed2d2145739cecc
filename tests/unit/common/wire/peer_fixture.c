#include "tests/unit/common/wire/peer_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/wire/frame.h"

enum { QUEUE = 256 };

struct mailbox box;
struct process peer;

int peer_set_up(void **state)
{
    (void)state;
    return mailbox_open(&box, NULL, QUEUE) ? -1 : 0;
}

int peer_tear_down(void **state)
{
    (void)state;
    process_end(&peer);
    mailbox_close(&box);
    return 0;
}

enum baton_err send_kind(struct baton_link *link, Baton__V1__Envelope__BodyCase kind,
                         const void *payload, size_t n)
{
    struct sample_envelope s;
    sample_envelope_init(&s, kind);
    return baton_link_send(link, &s.envelope, payload, n);
}

void peer_start(const char *const *argv, char *url, size_t size)
{
    char line[256];
    assert_true(process_start(&peer, argv));
    assert_true(process_expect(&peer, "url ", line, sizeof line, PATIENCE_MS));
    (void)snprintf(url, size, "%s", strstr(line, "url ") + 4);
}

int connect_raw(const char *url)
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

static void greet(int fd, uint64_t announced_bytes)
{
    static const uint8_t greeting[8] = {0, 'S', 'P', 0, 0, 0x50, 0, 0};
    uint8_t answer[8], length[8];
    assert_int_equal(write(fd, greeting, sizeof greeting), sizeof greeting);
    assert_int_equal(recv(fd, answer, sizeof answer, MSG_WAITALL), sizeof answer);
    assert_memory_equal(answer, greeting, 5);
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(announced_bytes >> (56 - 8 * i));
    assert_int_equal(write(fd, length, sizeof length), sizeof length);
}

int connect_push(const char *url, uint64_t announced_bytes)
{
    int fd = connect_raw(url);
    greet(fd, announced_bytes);
    return fd;
}

void push_on(int fd, const baton_envelope *envelope)
{
    uint8_t frame[1024];
    size_t header_bytes = baton__v1__envelope__get_packed_size(envelope);
    size_t n = baton_frame_size(header_bytes, 0);
    assert_true(n && n <= sizeof frame);
    baton__v1__envelope__pack(envelope, frame + BATON_FRAME_HEAD_BYTES);
    baton_frame_seal(frame, header_bytes, 0);
    greet(fd, n);
    assert_int_equal(write(fd, frame, n), n);
}

int push_raw(const char *url, const baton_envelope *envelope)
{
    int fd = connect_raw(url);
    push_on(fd, envelope);
    return fd;
}

void expect_hung_up(int fd)
{
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    uint8_t byte;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    ssize_t n = 1;
    while (n == 1)
        n = read(fd, &byte, 1);
    assert_true(!n || errno == ECONNRESET); /* and not that the time is up */
    close(fd);
}
