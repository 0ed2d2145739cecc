#include "gateway/api/routes/debug_kv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "gateway/api/answer.h"
#include "gateway/http/status.h"

enum { MAX_OPEN = 8, DEFAULT_OWNERS = 64, ANSWER_MAX_BYTES = 16 << 20 };

/* A worker's main thread answers between two messages, so a worker that needs longer is broken. */
#define TIME_NS (2 * BATON_SECOND)

/* The client's query. */
struct wanted {
    char worker[BATON_MAX_ID_BYTES + 1]; /* "": all workers */
    uint32_t first, limit;
};

struct asked {
    char id[BATON_MAX_ID_BYTES + 1];
    Baton__V1__Role role;
    const struct gw_worker *worker; /* valid until it is over, which its loss ends as well */
    bool over;
};

/* One exchange that waits for workers. */
struct question {
    enum gw_exchange_user user; /* first: its exchange's data is this */
    struct baton_node in_open;
    struct gw_kv_debug *debug;
    struct gw_exchange *exchange;
    uint64_t id;
    int64_t until_ns;
    struct baton_buf body;
    struct baton_json_out out;
    size_t n_asked, n_over;
    struct asked asked[];
};

BATON_LIST(question_list, struct question, in_open)

struct gw_kv_debug {
    const struct gw_served *served;
    struct question_list open;
    uint64_t last_id;
};

struct gw_kv_debug *gw_kv_debug_create(const struct gw_served *served)
{
    struct gw_kv_debug *debug = calloc(1, sizeof *debug);
    if (!debug)
        return NULL;
    debug->served = served;
    question_list_init(&debug->open);
    return debug;
}

static void forget(struct question *question)
{
    question_list_remove(&question->debug->open, question);
    baton_buf_fini(&question->body);
    free(question);
}

void gw_kv_debug_destroy(struct gw_kv_debug *debug)
{
    if (!debug)
        return;
    for (struct question *question; (question = question_list_first(&debug->open));)
        forget(question);
    free(debug);
}

void gw_kv_debug_gone(struct gw_exchange *exchange)
{
    forget(gw_exchange_data(exchange));
}

/* ---- workers' reports as JSON ---- */

static const char *reason_name(Baton__V1__KvReason reason)
{
    static const char *const names[] = {"",        "reserved", "receiving",
                                        "running", "sending",  "cached"};
    return names[reason]; /* in range: checked when the message was received */
}

static bool is_open(const struct gw_served *served, uint64_t request_id)
{
    bool is = false;
    for (size_t i = 0; i < served->n; i++)
        is |= gw_request_find(served->models[i]->requests, request_id) != NULL;
    return is;
}

static void put_owner(struct baton_json_out *out, const struct gw_kv_debug *debug,
                      const Baton__V1__KvOwner *owner)
{
    bool ours = owner->gateway_epoch == debug->served->models[0]->fleet->options.identity.epoch;
    char id[sizeof "0123456789abcdef"];
    (void)snprintf(id, sizeof id, "%016llx", (unsigned long long)owner->request_id);
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "request", id);
    baton_json_put_uint(out, "attempt", owner->attempt);
    if (ours)
        baton_json_put_bool(out, "open", is_open(debug->served, owner->request_id));
    else
        baton_json_put_null(out, "open");
    baton_json_put_string(out, "reason", reason_name(owner->reason));
    baton_json_put_uint(out, "blocks", owner->blocks);
    baton_json_put_uint(out, "shared_blocks", owner->shared_blocks);
    baton_json_put_uint(out, "states", owner->states);
    baton_json_put_real(out, "age_s", owner->age_s);
    baton_json_put_real(out, "reason_s", owner->reason_s);
    baton_json_put_bool(out, "canceled", owner->canceled);
    baton_json_close(out, '}');
}

static void put_held(struct baton_json_out *out, const Baton__V1__KvAccount *account)
{
    baton_json_open(out, "held", '[');
    for (size_t i = 0; i < account->n_held; i++) {
        baton_json_open(out, NULL, '{');
        baton_json_put_string(out, "reason", reason_name(account->held[i]->reason));
        baton_json_put_uint(out, "blocks", account->held[i]->blocks);
        baton_json_put_uint(out, "owners", account->held[i]->owners);
        baton_json_put_real(out, "oldest_s", account->held[i]->oldest_s);
        baton_json_close(out, '}');
    }
    baton_json_close(out, ']');
}

