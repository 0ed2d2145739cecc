#include "common/wire/transport/outbox.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <nng/nng.h>
#include <nng/protocol/pipeline0/push.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/states.h"
#include "common/wire/frame.h"
#include "common/wire/transport/nng_error.h"
#include "common/wire/transport/peer_socket.h"
#include "common/wire/transport/peer_tls.h"
#include "common/wire/transport/tcp_path.h"
#include "common/wire/url.h"

enum { RECONNECT_MIN_MS = 10, RECONNECT_MAX_MS = 200, MAX_RECEIVED_BYTES = 64, LINGER_MS = 50 };

struct baton_outbox {
    nng_socket socket;
    nng_aio *aio;    /* the one send in flight; `sending` says who may touch it */
    int writable_fd; /* readable while the kernel has everything that NNG was given */
    void (*wake)(void *arg);
    void *wake_arg;
    int64_t connect_until_ns;

    /* Senders take turns here, so that NNG's callbacks never wait for a payload being copied. */
    pthread_mutex_t pack_lock;

    pthread_mutex_t lock;          /* guards what follows; taken after pack_lock */
    enum baton_outbox_state state; /* set_state alone changes it */
    uint32_t pipe;                 /* the one connection of this outbox's life; 0 before it */
    bool sending;
    bool starved; /* a sender was told AGAIN and waits for a wake-up */
    uint64_t n_sent;
    size_t max_queued, max_queued_bytes;
    size_t head, n, n_bytes;
    nng_msg **ring;
};

/* ---- the queue; the lock is held ---- */

/* An empty queue admits a message of any size, or one above the bound could never leave. */
static bool admits(const struct baton_outbox *outbox, size_t bytes)
{
    return !outbox->n || (outbox->n < outbox->max_queued && bytes <= outbox->max_queued_bytes &&
                          outbox->n_bytes <= outbox->max_queued_bytes - bytes);
}

static void push(struct baton_outbox *outbox, nng_msg *msg)
{
    outbox->ring[(outbox->head + outbox->n++) % outbox->max_queued] = msg;
    outbox->n_bytes += nng_msg_len(msg);
}

static nng_msg *pop(struct baton_outbox *outbox)
{
    if (!outbox->n)
        return NULL;
    nng_msg *msg = outbox->ring[outbox->head];
    outbox->head = (outbox->head + 1) % outbox->max_queued;
    outbox->n--;
    outbox->n_bytes -= nng_msg_len(msg);
    return msg;
}

static void drop_queue(struct baton_outbox *outbox)
{
    for (nng_msg *msg; (msg = pop(outbox));)
        nng_msg_free(msg);
}

/* Claims the send for the next message, NULL when it is busy or there is none. */
static nng_msg *claim_send(struct baton_outbox *outbox)
{
    nng_msg *msg = outbox->sending ? NULL : pop(outbox);
    outbox->sending |= msg != NULL;
    return msg;
}

/* Whether a starved sender should be told now. Half of the queue must be free: a wake-up for every
 * slot would cost more than the slot is worth. */
static bool end_starvation(struct baton_outbox *outbox)
{
    bool ended = outbox->starved && outbox->n <= outbox->max_queued / 2 &&
                 outbox->n_bytes <= outbox->max_queued_bytes / 2;
    outbox->starved &= !ended;
    return ended;
}

/* ---- sending, on any thread, without the lock ---- */

static void hand_over(struct baton_outbox *outbox, nng_msg *msg)
{
    if (!msg)
        return;
    /* claim_send made this thread the only one that touches the aio until on_sent. */
    nng_aio_set_msg(outbox->aio, msg);
    nng_send_aio(outbox->socket, outbox->aio);
}

static void on_sent(void *arg)
{
    struct baton_outbox *outbox = arg;
    if (nng_aio_result(outbox->aio)) { /* closing: the message is still ours */
        nng_msg_free(nng_aio_get_msg(outbox->aio));
        nng_aio_set_msg(outbox->aio, NULL);
        return; /* `sending` stays set, so nothing is handed over any more */
    }
    pthread_mutex_lock(&outbox->lock);
    outbox->sending = false;
    nng_msg *next = claim_send(outbox);
    bool wake = end_starvation(outbox);
    pthread_mutex_unlock(&outbox->lock);
    hand_over(outbox, next);
    if (wake)
        outbox->wake(outbox->wake_arg);
}

