/* Offers of KV pools over a Unix socket: what is taken, and what is turned away. */
#include "tests/support/test.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/random.h"
#include "worker/kv/offer.h"

#include "common/base/array.h"

enum { NOBODY = 65534 };

static struct baton_kv_offers *offers;
static struct baton_kv_offer sample;
static int file;

SETUP(set_up)
{
    sample = (struct baton_kv_offer){.link = 7,
                                     .sender_epoch = 11,
                                     .receiver_epoch = baton_random_id(),
                                     .request_id = 1,
                                     .attempt = 2,
                                     .n_blocks = 3,
                                     .ticket = {{1, 2, 3}}};
    memset(sample.kv_layout, 'a', sizeof sample.kv_layout - 1);
    file = memfd_create("pool", MFD_CLOEXEC);
    assert_true(file >= 0);
    assert_ok(baton_kv_offers_open(sample.receiver_epoch, &offers, NULL));
}

TEARDOWN(tear_down)
{
    baton_kv_offers_close(offers);
    close(file);
}

/* ---- the message ---- */

TEST(an_offer_survives_the_trip)
{
    uint8_t bytes[BATON_KV_OFFER_BYTES];
    struct baton_kv_offer parsed = {0};
    baton_kv_offer_pack(&sample, bytes);
    assert_ok(baton_kv_offer_parse(bytes, sizeof bytes, &parsed, NULL));
    assert_memory_equal(&parsed, &sample, sizeof parsed);
}

TEST(an_invalid_offer_is_refused_by_its_field)
{
    static const struct {
        size_t at, n;
        uint8_t value;
        const char *text;
    } cases[] = {{0, 1, 0, "not an offer"}, {8, 1, 2, "version: 2 is not 1"},
                 {12, 4, 0, "n_blocks: 0"}, {15, 1, 1, "n_blocks: 16777219"},
                 {16, 8, 0, "link"},        {24, 8, 0, "epochs"},
                 {32, 8, 0, "epochs"},      {40, 8, 0, "request"},
                 {48, 4, 0, "attempt"},     {52, 1, 1, "not an offer"},
                 {72, 1, 'g', "kv_layout"}, {135, 1, 0, "kv_layout"}};
    uint8_t bytes[BATON_KV_OFFER_BYTES + 1] = {0};
    struct baton_kv_offer parsed;
    struct baton_why why;
    for (size_t i = 0; i < BATON_N_OF(cases); i++) {
        baton_kv_offer_pack(&sample, bytes);
        memset(bytes + cases[i].at, cases[i].value, cases[i].n);
        assert_int_equal(baton_kv_offer_parse(bytes, BATON_KV_OFFER_BYTES, &parsed, &why),
                         BATON_INVALID);
        if (!strstr(why.text, cases[i].text))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].text, why.text);
    }
    baton_kv_offer_pack(&sample, bytes);
    for (size_t n = 0; n <= sizeof bytes; n++)
        assert_int_equal(!baton_kv_offer_parse(bytes, n, &parsed, &why), n == BATON_KV_OFFER_BYTES);
}

/* ---- sockets ---- */

static void send_sample(uint64_t link)
{
    struct baton_kv_offer offer = sample;
    struct baton_why why = {""};
    offer.link = link;
    if (baton_kv_offer_send(&offer, file, &why))
        fail_msg("%s", why.text);
}

/* Connects as a process would that knows nothing but the name. */
static int connect_raw(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char name[BATON_KV_OFFER_NAME_BYTES];
    assert_ok(baton_kv_offer_name(sample.receiver_epoch, name));
    memcpy(address.sun_path + 1, name, strlen(name));
    if (connect(connection, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)))) {
        close(connection);
        return -1;
    }
    return connection;
}

TEST(the_name_of_a_socket_does_not_show_the_epoch)
{
    char name[BATON_KV_OFFER_NAME_BYTES], again[BATON_KV_OFFER_NAME_BYTES], epoch[17];
    assert_ok(baton_kv_offer_name(sample.receiver_epoch, name));
    assert_ok(baton_kv_offer_name(sample.receiver_epoch, again));
    assert_string_equal(name, again);
    (void)snprintf(epoch, sizeof epoch, "%016llx", (unsigned long long)sample.receiver_epoch);
    assert_null(strstr(name, epoch));
    assert_ok(baton_kv_offer_name(sample.receiver_epoch + 1, again));
    assert_string_not_equal(name, again);
}

