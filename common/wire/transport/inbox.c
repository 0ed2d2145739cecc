#include "common/wire/transport/inbox.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>

#include "common/base/clock.h"
#include "common/base/cond.h"
#include "common/base/log.h"
#include "common/wire/frame.h"
#include "common/wire/transport/nng_error.h"
#include "common/wire/transport/peer_socket.h"
#include "common/wire/transport/peer_tls.h"
#include "common/wire/transport/strangers.h"
#include "common/wire/url.h"

enum {
    DEFAULT_QUEUED_BYTES = 64 << 20,
    N_PEERS = 64,
    N_BANNED = 64,
    MAX_PIPES = 8192,
    DRAIN_MS = 1000,
    PATIENCE_MS = 5000
};

/* The address behind a pipe, remembered because asking for it costs a system call. */
struct peer {
    uint32_t pipe; /* 0: free */
    bool admitted;
    char host[48];
};

struct baton_inbox {
    nng_socket socket;
    nng_aio *aio; /* the one receive; `armed` says whether it is under way */
    void (*wake)(void *arg);
    void *wake_arg;
    char url[300];
    int port;
    size_t max_message_bytes;
    struct baton_strangers *strangers;
    struct baton_inbox_stats stats;
    struct peer peers[N_PEERS]; /* by pipe modulo N_PEERS */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t pipe_gone;
    size_t n_pipes;
    bool armed;                /* a receive is under way; one at a time keeps the order */
    bool draining;             /* closing: arrivals are dropped, new pipes refused */
    uint32_t banned[N_BANNED]; /* the last pipes rejected; their messages are dropped */
    size_t n_banned;
    size_t max_queued, max_queued_bytes;
    size_t head, n, n_bytes;
    nng_msg **ring;
};

/* ---- the queue; the lock is held ---- */

/* A message's size is known only once it is here, so one message may exceed the bytes. */
static bool has_room(const struct baton_inbox *inbox)
{
    return inbox->n < inbox->max_queued && inbox->n_bytes < inbox->max_queued_bytes;
}

static void push(struct baton_inbox *inbox, nng_msg *msg)
{
    inbox->ring[(inbox->head + inbox->n++) % inbox->max_queued] = msg;
    inbox->n_bytes += nng_msg_len(msg);
    baton_strangers_set_waiting(inbox->strangers, true);
}

static nng_msg *pop(struct baton_inbox *inbox)
{
    if (!inbox->n)
        return NULL;
    nng_msg *msg = inbox->ring[inbox->head];
    inbox->head = (inbox->head + 1) % inbox->max_queued;
    inbox->n--;
    inbox->n_bytes -= nng_msg_len(msg);
    baton_strangers_set_waiting(inbox->strangers, inbox->n > 0);
    return msg;
}

static uint32_t pipe_of(const nng_msg *msg)
{
    return (uint32_t)nng_pipe_id(nng_msg_get_pipe(msg));
}

static bool is_wanted(const struct baton_inbox *inbox, const nng_msg *msg)
{
    uint32_t pipe = pipe_of(msg);
    for (size_t i = 0; i < N_BANNED; i++)
        if (inbox->banned[i] == pipe)
            return false;
    return !inbox->draining;
}

/* Each message goes round the ring once, so those that stay keep their order. */
static void drop_unwanted(struct baton_inbox *inbox)
{
    for (size_t left = inbox->n; left; left--) {
        nng_msg *msg = pop(inbox);
        if (is_wanted(inbox, msg))
            push(inbox, msg);
        else
            nng_msg_free(msg);
    }
}

/* Claims the receive when it may be started; the caller then starts it without the lock, which is
 * never held across a call into NNG. While the queue is full no receive is claimed: TCP carries the
 * back-pressure to the senders, and the next take claims again. */
static bool claim_receive(struct baton_inbox *inbox)
{
    bool claimed = !inbox->armed && has_room(inbox);
    inbox->armed |= claimed;
    return claimed;
}

/* ---- receiving, on NNG's threads ---- */

