#include "tests/unit/gateway/fixture_parts.h"

#include <stdio.h>

static void on_restart(struct gw_choice *client)
{
    client->n_restarts++;
    client->n_tokens = client->n_first = 0;
}

static void on_first(struct gw_choice *client)
{
    client->n_first++;
}

static void on_token(struct gw_choice *client, const struct gw_token *token)
{
    assert_true(workers_lie || token->id == (uint32_t)FIRST_TOKEN + (uint32_t)client->n_tokens);
    assert_int_equal(token->index, client->n_tokens);
    client->n_tokens++;
}

static void on_text(struct gw_choice *client, const char *text, size_t n)
{
    (void)client;
    (void)text;
    (void)n;
}

static void keep(struct gw_choice *client)
{
    client->decode_s = client->request->attempt.decode_times.decode_s;
    client->attempt = client->request->attempt.number;
    client->request = NULL;
}

static void on_finish(struct gw_choice *client)
{
    client->n_finished++;
    keep(client);
}

static void on_fail(struct gw_choice *client, const struct gw_failure *failure)
{
    client->n_failed++;
    client->status = failure->status;
    (void)snprintf(client->code, sizeof client->code, "%s", failure->code);
    (void)snprintf(client->message, sizeof client->message, "%s", failure->message);
    keep(client);
}

static const struct gw_response_writer writer = {.restart = on_restart,
                                                 .first = on_first,
                                                 .token = on_token,
                                                 .text = on_text,
                                                 .finish = on_finish,
                                                 .fail = on_fail};

void ask(struct gw_choice *client, const struct wanted *wanted)
{
    struct gw_request *request = gw_request_create(&requests, &writer, client, clock_ns);
    assert_non_null(request);
    *client = (struct gw_choice){.request = request, .id = request->id};
    request->params.kv_cache = true;
    request->params.cache_prompt = wanted->cache_prompt;
    request->params.streaming = wanted->streaming;
    request->params.priority = wanted->priority;
    request->params.max_new_tokens = wanted->n_new;
    request->params.sampling.repetition_penalty = 1;
    assert_ok(baton_tokens_reserve(&request->params.prompt, wanted->n_prompt));
    for (size_t i = 0; i < wanted->n_prompt; i++)
        request->params.prompt.ids[request->params.prompt.n++] = (uint32_t)(300 + i);
    assert_ok(baton_text_stream_init(&request->output.text, NULL, NULL, 0));
    if (wanted->timeout_ms)
        request->deadline_ns = clock_ns + wanted->timeout_ms * BATON_MS;
    gw_request_set_state(&requests, request, GW_TOKENIZING, "");
    gw_admission_queue(&dispatcher.admission, request);
    gw_dispatcher_pump(&dispatcher);
}

void leave(struct gw_choice *client)
{
    gw_lifecycle_cancel(&dispatcher.lifecycle, client->request, "the client left");
    client->request = NULL;
    gw_dispatcher_pump(&dispatcher);
}