/* ---- states; the lock is held ---- */

#define TO(state) (1u << BATON_OUTBOX_##state)

static const unsigned edges[] = {[BATON_OUTBOX_CONNECTING] = TO(UP) | TO(DOWN),
                                 [BATON_OUTBOX_UP] = TO(DOWN),
                                 [BATON_OUTBOX_DOWN] = 0};
static const char *const names[] = {"connecting", "up", "down"};
static const struct baton_states states = {.object = "outbox", .names = names, .edges = edges};

static void set_state(struct baton_outbox *outbox, enum baton_outbox_state state)
{
    baton_states_check(&states, outbox->state, state);
    outbox->state = state;
    if (state == BATON_OUTBOX_DOWN)
        drop_queue(outbox); /* a link never recovers */
}

/* ---- pipe events, on NNG's threads ---- */

/* Our pipe came up, or went. The removal of a short-lived one may be reported before its addition;
 * DOWN then stays. */
static void pipe_changed(struct baton_outbox *outbox, nng_pipe pipe, enum baton_outbox_state state)
{
    pthread_mutex_lock(&outbox->lock);
    bool changed =
        outbox->pipe == (uint32_t)nng_pipe_id(pipe) && outbox->state != BATON_OUTBOX_DOWN;
    if (changed)
        set_state(outbox, state);
    pthread_mutex_unlock(&outbox->lock);
    if (changed)
        outbox->wake(outbox->wake_arg);
}

/* NNG dials again after a loss. A second connection would carry the rest of a sequence whose first
 * messages were lost, perhaps to a peer that has restarted. So it is closed before it is used. */
static void on_pipe_adding(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    struct baton_outbox *outbox = arg;
    (void)event;
    pthread_mutex_lock(&outbox->lock);
    bool first = !outbox->pipe && outbox->state == BATON_OUTBOX_CONNECTING;
    if (first)
        outbox->pipe = (uint32_t)nng_pipe_id(pipe);
    pthread_mutex_unlock(&outbox->lock);
    if (!first)
        (void)nng_pipe_close(pipe);
}

static void on_pipe_added(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    (void)event;
    pipe_changed(arg, pipe, BATON_OUTBOX_UP);
}

static void on_pipe_removed(nng_pipe pipe, nng_pipe_ev event, void *arg)
{
    (void)event;
    pipe_changed(arg, pipe, BATON_OUTBOX_DOWN);
}

/* ---- open and close ---- */

static int dial(struct baton_outbox *outbox, const char *url)
{
    nng_socket s = outbox->socket;
    /* No buffer of NNG's: all but the message in flight waits in our queue, where it counts. */
    int rv = nng_socket_set_int(s, NNG_OPT_SENDBUF, 0);
    if (!rv) /* an inbox never sends, and another kind of server must not fill our memory */
        rv = nng_socket_set_size(s, NNG_OPT_RECVMAXSZ, MAX_RECEIVED_BYTES);
    if (!rv)
        rv = nng_socket_get_int(s, NNG_OPT_SENDFD, &outbox->writable_fd);
    if (!rv)
        rv = nng_socket_set_ms(s, NNG_OPT_RECONNMINT, RECONNECT_MIN_MS);
    if (!rv)
        rv = nng_socket_set_ms(s, NNG_OPT_RECONNMAXT, RECONNECT_MAX_MS);
    if (!rv)
        rv = nng_pipe_notify(s, NNG_PIPE_EV_ADD_PRE, on_pipe_adding, outbox);
    if (!rv)
        rv = nng_pipe_notify(s, NNG_PIPE_EV_ADD_POST, on_pipe_added, outbox);
    if (!rv)
        rv = nng_pipe_notify(s, NNG_PIPE_EV_REM_POST, on_pipe_removed, outbox);
    return rv ? rv : baton_peer_dial(s, url);
}

