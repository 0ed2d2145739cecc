#include "tests/support/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/wire/envelope/envelope.h"
#include "common/wire/frame.h"
#include "tests/support/sample_envelope.h"

enum { PACKED_MAX = 8192 };

/* Writes value, as the member's type has it, into a member of a sample. */
#define SET(member, value)                                                                         \
    {                                                                                              \
        offsetof(struct sample_envelope, member), sizeof(((struct sample_envelope *)0)->member),   \
            &(__typeof__(((struct sample_envelope *)0)->member))                                   \
        {                                                                                          \
            (__typeof__(((struct sample_envelope *)0)->member))(value)                             \
        }                                                                                          \
    }

#define KIND(name) BATON__V1__ENVELOPE__BODY_##name

enum { MAX_CHANGES = 3 };

struct change {
    size_t offset, n_bytes;
    const void *value;
};

static char too_long[BATON_MAX_TEXT_BYTES + 2];

/* A change that makes a valid sample of a kind invalid, and the field that the error names. */
static const struct broken {
    Baton__V1__Envelope__BodyCase kind;
    const char *field;
    struct change changes[MAX_CHANGES];
} broken[] = {
    {KIND(RESERVE), "envelope.src_epoch", {SET(envelope.src_epoch, 0)}},
    {KIND(RESERVE), "envelope.dst_epoch", {SET(envelope.dst_epoch, 0)}},
    {KIND(RESERVE), "envelope.link", {SET(envelope.link, 0)}},
    {KIND(RESERVE), "envelope.link_seq", {SET(envelope.link_seq, 0)}},
    {KIND(RESERVE), "envelope.request_id", {SET(envelope.request_id, 0)}},
    {KIND(RESERVE), "envelope.attempt", {SET(envelope.attempt, 0)}},
    {KIND(RESERVE), "envelope.body", {SET(envelope.body_case, BATON__V1__ENVELOPE__BODY__NOT_SET)}},
    {KIND(HELLO), "hello.role", {SET(body.hello.role, 3)}},
    {KIND(HELLO), "hello.role", {SET(body.hello.role, BATON__V1__ROLE__ROLE_UNSPECIFIED)}},
    {KIND(HELLO), "hello.pid", {SET(body.hello.pid, 0)}},
    {KIND(HELLO), "hello.bulk_url", {SET(body.hello.bulk_url, "")}},
    {KIND(HELLO), "hello.fingerprint", {SET(body.hello.fingerprint, NULL)}},
    {KIND(HELLO), "hello.fingerprint.weights", {SET(fingerprint.weights, "0123")}},
    {KIND(HELLO),
     "hello.fingerprint.config",
     {SET(fingerprint.config, "ABCDEF6789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")}},
    {KIND(HELLO), "hello.model", {SET(body.hello.model, "t\xffle")}},
    {KIND(HELLO), "hello.dtype", {SET(body.hello.dtype, "")}},
    {KIND(HELLO), "hello.kv_layout", {SET(body.hello.kv_layout, "0123")}},
    {KIND(HELLO), "hello.kv_layout", {SET(body.hello.kv_layout, "")}},
    {KIND(HELLO), "hello.numeric_class", {SET(body.hello.numeric_class, "")}},
    {KIND(HELLO), "hello.kernels", {SET(body.hello.kernels, "")}},
    {KIND(HELLO), "hello.numeric_class", {SET(body.hello.numeric_class, "0123456789ABCDEF")}},
    {KIND(HELLO), "hello.numeric_class", {SET(body.hello.numeric_class, "0123")}},
    {KIND(HELLO), "hello.kernels", {SET(body.hello.kernels, "avx 512")}},
    {KIND(HELLO), "hello.kv_block_tokens", {SET(body.hello.kv_block_tokens, 0)}},
    {KIND(HELLO), "hello.n_context_tokens", {SET(body.hello.n_context_tokens, UINT32_MAX)}},
    {KIND(HELLO), "hello.cluster_token", {SET(body.hello.cluster_token, too_long)}},
    {KIND(HELLO), "hello.status", {SET(body.hello.status, NULL)}},
    {KIND(HELLO), "hello.kv_blocks_free", {SET(hello_status.kv_blocks_free, 65)}},
    {KIND(HELLO), "hello.start_to_ready_s", {SET(body.hello.start_to_ready_s, NAN)}},
    {KIND(HELLO), "hello.model_load_s", {SET(body.hello.model_load_s, -0.5)}},
    {KIND(HELLO), "hello.model_load_s", {SET(body.hello.model_load_s, INFINITY)}},
    {KIND(HELLO), "hello.worker_id", {SET(body.hello.worker_id, "")}},
    {KIND(HELLO), "hello.worker_id", {SET(body.hello.worker_id, "decode 0")}},
    {KIND(HELLO), "hello.worker_id", {SET(body.hello.worker_id, "decode/0")}},
    {KIND(HELLO), "hello.worker_id", {SET(body.hello.worker_id, "d\xc3\xa9")}},
    {KIND(HELLO), "hello.worker_id", {SET(body.hello.worker_id, too_long)}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "7201")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "ipc:///tmp/x")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "tcp://*")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "tcp://:7201")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "tcp://a:0")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "tcp://a:65536")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "tcp://a:1/x")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "tcp://eth0;a:1")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, "tcp://[::1:7")}},
    {KIND(HELLO), "hello.inbox_url", {SET(body.hello.inbox_url, too_long)}},
    {KIND(HELLO), "hello.bulk_url", {SET(body.hello.role, BATON__V1__ROLE__ROLE_PREFILL)}},
    {KIND(PREFILL_REQUEST), "prefill_request.tokens", {SET(body.prefill_request.n_tokens, 0)}},
    {KIND(PREFILL_REQUEST), "prefill_request.tokens", {SET(tokens[2], 0x80000000u)}},
    {KIND(PREFILL_REQUEST), "prefill_request.sampling", {SET(body.prefill_request.sampling, NULL)}},
    {KIND(PREFILL_REQUEST), "prefill_request.sampling.top_p", {SET(sampling.top_p, -0.5)}},
    {KIND(PREFILL_REQUEST), "prefill_request.sampling.top_p", {SET(sampling.top_p, 1.5)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.sampling.temperature",
     {SET(sampling.temperature, NAN)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.sampling.stop_token_ids",
     {SET(sampling.n_stop_token_ids, BATON_MAX_STOP_IDS + 1)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.deliver_to.bulk_url",
     {SET(deliver_to.bulk_url, "tcp://*:7202")}},
    {KIND(PREFILL_REQUEST), "prefill_request.deliver_to.epoch", {SET(deliver_to.epoch, 0)}},
    {KIND(PREFILL_REQUEST), "prefill_request.deliver_to", {SET(body.prefill_request.naive, 1)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.max_new_tokens",
     {SET(body.prefill_request.deliver_to, NULL), SET(body.prefill_request.naive, 1),
      SET(body.prefill_request.max_new_tokens, 0)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.block_hashes",
     {SET(body.prefill_request.block_hashes.len, 2 * BATON_BLOCK_HASH_BYTES - 1)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.block_hashes",
     {SET(body.prefill_request.n_tokens, 2)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.prefix_salt",
     {SET(body.prefill_request.prefix_salt.len, BATON_BLOCK_HASH_BYTES - 1)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.n_output_tokens",
     {SET(body.prefill_request.n_output_tokens, 4)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.prompt_logprobs",
     {SET(body.prefill_request.prompt_logprobs, 1)}},
    {KIND(DECODE_START),
     "decode_start.n_output_tokens",
     {SET(body.decode_start.n_output_tokens, 4), SET(body.decode_start.n_output, 0)}},
    {KIND(DECODE_START), "decode_start.output", {SET(body.decode_start.n_output, 2)}},
    {KIND(DECODE_START), "decode_start.tail", {SET(body.decode_start.n_tail, 999)}},
    {KIND(DECODE_START), "decode_start.sampling.temperature", {SET(sampling.temperature, 101)}},
    {KIND(DECODE_START), "decode_start.sampling.min_p", {SET(sampling.min_p, 1.01)}},
    {KIND(DECODE_START), "decode_start.sampling.top_n_sigma", {SET(sampling.top_n_sigma, -1.5)}},
    {KIND(DECODE_START), "decode_start.sampling.typical_p", {SET(sampling.typical_p, 1.5)}},
    {KIND(DECODE_START),
     "decode_start.sampling.repetition_penalty",
     {SET(sampling.repetition_penalty, -1)}},
    {KIND(DECODE_START),
     "decode_start.sampling.repetition_penalty",
     {SET(sampling.repetition_penalty, INFINITY)}},
    {KIND(DECODE_START),
     "decode_start.sampling.presence_penalty",
     {SET(sampling.presence_penalty, NAN)}},
    {KIND(DECODE_START),
     "decode_start.sampling.frequency_penalty",
     {SET(sampling.frequency_penalty, 2.5)}},
    {KIND(DECODE_START),
     "decode_start.sampling.min_tokens",
     {SET(sampling.min_tokens, (uint32_t)INT32_MAX + 1)}},
    {KIND(DECODE_START), "decode_start.sampling.logit_bias.bias", {SET(bias.bias, -101)}},
    {KIND(DECODE_START), "decode_start.sampling.logit_bias.token", {SET(bias.token, UINT32_MAX)}},
    {KIND(DECODE_START),
     "decode_start.sampling.explain",
     {SET(sampling.explain, BATON_MAX_LISTED + 1)}},
    {KIND(DECODE_START),
     "decode_start.sampling.top_logprobs",
     {SET(sampling.top_logprobs, BATON_MAX_LISTED + 1)}},
    {KIND(FIRST_TOKEN), "first_token.disk_tokens", {SET(body.first_token.disk_tokens, UINT32_MAX)}},
    {KIND(FIRST_TOKEN), "first_token.decision.chosen", {SET(decision.chosen, NULL)}},
    {KIND(FIRST_TOKEN), "first_token.decision.prob", {SET(candidate.prob, 1.5)}},
    {KIND(FIRST_TOKEN),
     "first_token.decision.removed_by",
     {SET(candidate.removed_by, BATON_N_REMOVALS)}},
    {KIND(FIRST_TOKEN),
     "first_token.decision.n_after",
     {SET(decision.n_n_after, (size_t)BATON_N_FILTERS - 1)}},
    {KIND(FIRST_TOKEN), "first_token.decision.removed_at", {SET(candidate.removed_at, "#/\xff")}},
    {KIND(FIRST_TOKEN), "first_token.decision.interval_end", {SET(candidate.interval_end, NAN)}},
    {KIND(FIRST_TOKEN), "first_token.decision.rank", {SET(decision.rank, 0)}},
    {KIND(FIRST_TOKEN), "first_token.decision.entropy_bits", {SET(decision.entropy_bits, -1)}},
    {KIND(FIRST_TOKEN), "first_token.logprobs", {SET(logprobs.logprob, 0.1)}},
    {KIND(FIRST_TOKEN), "first_token.logprobs.top_logprobs", {SET(logprobs.n_top_logprobs, 1)}},
    {KIND(PROMPT_LOGPROBS),
     "prompt_logprobs.first_index",
     {SET(body.prompt_logprobs.first_index, 0)}},
    {KIND(PROMPT_LOGPROBS), "prompt_logprobs.logprobs", {SET(body.prompt_logprobs.n_logprobs, 0)}},
    {KIND(PROMPT_LOGPROBS), "prompt_logprobs.logprobs", {SET(top_logprobs[1], NAN)}},
    {KIND(PREFILL_REQUEST), "prefill_request.pooling", {SET(body.prefill_request.pooling, 4)}},
    {KIND(PREFILL_REQUEST), "prefill_request.deliver_to", {SET(body.prefill_request.pooling, 1)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.naive",
     {SET(body.prefill_request.pooling, 1), SET(body.prefill_request.deliver_to, NULL),
      SET(body.prefill_request.naive, 1)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.n_output_tokens",
     {SET(body.prefill_request.pooling, 1), SET(body.prefill_request.deliver_to, NULL)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.logit_ids",
     {SET(body.prefill_request.n_logit_ids, 1)}},
    {KIND(PREFILL_REQUEST), "prefill_request.borders", {SET(borders[0], 0)}},
    {KIND(PREFILL_REQUEST), "prefill_request.borders", {SET(borders[1], 1)}},
    {KIND(PREFILL_REQUEST), "prefill_request.borders", {SET(borders[1], 5)}},
    {KIND(PREFILL_REQUEST), "prefill_request.borders", {SET(body.prefill_request.n_borders, 17)}},
    {KIND(PROMPT_PROGRESS), "prompt_progress.n_tokens", {SET(body.prompt_progress.n_tokens, 0)}},
    {KIND(PROMPT_PROGRESS),
     "prompt_progress.cached_tokens",
     {SET(body.prompt_progress.cached_tokens, 33)}},
    {KIND(EMBEDDING), "embedding.values", {SET(body.embedding.n_values, 0)}},
    {KIND(EMBEDDING), "embedding.values", {SET(values[1], NAN)}},
    {KIND(EMBEDDING), "embedding.values", {SET(values[2], INFINITY)}},
    {KIND(EMBEDDING), "embedding.prefill_queue_s", {SET(body.embedding.prefill_queue_s, -1)}},
    {KIND(EMBEDDING), "embedding.disk_tokens", {SET(body.embedding.disk_tokens, 1)}},
    {KIND(TOKENS), "tokens.tokens", {SET(body.tokens.n_tokens, 0)}},
    {KIND(TOKENS), "tokens.first_index", {SET(body.tokens.first_index, UINT64_MAX)}},
    {KIND(TOKENS), "tokens.step_s", {SET(body.tokens.step_s, -1)}},
    {KIND(TOKENS), "tokens.began.kv_transfer_s", {SET(began.kv_transfer_s, INFINITY)}},
    {KIND(TOKENS), "tokens.decisions", {SET(body.tokens.n_decisions, 3)}},
    {KIND(TOKENS), "tokens.logprobs", {SET(body.tokens.n_logprobs, 1)}},
    {KIND(TOKENS), "tokens.began.kv_shared_bytes", {SET(began.kv_shared_bytes, 1ULL << 50)}},
    {KIND(TOKENS), "tokens.began.kv_crc_s", {SET(began.kv_crc_s, NAN)}},
    {KIND(TOKENS), "tokens.began.kv_overlap_s", {SET(began.kv_overlap_s, -1)}},
    {KIND(TOKENS), "tokens.began.kv_exposed_s", {SET(began.kv_exposed_s, 1e300)}},
    {KIND(KV_BEGIN), "kv_begin.reply_url", {SET(body.kv_begin.reply_url, "")}},
    {KIND(KV_BEGIN), "envelope.dst_epoch", {SET(envelope.dst_epoch, 0)}},
    {KIND(KV_BEGIN), "kv_begin.ticket", {SET(body.kv_begin.ticket.len, (size_t)15)}},
    {KIND(KV_BEGIN), "kv_begin.ticket", {SET(body.kv_begin.ticket.len, (size_t)0)}},
    {KIND(KV_END), "kv_end.n_tokens", {SET(body.kv_end.n_tokens, UINT32_MAX)}},
    {KIND(PARTS_START), "parts_start.parts", {SET(body.parts_start.n_parts, 1)}},
    {KIND(PARTS_START), "parts_start.stripe_blocks", {SET(body.parts_start.stripe_blocks, 0)}},
    {KIND(PARTS_START), "parts_start.holder", {SET(body.parts_start.holder, 2)}},
    {KIND(PARTS_START), "parts_start.part", {SET(body.parts_start.part, 2)}},
    {KIND(PARTS_START), "parts_start.deliver_to.epoch", {SET(deliver_to.epoch, 0)}},
    {KIND(HAND_OVER), "hand_over.deliver_to", {SET(body.hand_over.deliver_to, NULL)}},
    {KIND(HAND_OVER), "hand_over.deliver_to.epoch", {SET(deliver_to.epoch, 0)}},
    {KIND(HAND_OVER), "hand_over.attempt", {SET(body.hand_over.attempt, 0)}},
    {KIND(HANDED_OVER), "handed_over.n_output_tokens", {SET(body.handed_over.n_output_tokens, 0)}},
    {KIND(HANDED_OVER), "handed_over.attempt", {SET(body.handed_over.attempt, 0)}},
    {KIND(RESERVED), "reserved.ticket", {SET(body.reserved.ticket.len, (size_t)17)}},
    {KIND(RESERVED), "reserved.ticket", {SET(body.reserved.ticket.len, (size_t)0)}},
    {KIND(PREFILL_REQUEST),
     "prefill_request.deliver_to.ticket",
     {SET(deliver_to.ticket.len, (size_t)1)}},
    {KIND(KV_BEGIN), "kv_begin.n_layers", {SET(body.kv_begin.n_layers, 0)}},
    {KIND(KV_BEGIN), "kv_begin.total_bytes", {SET(body.kv_begin.total_bytes, UINT64_MAX)}},
    {KIND(KV_BEGIN), "kv_begin.kv_dtype", {SET(body.kv_begin.kv_dtype, "f 32")}},
    {KIND(KV_BEGIN), "kv_begin.kv_layout", {SET(body.kv_begin.kv_layout, "f32")}},
    {KIND(KV_BEGIN), "kv_begin.kv_layout", {SET(body.kv_begin.kv_layout, "")}},
    {KIND(FINISHED),
     "finished.reason",
     {SET(body.finished.reason, BATON__V1__FINISHED__REASON__REASON_UNSPECIFIED)}},
    {KIND(FINISHED), "finished.reason", {SET(body.finished.reason, -1)}},
    {KIND(CANCEL), "cancel.reason", {SET(body.cancel.reason, too_long)}},
    {KIND(CANCEL), "cancel.reason", {SET(body.cancel.reason, "\xc0\x80")}},
    {KIND(CANCEL), "cancel.reason", {SET(body.cancel.reason, "cut \xe2\x82")}},
    {KIND(CANCEL), "cancel.reason", {SET(body.cancel.reason, "\xed\xa0\x80")}},
    {KIND(STATUS), "status.kv_blocks_free", {SET(body.status.kv_blocks_free, UINT32_MAX)}},
    {KIND(STATUS), "status.kv_blocks_cached", {SET(body.status.kv_blocks_cached, UINT32_MAX)}},
    {KIND(STATUS), "status.tokens_per_s", {SET(body.status.tokens_per_s, NAN)}},
    {KIND(STATUS), "status.prefix_hit_tokens", {SET(body.status.prefix_hit_tokens, UINT64_MAX)}},
    {KIND(STATUS), "status.kv_disk_hit_tokens", {SET(body.status.kv_disk_hit_tokens, UINT64_MAX)}},
    {KIND(STATUS), "status.kv_disk_read_s", {SET(body.status.kv_disk_read_s, -1)}},
    {KIND(STATUS), "status.kv_disk_write_s", {SET(body.status.kv_disk_write_s, INFINITY)}},
    {KIND(STATUS), "status.busy_s", {SET(body.status.busy_s, -1)}},
    {KIND(STATUS), "status.step_base_s", {SET(body.status.step_base_s, -1)}},
    {KIND(STATUS), "status.step_row_s", {SET(body.status.step_row_s, INFINITY)}},
    {KIND(RESERVE), "reserve.n_prompt_tokens", {SET(body.reserve.n_prompt_tokens, 0)}},
    {KIND(RESERVE),
     "reserve.block_hashes",
     {SET(body.reserve.block_hashes.len, 2 * BATON_BLOCK_HASH_BYTES - 1)}},
    {KIND(RESERVE), "reserve.block_hashes", {SET(body.reserve.n_prompt_tokens, 2)}},
    {KIND(RESERVED), "reserved.n_cached_blocks", {SET(body.reserved.n_cached_blocks, UINT32_MAX)}},
    {KIND(RESERVE), "reserve.adapters", {SET(body.reserve.n_adapters, 5)}},
    {KIND(RESERVE), "reserve.adapters.digest", {SET(use.digest, "sql")}},
    {KIND(RESERVE), "reserve.adapters.scale", {SET(use.scale, NAN)}},
    {KIND(LOAD_ADAPTER), "load_adapter.name", {SET(body.load_adapter.name, "two words")}},
    {KIND(LOAD_ADAPTER), "load_adapter.path", {SET(body.load_adapter.path, too_long)}},
    {KIND(LOAD_ADAPTER), "load_adapter.scale", {SET(body.load_adapter.scale, 1025)}},
    {KIND(LOAD_ADAPTER), "envelope.request_id", {SET(envelope.request_id, 1)}},
    {KIND(DROP_ADAPTER), "drop_adapter.name", {SET(body.drop_adapter.name, "")}},
    {KIND(ADAPTER_LIST), "adapter_list.adapters", {SET(body.adapter_list.n_adapters, 65)}},
    {KIND(ADAPTER_LIST), "adapter_list.adapters.name", {SET(adapter.name, "")}},
    {KIND(ADAPTER_LIST), "adapter_list.adapters.digest", {SET(adapter.digest, "00")}},
    {KIND(KV_QUERY), "kv_query.max_owners", {SET(body.kv_query.max_owners, 257)}},
    {KIND(KV_QUERY), "envelope.request_id", {SET(envelope.request_id, 1)}},
    {KIND(KV_ACCOUNT), "kv_account.free_blocks", {SET(body.kv_account.free_blocks, 65)}},
    {KIND(KV_ACCOUNT), "kv_account.held", {SET(body.kv_account.n_held, 4)}},
    {KIND(KV_ACCOUNT), "kv_account.held", {SET(kv_held[1].reason, 1)}},
    {KIND(KV_ACCOUNT), "kv_account.held.reason", {SET(kv_held[1].reason, 6)}},
    {KIND(KV_ACCOUNT), "kv_account.held.blocks", {SET(kv_held[1].blocks, 65)}},
    {KIND(KV_ACCOUNT), "kv_account.owners.request_id", {SET(kv_owner.request_id, 0)}},
    {KIND(KV_ACCOUNT), "kv_account.owners.reason", {SET(kv_owner.reason, 0)}},
    {KIND(KV_ACCOUNT), "kv_account.owners.blocks", {SET(kv_owner.blocks, 65)}},
    {KIND(KV_ACCOUNT), "kv_account.owners.age_s", {SET(kv_owner.age_s, -1)}},
    {KIND(CANCEL), "envelope.client_id", {SET(envelope.client_id, "two words")}},
    {KIND(CANCEL), "envelope.client_id", {SET(envelope.client_id, too_long)}},
    {KIND(RESERVE), "envelope.trace_id", {SET(envelope.trace_id, "0af7651916cd43dd")}},
    {KIND(STEP_EVENTS), "step_events.events", {SET(body.step_events.n_events, 0)}},
    {KIND(STEP_EVENTS), "step_events.sample_s", {SET(body.step_events.sample_s, -1)}},
    {KIND(STEP_EVENTS), "step_events.events.request_id", {SET(step_event.request_id, 0)}},
    {KIND(STEP_EVENTS), "step_events.events.attempt", {SET(step_event.attempt, 0)}},
    {KIND(STEP_EVENTS),
     "step_events.events",
     {SET(step_event.tokens, NULL), SET(step_event.finished, NULL)}},
    {KIND(STEP_EVENTS), "step_events.tokens", {SET(step_tokens.n_tokens, 0)}},
    {KIND(STEP_EVENTS), "step_events.decode_s", {SET(step_finished.decode_s, -1)}},
};

#undef KIND
#undef SET

static enum baton_err unpack(const void *bytes, size_t n, size_t cap, struct baton_why *why)
{
    baton_envelope *envelope;
    struct baton_arena *arena = baton_arena_create(cap);
    enum baton_err err = baton_envelope_unpack(bytes, n, arena, &envelope, why);
    baton_arena_destroy(arena);
    return err;
}

static enum baton_err check(const struct sample_envelope *s, struct baton_why *why)
{
    bool is_chunk = s->envelope.body_case == BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    return baton_envelope_check(&s->envelope, is_chunk ? 64 : 0, why);
}

TEST(every_kind_of_sample_passes_and_survives_the_trip)
{
    for (size_t i = 0; sample_kinds[i]; i++) {
        struct sample_envelope s;
        struct baton_why why;
        uint8_t packed[PACKED_MAX], again[PACKED_MAX];
        baton_envelope *unpacked;
        sample_envelope_init(&s, sample_kinds[i]);
        if (check(&s, &why))
            fail_msg("%s", why.text);
        size_t n = baton__v1__envelope__pack(&s.envelope, packed);
        struct baton_arena *arena = baton_arena_create(baton_envelope_arena_bytes(n));
        assert_ok(baton_envelope_unpack(packed, n, arena, &unpacked, &why));
        assert_int_equal(unpacked->body_case, sample_kinds[i]);
        assert_ok(unpack(packed, n, baton_envelope_unpacked_bytes(&s.envelope), &why));
        assert_int_equal(baton__v1__envelope__pack(unpacked, again), n);
        assert_memory_equal(again, packed, n);
        baton_arena_destroy(arena);
    }
}

static void expect_refusal(const struct broken *row)
{
    struct sample_envelope s;
    struct baton_why why = {""};
    size_t n = strlen(row->field);
    sample_envelope_init(&s, row->kind);
    for (int i = 0; i < MAX_CHANGES && row->changes[i].value; i++)
        memcpy((char *)&s + row->changes[i].offset, row->changes[i].value, row->changes[i].n_bytes);
    assert_int_equal(check(&s, &why), BATON_INVALID);
    if (strncmp(why.text, row->field, n) != 0 || why.text[n] != ':')
        fail_msg("row %td: expected %s, got: %s", row - broken, row->field, why.text);
}

TEST(every_broken_field_is_refused_by_name)
{
    memset(too_long, 'x', sizeof too_long - 1);
    for (size_t i = 0; i < BATON_N_OF(broken); i++)
        expect_refusal(&broken[i]);
}

TEST(a_membership_message_names_no_request)
{
    struct sample_envelope s;
    struct baton_why why;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STATUS);
    s.envelope.request_id = 1;
    assert_int_equal(check(&s, &why), BATON_INVALID);
    assert_non_null(strstr(why.text, "envelope.request_id"));
}

TEST(hello_may_not_know_whom_it_talks_to)
{
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_HELLO);
    s.envelope.dst_epoch = 0;
    assert_ok(check(&s, NULL));
}

TEST(payload_follows_a_chunk_and_nothing_else)
{
    struct sample_envelope s;
    for (size_t i = 0; sample_kinds[i]; i++) {
        bool is_chunk = sample_kinds[i] == BATON__V1__ENVELOPE__BODY_KV_CHUNK;
        sample_envelope_init(&s, sample_kinds[i]);
        assert_int_equal(baton_envelope_check(&s.envelope, is_chunk ? 0 : 1, NULL), BATON_INVALID);
    }
}

/* The receiver has the sender's pool mapped. */
TEST(nothing_follows_a_chunk_that_says_where_its_blocks_lie)
{
    struct sample_envelope s;
    Baton__V1__KvPlace place = BATON__V1__KV_PLACE__INIT;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_KV_CHUNK);
    s.body.kv_chunk.place = &place;
    assert_ok(baton_envelope_check(&s.envelope, 0, NULL));
    assert_int_equal(baton_envelope_check(&s.envelope, 1, NULL), BATON_INVALID);
    place.block = 1 << 24;
    assert_int_equal(baton_envelope_check(&s.envelope, 0, NULL), BATON_INVALID);
}

TEST(bytes_that_are_no_envelope_are_corrupt)
{
    static uint8_t huge[BATON_FRAME_MAX_HEADER + 1];
    assert_int_equal(unpack("", 0, 4096, NULL), BATON_CORRUPT);
    assert_int_equal(unpack("\x07", 1, 4096, NULL), BATON_CORRUPT);
    assert_int_equal(unpack("\x82\x01\x7f", 3, 4096, NULL), BATON_CORRUPT); /* hello, cut short */
    assert_int_equal(unpack(huge, sizeof huge, 4096, NULL), BATON_CORRUPT);
}

TEST(a_zero_byte_inside_a_string_is_found_at_any_depth)
{
    static const char *const found_in[] = {"weights", "worker_id", "reason"};
    for (int i = 0; i < 3; i++) {
        struct sample_envelope s;
        struct baton_why why;
        uint8_t packed[PACKED_MAX];
        char marked[65];
        memset(marked, 'a', 64);
        memcpy(marked + 10, "MARK", 4);
        marked[64] = 0;
        sample_envelope_init(&s, i < 2 ? BATON__V1__ENVELOPE__BODY_HELLO
                                       : BATON__V1__ENVELOPE__BODY_CANCEL);
        *(i == 0   ? &s.fingerprint.weights
          : i == 1 ? &s.body.hello.worker_id
                   : &s.body.cancel.reason) = marked;
        size_t n = baton__v1__envelope__pack(&s.envelope, packed);
        uint8_t *mark = memmem(packed, n, "MARK", 4);
        assert_non_null(mark);
        assert_ok(unpack(packed, n, 1 << 16, &why));
        mark[1] = 0;
        assert_int_equal(unpack(packed, n, 1 << 16, &why), BATON_CORRUPT);
        assert_non_null(strstr(why.text, found_in[i]));
    }
}

TEST(a_greedy_message_hits_the_cap_and_an_honest_one_does_not)
{
    enum { N = 1 << 20 };
    struct sample_envelope s;
    struct baton_why why;
    uint32_t *tokens = calloc(N, sizeof *tokens);
    uint8_t *packed = malloc((size_t)N * 5 + PACKED_MAX);
    assert_true(tokens && packed);
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST);
    s.body.prefill_request.tokens = tokens;
    s.body.prefill_request.n_tokens = N;
    for (int wide = 0; wide < 2; wide++) {
        for (size_t i = 0; i < N; i++)
            tokens[i] = wide ? 128255 : 7;
        size_t n = baton__v1__envelope__pack(&s.envelope, packed);
        assert_ok(unpack(packed, n, baton_envelope_arena_bytes(n), &why));
    }
    for (size_t i = 0; i < N; i++) /* field 1000, unknown, one byte: each costs 60 in memory */
        memcpy(packed + 3 * i, "\xc0\x3e\x00", 3);
    assert_int_equal(unpack(packed, 3 * N, baton_envelope_arena_bytes(3 * N), &why),
                     BATON_NO_MEMORY);
    free(tokens);
    free(packed);
}

/* Packs an envelope, and expects that a receiver takes it, with the memory that senders reckon. */
static void expect_taken(const baton_envelope *envelope)
{
    struct baton_why why;
    size_t n = baton__v1__envelope__get_packed_size(envelope);
    uint8_t *packed = malloc(n);
    assert_non_null(packed);
    if (baton_envelope_check(envelope, 0, &why) || baton_envelope_fits(envelope, n, &why))
        fail_msg("%s", why.text);
    baton__v1__envelope__pack(envelope, packed);
    if (unpack(packed, n, baton_envelope_arena_bytes(n), &why))
        fail_msg("%zu bytes: %s", n, why.text);
    assert_ok(unpack(packed, n, baton_envelope_unpacked_bytes(envelope), NULL));
    free(packed);
}

TEST(steps_of_every_size_are_taken)
{
    static Baton__V1__StepEvent *events[BATON_MAX_STEP_EVENTS];
    static const size_t sizes[] = {1, 16, 17, 128, 129, 496, 497, 1024, BATON_MAX_STEP_EVENTS};
    struct sample_envelope s;
    for (size_t i = 0; i < BATON_MAX_STEP_EVENTS; i++)
        events[i] = &s.step_event;
    for (int is_timed = 0; is_timed < 2; is_timed++)
        for (size_t i = 0; i < BATON_N_OF(sizes); i++) {
            sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_STEP_EVENTS);
            uint32_t *tokens = s.step_tokens.tokens;
            baton__v1__tokens__init(&s.step_tokens);
            s.step_tokens.tokens = tokens;
            s.step_tokens.n_tokens = 1;
            s.step_tokens.step_s = is_timed ? 0.01 : 0;
            s.step_event.finished = NULL;
            s.body.step_events.events = events;
            s.body.step_events.n_events = sizes[i];
            expect_taken(&s.envelope);
        }
}

TEST(logprobs_of_certain_tokens_are_taken_though_they_pack_into_nothing)
{
    static Baton__V1__Logprobs *all[BATON_MAX_TOKENS_IN_MESSAGE];
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS);
    baton__v1__logprobs__init(&s.logprobs);
    for (size_t i = 0; i < BATON_MAX_TOKENS_IN_MESSAGE; i++)
        all[i] = &s.logprobs;
    s.body.prompt_logprobs.logprobs = all;
    s.body.prompt_logprobs.n_logprobs = BATON_MAX_TOKENS_IN_MESSAGE;
    expect_taken(&s.envelope);
}

TEST(the_longest_prompt_is_taken_with_the_hashes_of_its_blocks)
{
    struct sample_envelope s;
    size_t n_hash_bytes = (size_t)(BATON_MAX_PROMPT_TOKENS / 16 - 1) * BATON_BLOCK_HASH_BYTES;
    uint32_t *tokens = malloc(BATON_MAX_PROMPT_TOKENS * sizeof *tokens);
    uint8_t *hashes = calloc(1, n_hash_bytes);
    assert_true(tokens && hashes);
    for (size_t i = 0; i < BATON_MAX_PROMPT_TOKENS; i++)
        tokens[i] = (1 << 21) - 1; /* the highest id of three bytes */
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST);
    s.body.prefill_request.tokens = tokens;
    s.body.prefill_request.n_tokens = BATON_MAX_PROMPT_TOKENS;
    s.body.prefill_request.block_hashes = (ProtobufCBinaryData){n_hash_bytes, hashes};
    expect_taken(&s.envelope);
    free(tokens);
    free(hashes);
}

/* The memory of one message of a kind beside its lists: BATON_ENVELOPE_BYTES_PER_BYTE for each of
 * the two bytes that it has at least. */
static void expect_cheap(const ProtobufCMessageDescriptor *descriptor)
{
    enum { SIZE_OF_BLOCK = 16, POINTER = 8, NOTES = 65, MIN_BYTES = 2 };
    size_t n_bytes = SIZE_OF_BLOCK + (descriptor->sizeof_message + 15) / 16 * 16 + POINTER + NOTES;
    if (n_bytes > MIN_BYTES * BATON_ENVELOPE_BYTES_PER_BYTE)
        fail_msg("%s takes %zu bytes", descriptor->short_name, n_bytes);
}

static void expect_cheap_lists(const ProtobufCMessageDescriptor *descriptor, bool is_listed)
{
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
        if (field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        bool listed = is_listed || field->label == PROTOBUF_C_LABEL_REPEATED;
        if (listed)
            expect_cheap(field->descriptor);
        expect_cheap_lists(field->descriptor, listed);
    }
}

TEST(no_message_in_a_list_takes_more_than_its_bytes_allow)
{
    expect_cheap_lists(&baton__v1__envelope__descriptor, false);
}

TEST(fields_of_a_newer_version_are_tolerated)
{
    struct sample_envelope s;
    uint8_t packed[PACKED_MAX];
    baton_envelope *envelope;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_RESERVE);
    size_t n = baton__v1__envelope__pack(&s.envelope, packed);
    memcpy(packed + n, "\xc0\x3e\x05", 3);
    struct baton_arena *arena = baton_arena_create(1 << 16);
    assert_ok(baton_envelope_unpack(packed, n + 3, arena, &envelope, NULL));
    assert_ok(baton_envelope_check(envelope, 0, NULL));
    baton_arena_destroy(arena);
}

static void expect_no_repeated_strings(const ProtobufCMessageDescriptor *message)
{
    for (unsigned i = 0; i < message->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->fields[i];
        assert_true(field->label != PROTOBUF_C_LABEL_REPEATED ||
                    field->type != PROTOBUF_C_TYPE_STRING);
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            expect_no_repeated_strings(field->descriptor);
    }
}

/* The search for cut strings looks at single ones only. */
TEST(no_message_repeats_a_string)
{
    expect_no_repeated_strings(&baton__v1__envelope__descriptor);
}

/* A field numbered 0 inside the second of two repeated messages: the search goes into each. */
TEST(bytes_that_are_no_protobuf_are_found_in_repeated_messages)
{
    static const char good[] = "\x32\x00", bad[] = "\x32\x02\x00\x01";
    struct sample_envelope s;
    struct baton_why why;
    uint8_t packed[PACKED_MAX];
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_RESERVE);
    size_t n = baton__v1__envelope__pack(&s.envelope, packed);
    memcpy(packed + n, "\xe2\x02\x06", 3); /* tokens, in place of reserve */
    memcpy(packed + n + 3, good, 2);
    memcpy(packed + n + 5, bad, 4);
    assert_int_equal(unpack(packed, n + 9, 1 << 16, &why), BATON_CORRUPT);
    memcpy(packed + n + 7, "\x48\x01", 2); /* the same with a number: a newer version's field */
    assert_ok(unpack(packed, n + 9, 1 << 16, &why));
}

TEST(kinds_have_the_names_of_the_proto)
{
    baton_envelope none = BATON__V1__ENVELOPE__INIT;
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_KV_CHUNK);
    assert_string_equal(baton_envelope_kind(&s.envelope), "kv_chunk");
    assert_string_equal(baton_envelope_kind(&none), "none");
}
