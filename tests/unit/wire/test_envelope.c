#include "tests/support/test.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/envelope.h"
#include "common/wire/frame.h"
#include "tests/support/sample_envelope.h"

enum { PACKED_MAX = 8192 };

/* Each function below breaks one field of a valid sample and returns the field's name; NULL when
 * there is no i-th way to break it. */
typedef const char *break_fn(struct sample_envelope *s, int i);

static char too_long[BATON_MAX_TEXT_BYTES + 2];

static const char *break_addressing(struct sample_envelope *s, int i)
{
    switch (i) {
    case 0:
        s->envelope.src_epoch = 0;
        return "envelope.src_epoch";
    case 1:
        s->envelope.dst_epoch = 0;
        return "envelope.dst_epoch";
    case 2:
        s->envelope.link = 0;
        return "envelope.link";
    case 3:
        s->envelope.link_seq = 0;
        return "envelope.link_seq";
    case 4:
        s->envelope.request_id = 0;
        return "envelope.request_id";
    case 5:
        s->envelope.attempt = 0;
        return "envelope.attempt";
    case 6:
        s->envelope.body_case = BATON__V1__ENVELOPE__BODY__NOT_SET;
        return "envelope.body";
    default:
        return NULL;
    }
}

static const char *break_hello_names(struct sample_envelope *s, int i)
{
    Baton__V1__Hello *hello = &s->body.hello;
    static const char *const bad_ids[] = {"", "decode 0", "decode/0", "d\xc3\xa9", too_long};
    static const char *const bad_urls[] = {
        "",          "7201",          "ipc:///tmp/x", "tcp://*",        "tcp://:7201",
        "tcp://a:0", "tcp://a:65536", "tcp://a:1/x",  "tcp://eth0;a:1", "tcp://[::1:7",
        too_long};
    enum { N_IDS = sizeof bad_ids / sizeof *bad_ids, N_URLS = sizeof bad_urls / sizeof *bad_urls };
    if (i < N_IDS) {
        hello->worker_id = baton_envelope_text(bad_ids[i]);
        return "hello.worker_id";
    }
    if (i < N_IDS + N_URLS) {
        hello->inbox_url = baton_envelope_text(bad_urls[i - N_IDS]);
        return "hello.inbox_url";
    }
    if (i == N_IDS + N_URLS) {
        hello->role = BATON__V1__ROLE__ROLE_PREFILL;
        return "hello.bulk_url";
    }
    return NULL;
}

