#include "worker/kv/offer.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/log.h"

enum { VERSION = 1, BACKLOG = 16, MAX_ACCEPTED = 64 };

static const char magic[8] = "BATONKV";

/* ---- the message ---- */

/* The message on the wire. */
struct packed {
    char magic[8];
    uint32_t version, n_blocks;
    uint64_t link, sender_epoch, receiver_epoch, request_id;
    uint32_t attempt, zero;
    uint8_t ticket[BATON_TICKET_BYTES];
    char kv_layout[BATON_SHA256_HEX - 1];
};

_Static_assert(sizeof(struct packed) == BATON_KV_OFFER_BYTES, "the header draws it");
_Static_assert(offsetof(struct packed, ticket) == 56, "the header draws it");

void baton_kv_offer_pack(const struct baton_kv_offer *offer, uint8_t bytes[BATON_KV_OFFER_BYTES])
{
    struct packed packed = {.version = htole32(VERSION),
                            .n_blocks = htole32(offer->n_blocks),
                            .link = htole64(offer->link),
                            .sender_epoch = htole64(offer->sender_epoch),
                            .receiver_epoch = htole64(offer->receiver_epoch),
                            .request_id = htole64(offer->request_id),
                            .attempt = htole32(offer->attempt)};
    memcpy(packed.magic, magic, sizeof magic);
    memcpy(packed.ticket, offer->ticket.bytes, sizeof packed.ticket);
    memcpy(packed.kv_layout, offer->kv_layout, sizeof packed.kv_layout);
    memcpy(bytes, &packed, sizeof packed);
}

static bool is_hex(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!text[i] || !strchr("0123456789abcdef", text[i]))
            return false;
    return true;
}

static enum baton_err check(const struct baton_kv_offer *offer, struct baton_why *why)
{
    if (!offer->n_blocks || offer->n_blocks > BATON_KV_OFFER_MAX_BLOCKS)
        return baton_fail(why, BATON_INVALID, "n_blocks: %u is outside 1..%d", offer->n_blocks,
                          BATON_KV_OFFER_MAX_BLOCKS);
    if (!offer->link || !offer->sender_epoch || !offer->receiver_epoch || !offer->request_id ||
        !offer->attempt)
        return baton_fail(why, BATON_INVALID, "link, epochs, request and attempt are not 0");
    if (!is_hex(offer->kv_layout, sizeof offer->kv_layout - 1))
        return baton_fail(why, BATON_INVALID, "kv_layout: not %d hexadecimal digits",
                          BATON_SHA256_HEX - 1);
    return BATON_OK;
}

enum baton_err baton_kv_offer_parse(const uint8_t *bytes, size_t n, struct baton_kv_offer *out,
                                    struct baton_why *why)
{
    struct packed packed;
    if (n != sizeof packed)
        return baton_fail(why, BATON_INVALID, "%zu bytes are not %zu", n, sizeof packed);
    memcpy(&packed, bytes, sizeof packed);
    if (memcmp(packed.magic, magic, sizeof magic) != 0 || packed.zero)
        return baton_fail(why, BATON_INVALID, "the message is not an offer of a KV pool");
    if (le32toh(packed.version) != VERSION)
        return baton_fail(why, BATON_INVALID, "version: %u is not %d", le32toh(packed.version),
                          VERSION);
    struct baton_kv_offer offer = {.link = le64toh(packed.link),
                                   .sender_epoch = le64toh(packed.sender_epoch),
                                   .receiver_epoch = le64toh(packed.receiver_epoch),
                                   .request_id = le64toh(packed.request_id),
                                   .attempt = le32toh(packed.attempt),
                                   .n_blocks = le32toh(packed.n_blocks)};
    memcpy(offer.ticket.bytes, packed.ticket, sizeof packed.ticket);
    memcpy(offer.kv_layout, packed.kv_layout, sizeof packed.kv_layout);
    enum baton_err err = check(&offer, why);
    if (!err)
        *out = offer;
    return err;
}

/* ---- sockets ---- */

/* SOCK_SEQPACKET keeps messages apart, and has connections, so the kernel knows the peer's user. */
static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* /proc/net/unix shows names to every user, so half of the digest is all that a name has of the
 * epoch. */