static void on_received(void *arg)
{
    struct baton_inbox *inbox = arg;
    if (nng_aio_result(inbox->aio))
        return; /* the socket is closing: armed stays set, nothing is received any more */
    nng_msg *msg = nng_aio_get_msg(inbox->aio);
    nng_aio_set_msg(inbox->aio, NULL);
    bool stays = baton_strangers_heard(inbox->strangers, pipe_of(msg));
    /* A pipe that was rejected may still have had messages inside NNG. */
    pthread_mutex_lock(&inbox->lock);
    bool wanted = stays && is_wanted(inbox, msg);
    if (wanted)
        push(inbox, msg);
    inbox->armed = false;
    bool again = claim_receive(inbox);
    pthread_mutex_unlock(&inbox->lock);
    if (again)
        nng_recv_aio(inbox->socket, inbox->aio);
    /* After the push: the owner that wakes finds the message. */
    if (wanted)
        inbox->wake(inbox->wake_arg);
    else
        nng_msg_free(msg);
}

/* The address of a pipe's peer. False: the pipe is closed. */
static bool pipe_address(uint32_t pipe, struct sockaddr_storage *address)
{
    nng_sockaddr found;
    if (nng_pipe_get_addr((nng_pipe){.id = pipe}, NNG_OPT_REMADDR, &found))
        return false;
    *address = (struct sockaddr_storage){0};
    if (found.s_family == NNG_AF_INET) {
        struct sockaddr_in *in = (struct sockaddr_in *)(void *)address;
        in->sin_family = AF_INET;
        in->sin_port = found.s_in.sa_port;
        in->sin_addr.s_addr = found.s_in.sa_addr;
    } else {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)address;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = found.s_in6.sa_port;
        memcpy(&in6->sin6_addr, found.s_in6.sa_addr, sizeof in6->sin6_addr);
    }
    return true;
}

/* Nothing is received on the pipe yet, so NNG closes it safely. */
static void on_pipe_adding(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    struct baton_inbox *inbox = arg;
    struct sockaddr_storage peer = {0};
    (void)event;
    pthread_mutex_lock(&inbox->lock);
    bool refuse = inbox->draining || inbox->n_pipes >= MAX_PIPES;
    inbox->n_pipes++;
    pthread_mutex_unlock(&inbox->lock);
    (void)pipe_address((uint32_t)nng_pipe_id(pipe), &peer);
    if (refuse || !baton_strangers_add(inbox->strangers, (uint32_t)nng_pipe_id(pipe), &peer))
        (void)nng_pipe_close(pipe);
}

static void on_pipe_removed(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    struct baton_inbox *inbox = arg;
    (void)event;
    baton_strangers_forget(inbox->strangers, (uint32_t)nng_pipe_id(pipe));
    pthread_mutex_lock(&inbox->lock);
    inbox->n_pipes--;
    pthread_cond_signal(&inbox->pipe_gone);
    pthread_mutex_unlock(&inbox->lock);
}

/* ---- open and close ---- */

static enum baton_err listen_on(struct baton_inbox *inbox, const char *text, struct baton_why *why)
{
    struct baton_url url;
    nng_listener listener;
    enum baton_err err = baton_url_parse(text, &url, why);
    if (!err)
        err = baton_peer_tls_check(&url, text, why);
    if (err)
        return err;
    /* NNG allocates as much as a message's length says. Without a limit, eight bytes from any
     * client could make it allocate without bound. */
    int rv = nng_socket_set_size(inbox->socket, NNG_OPT_RECVMAXSZ, inbox->max_message_bytes);
    if (!rv)
        rv = nng_pipe_notify(inbox->socket, NNG_PIPE_EV_ADD_PRE, on_pipe_adding, inbox);
    if (!rv)
        rv = nng_pipe_notify(inbox->socket, NNG_PIPE_EV_REM_POST, on_pipe_removed, inbox);
    if (!rv)
        rv = baton_peer_listen(inbox->socket, text, &listener);
    if (!rv)
        rv = nng_listener_get_int(listener, NNG_OPT_TCP_BOUND_PORT, &inbox->port);
    if (rv)
        return baton_nng_fail(why, rv, "listen on", text);
    baton_strangers_set_port(inbox->strangers, inbox->port);
    return baton_url_format(&url, url.host, inbox->port, inbox->url, sizeof inbox->url, why);
}

static void destroy(struct baton_inbox *inbox)
{
    for (nng_msg *msg; (msg = pop(inbox));)
        nng_msg_free(msg);
    nng_aio_free(inbox->aio);
    baton_strangers_stop(inbox->strangers);
    pthread_cond_destroy(&inbox->pipe_gone);
    pthread_mutex_destroy(&inbox->lock);
    free(inbox->ring);
    free(inbox);
}