/* account NULL: the worker sent none. */
static void put_worker(struct question *question, const struct asked *asked,
                       const Baton__V1__KvAccount *account)
{
    struct baton_json_out *out = &question->out;
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "id", asked->id);
    baton_json_put_string(out, "role", gw_worker_role_name(asked->role));
    baton_json_put_bool(out, "answered", account);
    if (account) {
        baton_json_put_uint(out, "blocks", account->blocks);
        baton_json_put_uint(out, "free", account->free_blocks);
        baton_json_put_uint(out, "faults", account->faults);
        baton_json_put_uint(out, "states", account->states);
        baton_json_put_uint(out, "free_states", account->free_states);
        baton_json_put_uint(out, "cached_states", account->cached_states);
        baton_json_put_real(out, "oldest_cached_state_s", account->oldest_cached_state_s);
        put_held(out, account);
        baton_json_put_uint(out, "n_owners", account->owners_in_all);
        baton_json_open(out, "owners", '[');
        for (size_t i = 0; i < account->n_owners; i++)
            put_owner(out, question->debug, account->owners[i]);
        baton_json_close(out, ']');
    }
    baton_json_close(out, '}');
}

/* ---- questions ---- */

static void finish(struct question *question)
{
    baton_json_close(&question->out, ']');
    baton_json_close(&question->out, '}');
    gw_exchange_set_data(question->exchange, NULL);
    gw_answer_json(question->exchange, 200, &question->body);
    forget(question);
}

/* Adds a worker's report. The question may be over, and freed, after this. */
static void settle(struct question *question, struct asked *asked,
                   const Baton__V1__KvAccount *account)
{
    put_worker(question, asked, account);
    asked->over = true;
    if (++question->n_over == question->n_asked)
        finish(question);
}

static struct asked *find_asked(struct question *question, const struct gw_worker *worker)
{
    for (size_t i = 0; i < question->n_asked; i++)
        if (question->asked[i].worker == worker && !question->asked[i].over)
            return &question->asked[i];
    return NULL;
}

void gw_kv_debug_handle(struct gw_kv_debug *debug, const struct gw_worker *worker,
                        const Baton__V1__KvAccount *account)
{
    struct question *question = question_list_first(&debug->open);
    while (question && question->id != account->query)
        question = question_list_next(&debug->open, question);
    struct asked *asked = question ? find_asked(question, worker) : NULL;
    if (asked)
        settle(question, asked, account);
}

void gw_kv_debug_worker_lost(struct gw_kv_debug *debug, const struct gw_worker *worker)
{
    for (struct question *question = question_list_first(&debug->open), *next; question;
         question = next) {
        next = question_list_next(&debug->open, question);
        struct asked *asked = find_asked(question, worker);
        if (asked)
            settle(question, asked, NULL);
    }
}

void gw_kv_debug_tick(struct gw_kv_debug *debug, int64_t now_ns)
{
    struct question *question; /* the list is in order of until_ns */
    while ((question = question_list_first(&debug->open)) && now_ns >= question->until_ns) {
        for (size_t i = 0; i < question->n_asked; i++)
            if (!question->asked[i].over)
                put_worker(question, &question->asked[i], NULL);
        finish(question);
    }
}

/* ---- the endpoint ---- */

static bool is_wanted(const struct gw_worker *worker, const struct wanted *wanted)
{
    return worker->state != GW_WORKER_JOINING &&
           (!*wanted->worker || !strcmp(wanted->worker, worker->id));
}

static void ask(struct question *question, struct gw_worker *worker, const struct wanted *wanted)
{
    struct asked *asked = &question->asked[question->n_asked++];
    Baton__V1__KvQuery query = BATON__V1__KV_QUERY__INIT;
    baton_envelope envelope = BATON__V1__ENVELOPE__INIT;
    *asked = (struct asked){.role = worker->role, .worker = worker};
    (void)snprintf(asked->id, sizeof asked->id, "%s", worker->id);
    query.query = question->id;
    query.first_owner = wanted->first;
    query.max_owners = wanted->limit;
    envelope.body_case = BATON__V1__ENVELOPE__BODY_KV_QUERY;
    envelope.kv_query = &query;
    (void)gw_worker_send(worker, &envelope);
}