enum baton_err baton_kv_offer_name(uint64_t epoch, char name[BATON_KV_OFFER_NAME_BYTES])
{
    static const char purpose[] = "baton kv offers";
    uint8_t text[sizeof purpose + sizeof epoch], digest[BATON_SHA256_BYTES];
    uint64_t part;
    memcpy(text, purpose, sizeof purpose);
    memcpy(text + sizeof purpose, &epoch, sizeof epoch);
    enum baton_err err = baton_sha256_of(text, sizeof text, digest);
    if (err)
        return err;
    memcpy(&part, digest, sizeof part);
    (void)snprintf(name, BATON_KV_OFFER_NAME_BYTES, "baton-kv-%016llx", (unsigned long long)part);
    return BATON_OK;
}

/* An abstract address begins with a zero byte and has no terminator. */
static enum baton_err address_of(uint64_t epoch, struct sockaddr_un *address, socklen_t *n)
{
    char name[BATON_KV_OFFER_NAME_BYTES];
    enum baton_err err = baton_kv_offer_name(epoch, name);
    if (err)
        return err;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, name, strlen(name));
    *n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    return BATON_OK;
}

/* Whether the process at the other end has this one's user. */
static bool is_own_users(int connection, unsigned *uid)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t n = sizeof peer;
    bool is_known = !getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &n);
    *uid = peer.uid;
    return is_known && peer.uid == geteuid();
}

/* Ancillary data of one file. A receiver must pass CMSG_LEN: the padding of CMSG_SPACE has room for
 * a second descriptor, which would leak. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_with_file(int connection, const struct baton_kv_offer *offer, int fd)
{
    uint8_t bytes[BATON_KV_OFFER_BYTES];
    union control control = {0};
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    baton_kv_offer_pack(offer, bytes);
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    return sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof bytes;
}

static enum baton_err connect_to(int connection, uint64_t epoch, struct baton_why *why)
{
    struct sockaddr_un address;
    socklen_t n;
    unsigned uid;
    if (address_of(epoch, &address, &n))
        return baton_fail(why, BATON_NO_MEMORY, "no memory for the name of its socket");
    if (connect(connection, (struct sockaddr *)&address, n)) {
        if (errno == ECONNREFUSED)
            return baton_fail(why, BATON_NOT_FOUND, "it takes no offers on this host");
        return baton_fail(why, errno == EAGAIN ? BATON_AGAIN : BATON_IO, "connecting to it: %s",
                          strerror(errno));
    }
    if (!is_own_users(connection, &uid))
        return baton_fail(why, BATON_PEER, "it is a process of user %u", uid);
    return BATON_OK;
}

enum baton_err baton_kv_offer_send(const struct baton_kv_offer *offer, int fd,
                                   struct baton_why *why)
{
    int connection = open_socket();
    if (connection < 0)
        return baton_fail(why, BATON_IO, "no socket: %s", strerror(errno));
    enum baton_err err = connect_to(connection, offer->receiver_epoch, why);
    if (!err && !send_with_file(connection, offer, fd))
        err = baton_fail(why, BATON_IO, "sending the offer: %s", strerror(errno));
    close(connection); /* the sent message stays readable */
    return err;
}

/* ---- the receiving end ---- */

struct slot {
    uint64_t number;             /* in order of arrival; 0: empty */
    int connection;              /* without a message yet; -1: none */
    int fd;                      /* of the offer that arrived; -1: none */
    struct baton_kv_offer offer; /* with fd */
};

struct baton_kv_offers {
    int listener;
    uint64_t epoch, n_accepted, n_refused;
    struct slot slots[BATON_KV_OFFERS_MAX];
};