static bool is_there(uint64_t link)
{
    struct baton_kv_offer offer;
    int fd = baton_kv_offers_take(offers, link, &offer);
    if (fd >= 0) {
        assert_int_equal(offer.link, link);
        close(fd);
    }
    return fd >= 0;
}

TEST(each_link_finds_its_own_offer_once)
{
    struct baton_kv_offer offer = {0};
    assert_false(is_there(1));
    send_sample(1);
    send_sample(2);
    int fd = baton_kv_offers_take(offers, 2, &offer);
    assert_true(fd >= 0);
    assert_int_equal(offer.link, 2);
    assert_int_equal(write(file, "here", 4), 4); /* the same file, not one like it */
    char text[4];
    assert_int_equal(pread(fd, text, sizeof text, 0), 4);
    assert_memory_equal(text, "here", 4);
    close(fd);
    assert_false(is_there(2));
    assert_true(is_there(1));
    assert_int_equal(baton_kv_offers_n_refused(offers), 0);
}

TEST(an_offer_without_a_listener_is_an_error)
{
    struct baton_kv_offer offer = sample;
    struct baton_why why = {""};
    offer.receiver_epoch = baton_random_id();
    assert_int_equal(baton_kv_offer_send(&offer, file, &why), BATON_NOT_FOUND);
    baton_kv_offers_close(offers);
    offers = NULL;
    assert_int_equal(baton_kv_offer_send(&sample, file, &why), BATON_NOT_FOUND);
}

TEST(one_name_has_one_owner)
{
    struct baton_kv_offers *others = NULL;
    struct baton_why why = {""};
    assert_int_equal(baton_kv_offers_open(sample.receiver_epoch, &others, &why), BATON_IO);
    assert_non_null(strstr(why.text, "in use"));
}

/* Sends bytes [n] with files [n_files], each the same. */
static void send_raw(const void *bytes, size_t n, int n_files)
{
    char control[CMSG_SPACE(3 * sizeof(int))] = {0};
    struct iovec part = {(void *)(uintptr_t)bytes, n};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int connection = connect_raw();
    assert_true(connection >= 0);
    if (n_files) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE((size_t)n_files * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN((size_t)n_files * sizeof(int));
        for (int i = 0; i < n_files; i++)
            memcpy(CMSG_DATA(header) + (size_t)i * sizeof file, &file, sizeof file);
    }
    assert_int_equal(sendmsg(connection, &message, 0), (ssize_t)n);
    close(connection);
}

static int count_files(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

TEST(an_invalid_offer_is_refused_and_leaves_no_descriptor)
{
    uint8_t bytes[BATON_KV_OFFER_BYTES + 1] = {0};
    struct baton_kv_offer other = sample;
    int n_files = count_files();
    baton_kv_offer_pack(&sample, bytes);
    send_raw(bytes, BATON_KV_OFFER_BYTES, 0);
    send_raw(bytes, BATON_KV_OFFER_BYTES, 2);
    send_raw(bytes, BATON_KV_OFFER_BYTES, 3);
    send_raw(bytes, BATON_KV_OFFER_BYTES + 1, 1);
    send_raw(bytes, BATON_KV_OFFER_BYTES - 1, 1);
    other.receiver_epoch++;
    baton_kv_offer_pack(&other, bytes);
    send_raw(bytes, BATON_KV_OFFER_BYTES, 1);
    close(connect_raw());
    assert_false(is_there(sample.link));
    assert_int_equal(baton_kv_offers_n_refused(offers), 7);
    assert_int_equal(count_files(), n_files);
}

/* A sender may be between its connect and its message when another one's context begins. */
TEST(a_connection_without_a_word_waits_but_not_for_ever)
{
    uint8_t bytes[BATON_KV_OFFER_BYTES];
    int late = connect_raw(), silent[BATON_KV_OFFERS_MAX];
    assert_false(is_there(1));
    baton_kv_offer_pack(&sample, bytes);
    struct iovec part = {bytes, sizeof bytes};
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    *CMSG_FIRSTHDR(&message) = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof file), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &file, sizeof file);
    assert_int_equal(sendmsg(late, &message, 0), (ssize_t)sizeof bytes);
    close(late);
    assert_true(is_there(sample.link));
    send_sample(1);
    for (int i = 0; i < BATON_KV_OFFERS_MAX; i++) {
        silent[i] = connect_raw();
        assert_false(is_there(99));
    }
    assert_int_equal(baton_kv_offers_n_refused(offers), 1); /* the oldest, which is the offer */
    assert_false(is_there(1));
    send_sample(2);
    assert_true(is_there(2));
    for (int i = 0; i < BATON_KV_OFFERS_MAX; i++)
        close(silent[i]);
}