static size_t n_workers(const struct gw_served *served)
{
    size_t n = 0;
    for (size_t i = 0; i < served->n; i++)
        n += served->models[i]->fleet->workers.n;
    return n;
}

static struct question *open_question(struct gw_kv_debug *debug, struct gw_exchange *exchange)
{
    struct question *question =
        calloc(1, sizeof *question + n_workers(debug->served) * sizeof question->asked[0]);
    if (!question)
        return NULL;
    question->user = GW_USER_KV_DEBUG;
    question->debug = debug;
    question->exchange = exchange;
    question->id = ++debug->last_id;
    question->until_ns = baton_now_ns() + TIME_NS;
    baton_buf_init(&question->body, ANSWER_MAX_BYTES);
    question->out = baton_json_out(&question->body);
    baton_json_open(&question->out, NULL, '{');
    baton_json_open(&question->out, "workers", '[');
    question_list_push_back(&debug->open, question);
    gw_exchange_set_data(exchange, question);
    return question;
}

static void refuse(struct gw_exchange *exchange, const char *code, const char *param,
                   const char *message)
{
    gw_exchange_respond_error(
        exchange,
        &(struct gw_error){.status = 400, .code = code, .message = message, .param = param});
}

/* Reads a text that is a number in 0..max and nothing else. */
static bool read_number(const char *text, uint32_t max, uint32_t *value)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || number > max)
        return false;
    *value = (uint32_t)number;
    return true;
}

/* Reads one "name=value"; false: it was rejected and the client has its answer. */
static bool read_field(struct gw_exchange *exchange, char *field, struct wanted *wanted)
{
    char *value = strchr(field, '=');
    if (value)
        *value++ = 0;
    else
        value = field + strlen(field);
    if (!strcmp(field, "worker") && strlen(value) < sizeof wanted->worker) {
        memcpy(wanted->worker, value, strlen(value) + 1);
        return true;
    }
    if (!strcmp(field, "limit")) {
        if (read_number(value, BATON_MAX_KV_OWNERS, &wanted->limit))
            return true;
        refuse(exchange, "out_of_range", "limit", "limit: must be an integer from 0 to 256");
    } else if (!strcmp(field, "first")) {
        if (read_number(value, UINT32_MAX, &wanted->first))
            return true;
        refuse(exchange, "out_of_range", "first", "first: must be an integer from 0 to 4294967295");
    } else {
        refuse(exchange, "unknown_field", NULL,
               "the query of this path may have: worker (a worker's id), first, limit");
    }
    return false;
}

static bool read_query(struct gw_exchange *exchange, struct wanted *wanted)
{
    char text[256], *rest = text;
    size_t n = strlen(gw_exchange_query(exchange));
    *wanted = (struct wanted){.limit = DEFAULT_OWNERS};
    if (n >= sizeof text) {
        refuse(exchange, "invalid_value", NULL, "the query is longer than 255 bytes");
        return false;
    }
    memcpy(text, gw_exchange_query(exchange), n + 1);
    for (char *field; (field = strsep(&rest, "&"));)
        if (*field && !read_field(exchange, field, wanted))
            return false;
    return true;
}

static void ask_all(struct question *question, struct gw_fleet *fleet, const struct wanted *wanted)
{
    for (struct gw_worker *worker = gw_worker_list_first(&fleet->workers); worker;
         worker = gw_worker_list_next(&fleet->workers, worker))
        if (is_wanted(worker, wanted))
            ask(question, worker, wanted);
}

void gw_debug_kv(struct gw_api *api, struct gw_exchange *exchange, const struct baton_json *unused)
{
    struct gw_kv_debug *debug = api->kv_debug;
    struct wanted wanted;
    (void)unused;
    if (!read_query(exchange, &wanted))
        return;
    if (debug->open.n >= MAX_OPEN) {
        gw_answer_error(exchange, 429, "too_many_requests", "8 of these requests are open already");
        return;
    }
    struct question *question = open_question(debug, exchange);
    if (!question) {
        gw_answer_error(exchange, 503, "out_of_memory", "no memory for the request");
        return;
    }
    for (size_t i = 0; i < debug->served->n; i++)
        ask_all(question, debug->served->models[i]->fleet, &wanted);
    if (!question->n_asked)
        finish(question);
}
