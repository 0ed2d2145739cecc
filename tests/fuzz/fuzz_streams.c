/* Whatever is written, read, lost, resumed and deleted in any order: a client that resumes after an
 * event gets all events behind it, each once and in order, or is told why not; nobody but the owner
 * finds a stream; and no stream holds more than its bound.
 *
 * Input: operations of two bytes, what and how much; Last-Event-ID is taken from the input. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

#include "common/base/array.h"
#include "common/base/clock.h"
#include "gateway/api/answer.h"
#include "gateway/api/streams/resume.h"
#include "gateway/api/streams/streams.h"

enum { STREAM_BYTES = 64 << 10, N_STREAMS = 3, WINDOW_S = 10, EVENT_MAX_BYTES = 4096 };

static struct gw_streams streams;
static struct gw_api api = {.streams = &streams};

/* A client's connection and what it read. Its address stands for a struct gw_exchange. */
struct client {
    const char *method, *resumable;
    char path[64], last_event_id[80];
    struct gw_owner owner;
    struct gw_stream *stream; /* the exchange's data */
    int status;               /* 0: not answered */
    uint64_t next;            /* the number of the event that must come */
    size_t n_untaken;
    bool is_over;
};

/* A source and the texts that it wrote. */
struct source {
    struct gw_stream *stream;
    bool is_full;
    uint64_t n_events;
};

static struct client *clients[256];
static int n_clients;
static struct source sources[N_STREAMS];
static int64_t now_ns;

/* ---- in place of connections, keys, the clock and chance ---- */

#define CLIENT(exchange) ((struct client *)(void *)(exchange))

int64_t __wrap_baton_now_ns(void);
void __wrap_baton_random_secret(char text[BATON_SECRET_BYTES]);
struct gw_owner __wrap_gw_access_owner(const struct gw_access *access,
                                       const struct gw_exchange *exchange);
const char *__wrap_gw_exchange_method(const struct gw_exchange *exchange);
const char *__wrap_gw_exchange_path(const struct gw_exchange *exchange);
const char *__wrap_gw_exchange_header(const struct gw_exchange *exchange, const char *name);
const char *__wrap_gw_exchange_peer(const struct gw_exchange *exchange);
const char *__wrap_gw_exchange_id(const struct gw_exchange *exchange);
struct gw_payers __wrap_gw_exchange_payers(const struct gw_exchange *exchange);
void __wrap_gw_exchange_set_data(struct gw_exchange *exchange, void *data);
enum baton_err __wrap_gw_exchange_add_header(struct gw_exchange *exchange, const char *name,
                                             const char *value);
void __wrap_gw_exchange_respond(struct gw_exchange *exchange, int status, const char *type,
                                const char *headers, const char *body, size_t n);
void __wrap_gw_exchange_respond_error(struct gw_exchange *exchange, const struct gw_error *error);
void __wrap_gw_exchange_stream_begin(struct gw_exchange *exchange, int status, const char *type,
                                     const char *headers);
void __wrap_gw_exchange_stream_write(struct gw_exchange *exchange, const char *bytes, size_t n);
void __wrap_gw_exchange_stream_end(struct gw_exchange *exchange);
size_t __wrap_gw_exchange_untaken_bytes(const struct gw_exchange *exchange);
void __wrap_gw_exchange_cut(struct gw_exchange *exchange, const char *reason);

int64_t __wrap_baton_now_ns(void)
{
    return now_ns;
}

void __wrap_baton_random_secret(char text[BATON_SECRET_BYTES])
{
    static unsigned n;
    (void)snprintf(text, BATON_SECRET_BYTES, "%032x", ++n % 1000);
}

struct gw_owner __wrap_gw_access_owner(const struct gw_access *access,
                                       const struct gw_exchange *exchange)
{
    (void)access;
    return CLIENT(exchange)->owner;
}

const char *__wrap_gw_exchange_method(const struct gw_exchange *exchange)
{
    return CLIENT(exchange)->method;
}

const char *__wrap_gw_exchange_path(const struct gw_exchange *exchange)
{
    return CLIENT(exchange)->path;
}

const char *__wrap_gw_exchange_header(const struct gw_exchange *exchange, const char *name)
{
    bool is_id = !strcmp(name, "last-event-id");
    return is_id ? CLIENT(exchange)->last_event_id : CLIENT(exchange)->resumable;
}

const char *__wrap_gw_exchange_peer(const struct gw_exchange *exchange)
{
    (void)exchange;
    return "127.0.0.1";
}

const char *__wrap_gw_exchange_id(const struct gw_exchange *exchange)
{
    (void)exchange;
    return "a-request";
}

struct gw_payers __wrap_gw_exchange_payers(const struct gw_exchange *exchange)
{
    (void)exchange;
    return (struct gw_payers){0};
}

void __wrap_gw_exchange_set_data(struct gw_exchange *exchange, void *data)
{
    CLIENT(exchange)->stream = data;
}

