#include "gateway/api/routes/bodies.h"

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/obs/prom.h"
#include "gateway/api/answer.h"
#include "gateway/api/choose_model.h"
#include "gateway/api/completion/tool_choice.h"
#include "gateway/api/params/grammar.h"
#include "gateway/api/routes/text.h"
#include "gateway/http/fair_queue.h"

enum {
    INLINE_BYTES = 16 << 10,      /* parsing takes a millisecond on the loop */
    TREES_BYTES = 64 << 20,       /* all trees together, but at least the largest one */
    TEXTS_BYTES = 64 << 20,       /* all texts that wait, but at least */
    TEXTS = 2,                    /* this many of the largest size */
    TREE_BYTES = 32 << 20,        /* of one tree, and three times its text */
    BYTES_PER_BYTE = 96,          /* no text needs more for each of its bytes */
    FIRST_BYTES = 4 << 10,        /* and these */
    FREED_INLINE_BYTES = 1 << 16, /* trees that the loop frees */
    RETURNED_BYTES = 1 << 20,     /* trees whose memory goes back to the system at once */
    MAX_FIELDS = 1024             /* of a body: each API looks at all of them, on the loop */
};

/* A body from the moment its request was read until its tree is freed. The client may leave
 * meanwhile: exchange is then NULL. */
struct body {
    enum gw_exchange_user user; /* first: its exchange's data is this */
    struct gw_fair_item waits;
    uv_work_t work;
    struct gw_api *api;
    struct gw_exchange *exchange;
    gw_endpoint endpoint;
    gw_pool_endpoint on_pool; /* NULL: none */
    char *text;
    size_t n;
    size_t tree_bytes; /* what counts in bodies->tree_bytes for it, and its answer */
    struct baton_json *tree;
    struct gw_reply reply; /* if the route answers on the pool */
    struct baton_why why;
    enum baton_err err;
    bool is_parsed, is_answered;
    bool has_query; /* which may name a model */
};

static struct body *body_of(struct gw_fair_item *item)
{
    return item ? (struct body *)((char *)item - offsetof(struct body, waits)) : NULL;
}

enum refusal { TREE_TOO_LARGE, TOO_MANY_FIELDS, TOO_MUCH_WAITS, N_REFUSALS };

struct gw_bodies {
    uv_loop_t *loop;
    struct gw_fair_queue waiting; /* for memory */
    size_t tree_bytes;
    size_t text_bytes, max_text_bytes;
    uint64_t n_refused[N_REFUSALS];
};

struct gw_bodies *gw_bodies_create(uv_loop_t *loop, size_t max_body_bytes)
{
    struct gw_bodies *bodies = calloc(1, sizeof *bodies);
    size_t largest = TEXTS * max_body_bytes;
    if (!bodies)
        return NULL;
    bodies->loop = loop;
    bodies->max_text_bytes = largest > TEXTS_BYTES ? largest : TEXTS_BYTES;
    gw_fair_queue_init(&bodies->waiting);
    return bodies;
}

void gw_bodies_destroy(struct gw_bodies *bodies)
{
    free(bodies);
}

/* Returns the most bytes that the tree of a text of n bytes may have: 32 MiB, and three times the
 * text, which jansson needs to read a single string; or less, if no text of n bytes needs it. */
static size_t max_tree(size_t n)
{
    size_t any = FIRST_BYTES + BYTES_PER_BYTE * n, most = TREE_BYTES + 3 * n;
    return any < most ? any : most;
}

/* ---- endpoints ---- */

/* Ollama and TGI make fields of the members of these. */
static size_t n_fields(const struct baton_json *tree)
{
    if (baton_json_kind(tree) != BATON_JSON_OBJECT)
        return 0;
    return baton_json_size(tree) + baton_json_size(baton_json_get(tree, "options")) +
           baton_json_size(baton_json_get(tree, "parameters"));
}

static void refuse(struct gw_api *api, struct gw_exchange *exchange, enum baton_err err,
                   const struct baton_why *why)
{
    char message[sizeof why->text + 64];
    bool is_large = err == BATON_LIMIT;
    api->bodies->n_refused[TREE_TOO_LARGE] += is_large;
    (void)snprintf(message, sizeof message, "%s: %s",
                   is_large ? "the body is over the server's limit" : "the body is not JSON",
                   why->text);
    if (is_large)
        gw_answer_error(exchange, 413, "body_too_large", message);
    else
        gw_answer_error(exchange, 400, "invalid_json", message);
}

static void run_endpoint(struct gw_api *api, struct gw_exchange *exchange, gw_endpoint endpoint,
                         const struct baton_json *tree)
{
    char message[96];
    size_t n = n_fields(tree);
    if (n <= MAX_FIELDS) {
        struct gw_api *chosen = gw_model_of_request(api, exchange, tree);
        if (chosen)
            endpoint(chosen, exchange, tree);
        return;
    }
    (void)snprintf(message, sizeof message, "the body has %zu fields; at most %d are accepted", n,
                   MAX_FIELDS);
    api->bodies->n_refused[TOO_MANY_FIELDS]++;
    gw_answer_error(exchange, 400, "out_of_range", message);
}

