/* Whatever workers with the right token say, in whatever order, while clients come and leave and
 * links are cut: each client hears of its tokens by index without a gap, no more than it asked for,
 * and of one end; and in the end no worker is thought to have a request.
 *
 * Input: a script, one byte for what happens and to whom, a lie with three more and its body. */
#include "tests/fuzz/fuzz.h"

#include "common/base/log.h"
#include "tests/unit/gateway/fixture.h"

enum { N_WORKERS = 4, N_CLIENTS = 4, MAX_ACTS = 64, PATIENCE_MS = 2000, MAX_LIE_BYTES = 255 };
enum act { ASK, PASS, LEAVE, CUT, JOIN, GOODBYE, WORK, LIE };

static struct far_worker workers[N_WORKERS];
static struct gw_choice clients[N_CLIENTS];
static bool came[N_CLIENTS];

struct script {
    const uint8_t *at, *end;
};

static uint8_t next(struct script *script)
{
    return script->at < script->end ? *script->at++ : 0;
}

/* ---- what is true ---- */

static struct far_worker *far_of(const struct gw_worker *worker)
{
    for (int i = 0; i < N_WORKERS; i++)
        if (worker && known(&workers[i]) == worker)
            return &workers[i];
    return NULL;
}

/* The worker that has the client's request says what comes next. */
static void work(const struct gw_choice *client)
{
    const struct gw_request *request = client->request;
    if (!request)
        return;
    struct far_worker *decoder = far_of(request->attempt.decode);
    struct far_worker *prompt_at = far_of(request->attempt.prompt_at);
    size_t n = request->output.tokens.n;
    if (request->state == GW_RESERVING && decoder)
        say_reserved(decoder, client);
    else if (request->state == GW_PREFILLING && prompt_at)
        say_first(prompt_at, client);
    else if (request->state == GW_DECODING && decoder &&
             (int64_t)n < request->params.max_new_tokens)
        say_tokens(decoder, client, n, 1);
    else if (request->state == GW_DECODING && decoder)
        say_finished(decoder, client, n);
}

/* ---- lies ---- */

static void address_events(const Baton__V1__StepEvents *step, uint64_t id, uint32_t attempt)
{
    for (size_t i = 0; i < step->n_events; i++) {
        step->events[i]->request_id = id;
        step->events[i]->attempt = attempt;
    }
}

/* About a request that exists, in an attempt near its own: others are ignored at once. */
static void address(baton_envelope *envelope, const struct gw_choice *client, uint8_t how)
{
    uint32_t attempt = client->request ? client->request->attempt.number : 1;
    envelope->request_id = client->id;
    envelope->attempt = how & 1 ? attempt + (how >> 1 & 3) - 1 : attempt;
    if (envelope->body_case == BATON__V1__ENVELOPE__BODY_STEP_EVENTS)
        address_events(envelope->step_events, client->id, envelope->attempt);
}

static void lie(struct far_worker *worker, const struct gw_choice *client, struct script *script)
{
    uint8_t how = next(script), n = next(script);
    size_t left = (size_t)(script->end - script->at);
    size_t size = n < left ? n : left;
    struct baton_arena *arena = baton_arena_create(baton_envelope_arena_bytes(size));
    baton_envelope *envelope;
    struct baton_why why;
    check(arena != NULL);
    if (!baton_envelope_unpack(script->at, size, arena, &envelope, &why)) {
        envelope->src_epoch = envelope->link = envelope->link_seq = 1;
        envelope->dst_epoch = envelope->body_case != BATON__V1__ENVELOPE__BODY_HELLO;
        address(envelope, client, how);
        if (!baton_envelope_check(envelope, 0, &why))
            say_anything(worker, envelope);
    }
    baton_arena_destroy(arena);
    script->at += size;
}

/* ---- the script ---- */

static void come(int i)
{
    struct wanted wanted = {
        .n_prompt = 20, .n_new = 6, .streaming = i & 1, .timeout_ms = PATIENCE_MS};
    if (came[i])
        return;
    came[i] = true;
    ask(&clients[i], &wanted);
}

static void act(struct script *script)
{
    uint8_t what = next(script);
    struct far_worker *worker = &workers[what >> 3 & 3];
    struct gw_choice *client = &clients[what >> 5 & 3];
    switch ((enum act)(what & 7)) {
    case ASK:
        come(what >> 5 & 3);
        break;
    case PASS:
        pass_ms(25 << (what >> 5));
        break;
    case LEAVE:
        if (client->request)
            leave(client);
        break;
    case CUT:
        if (known(worker))
            cut_link(worker);
        break;
    case JOIN:
        worker->is_silent = false;
        if (!known(worker) && hello(worker))
            say_status(worker);
        break;
    case GOODBYE:
        if (known(worker))
            say_goodbye(worker);
        break;
    case WORK:
        work(client);
        break;
    case LIE:
        if (known(worker))
            lie(worker, client, script);
        break;
    }
}

static void check_clients(void)
{
    for (int i = 0; i < N_CLIENTS; i++) {
        const struct gw_choice *client = &clients[i];
        const struct gw_request *request = client->request;
        check(client->n_finished + client->n_failed <= 1);
        check(!request || !(client->n_finished + client->n_failed));
        check(!request || (size_t)client->n_tokens == request->output.tokens.n);
        check(client->n_tokens <= 6);
    }
}

static void check_end(void)
{
    pass_ms(2 * PATIENCE_MS);
    for (int i = 0; i < N_CLIENTS; i++)
        check(!clients[i].request);
    for (int i = 0; i < N_WORKERS; i++)
        check(!known(&workers[i]) || !known(&workers[i])->n_active);
}

FUZZ(data, size)
{
    static const char *const names[N_WORKERS] = {"prefill-0", "prefill-1", "decode-0", "decode-1"};
    struct script script = {data, data + size};
    workers_lie = true;
    check(!baton_log_init("fuzz", "error", NULL));
    absence_ms = 500;
    migration_limit = 3;
    gateway_open(NULL);
    memset(clients, 0, sizeof clients);
    memset(came, 0, sizeof came);
    for (int i = 0; i < N_WORKERS; i++) {
        workers[i] = i < 2 ? prefill_worker(names[i]) : decode_worker(names[i]);
        join(&workers[i]);
    }
    for (int n = 0; script.at < script.end && n < MAX_ACTS; n++) {
        act(&script);
        check_clients();
    }
    check_end();
    gateway_close();
}