static void destroy(struct baton_outbox *outbox)
{
    drop_queue(outbox);
    nng_aio_free(outbox->aio);
    pthread_mutex_destroy(&outbox->lock);
    pthread_mutex_destroy(&outbox->pack_lock);
    free(outbox->ring);
    free(outbox);
}

static struct baton_outbox *create(const struct baton_outbox_options *options)
{
    struct baton_outbox *outbox = calloc(1, sizeof *outbox);
    if (!outbox)
        return NULL;
    pthread_mutex_init(&outbox->pack_lock, NULL);
    pthread_mutex_init(&outbox->lock, NULL);
    outbox->wake = options->wake;
    outbox->wake_arg = options->wake_arg;
    outbox->connect_until_ns =
        options->connect_ns ? baton_now_ns() + options->connect_ns : INT64_MAX;
    outbox->max_queued = options->max_queued;
    outbox->max_queued_bytes = options->max_queued_bytes;
    outbox->ring = calloc(options->max_queued, sizeof(nng_msg *));
    if (!outbox->ring || nng_aio_alloc(&outbox->aio, on_sent, outbox)) {
        destroy(outbox);
        return NULL;
    }
    return outbox;
}

enum baton_err baton_outbox_open(const struct baton_outbox_options *options,
                                 struct baton_outbox **outbox, struct baton_why *why)
{
    struct baton_url url;
    enum baton_err err = baton_url_parse(options->url, &url, why);
    if (!err)
        err = baton_peer_tls_check(&url, options->url, why);
    if (err)
        return err;
    struct baton_outbox *opened = options->max_queued ? create(options) : NULL;
    if (!opened)
        return baton_fail(why, BATON_NO_MEMORY, "outbox \"%s\": no memory for %zu messages",
                          options->url, options->max_queued);
    int rv = nng_push0_open(&opened->socket);
    if (rv) {
        destroy(opened);
        return baton_nng_fail(why, rv, "open an outbox for", options->url);
    }
    rv = dial(opened, options->url);
    if (rv) {
        nng_close(opened->socket);
        destroy(opened);
        return baton_nng_fail(why, rv, "dial", options->url);
    }
    *outbox = opened;
    return BATON_OK;
}

/* Waits until the kernel has everything: a send that NNG accepted may still be in its hands. */
static void await_kernel(struct baton_outbox *outbox)
{
    struct pollfd writable = {.fd = outbox->writable_fd, .events = POLLIN};
    (void)poll(&writable, 1, LINGER_MS);
}

/* NNG must not close a connection in the middle of a message that moves
 * (common/wire/transport/hang_up.h). A message that a stalled peer holds up is safe, so the wait
 * has a bound. */
void baton_outbox_close(struct baton_outbox *outbox)
{
    if (!outbox)
        return;
    nng_aio_stop(outbox->aio);
    nng_msg *unsent = nng_aio_get_msg(outbox->aio); /* handed over while the aio was stopping */
    if (unsent)
        nng_msg_free(unsent);
    if (baton_outbox_state(outbox) == BATON_OUTBOX_UP)
        await_kernel(outbox);
    nng_close(outbox->socket); /* waits for the last pipe event */
    destroy(outbox);
}

/* ---- what the owner calls ---- */

static enum baton_err pack(const baton_envelope *envelope, size_t header_bytes, const void *payload,
                           size_t payload_bytes, nng_msg **msg)
{
    nng_msg *packed;
    if (nng_msg_alloc(&packed, baton_frame_size(header_bytes, payload_bytes)))
        return BATON_NO_MEMORY;
    uint8_t *bytes = nng_msg_body(packed);
    baton__v1__envelope__pack(envelope, bytes + BATON_FRAME_HEAD_BYTES);
    if (payload_bytes)
        memcpy(bytes + baton_frame_payload_offset(header_bytes, payload_bytes), payload,
               payload_bytes);
    baton_frame_seal(bytes, header_bytes, payload_bytes);
    *msg = packed;
    return BATON_OK;
}

/* A peer closes the connection of a message that it refuses, and everything else on it is lost, so
 * messages are checked before they leave. */