/* ---- the pool ---- */

/* glibc keeps freed memory for the thread that had it, and bodies use all threads in turn. */
static void give_back(size_t freed_bytes)
{
    if (freed_bytes >= RETURNED_BYTES)
        (void)malloc_trim(0);
}

/* The model whose tokenizer a body is for. NULL: only the loop can tell, which knows adapters and
 * names that were added. */
static struct gw_api *model_on_pool(const struct body *body)
{
    const char *name = baton_json_string(baton_json_get(body->tree, "model"), NULL);
    if (body->api->served->n < 2 || (!name && !body->has_query))
        return body->api;
    return name && !body->has_query ? gw_model_given(body->api, name) : NULL;
}

static void answer_on_pool(struct body *body)
{
    struct gw_api *chosen = model_on_pool(body);
    if (n_fields(body->tree) > MAX_FIELDS || !chosen)
        return;
    body->api = chosen;
    gw_answer_open(&body->reply.answer);
    body->is_answered = body->on_pool(body->api, body->tree, &body->reply);
    if (body->is_answered)
        body->tree_bytes += body->reply.answer.body.len;
    else
        baton_buf_fini(&body->reply.answer.body);
}

static void check_ahead(const struct baton_json *tree)
{
    gw_grammar_check_ahead(tree);
    if (gw_tool_choice_is_given(tree))
        gw_tool_choice_check_ahead(tree);
}

static void parse_on_pool(uv_work_t *work)
{
    struct body *body = work->data;
    size_t max_bytes = body->tree_bytes;
    body->tree_bytes = 0;
    body->err = baton_json_parse_within(body->text, body->n, max_bytes, &body->tree,
                                        &body->tree_bytes, &body->why);
    free(body->text);
    body->text = NULL;
    if (body->err)
        give_back(max_bytes);
    else if (body->on_pool)
        answer_on_pool(body);
    else
        check_ahead(body->tree);
}

static void free_on_pool(uv_work_t *work)
{
    struct body *body = work->data;
    baton_json_free(body->tree);
    give_back(body->tree_bytes);
}

static void begin_waiting(struct gw_bodies *bodies);

/* Sends the answer that the pool has made, if any, or frees it without an exchange. */
static void answer(struct body *body, struct gw_exchange *exchange)
{
    if (body->is_answered && exchange)
        gw_text_check_model(body->api, &body->reply);
    if (body->is_answered)
        gw_reply_send(&body->reply, exchange);
    body->is_answered = false;
}

static void forget(struct body *body)
{
    struct gw_bodies *bodies = body->api->bodies;
    bodies->tree_bytes -= body->tree_bytes;
    answer(body, NULL);
    free(body->text);
    free(body);
    begin_waiting(bodies);
}

static void freed(uv_work_t *work, int status)
{
    (void)status; /* nothing cancels the work */
    forget(work->data);
}

/* Ends a body that is not on the pool. */
static void end(struct body *body)
{
    if (body->tree_bytes > FREED_INLINE_BYTES &&
        !uv_queue_work(body->api->loop, &body->work, free_on_pool, freed))
        return;
    baton_json_free(body->tree);
    forget(body);
}

/* Several bodies may come back from the pool at once. Handling one takes milliseconds, mostly for
 * tokenizing, so each waits for its turn and streams continue in between. */
static void parsed(uv_work_t *work, int status)
{
    struct body *body = work->data;
    struct gw_bodies *bodies = body->api->bodies;
    (void)status; /* nothing cancels the work */
    bodies->text_bytes -= body->n;
    bodies->tree_bytes -= max_tree(body->n) - body->tree_bytes;
    body->is_parsed = true;
    if (body->exchange)
        gw_exchange_resume(body->exchange);
    else
        end(body);
    begin_waiting(bodies);
}

/* ---- waiting ---- */

static void refuse_parse(struct body *body)
{
    struct gw_exchange *exchange = body->exchange;
    body->api->bodies->text_bytes -= body->n;
    gw_exchange_set_data(exchange, NULL);
    forget(body);
    gw_answer_error(exchange, 500, "internal_error", "the body could not be parsed");
}

/* Sends the bodies whose turn it is to the pool, as many as there is memory for. */
static void begin_waiting(struct gw_bodies *bodies)
{
    for (struct body *body; (body = body_of(gw_fair_queue_first(&bodies->waiting)));) {
        size_t bytes = max_tree(body->n);
        if (bodies->tree_bytes && bodies->tree_bytes + bytes > TREES_BYTES)
            return;
        gw_fair_queue_take(&bodies->waiting, &body->waits);
        body->tree_bytes = bytes;
        bodies->tree_bytes += bytes;
        if (uv_queue_work(bodies->loop, &body->work, parse_on_pool, parsed))
            refuse_parse(body);
    }
}

