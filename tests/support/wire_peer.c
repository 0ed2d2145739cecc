/* The other process of the wire's tests (peer_fixture.h): something to kill, stop and starve.
 *
 *     wire_peer sink [hold]                       counts what arrives, until it sees a KvEnd
 *     wire_peer member GATEWAY TOKEN DIGIT URL    a worker without a model; answers Reserve
 *
 * Events go to stdout, one a line ("url tcp://...", "joined 1", "end n=..."). Lines on stdin are
 * orders: "go" lets a held sink begin to take, "leave" makes a member say Goodbye and exit.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "common/base/ticket.h"
#include "common/wire/member.h"
#include "tests/support/mailbox.h"

enum { QUEUE = 64, BEAT_MS = 50, SILENCE_MS = 1500, RETRY_MS = 300 };

static struct mailbox box;
static atomic_bool ordered;

/* Whatever the order is: each mode knows only one. */
static void *await_order(void *arg)
{
    char line[16];
    (void)arg;
    if (fgets(line, sizeof line, stdin))
        atomic_store(&ordered, true);
    baton_doorbell_ring(&box.bell);
    return NULL;
}

/* ---- sink ---- */

struct tally {
    uint64_t n, n_bytes, n_gaps, last_seq;
    uint32_t crc;
    bool ended;
};

static void count(struct tally *tally, const struct baton_message *message)
{
    tally->n++;
    tally->n_bytes += message->payload_bytes;
    tally->n_gaps += message->envelope->link_seq != tally->last_seq + 1;
    tally->last_seq = message->envelope->link_seq;
    tally->crc = baton_crc32c(tally->crc, message->payload, message->payload_bytes);
    tally->ended = message->envelope->body_case == BATON__V1__ENVELOPE__BODY_KV_END;
    if (tally->ended) {
        (void)printf("end n=%" PRIu64 " bytes=%" PRIu64 " gaps=%" PRIu64 " crc=%08x\n", tally->n,
                     tally->n_bytes, tally->n_gaps, tally->crc);
        *tally = (struct tally){0};
    }
}

static int run_sink(bool hold)
{
    struct tally tally = {0};
    while (hold && !atomic_load(&ordered))
        baton_doorbell_wait(&box.bell, -1);
    for (;;) {
        struct baton_message message;
        while (baton_inbox_take(box.inbox, &message)) {
            count(&tally, &message);
            baton_message_fini(&message);
        }
        baton_doorbell_wait(&box.bell, -1);
    }
    return 0;
}

/* ---- member ---- */

static void fill_status(void *arg, Baton__V1__Status *status)
{
    (void)arg;
    status->kv_blocks_total = status->kv_blocks_free = 8;
}

static void report_lost(void *arg, uint64_t gateway_epoch)
{
    (void)arg;
    (void)printf("lost %016" PRIx64 "\n", gateway_epoch);
}

static void answer_reserve(struct baton_link *gateway, const baton_envelope *reserve)
{
    Baton__V1__Reserved reserved = BATON__V1__RESERVED__INIT;
    baton_envelope answer = BATON__V1__ENVELOPE__INIT;
    struct baton_ticket ticket = {{0}};
    reserved.n_blocks = 1;
    reserved.ticket = (ProtobufCBinaryData){sizeof ticket.bytes, ticket.bytes};
    answer.request_id = reserve->request_id;
    answer.attempt = reserve->attempt;
    answer.body_case = BATON__V1__ENVELOPE__BODY_RESERVED;
    answer.reserved = &reserved;
    if (baton_link_send(gateway, &answer, NULL, 0))
        (void)printf("unanswered\n");
}

static void take_all(struct baton_member *member)
{
    struct baton_message message;
    while (baton_inbox_take(box.inbox, &message)) {
        struct baton_link *gateway =
            baton_member_receive(member, box.inbox, &message, baton_now_ns());
        if (gateway && message.envelope->body_case == BATON__V1__ENVELOPE__BODY_RESERVE)
            answer_reserve(gateway, message.envelope);
        baton_message_fini(&message);
    }
}

static void loop_member(struct baton_member *member)
{
    size_t n_joined = 0;
    bool leaving = false;
    while (!leaving || !baton_member_is_drained(member)) {
        take_all(member);
        if (!leaving && atomic_load(&ordered)) {
            leaving = true;
            baton_member_leave(member, "told to");
        }
        int64_t due_ns = baton_member_tick(member, baton_now_ns());
        if (baton_member_n_joined(member) != n_joined) {
            n_joined = baton_member_n_joined(member);
            (void)printf("joined %zu\n", n_joined);
        }
        int64_t left_ns = due_ns - baton_now_ns();
        baton_doorbell_wait(&box.bell, left_ns > 0 ? left_ns : 0);
    }
    (void)printf("drained\n");
}

static int run_member(const char *gateway, const char *token, const char *digit)
{
    struct baton_fingerprint fingerprint = {{0}, {0}, {0}};
    struct baton_member *member;
    struct baton_why why;
    memset(fingerprint.config, '0', BATON_SHA256_HEX - 1);
    memset(fingerprint.tokenizer, '0', BATON_SHA256_HEX - 1);
    memset(fingerprint.weights, *digit, BATON_SHA256_HEX - 1);
    struct baton_member_options options = {
        .gateways = gateway,
        .epoch = baton_random_id(),
        .beat_ns = BEAT_MS * BATON_MS,
        .silence_ns = SILENCE_MS * BATON_MS,
        .retry_ns = RETRY_MS * BATON_MS,
        .role = BATON__V1__ROLE__ROLE_PREFILL,
        .worker_id = "prefill-0",
        .inbox_url = baton_inbox_url(box.inbox),
        .fingerprint = &fingerprint,
        .model = "none",
        .dtype = "f32",
        .kv_dtype = "f32",
        .kv_layout = fingerprint.config, /* any digest */
        .numeric_class = "0123456789abcdef",
        .kernels = "none",
        .cluster_token = token,
        .kv_block_tokens = 16,
        .n_context_tokens = 512,
        .n_cores = 1,
        .status = fill_status,
        .lost = report_lost,
        .wake = baton_doorbell_ring,
        .wake_arg = &box.bell,
    };
    if (baton_member_create(&options, &member, &why)) {
        (void)fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    loop_member(member);
    baton_member_destroy(member);
    return 0;
}

int main(int argc, char **argv)
{
    bool sink = argc >= 2 && !strcmp(argv[1], "sink");
    bool member = argc == 6 && !strcmp(argv[1], "member");
    pthread_t listener;
    if (!sink && !member)
        return 2;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (baton_log_init("wire_peer", "info", NULL) ||
        mailbox_open(&box, member ? argv[5] : NULL, QUEUE) ||
        pthread_create(&listener, NULL, await_order, NULL))
        return 1;
    (void)printf("url %s\n", baton_inbox_url(box.inbox));
    int status = sink ? run_sink(argc > 2) : run_member(argv[2], argv[3], argv[4]);
    mailbox_close(&box);
    return status;
}