static void close_if_open(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void empty(struct slot *slot)
{
    close_if_open(&slot->connection);
    close_if_open(&slot->fd);
    slot->number = 0;
}

static void refuse(struct baton_kv_offers *offers, unsigned uid, const char *reason)
{
    static struct baton_log_limit limit;
    offers->n_refused++;
    baton_log_limited(&limit, BATON_LOG_WARN, "kv_offer_refused", BATON_I("uid", uid),
                      BATON_S("reason", reason));
}

enum baton_err baton_kv_offers_open(uint64_t epoch, struct baton_kv_offers **out,
                                    struct baton_why *why)
{
    struct sockaddr_un address;
    socklen_t n;
    struct baton_kv_offers *offers = calloc(1, sizeof *offers);
    if (!offers || address_of(epoch, &address, &n)) {
        free(offers);
        return baton_fail(why, BATON_NO_MEMORY, "no memory for offers of KV pools");
    }
    offers->epoch = epoch;
    for (int i = 0; i < BATON_KV_OFFERS_MAX; i++)
        offers->slots[i].connection = offers->slots[i].fd = -1;
    offers->listener = open_socket();
    if (offers->listener < 0 || bind(offers->listener, (struct sockaddr *)&address, n) ||
        listen(offers->listener, BACKLOG)) {
        (void)baton_fail(why, BATON_IO, "a Unix socket for offers of KV pools: %s",
                         strerror(errno));
        baton_kv_offers_close(offers);
        return BATON_IO;
    }
    *out = offers;
    return BATON_OK;
}

void baton_kv_offers_close(struct baton_kv_offers *offers)
{
    if (!offers)
        return;
    for (int i = 0; i < BATON_KV_OFFERS_MAX; i++)
        empty(&offers->slots[i]);
    close_if_open(&offers->listener);
    free(offers);
}

/* An empty slot, or the oldest one, whose offer is dropped: a later KvBegin offers
 * the pool again. */
static struct slot *find_slot(struct baton_kv_offers *offers)
{
    struct slot *oldest = &offers->slots[0];
    for (int i = 1; i < BATON_KV_OFFERS_MAX; i++)
        if (offers->slots[i].number < oldest->number)
            oldest = &offers->slots[i];
    if (oldest->number)
        refuse(offers, geteuid(), "too many offers wait for their contexts");
    empty(oldest);
    return oldest;
}

static void accept_all(struct baton_kv_offers *offers)
{
    for (int i = 0; i < MAX_ACCEPTED; i++) {
        unsigned uid;
        int connection = accept4(offers->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection < 0)
            return;
        if (!is_own_users(connection, &uid)) {
            refuse(offers, uid, "a process of another user");
            close(connection);
            continue;
        }
        struct slot *slot = find_slot(offers);
        slot->connection = connection;
        slot->number = ++offers->n_accepted;
    }
}

/* The file beside a message; -1: there is none. The kernel closes descriptors that do not fit. */
static int file_of(struct msghdr *message)
{
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int fd = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return fd;
}

/* False: the message is not an offer to this life. */
static bool check_message(struct baton_kv_offers *offers, struct slot *slot, struct msghdr *message,
                          size_t n, struct baton_why *why)
{
    slot->fd = file_of(message);
    if (message->msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        return baton_fail(why, BATON_INVALID, "the message is longer than an offer"), false;
    if (baton_kv_offer_parse(message->msg_iov->iov_base, n, &slot->offer, why))
        return false;
    if (slot->fd < 0)
        return baton_fail(why, BATON_INVALID, "the offer has no file"), false;
    if (slot->offer.receiver_epoch != offers->epoch)
        return baton_fail(why, BATON_INVALID, "the offer is to another life"), false;
    return true;
}

static void read_slot(struct baton_kv_offers *offers, struct slot *slot)
{
    uint8_t bytes[BATON_KV_OFFER_BYTES];
    union control control = {0};
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_LEN(sizeof(int))};
    struct baton_why why = {"the connection ended without an offer"};
    ssize_t n = recvmsg(slot->connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EAGAIN)
        return; /* the sender has connected but not sent yet */
    if (n < 0 || !check_message(offers, slot, &message, (size_t)n, &why)) {
        refuse(offers, geteuid(), why.text);
        empty(slot);
        return;
    }
    close_if_open(&slot->connection);
}

void baton_kv_offers_poll(struct baton_kv_offers *offers)
{
    accept_all(offers);
    for (int i = 0; i < BATON_KV_OFFERS_MAX; i++)
        if (offers->slots[i].connection >= 0)
            read_slot(offers, &offers->slots[i]);
}

int baton_kv_offers_take(struct baton_kv_offers *offers, uint64_t link,
                         struct baton_kv_offer *offer)
{
    baton_kv_offers_poll(offers);
    for (int i = 0; i < BATON_KV_OFFERS_MAX; i++) {
        struct slot *slot = &offers->slots[i];
        if (slot->fd < 0 || slot->offer.link != link)
            continue;
        int fd = slot->fd;
        *offer = slot->offer;
        slot->fd = -1; /* the caller owns it now */
        empty(slot);
        return fd;
    }
    return -1;
}

uint64_t baton_kv_offers_n_refused(const struct baton_kv_offers *offers)
{
    return offers->n_refused;
}
