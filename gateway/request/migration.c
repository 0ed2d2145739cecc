#include "gateway/request/migration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/request/request.h"

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
    return request->migration.n ? &request->migration.first : &request->attempt;
}

bool gw_request_is_complete(const struct gw_request *request, bool *stopped)
{
    const struct baton_tokens *tokens = &request->output.tokens;
    *stopped = tokens->n &&
               baton_sampling_params_is_stop(&request->params.sampling, tokens->ids[tokens->n - 1]);
    return *stopped || tokens->n >= (uint64_t)request->params.max_new_tokens;
}

/* The hashes are those of the input: they are made again from the new one. */
static void forget_hashes(struct gw_request *request)
{
    free(request->hashes);
    request->hashes = NULL;
    request->n_hashes = 0;
}

enum baton_err gw_request_migrate(struct gw_request *request, const char *reason)
{
    struct gw_migration *migration = &request->migration;
    const struct baton_tokens *prompt = &request->params.prompt, *output = &request->output.tokens;
    enum baton_err err = baton_tokens_reserve(&migration->input, prompt->n + output->n);
    if (err)
        return err;
    memcpy(migration->input.ids, prompt->ids, prompt->n * sizeof prompt->ids[0]);
    memcpy(migration->input.ids + prompt->n, output->ids, output->n * sizeof output->ids[0]);
    migration->input.n = prompt->n + output->n;
    forget_hashes(request);
    if (!migration->n) {
        migration->first = request->attempt;
        migration->first.prefill = migration->first.decode = migration->first.prompt_at = NULL;
    }
    migration->n++;
    migration->decode_s += request->attempt.decode_s;
    (void)snprintf(migration->reason, sizeof migration->reason, "%s", reason);
    gw_attempt_begin(&request->attempt);
    return BATON_OK;
}

void gw_request_unmigrate(struct gw_request *request)
{
    request->migration.n--;
    request->migration.decode_s -= request->attempt.decode_s;
}