/* The kernel keeps so many waiting, and no more; what strangers left is gone at the next look. */
TEST(a_flood_of_connections_is_bounded_and_passes)
{
    enum { FLOOD = 200 };
    struct baton_why why = {""};
    int connections[FLOOD], n = 0;
    while (n < FLOOD && (connections[n] = connect_raw()) >= 0)
        n++;
    assert_in_range(n, 1, FLOOD - 1);
    assert_int_equal(baton_kv_offer_send(&sample, file, &why), BATON_AGAIN);
    assert_false(is_there(sample.link));
    send_sample(sample.link);
    assert_true(is_there(sample.link));
    while (n)
        close(connections[--n]);
}

/* While strangers fill the queue, no sender can connect to trigger a poll. */
TEST(a_poll_alone_empties_the_queue)
{
    struct baton_why why = {""};
    int connections[200], n = 0;
    while (n < 200 && (connections[n] = connect_raw()) >= 0)
        n++;
    assert_int_equal(baton_kv_offer_send(&sample, file, &why), BATON_AGAIN);
    baton_kv_offers_poll(offers);
    send_sample(sample.link);
    assert_true(is_there(sample.link));
    while (n)
        close(connections[--n]);
}

/* The checks of a child of another user; 0: all hold. */
static int as_nobody(void)
{
    struct baton_why why = {""};
    if (setgid(NOBODY) || setuid(NOBODY))
        return 2;
    int n = 0;
    while (n < 100 && connect_raw() >= 0)
        n++;
    return baton_kv_offer_send(&sample, file, &why) == (n < 100 ? BATON_AGAIN : BATON_PEER) ? 0 : 3;
}

static int wait_for(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(processes_of_another_user_are_ended_at_once)
{
    if (geteuid())
        skip(); /* only root can become another user */
    pid_t child = fork();
    if (!child)
        _exit(as_nobody());
    assert_int_equal(wait_for(child), 0);
    assert_false(is_there(sample.link));
    assert_true(baton_kv_offers_n_refused(offers) > 0);
    send_sample(sample.link);
    assert_true(is_there(sample.link));
}

/* A name outlives its owner, and another user may take it: he gets no pool. */
TEST(no_pool_goes_to_another_users_process)
{
    int ready[2], done[2];
    char byte = 0;
    struct baton_why why = {""};
    if (geteuid())
        skip();
    assert_int_equal(pipe(ready) || pipe(done), 0);
    sample.receiver_epoch = baton_random_id();
    pid_t child = fork();
    if (!child) {
        struct baton_kv_offers *squatter;
        struct baton_kv_offer got;
        close(done[1]);
        if (setgid(NOBODY) || setuid(NOBODY) ||
            baton_kv_offers_open(sample.receiver_epoch, &squatter, NULL) ||
            write(ready[1], "x", 1) != 1)
            _exit(2);
        (void)!read(done[0], &byte, 1);
        _exit(baton_kv_offers_take(squatter, sample.link, &got) >= 0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(baton_kv_offer_send(&sample, file, &why), BATON_PEER);
    assert_non_null(strstr(why.text, "user 65534"));
    close(done[1]);
    assert_int_equal(wait_for(child), 0);
    close(ready[0]);
    close(ready[1]);
    close(done[0]);
}

EACH_TEST(set_up, tear_down)