static enum baton_err judge(const baton_envelope *envelope, size_t header_bytes,
                            size_t payload_bytes)
{
    struct baton_why why;
    enum baton_err err = baton_envelope_fits(envelope, header_bytes, &why);
    if (!err && payload_bytes > BATON_FRAME_MAX_PAYLOAD)
        err = baton_fail(&why, BATON_LIMIT, "%s: %zu bytes of payload are more than %d",
                         baton_envelope_kind(envelope), payload_bytes, BATON_FRAME_MAX_PAYLOAD);
    if (!err)
        err = baton_envelope_check(envelope, payload_bytes, &why);
    if (err)
        baton_log(BATON_LOG_ERROR, "message_not_sent", BATON_X("req", envelope->request_id),
                  BATON_O("id", envelope->client_id), BATON_O("trace", envelope->trace_id),
                  BATON_S("message", baton_envelope_kind(envelope)), BATON_S("reason", why.text));
    return err;
}

/* Whether `bytes` more may be queued now; the caller holds pack_lock, so the queue can
 * only become emptier before enqueue. */
static enum baton_err admit(struct baton_outbox *outbox, size_t bytes)
{
    enum baton_err err = BATON_OK;
    pthread_mutex_lock(&outbox->lock);
    if (outbox->state == BATON_OUTBOX_DOWN) {
        err = BATON_CLOSED;
    } else if (!admits(outbox, bytes)) {
        outbox->starved = true;
        err = BATON_AGAIN;
    }
    pthread_mutex_unlock(&outbox->lock);
    return err;
}

/* Looks at the state again: the pipe may have gone while the message was packed. n_sent counts only
 * queued messages, so the sequence that the peer sees has no hole. */
static enum baton_err enqueue(struct baton_outbox *outbox, nng_msg *msg)
{
    pthread_mutex_lock(&outbox->lock);
    bool down = outbox->state == BATON_OUTBOX_DOWN;
    nng_msg *next = NULL;
    if (!down) {
        outbox->n_sent++;
        push(outbox, msg);
        next = claim_send(outbox);
    }
    pthread_mutex_unlock(&outbox->lock);
    if (down)
        nng_msg_free(msg);
    hand_over(outbox, next);
    return down ? BATON_CLOSED : BATON_OK;
}

enum baton_err baton_outbox_send(struct baton_outbox *outbox, baton_envelope *envelope,
                                 const void *payload, size_t payload_bytes)
{
    nng_msg *msg = NULL;
    /* The number is part of the packed bytes, so numbering, packing and queueing are one turn. */
    pthread_mutex_lock(&outbox->pack_lock);
    envelope->link_seq = baton_outbox_n_sent(outbox) + 1;
    size_t header_bytes = baton__v1__envelope__get_packed_size(envelope);
    enum baton_err err = judge(envelope, header_bytes, payload_bytes);
    if (!err)
        err = admit(outbox, baton_frame_size(header_bytes, payload_bytes));
    if (!err)
        err = pack(envelope, header_bytes, payload, payload_bytes, &msg);
    if (!err)
        err = enqueue(outbox, msg);
    pthread_mutex_unlock(&outbox->pack_lock);
    return err;
}

enum baton_outbox_state baton_outbox_state(struct baton_outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    if (outbox->state == BATON_OUTBOX_CONNECTING && baton_now_ns() >= outbox->connect_until_ns)
        set_state(outbox, BATON_OUTBOX_DOWN);
    enum baton_outbox_state state = outbox->state;
    pthread_mutex_unlock(&outbox->lock);
    return state;
}

int64_t baton_outbox_silent_ns(struct baton_outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    bool is_up = outbox->state == BATON_OUTBOX_UP;
    uint32_t pipe = outbox->pipe;
    pthread_mutex_unlock(&outbox->lock);
    return is_up ? baton_tcp_path_silent_ns(pipe) : INT64_MAX;
}

uint64_t baton_outbox_n_sent(struct baton_outbox *outbox)
{
    pthread_mutex_lock(&outbox->lock);
    uint64_t n_sent = outbox->n_sent;
    pthread_mutex_unlock(&outbox->lock);
    return n_sent;
}