static void leave_queue(struct body *body)
{
    struct gw_bodies *bodies = body->api->bodies;
    gw_fair_queue_remove(&bodies->waiting, &body->waits);
    bodies->text_bytes -= body->n;
    forget(body);
}

static void refuse_overload(struct gw_bodies *bodies, struct gw_exchange *exchange)
{
    bodies->n_refused[TOO_MUCH_WAITS]++;
    gw_answer_error(exchange, 503, "overloaded", "no memory for the request");
}

/* Makes room for n bytes more of the client. False: those who have more make not enough of it. */
static bool make_room(struct gw_bodies *bodies, size_t n, const struct gw_payers *client)
{
    struct body *body;
    while (n > bodies->max_text_bytes - bodies->text_bytes &&
           (body = body_of(gw_fair_queue_who_gives_way(&bodies->waiting, n, client)))) {
        struct gw_exchange *exchange = body->exchange;
        gw_exchange_set_data(exchange, NULL);
        leave_queue(body);
        refuse_overload(bodies, exchange);
    }
    return n <= bodies->max_text_bytes - bodies->text_bytes;
}

static void read_later(struct gw_api *api, struct gw_exchange *exchange, gw_endpoint endpoint,
                       gw_pool_endpoint on_pool)
{
    size_t n;
    struct gw_bodies *bodies = api->bodies;
    struct gw_payers client = gw_exchange_payers(exchange);
    (void)gw_exchange_body(exchange, &n);
    struct body *body = make_room(bodies, n, &client) ? calloc(1, sizeof *body) : NULL;
    bool is_added = body && !gw_fair_queue_add(&bodies->waiting, &body->waits, n, &client);
    gw_payers_put(&client);
    if (!is_added) {
        free(body);
        refuse_overload(bodies, exchange);
        return;
    }
    body->user = GW_USER_PARSE;
    body->work.data = body;
    body->api = api;
    body->exchange = exchange;
    body->endpoint = endpoint;
    body->on_pool = on_pool;
    body->has_query = *gw_exchange_query(exchange);
    body->n = n;
    body->text = gw_exchange_take_body(exchange);
    bodies->text_bytes += n;
    gw_exchange_set_data(exchange, body);
    begin_waiting(bodies);
}

void gw_bodies_read(struct gw_api *api, struct gw_exchange *exchange, gw_endpoint endpoint,
                    gw_pool_endpoint on_pool)
{
    size_t n;
    const char *text = gw_exchange_body(exchange, &n);
    struct baton_json *tree = NULL;
    struct baton_why why = {""};
    if (n > INLINE_BYTES) {
        read_later(api, exchange, endpoint, on_pool);
        return;
    }
    enum baton_err err = baton_json_parse(text, n, &tree, &why);
    if (err) {
        refuse(api, exchange, err, &why);
        return;
    }
    bool is_slow = gw_grammar_is_given(tree) || gw_tool_choice_is_given(tree);
    if (!is_slow)
        run_endpoint(api, exchange, endpoint, tree);
    baton_json_free(tree);
    if (is_slow) /* parsed again, when there is memory to wait for the pool with a tree */
        read_later(api, exchange, endpoint, on_pool);
}

void gw_bodies_resume(struct gw_exchange *exchange)
{
    struct body *body = gw_exchange_data(exchange);
    gw_exchange_set_data(exchange, NULL);
    if (body->err)
        refuse(body->api, exchange, body->err, &body->why);
    else if (body->is_answered)
        answer(body, exchange);
    else
        run_endpoint(body->api, exchange, body->endpoint, body->tree);
    end(body);
}

void gw_bodies_gone(struct gw_exchange *exchange)
{
    struct body *body = gw_exchange_data(exchange);
    body->exchange = NULL;
    if (body->is_parsed)
        end(body);
    else if (body->waits.client)
        leave_queue(body);
}

/* ---- metrics ---- */

static void put_gauge(struct baton_buf *out, const char *name, const char *help, size_t value)
{
    baton_prom_family(out, name, "gauge", help);
    baton_prom_sample(out, name, (double)value, NULL);
}

void gw_bodies_write_metrics(const struct gw_bodies *bodies, struct baton_buf *out)
{
    static const char refused[] = "baton_bodies_refused_total";
    static const char *const reasons[] = {
        [TREE_TOO_LARGE] = "values", [TOO_MANY_FIELDS] = "fields", [TOO_MUCH_WAITS] = "waiting"};
    put_gauge(out, "baton_bodies_waiting_bytes", "Bodies that wait to be parsed.",
              bodies->text_bytes);
    put_gauge(out, "baton_bodies_value_bytes", "Memory of the values of parsed bodies.",
              bodies->tree_bytes);
    baton_prom_family(out, refused, "counter", "Bodies refused because of the memory they take.");
    for (int i = 0; i < N_REFUSALS; i++)
        baton_prom_sample(out, refused, (double)bodies->n_refused[i], "reason", reasons[i], NULL);
}