static struct baton_inbox *create(const struct baton_inbox_options *options)
{
    struct baton_inbox *inbox = calloc(1, sizeof *inbox);
    if (!inbox)
        return NULL;
    pthread_mutex_init(&inbox->lock, NULL);
    baton_cond_init(&inbox->pipe_gone);
    inbox->wake = options->wake;
    inbox->wake_arg = options->wake_arg;
    inbox->max_queued = options->max_queued;
    inbox->max_queued_bytes =
        options->max_queued_bytes ? options->max_queued_bytes : DEFAULT_QUEUED_BYTES;
    inbox->max_message_bytes =
        options->max_message_bytes
            ? options->max_message_bytes
            : baton_frame_size(BATON_FRAME_MAX_HEADER, BATON_FRAME_MAX_PAYLOAD);
    inbox->ring = calloc(options->max_queued, sizeof(nng_msg *));
    int64_t patience_ns = options->patience_ns ? options->patience_ns : PATIENCE_MS * BATON_MS;
    if (!inbox->ring || baton_strangers_start(patience_ns, &inbox->strangers) ||
        nng_aio_alloc(&inbox->aio, on_received, inbox)) {
        destroy(inbox);
        return NULL;
    }
    return inbox;
}

enum baton_err baton_inbox_open(const struct baton_inbox_options *options,
                                struct baton_inbox **inbox, struct baton_why *why)
{
    struct baton_inbox *opened = options->max_queued ? create(options) : NULL;
    if (!opened)
        return baton_fail(why, BATON_NO_MEMORY, "inbox \"%s\": no memory for %zu messages",
                          options->url, options->max_queued);
    int rv = nng_pull0_open(&opened->socket);
    if (rv) {
        destroy(opened);
        return baton_nng_fail(why, rv, "open an inbox for", options->url);
    }
    enum baton_err err = listen_on(opened, options->url, why);
    if (err) {
        nng_close(opened->socket);
        destroy(opened);
        return err;
    }
    opened->armed = true;
    nng_recv_aio(opened->socket, opened->aio);
    *inbox = opened;
    return BATON_OK;
}

/* Ends every connection before NNG may close one itself (hang_up.h says why), and waits until NNG
 * has noticed. NNG notices by receiving, so receiving goes on and arrivals are dropped. After
 * DRAIN_MS the close goes on regardless. */
static void drain(struct baton_inbox *inbox)
{
    int64_t until_ns = baton_now_ns() + DRAIN_MS * BATON_MS;
    pthread_mutex_lock(&inbox->lock);
    inbox->draining = true;
    drop_unwanted(inbox);
    bool receive = claim_receive(inbox);
    pthread_mutex_unlock(&inbox->lock);
    if (receive)
        nng_recv_aio(inbox->socket, inbox->aio);
    baton_strangers_end_all(inbox->strangers);
    pthread_mutex_lock(&inbox->lock);
    while (inbox->n_pipes && baton_cond_wait_until(&inbox->pipe_gone, &inbox->lock, until_ns))
        ;
    pthread_mutex_unlock(&inbox->lock);
}

void baton_inbox_close(struct baton_inbox *inbox)
{
    if (!inbox)
        return;
    drain(inbox);
    nng_aio_stop(inbox->aio);
    nng_close(inbox->socket); /* waits for the last pipe event */
    destroy(inbox);
}

const char *baton_inbox_url(const struct baton_inbox *inbox)
{
    return inbox->url;
}

void baton_inbox_get_stats(const struct baton_inbox *inbox, struct baton_inbox_stats *stats)
{
    *stats = inbox->stats;
    baton_strangers_get_stats(inbox->strangers, &stats->strangers);
}

/* ---- taking, on the owner's thread ---- */

/* Numeric, so no name server is asked. */
static void ask_peer(uint32_t pipe, char *host, size_t size)
{
    struct sockaddr_storage peer;
    host[0] = 0; /* a pipe that is gone has no address to answer to */
    if (pipe_address(pipe, &peer))
        (void)getnameinfo((struct sockaddr *)&peer, sizeof peer, host, (socklen_t)size, NULL, 0,
                          NI_NUMERICHOST);
}