static const char *break_hello(struct sample_envelope *s, int i)
{
    Baton__V1__Hello *hello = &s->body.hello;
    switch (i) {
    case 0:
        hello->role = (Baton__V1__Role)3;
        return "hello.role";
    case 1:
        hello->role = BATON__V1__ROLE__ROLE_UNSPECIFIED;
        return "hello.role";
    case 2:
        hello->pid = 0;
        return "hello.pid";
    case 3:
        hello->bulk_url = baton_envelope_text("");
        return "hello.bulk_url";
    case 4:
        hello->fingerprint = NULL;
        return "hello.fingerprint";
    case 5:
        s->fingerprint.weights = baton_envelope_text("0123");
        return "hello.fingerprint.weights";
    case 6:
        s->fingerprint.config =
            baton_envelope_text("ABCDEF6789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
        return "hello.fingerprint.config";
    case 7:
        hello->model = baton_envelope_text("t\xffle");
        return "hello.model";
    case 8:
        hello->dtype = baton_envelope_text("");
        return "hello.dtype";
    case 9:
        hello->kv_block_tokens = 0;
        return "hello.kv_block_tokens";
    case 10:
        hello->n_context_tokens = UINT32_MAX;
        return "hello.n_context_tokens";
    case 11:
        hello->cluster_token = baton_envelope_text(too_long);
        return "hello.cluster_token";
    case 12:
        hello->status = NULL;
        return "hello.status";
    case 13:
        s->hello_status.kv_blocks_free = 65;
        return "hello.kv_blocks_free";
    case 14:
        hello->start_to_ready_s = NAN;
        return "hello.start_to_ready_s";
    case 15:
        hello->model_load_s = -0.5;
        return "hello.model_load_s";
    case 16:
        hello->model_load_s = INFINITY;
        return "hello.model_load_s";
    default:
        return break_hello_names(s, i - 17);
    }
}

static const char *break_prefill_request(struct sample_envelope *s, int i)
{
    Baton__V1__PrefillRequest *request = &s->body.prefill_request;
    switch (i) {
    case 0:
        request->n_tokens = 0;
        return "prefill_request.tokens";
    case 1:
        s->tokens[2] = 0x80000000u;
        return "prefill_request.tokens";
    case 2:
        request->sampling = NULL;
        return "prefill_request.sampling";
    case 3:
        s->sampling.top_p = 0;
        return "prefill_request.sampling.top_p";
    case 4:
        s->sampling.top_p = 1.5;
        return "prefill_request.sampling.top_p";
    case 5:
        s->sampling.temperature = NAN;
        return "prefill_request.sampling.temperature";
    case 6:
        s->sampling.n_stop_token_ids = BATON_MAX_STOP_IDS + 1;
        return "prefill_request.sampling.stop_token_ids";
    case 7:
        s->deliver_to.bulk_url = baton_envelope_text("tcp://*:7202");
        return "prefill_request.deliver_to.bulk_url";
    case 8:
        s->deliver_to.epoch = 0;
        return "prefill_request.deliver_to.epoch";
    case 9:
        request->naive = 1;
        return "prefill_request.deliver_to";
    case 10:
        request->deliver_to = NULL;
        request->naive = 1;
        request->max_new_tokens = 0;
        return "prefill_request.max_new_tokens";
    default:
        return NULL;
    }
}

static const char *break_sampling(struct sample_envelope *s, int i)
{
    switch (i) {
    case 0:
        s->sampling.min_p = 1.01;
        return "decode_start.sampling.min_p";
    case 1:
        s->sampling.repetition_penalty = -1;
        return "decode_start.sampling.repetition_penalty";
    case 2:
        s->sampling.repetition_penalty = INFINITY;
        return "decode_start.sampling.repetition_penalty";
    case 3:
        s->sampling.presence_penalty = NAN;
        return "decode_start.sampling.presence_penalty";
    case 4:
        s->sampling.frequency_penalty = 2.5;
        return "decode_start.sampling.frequency_penalty";
    case 5:
        s->bias.bias = -101;
        return "decode_start.sampling.logit_bias.bias";
    case 6:
        s->bias.token = UINT32_MAX;
        return "decode_start.sampling.logit_bias.token";
    case 7:
        s->sampling.explain = BATON_MAX_LISTED + 1;
        return "decode_start.sampling.explain";
    case 8:
        s->sampling.top_logprobs = BATON_MAX_LISTED + 1;
        return "decode_start.sampling.top_logprobs";
    default:
        return NULL;
    }
}

static const char *break_decision(struct sample_envelope *s, int i)
{
    switch (i) {
    case 0:
        s->decision.chosen = NULL;
        return "first_token.decision.chosen";
    case 1:
        s->candidate.prob = 1.5;
        return "first_token.decision.prob";
    case 2:
        s->candidate.removed_by = (Baton__V1__Candidate__Removal)9;
        return "first_token.decision.removed_by";
    case 3:
        s->candidate.interval_end = NAN;
        return "first_token.decision.interval_end";
    case 4:
        s->decision.rank = 0;
        return "first_token.decision.rank";
    case 5:
        s->decision.entropy_bits = -1;
        return "first_token.decision.entropy_bits";
    case 6:
        s->logprobs.logprob = 0.1;
        return "first_token.logprobs";
    case 7:
        s->logprobs.n_top_logprobs = 1;
        return "first_token.logprobs.top_logprobs";
    default:
        return NULL;
    }
}

static const char *break_prompt_logprobs(struct sample_envelope *s, int i)
{
    switch (i) {
    case 0:
        s->body.prompt_logprobs.first_index = 0;
        return "prompt_logprobs.first_index";
    case 1:
        s->body.prompt_logprobs.n_logprobs = 0;
        return "prompt_logprobs.logprobs";
    case 2:
        s->top_logprobs[1] = NAN;
        return "prompt_logprobs.logprobs";
    default:
        return NULL;
    }
}

static const char *break_tokens(struct sample_envelope *s, int i)
{
    switch (i) {
    case 0:
        s->body.tokens.n_tokens = 0;
        return "tokens.tokens";
    case 1:
        s->body.tokens.first_index = UINT64_MAX;
        return "tokens.first_index";
    case 2:
        s->body.tokens.step_s = -1;
        return "tokens.step_s";
    case 3:
        s->began.kv_transfer_s = INFINITY;
        return "tokens.began.kv_transfer_s";
    case 4:
        s->body.tokens.n_decisions = 3;
        return "tokens.decisions";
    case 5:
        s->body.tokens.n_logprobs = 1;
        return "tokens.logprobs";
    case 6:
        s->began.kv_crc_s = NAN;
        return "tokens.began.kv_crc_s";
    case 7:
        s->began.kv_overlap_s = -1;
        return "tokens.began.kv_overlap_s";
    case 8:
        s->began.kv_exposed_s = 1e300;
        return "tokens.began.kv_exposed_s";
    default:
        return NULL;
    }
}

static const char *break_kv_begin(struct sample_envelope *s, int i)
{
    switch (i) {
    case 0:
        s->body.kv_begin.reply_url = baton_envelope_text("");
        return "kv_begin.reply_url";
    case 1:
        s->body.kv_begin.n_layers = 0;
        return "kv_begin.n_layers";
    case 2:
        s->body.kv_begin.total_bytes = UINT64_MAX;
        return "kv_begin.total_bytes";
    case 3:
        s->body.kv_begin.kv_dtype = baton_envelope_text("f 32");
        return "kv_begin.kv_dtype";
    default:
        return NULL;
    }
}

static const char *break_finished(struct sample_envelope *s, int i)
{
    if (i == 0)
        s->body.finished.reason = BATON__V1__FINISHED__REASON__REASON_UNSPECIFIED;
    else if (i == 1)
        s->body.finished.reason = (Baton__V1__Finished__Reason)-1;
    return i < 2 ? "finished.reason" : NULL;
}

static const char *break_reserve(struct sample_envelope *s, int i)
{
    Baton__V1__Reserve *reserve = &s->body.reserve;
    switch (i) {
    case 0:
        reserve->n_prompt_tokens = 0;
        return "reserve.n_prompt_tokens";
    case 1:
        reserve->block_hashes.len--;
        return "reserve.block_hashes";
    case 2:
        reserve->n_prompt_tokens = 2;
        return "reserve.block_hashes";
    default:
        return NULL;
    }
}

static const char *break_reserved(struct sample_envelope *s, int i)
{
    if (i == 0)
        s->body.reserved.n_cached_blocks = s->body.reserved.n_blocks;
    return i == 0 ? "reserved.n_cached_blocks" : NULL;
}

static const char *break_step_events(struct sample_envelope *s, int i)
{
    switch (i) {
    case 0:
        s->body.step_events.n_events = 0;
        return "step_events.events";
    case 1:
        s->step_event.request_id = 0;
        return "step_events.events.request_id";
    case 2:
        s->step_event.attempt = 0;
        return "step_events.events.attempt";
    case 3:
        s->step_event.tokens = NULL;
        s->step_event.finished = NULL;
        return "step_events.events";
    case 4:
        s->step_tokens.n_tokens = 0;
        return "step_events.tokens";
    case 5:
        s->step_finished.decode_s = -1;
        return "step_events.decode_s";
    default:
        return NULL;
    }
}

static const char *break_status(struct sample_envelope *s, int i)
{
    Baton__V1__Status *status = &s->body.status;
    switch (i) {
    case 0:
        status->kv_blocks_free = status->kv_blocks_total + 1;
        return "status.kv_blocks_free";
    case 1:
        status->kv_blocks_cached = status->kv_blocks_free + 1;
        return "status.kv_blocks_cached";
    case 2:
        status->tokens_per_s = NAN;
        return "status.tokens_per_s";
    case 3:
        status->prefix_hit_tokens = status->prefix_tokens + 1;
        return "status.prefix_hit_tokens";
    case 4:
        status->busy_s = -1;
        return "status.busy_s";
    case 5:
        status->step_base_s = -1;
        return "status.step_base_s";
    case 6:
        status->step_row_s = INFINITY;
        return "status.step_row_s";
    default:
        return NULL;
    }
}

static const char *break_cancel(struct sample_envelope *s, int i)
{
    static const char *const bad_texts[] = {too_long, "\xc0\x80", "cut \xe2\x82", "\xed\xa0\x80"};
    if (i < 4)
        s->body.cancel.reason = baton_envelope_text(bad_texts[i]);
    return i < 4 ? "cancel.reason" : NULL;
}

static enum baton_err check(const struct sample_envelope *s, struct baton_why *why)
{
    bool is_chunk = s->envelope.body_case == BATON__V1__ENVELOPE__BODY_KV_CHUNK;
    return baton_envelope_check(&s->envelope, is_chunk ? 64 : 0, why);
}

static void expect_all_refused(Baton__V1__Envelope__BodyCase kind, break_fn *break_one)
{
    for (int i = 0;; i++) {
        struct sample_envelope s;
        struct baton_why why = {""};
        sample_envelope_init(&s, kind);
        const char *field = break_one(&s, i);
        if (!field)
            break;
        assert_int_equal(check(&s, &why), BATON_INVALID);
        if (strncmp(why.text, field, strlen(field)) != 0)
            fail_msg("way %d: expected %s, got: %s", i, field, why.text);
    }
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
        assert_int_equal(baton_envelope_unpack(packed, n, arena, &unpacked, &why), BATON_OK);
        assert_int_equal(unpacked->body_case, sample_kinds[i]);
        assert_int_equal(baton__v1__envelope__pack(unpacked, again), n);
        assert_memory_equal(again, packed, n);
        baton_arena_destroy(arena);
    }
}

