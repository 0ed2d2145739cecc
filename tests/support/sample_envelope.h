/* One valid envelope of every kind, for tests to send or to break.
 *
 * Ownership: everything lives in the caller's struct, which must not move after init.
 * Threading: none.
 * Errors:    none.
 */
#ifndef BATON_TESTS_SUPPORT_SAMPLE_ENVELOPE_H
#define BATON_TESTS_SUPPORT_SAMPLE_ENVELOPE_H

#include "common/base/block_hash.h"
#include "common/base/ticket.h"
#include "common/params/sampling.h"
#include "common/wire/envelope/envelope.h"

struct sample_envelope {
    baton_envelope envelope;
    union {
        Baton__V1__Hello hello;
        Baton__V1__Welcome welcome;
        Baton__V1__Refused refused;
        Baton__V1__Status status;
        Baton__V1__Goodbye goodbye;
        Baton__V1__PrefillRequest prefill_request;
        Baton__V1__FirstToken first_token;
        Baton__V1__PromptLogprobs prompt_logprobs;
        Baton__V1__PromptProgress prompt_progress;
        Baton__V1__Embedding embedding;
        Baton__V1__Reserve reserve;
        Baton__V1__Reserved reserved;
        Baton__V1__Rejected rejected;
        Baton__V1__DecodeStart decode_start;
        Baton__V1__Tokens tokens;
        Baton__V1__TokenAck token_ack;
        Baton__V1__Finished finished;
        Baton__V1__StepEvents step_events;
        Baton__V1__KvBegin kv_begin;
        Baton__V1__KvChunk kv_chunk;
        Baton__V1__KvEnd kv_end;
        Baton__V1__KvAck kv_ack;
        Baton__V1__Cancel cancel;
        Baton__V1__Failed failed;
        Baton__V1__KvQuery kv_query;
        Baton__V1__KvAccount kv_account;
        Baton__V1__LoadAdapter load_adapter;
        Baton__V1__DropAdapter drop_adapter;
        Baton__V1__AdapterList adapter_list;
        Baton__V1__HandOver hand_over;
        Baton__V1__HandedOver handed_over;
        Baton__V1__PartsStart parts_start;
    } body;
    Baton__V1__Fingerprint fingerprint;
    Baton__V1__Adapter adapter, *adapters[1];
    Baton__V1__AdapterUse use, *uses[1];
    Baton__V1__Status hello_status;
    Baton__V1__Sampling sampling;
    Baton__V1__DeliverTo deliver_to;
    Baton__V1__DeliverTo *parts[2];
    Baton__V1__DecodeBegan began;
    Baton__V1__Tokens step_tokens;
    Baton__V1__Finished step_finished;
    Baton__V1__StepEvent step_event, *step_events[1];
    Baton__V1__KvHeld kv_held[BATON_N_KV_REASONS], *kv_held_list[BATON_N_KV_REASONS];
    Baton__V1__KvOwner kv_owner, *kv_owners[1];
    Baton__V1__LogitBias bias, *biases[1];
    Baton__V1__Candidate candidate, *candidates[1];
    Baton__V1__Decision decision, *decisions[4];
    uint32_t n_after[BATON_N_FILTERS];
    Baton__V1__Logprobs logprobs, *logprobs_list[4];
    double top_logprobs[2];
    float values[3];
    uint32_t borders[2];
    uint32_t tokens[4], stops[2];
    uint8_t block_hashes[2 * BATON_BLOCK_HASH_BYTES], ticket[BATON_TICKET_BYTES];
};

/* Every kind there is, ended by BODY__NOT_SET. */
extern const Baton__V1__Envelope__BodyCase sample_kinds[];

/* A valid envelope; what a kv_chunk needs besides is a payload. */
void sample_envelope_init(struct sample_envelope *sample, Baton__V1__Envelope__BodyCase kind);

#endif