enum baton_err __wrap_gw_exchange_add_header(struct gw_exchange *exchange, const char *name,
                                             const char *value)
{
    check(!CLIENT(exchange)->status && !strcmp(name, "x-baton-stream"));
    check(strspn(value, "0123456789abcdef") == BATON_SECRET_BYTES - 1);
    return BATON_OK;
}

static void end(struct client *client)
{
    check(!client->is_over);
    client->is_over = true;
    client->stream = NULL;
}

void __wrap_gw_exchange_respond(struct gw_exchange *exchange, int status, const char *type,
                                const char *headers, const char *body, size_t n)
{
    (void)type, (void)headers, (void)body;
    check(!CLIENT(exchange)->status && !n);
    CLIENT(exchange)->status = status;
    end(CLIENT(exchange));
}

void __wrap_gw_exchange_respond_error(struct gw_exchange *exchange, const struct gw_error *error)
{
    check(!CLIENT(exchange)->status && error->status >= 400 && *error->code && *error->message);
    CLIENT(exchange)->status = error->status;
    end(CLIENT(exchange));
}

void __wrap_gw_exchange_stream_begin(struct gw_exchange *exchange, int status, const char *type,
                                     const char *headers)
{
    (void)type, (void)headers;
    check(!CLIENT(exchange)->status);
    CLIENT(exchange)->status = status;
}

/* Reads events, each of which must be the next one. */
void __wrap_gw_exchange_stream_write(struct gw_exchange *exchange, const char *bytes, size_t n)
{
    struct client *client = CLIENT(exchange);
    char line[80];
    check(client->status == 200 && !client->is_over && client->stream);
    for (const char *at = bytes; at < bytes + n;) {
        size_t n_line =
            (size_t)snprintf(line, sizeof line, "id: %s-%llu\ndata: ", client->stream->id,
                             (unsigned long long)client->next++);
        const char *blank = memmem(at, n - (size_t)(at - bytes), "\n\n", 2);
        check(blank && (size_t)(blank - at) > n_line && !memcmp(at, line, n_line));
        at = blank + 2;
    }
    client->n_untaken += n;
}

void __wrap_gw_exchange_stream_end(struct gw_exchange *exchange)
{
    end(CLIENT(exchange));
}

size_t __wrap_gw_exchange_untaken_bytes(const struct gw_exchange *exchange)
{
    return CLIENT(exchange)->n_untaken;
}

void __wrap_gw_exchange_cut(struct gw_exchange *exchange, const char *reason)
{
    check(reason != NULL);
    end(CLIENT(exchange));
}

/* ---- the source ---- */

static void on_attached(void *arg, struct gw_exchange *exchange)
{
    (void)arg, (void)exchange;
}

static void on_full(void *arg, bool full)
{
    struct source *source = arg;
    check(source->is_full != full);
    source->is_full = full;
}

static void on_abandoned(void *arg, const char *reason)
{
    check(reason != NULL);
    *(struct source *)arg = (struct source){0};
}

static const struct gw_stream_source callbacks = {
    .attached = on_attached, .full = on_full, .abandoned = on_abandoned};

/* ---- operations ---- */

static struct client *new_client(uint8_t owner)
{
    struct client *client = calloc(1, sizeof *client);
    check(client && n_clients < (int)BATON_N_OF(clients));
    *client = (struct client){.method = "GET", .resumable = "", .next = 1};
    client->owner.digest[0] = owner % 2;
    return clients[n_clients++] = client;
}

static struct gw_exchange *exchange_of(struct client *client)
{
    return (struct gw_exchange *)(void *)client;
}

static void open_stream(struct source *source, uint8_t how)
{
    static const char *const values[] = {"true", "true", "", "false", "yes"};
    struct client *client = new_client(how);
    if (source->stream)
        return;
    bool lasts = how >= 0xc0;
    char id[BATON_SECRET_BYTES];
    baton_random_secret(id);
    client->resumable = values[how % BATON_N_OF(values)];
    *source = (struct source){0};
    source->stream =
        lasts ? gw_streams_open_lasting(&streams, exchange_of(client), &client->owner, id,
                                        &callbacks, source)
              : gw_streams_open(&streams, exchange_of(client), &client->owner, &callbacks, source);
    check(!source->stream || lasts || !strcmp(client->resumable, "true"));
    client->status = 200;
}

static void write_event(struct source *source, uint8_t how)
{
    char event[EVENT_MAX_BYTES + 16];
    size_t n = 9 + (size_t)how * how / 16;
    if (!source->stream || source->is_full)
        return;
    memset(event, 'x', n);
    memcpy(event, "data: ", 6);
    memcpy(event + n - 2, "\n\n", 2);
    gw_stream_write(source->stream, event, n);
    source->n_events++;
    check(source->stream->held_bytes <= STREAM_BYTES);
}