TEST(every_broken_field_is_refused_by_name)
{
    memset(too_long, 'x', sizeof too_long - 1);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_RESERVE, break_addressing);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_HELLO, break_hello);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_PREFILL_REQUEST, break_prefill_request);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_DECODE_START, break_sampling);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_FIRST_TOKEN, break_decision);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_PROMPT_LOGPROBS, break_prompt_logprobs);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_TOKENS, break_tokens);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_KV_BEGIN, break_kv_begin);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_FINISHED, break_finished);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_CANCEL, break_cancel);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_STATUS, break_status);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_RESERVE, break_reserve);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_RESERVED, break_reserved);
    expect_all_refused(BATON__V1__ENVELOPE__BODY_STEP_EVENTS, break_step_events);
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
    assert_int_equal(check(&s, NULL), BATON_OK);
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

static enum baton_err unpack(const void *bytes, size_t n, size_t cap, struct baton_why *why)
{
    baton_envelope *envelope;
    struct baton_arena *arena = baton_arena_create(cap);
    enum baton_err err = baton_envelope_unpack(bytes, n, arena, &envelope, why);
    baton_arena_destroy(arena);
    return err;
}

TEST(what_is_no_envelope_is_corrupt)
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
        assert_int_equal(unpack(packed, n, 1 << 16, &why), BATON_OK);
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
        assert_int_equal(unpack(packed, n, baton_envelope_arena_bytes(n), &why), BATON_OK);
    }
    for (size_t i = 0; i < N; i++) /* field 1000, unknown, one byte: each costs 60 in memory */
        memcpy(packed + 3 * i, "\xc0\x3e\x00", 3);
    assert_int_equal(unpack(packed, 3 * N, baton_envelope_arena_bytes(3 * N), &why),
                     BATON_NO_MEMORY);
    free(tokens);
    free(packed);
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
    assert_int_equal(baton_envelope_unpack(packed, n + 3, arena, &envelope, NULL), BATON_OK);
    assert_int_equal(baton_envelope_check(envelope, 0, NULL), BATON_OK);
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
TEST(what_is_no_protobuf_is_found_in_repeated_messages)
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
    assert_int_equal(unpack(packed, n + 9, 1 << 16, &why), BATON_OK);
}

