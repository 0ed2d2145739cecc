#include "tests/unit/gateway/fixture_parts.h"

#include <stdlib.h>
#include <string.h>

int64_t clock_ns;
struct sent sent[MAX_SENT];
size_t n_all_sent;
int n_rejected_messages, n_ended_pipes, n_links_opened;
enum baton_err prompt_err;

int64_t __wrap_baton_now_ns(void);
enum baton_err __wrap_baton_link_open(const struct baton_link_options *options,
                                      struct baton_link **link, struct baton_why *why);
void __wrap_baton_link_close(struct baton_link *link);
void __wrap_baton_link_release(struct baton_link *link);
enum baton_err __wrap_baton_link_send(struct baton_link *link, baton_envelope *envelope,
                                      const void *payload, size_t payload_bytes);
enum baton_link_verdict __wrap_baton_link_accept(struct baton_link *link,
                                                 const baton_envelope *envelope, int64_t at_ns);
enum baton_outbox_state __wrap_baton_link_state(struct baton_link *link);
uint64_t __wrap_baton_link_id(const struct baton_link *link);
int64_t __wrap_baton_link_heard_ns(const struct baton_link *link);
void __wrap_baton_inbox_admit(struct baton_inbox *inbox, const struct baton_message *message);
void __wrap_baton_inbox_end_pipe(struct baton_inbox *inbox, uint32_t pipe);
void __wrap_baton_inbox_reject(struct baton_inbox *inbox, const struct baton_message *message);

int64_t __wrap_baton_now_ns(void)
{
    return clock_ns;
}

enum baton_err __wrap_baton_link_open(const struct baton_link_options *options,
                                      struct baton_link **link, struct baton_why *why)
{
    (void)why;
    n_links_opened++;
    *link = calloc(1, sizeof **link);
    assert_non_null(*link);
    **link = (struct baton_link){.id = options->id,
                                 .heard_ns = clock_ns,
                                 .state = BATON_OUTBOX_UP,
                                 .wake = options->wake,
                                 .wake_arg = options->wake_arg};
    return BATON_OK;
}

void __wrap_baton_link_close(struct baton_link *link)
{
    link->state = BATON_OUTBOX_DOWN;
}

void __wrap_baton_link_release(struct baton_link *link)
{
    free(link);
}

static void note_hashes(struct sent *note, const ProtobufCBinaryData *hashes)
{
    note->n_hashes = hashes->len / sizeof note->first_hash;
    if (hashes->len)
        memcpy(&note->first_hash, hashes->data, sizeof note->first_hash);
}

static void note_body(struct sent *note, const baton_envelope *envelope)
{
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST) {
        note->credit_tokens = envelope->prefill_request->credit_tokens;
        note->has_target = envelope->prefill_request->deliver_to != NULL;
        note->n_tokens = (uint32_t)envelope->prefill_request->n_tokens;
        note->n_output = envelope->prefill_request->n_output_tokens;
        note->n_more = envelope->prefill_request->max_new_tokens;
        note->in_parts = envelope->prefill_request->in_parts;
        note_hashes(note, &envelope->prefill_request->block_hashes);
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_RESERVE) {
        note->n_tokens = envelope->reserve->n_prompt_tokens;
        note->n_more = envelope->reserve->max_new_tokens;
        note->is_hand_over = envelope->reserve->hand_over;
        note->priority = envelope->reserve->priority;
        note_hashes(note, &envelope->reserve->block_hashes);
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_HAND_OVER) {
        note->to_attempt = envelope->hand_over->attempt;
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_DECODE_START) {
        note->credit_tokens = envelope->decode_start->credit_tokens;
        note->n_tokens = envelope->decode_start->n_prompt_tokens;
        note->n_output = envelope->decode_start->n_output_tokens;
        note->n_more = envelope->decode_start->max_new_tokens;
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_TOKEN_ACK) {
        note->credit_tokens = envelope->token_ack->credit_tokens;
        note->next_index = envelope->token_ack->next_index;
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_PARTS_START) {
        note->n_parts = envelope->parts_start->n_parts;
    } else if (envelope->body_case == BATON__V1__ENVELOPE__BODY_REFUSED) {
        note->code = envelope->refused->code;
    }
}

enum baton_err __wrap_baton_link_send(struct baton_link *link, baton_envelope *envelope,
                                      const void *payload, size_t payload_bytes)
{
    (void)payload;
    (void)payload_bytes;
    if (link->state == BATON_OUTBOX_DOWN)
        return BATON_CLOSED;
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_STATUS) {
        link->beat_s = envelope->status->beat_s;
        return BATON_OK;
    }
    if (prompt_err && envelope->body_case == BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST)
        return prompt_err;
    assert_true(n_all_sent < MAX_SENT);
    struct sent *note = &sent[n_all_sent++];
    *note = (struct sent){.link = link->id,
                          .kind = envelope->body_case,
                          .request_id = envelope->request_id,
                          .attempt = envelope->attempt};
    note_body(note, envelope);
    return BATON_OK;
}

enum baton_link_verdict __wrap_baton_link_accept(struct baton_link *link,
                                                 const baton_envelope *envelope, int64_t at_ns)
{
    (void)envelope;
    link->heard_ns = at_ns;
    return link->is_gap ? BATON_LINK_GAP : BATON_LINK_FRESH;
}

enum baton_outbox_state __wrap_baton_link_state(struct baton_link *link)
{
    return link->state;
}

uint64_t __wrap_baton_link_id(const struct baton_link *link)
{
    return link->id;
}

int64_t __wrap_baton_link_heard_ns(const struct baton_link *link)
{
    return link->heard_ns;
}

void __wrap_baton_inbox_admit(struct baton_inbox *inbox, const struct baton_message *message)
{
    (void)inbox;
    (void)message;
}

void __wrap_baton_inbox_end_pipe(struct baton_inbox *inbox, uint32_t pipe)
{
    (void)inbox;
    (void)pipe;
    n_ended_pipes++;
}

void __wrap_baton_inbox_reject(struct baton_inbox *inbox, const struct baton_message *message)
{
    (void)inbox;
    (void)message;
    n_rejected_messages++;
}

/* ---- what was sent ---- */

const struct sent *last_sent(const struct far_worker *worker, const struct gw_choice *client,
                             Baton__V1__Envelope__BodyCase kind)
{
    for (size_t i = n_all_sent; i-- > 0;)
        if (sent[i].link == worker->link && sent[i].kind == kind &&
            (!client || sent[i].request_id == client->id))
            return &sent[i];
    return NULL;
}

int n_sent(const struct far_worker *worker, const struct gw_choice *client,
           Baton__V1__Envelope__BodyCase kind)
{
    int n = 0;
    for (size_t i = 0; i < n_all_sent; i++)
        n += sent[i].link == worker->link && sent[i].kind == kind &&
             (!client || sent[i].request_id == client->id);
    return n;
}