/* The status that the request must get, by simpler means. */
static int expected(const struct gw_stream *stream, const struct client *client, uint64_t *after)
{
    char text[80];
    *after = 0;
    if (!stream || stream->owner.digest[0] != client->owner.digest[0])
        return 404;
    if (*client->last_event_id) {
        size_t n_id = strlen(stream->id);
        const char *digits = client->last_event_id + n_id + 1;
        (void)snprintf(text, sizeof text, "%s-", stream->id);
        if (strncmp(client->last_event_id, text, n_id + 1) != 0 || !*digits ||
            digits[strspn(digits, "0123456789")] || strlen(digits) > 18)
            return 400;
        *after = strtoull(digits, NULL, 10);
    }
    if (*after > stream->n_events)
        return 400;
    if (stream->is_lost)
        return 410;
    if (*after == stream->n_events && !stream->source)
        return 204;
    return 0; /* 200, or 410 for events that are gone */
}

static struct gw_stream *any_stream(uint8_t how)
{
    struct gw_stream *stream = gw_stream_list_first(&streams.list);
    for (how %= N_STREAMS; stream && how; how--)
        stream = gw_stream_list_next(&streams.list, stream);
    return stream;
}

/* Last-Event-ID: none, one of ours with any number, or the input's own bytes. */
static void name_event(struct client *client, const struct gw_stream *stream, const uint8_t *rest,
                       size_t n)
{
    uint8_t how = n ? rest[0] : 0;
    size_t n_own = n > 60 ? 60 : n;
    if (how % 4 == 1 && stream)
        (void)snprintf(client->last_event_id, sizeof client->last_event_id, "%s-%d", stream->id,
                       how / 4);
    else if (how % 4 == 2 && stream)
        (void)snprintf(client->last_event_id, sizeof client->last_event_id, "%s-%.*s", stream->id,
                       (int)(n_own > 30 ? 30 : n_own - 1), (const char *)rest + 1);
    else if (how % 4 == 3)
        (void)snprintf(client->last_event_id, sizeof client->last_event_id, "%.*s", (int)n_own,
                       (const char *)rest);
}

static void resume(uint8_t how, const uint8_t *rest, size_t n)
{
    struct gw_stream *stream = any_stream(how);
    struct client *client = new_client(how >> 4);
    uint64_t after;
    client->method = how & 8 ? "HEAD" : "GET";
    (void)snprintf(client->path, sizeof client->path, "/v1/streams/%.*s",
                   how & 4 ? 31 : BATON_SECRET_BYTES, stream ? stream->id : "none");
    name_event(client, stream, rest, n);
    int status = expected(how & 4 ? NULL : stream, client, &after);
    client->next = after + 1;
    gw_stream_get(&api, exchange_of(client), NULL);
    check(status ? client->status == status : client->status == 200 || client->status == 410);
}

static void leave(uint8_t how)
{
    struct gw_stream *stream = any_stream(how);
    if (!stream || !stream->exchange)
        return;
    CLIENT(stream->exchange)->is_over = true;
    gw_streams_left(stream, "left");
}

static void take(uint8_t how)
{
    struct gw_stream *stream = any_stream(how);
    if (!stream || !stream->exchange)
        return;
    CLIENT(stream->exchange)->n_untaken = how & 4 ? CLIENT(stream->exchange)->n_untaken / 2 : 0;
    gw_stream_full(stream, how & 8);
}

static void end_source(struct source *source)
{
    if (source->stream)
        gw_stream_end(source->stream);
    *source = (struct source){0};
}

static void drop(uint8_t how)
{
    struct gw_stream *stream = any_stream(how);
    struct client *client = new_client(how >> 4);
    (void)snprintf(client->path, sizeof client->path, "/v1/streams/%s", stream ? stream->id : "");
    bool is_owners = stream && stream->owner.digest[0] == client->owner.digest[0];
    gw_stream_delete(&api, exchange_of(client), NULL);
    check(client->status == (is_owners ? 204 : 404));
}

static void operate(uint8_t what, uint8_t how, const uint8_t *rest, size_t n)
{
    struct source *source = &sources[how % N_STREAMS];
    switch (what % 8) {
    case 0:
        open_stream(source, how);
        break;
    case 1:
    case 2:
        write_event(source, how);
        break;
    case 3:
        resume(how, rest, n);
        break;
    case 4:
        leave(how);
        break;
    case 5:
        take(how);
        break;
    case 6:
        now_ns += how * (BATON_SECOND / 16);
        gw_streams_tick(&streams, now_ns);
        break;
    case 7:
        if (how & 16)
            drop(how);
        else
            end_source(source);
        break;
    }
}

FUZZ(data, size)
{
    now_ns = BATON_SECOND;
    n_clients = 0;
    memset(sources, 0, sizeof sources);
    gw_streams_init(&streams, &(struct gw_stream_bounds){.stream_bytes = STREAM_BYTES,
                                                         .bytes = N_STREAMS * 2 * STREAM_BYTES,
                                                         .window_ns = WINDOW_S * BATON_SECOND});
    for (size_t i = 0; i + 1 < size && n_clients < (int)BATON_N_OF(clients); i += 2)
        operate(data[i], data[i + 1], data + i + 2, size - i - 2);
    for (int i = 0; i < N_STREAMS; i++)
        end_source(&sources[i]);
    gw_streams_fini(&streams);
    for (int i = 0; i < n_clients; i++)
        free(clients[i]);
}