static const char *peer_host(struct baton_inbox *inbox, uint32_t pipe)
{
    /* NNG numbers pipes in order, so live ones rarely share a slot; a clash costs a system call. */
    struct peer *peer = &inbox->peers[pipe % N_PEERS];
    if (peer->pipe != pipe) {
        ask_peer(pipe, peer->host, sizeof peer->host);
        peer->admitted = false;
        peer->pipe = peer->host[0] ? pipe : 0;
    }
    return peer->host;
}

static nng_msg *take_raw(struct baton_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    nng_msg *msg = pop(inbox);
    bool receive = claim_receive(inbox);
    pthread_mutex_unlock(&inbox->lock);
    if (receive)
        nng_recv_aio(inbox->socket, inbox->aio);
    return msg;
}

/* The payload stays in NNG's message, uncopied; the envelope is unpacked into an arena whose cap is
 * in proportion to its bytes. */
static enum baton_err open_message(struct baton_message *message, struct baton_why *why)
{
    struct baton_frame frame;
    nng_msg *msg = message->nng_msg;
    int64_t begin_ns = baton_now_ns();
    enum baton_err err = baton_frame_open(nng_msg_body(msg), nng_msg_len(msg), &frame, why);
    message->crc_s = baton_seconds(baton_now_ns() - begin_ns);
    if (err)
        return err;
    message->arena = baton_arena_create(baton_envelope_arena_bytes(frame.header_bytes));
    if (!message->arena)
        return baton_fail(why, BATON_NO_MEMORY, "no memory to unpack a message");
    message->payload = frame.payload;
    message->payload_bytes = frame.payload_bytes;
    err = baton_envelope_unpack(frame.header, frame.header_bytes, message->arena,
                                &message->envelope, why);
    return err ? err : baton_envelope_check(message->envelope, frame.payload_bytes, why);
}

bool baton_inbox_take(struct baton_inbox *inbox, struct baton_message *message)
{
    static struct baton_log_limit limit;
    for (nng_msg *msg; (msg = take_raw(inbox));) {
        struct baton_message taken = {.nng_msg = msg, .pipe = pipe_of(msg)};
        struct baton_why why;
        memcpy(taken.peer_host, peer_host(inbox, taken.pipe), sizeof taken.peer_host);
        if (!open_message(&taken, &why)) {
            inbox->stats.n_received++;
            inbox->stats.n_bytes += nng_msg_len(msg);
            *message = taken;
            return true;
        }
        baton_log_limited(&limit, BATON_LOG_WARN, "message_rejected", BATON_S("inbox", inbox->url),
                          BATON_S("peer", taken.peer_host), BATON_S("reason", why.text));
        baton_inbox_reject(inbox, &taken);
        baton_message_fini(&taken);
    }
    return false;
}

void baton_inbox_end_pipe(struct baton_inbox *inbox, uint32_t pipe)
{
    struct sockaddr_storage peer;
    pthread_mutex_lock(&inbox->lock);
    /* Banned first: later messages of the pipe must not be taken for a new link. */
    inbox->banned[inbox->n_banned++ % N_BANNED] = pipe;
    drop_unwanted(inbox);
    bool receive = claim_receive(inbox);
    pthread_mutex_unlock(&inbox->lock);
    if (receive)
        nng_recv_aio(inbox->socket, inbox->aio);
    if (pipe_address(pipe, &peer))
        baton_strangers_reject(inbox->strangers, pipe, &peer);
}

void baton_inbox_reject(struct baton_inbox *inbox, const struct baton_message *message)
{
    inbox->stats.n_rejected++;
    baton_inbox_end_pipe(inbox, message->pipe);
}

void baton_inbox_admit(struct baton_inbox *inbox, const struct baton_message *message)
{
    struct peer *peer = &inbox->peers[message->pipe % N_PEERS];
    bool known = peer->pipe == message->pipe;
    if (known && peer->admitted)
        return;
    baton_strangers_admit(inbox->strangers, message->pipe);
    if (known)
        peer->admitted = true;
}

void baton_inbox_reject_stranger(struct baton_inbox *inbox, const struct baton_message *message)
{
    if (baton_strangers_has(inbox->strangers, message->pipe))
        baton_inbox_reject(inbox, message);
}

void baton_message_fini(struct baton_message *message)
{
    baton_arena_destroy(message->arena);
    nng_msg_free(message->nng_msg);
    memset(message, 0, sizeof *message);
}
