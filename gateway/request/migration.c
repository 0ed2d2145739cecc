#include "gateway/request/migration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/request/request.h"

void gw_migration_fini(struct gw_migration *migration)
{
    baton_tokens_fini(&migration->input);
    free(migration->past);
}

const struct baton_tokens *gw_request_input(const struct gw_request *request)
{
    return request->migration.input.n ? &request->migration.input : &request->params.prompt;
}

size_t gw_request_n_resumed(const struct gw_request *request)
{
    return gw_request_input(request)->n - request->params.prompt.n;
}

int64_t gw_request_n_more(const struct gw_request *request)
{
    return request->params.max_new_tokens - (int64_t)gw_request_n_resumed(request);
}

const struct gw_attempt *gw_request_first_attempt(const struct gw_request *request)
{
    return request->migration.n ? &request->migration.past->first : &request->attempt;
}

bool gw_request_is_complete(const struct gw_request *request, bool *stopped)
{
    const struct baton_tokens *tokens = &request->output.tokens;
    *stopped = tokens->n &&
               baton_sampling_params_is_stop(&request->params.sampling, tokens->ids[tokens->n - 1]);
    return *stopped || tokens->n >= (uint64_t)request->params.max_new_tokens;
}

static void add(struct gw_decode_times *sum, const struct gw_decode_times *times, int sign)
{
    sum->kv_transfer_s += sign * times->kv_transfer_s;
    sum->decode_queue_s += sign * times->decode_queue_s;
    sum->decode_s += sign * times->decode_s;
    sum->sample_s += sign * times->sample_s;
}

struct gw_decode_times gw_request_decode_times(const struct gw_request *request)
{
    struct gw_decode_times sum = request->migration.before;
    add(&sum, &request->attempt.decode_times, 1);
    return sum;
}

/* Appends the first n tokens; their memory is reserved. */
static void append(struct baton_tokens *to, const struct baton_tokens *from, size_t n)
{
    if (n) /* without tokens ids may be NULL, which memcpy must not get */
        memcpy(to->ids + to->n, from->ids, n * sizeof from->ids[0]);
    to->n += n;
}

/* The next attempt's input: the prompt and the first n_output tokens of the output. */
static enum baton_err set_input(struct gw_request *request, size_t n_output)
{
    struct baton_tokens *input = &request->migration.input;
    const struct baton_tokens *prompt = &request->params.prompt;
    enum baton_err err = baton_tokens_reserve(input, prompt->n + n_output);
    if (err)
        return err;
    input->n = 0;
    append(input, prompt, prompt->n);
    append(input, &request->output.tokens, n_output);
    gw_prompt_hashes_forget(request); /* they are the old input's */
    return BATON_OK;
}

static void count(struct gw_request *request, const char *reason)
{
    struct gw_migration *migration = &request->migration;
    struct gw_migrated *past = migration->past;
    if (!migration->n) {
        past->first = request->attempt;
        /* Its ids and times are reported at the end, when its workers may be freed. */
        past->first.prefill = past->first.decode = past->first.prompt_at = NULL;
    }
    migration->n++;
    add(&migration->before, &request->attempt.decode_times, 1);
    (void)snprintf(past->reason, sizeof past->reason, "%s", reason);
}

/* Does everything in a migration that may fail, so that a failure changes nothing. */
static enum baton_err prepare(struct gw_request *request, size_t n_output)
{
    struct gw_migration *migration = &request->migration;
    if (!migration->past)
        migration->past = calloc(1, sizeof *migration->past);
    return migration->past ? set_input(request, n_output) : BATON_NO_MEMORY;
}

enum baton_err gw_request_migrate(struct gw_request *request, const char *reason)
{
    enum baton_err err = prepare(request, request->output.tokens.n);
    if (err)
        return err;
    count(request, reason);
    gw_attempt_begin(&request->attempt);
    return BATON_OK;
}

enum baton_err gw_request_move(struct gw_request *request, const char *reason)
{
    enum baton_err err = prepare(request, request->output.tokens.n - 1);
    if (err)
        return err;
    count(request, reason);
    request->migration.n_hand_overs++;
    request->successor.n_begun = request->attempt.n_begun;
    memcpy(request->successor.prefill_id,
           request->attempt.prefill_id, /* stays: it ran the prompt */
           sizeof request->successor.prefill_id);
    gw_attempt_release(&request->attempt);
    request->attempt = request->successor;
    request->successor = (struct gw_attempt){0};
    return BATON_OK;
}

bool gw_request_may_migrate(const struct gw_request *request, int64_t limit)
{
    const struct gw_migration *migration = &request->migration;
    return migration->n < limit + migration->n_hand_overs + migration->n_uncounted;
}

double gw_request_migration_gap_s(const struct gw_request *request, int64_t now_ns)
{
    int64_t from_ns = request->output.last_token_ns, awaited_ns = request->migration.awaited_ns;
    from_ns = awaited_ns > from_ns ? awaited_ns : from_ns;
    return now_ns > from_ns ? baton_seconds(now_ns - from_ns) : 0;
}

void gw_request_unmigrate(struct gw_request *request)
{
    request->migration.n--;
    add(&request->migration.before, &request->attempt.decode_times, -1);
}