TEST(kinds_have_the_names_of_the_proto)
{
    baton_envelope none = BATON__V1__ENVELOPE__INIT;
    struct sample_envelope s;
    sample_envelope_init(&s, BATON__V1__ENVELOPE__BODY_KV_CHUNK);
    assert_string_equal(baton_envelope_kind(&s.envelope), "kv_chunk");
    assert_string_equal(baton_envelope_kind(&none), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_sample_passes_and_survives_the_trip),
        cmocka_unit_test(every_broken_field_is_refused_by_name),
        cmocka_unit_test(a_membership_message_names_no_request),
        cmocka_unit_test(hello_may_not_know_whom_it_talks_to),
        cmocka_unit_test(payload_follows_a_chunk_and_nothing_else),
        cmocka_unit_test(what_is_no_envelope_is_corrupt),
        cmocka_unit_test(a_zero_byte_inside_a_string_is_found_at_any_depth),
        cmocka_unit_test(a_greedy_message_hits_the_cap_and_an_honest_one_does_not),
        cmocka_unit_test(fields_of_a_newer_version_are_tolerated),
        cmocka_unit_test(no_message_repeats_a_string),
        cmocka_unit_test(what_is_no_protobuf_is_found_in_repeated_messages),
        cmocka_unit_test(kinds_have_the_names_of_the_proto),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
