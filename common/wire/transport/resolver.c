#include "common/wire/transport/resolver.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/wire/url.h"

enum { MAX_NAMES = 64, MAX_ADDRESSES = 256, URL_BYTES = 300 };

struct baton_resolver {
    struct baton_url names[MAX_NAMES];
    int last_result[MAX_NAMES]; /* of getaddrinfo, so that a failure is logged once */
    size_t n_names;
    void (*wake)(void *arg);
    void *wake_arg;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t asked;
    bool wanted, busy, answered, destroyed;
    struct baton_addresses answer;
    int n_holders; /* the owner and the thread */
};

void baton_addresses_free(struct baton_addresses *addresses)
{
    for (size_t i = 0; i < addresses->n; i++)
        free(addresses->urls[i]);
    free(addresses->urls);
    *addresses = (struct baton_addresses){0};
}

/* ---- looking up, on the resolver's thread ---- */

static void add_address(struct baton_addresses *addresses, const char *url)
{
    for (size_t i = 0; i < addresses->n; i++)
        if (!strcmp(addresses->urls[i], url))
            return;
    char *copy = addresses->n < MAX_ADDRESSES ? strdup(url) : NULL;
    if (copy)
        addresses->urls[addresses->n++] = copy;
    else
        addresses->complete = false;
}

static void add_answer(struct baton_addresses *addresses, const struct baton_url *name,
                       const struct addrinfo *found)
{
    for (; found; found = found->ai_next) {
        char host[64], url[URL_BYTES];
        if (!getnameinfo(found->ai_addr, found->ai_addrlen, host, sizeof host, NULL, 0,
                         NI_NUMERICHOST) &&
            !baton_url_format(name, host, name->port, url, sizeof url, NULL))
            add_address(addresses, url);
    }
}

static void look_up(struct baton_resolver *resolver, size_t i, struct baton_addresses *addresses)
{
    const struct baton_url *name = &resolver->names[i];
    bool literal_ipv6 = strchr(name->host, ':') != NULL;
    struct addrinfo hints = {.ai_family = literal_ipv6 ? AF_INET6 : AF_INET,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int result = getaddrinfo(name->host, NULL, &hints, &found);
    if (result && result != resolver->last_result[i])
        baton_log(BATON_LOG_WARN, "name_unresolved", BATON_S("host", name->host),
                  BATON_S("reason", gai_strerror(result)));
    resolver->last_result[i] = result;
    if (result) {
        addresses->complete = false;
        return;
    }
    add_answer(addresses, name, found);
    freeaddrinfo(found);
}

static struct baton_addresses look_up_all(struct baton_resolver *resolver)
{
    struct baton_addresses addresses = {.urls = calloc(MAX_ADDRESSES, sizeof(char *)),
                                        .complete = true};
    for (size_t i = 0; addresses.urls && i < resolver->n_names; i++)
        look_up(resolver, i, &addresses);
    addresses.complete &= addresses.urls != NULL;
    return addresses;
}

static void let_go(struct baton_resolver *resolver) /* the lock is held */
{
    bool last = --resolver->n_holders == 0;
    pthread_mutex_unlock(&resolver->lock);
    if (!last)
        return;
    baton_addresses_free(&resolver->answer);
    pthread_cond_destroy(&resolver->asked);
    pthread_mutex_destroy(&resolver->lock);
    free(resolver);
}

static void *run(void *arg)
{
    struct baton_resolver *resolver = arg;
    (void)pthread_setname_np(pthread_self(), "baton-resolver");
    pthread_mutex_lock(&resolver->lock);
    while (!resolver->destroyed) {
        if (!resolver->wanted) {
            pthread_cond_wait(&resolver->asked, &resolver->lock);
            continue;
        }
        resolver->wanted = false;
        resolver->busy = true;
        pthread_mutex_unlock(&resolver->lock);
        struct baton_addresses addresses = look_up_all(resolver);
        pthread_mutex_lock(&resolver->lock);
        baton_addresses_free(&resolver->answer);
        resolver->answer = addresses;
        resolver->answered = true;
        resolver->busy = false;
        if (!resolver->destroyed) /* under the lock: after destroy wake_arg may be gone */
            resolver->wake(resolver->wake_arg);
    }
    let_go(resolver);
    return NULL;
}

/* ---- the owner's side ---- */

static enum baton_err parse_names(struct baton_resolver *resolver, const char *urls,
                                  struct baton_why *why)
{
    for (const char *p = urls; *p;) {
        char one[URL_BYTES];
        size_t n = strcspn(p, ",");
        if (n >= sizeof one || resolver->n_names == MAX_NAMES)
            return baton_fail(why, BATON_INVALID, "\"%.200s\": too long a list of addresses", urls);
        memcpy(one, p, n);
        one[n] = 0;
        struct baton_url *url = &resolver->names[resolver->n_names++];
        enum baton_err err = baton_url_parse(one, url, why);
        if (err)
            return err;
        if (!url->port || baton_url_is_any_host(url))
            return baton_fail(why, BATON_INVALID, "\"%s\" cannot be dialled", one);
        p += n + (p[n] == ',');
    }
    return resolver->n_names ? BATON_OK : baton_fail(why, BATON_INVALID, "no address is given");
}

static enum baton_err start_thread(struct baton_resolver *resolver, struct baton_why *why)
{
    pthread_t thread;
    int failed = pthread_create(&thread, NULL, run, resolver);
    if (failed)
        return baton_fail(why, BATON_IO, "cannot start a thread: %s", strerror(failed));
    pthread_detach(thread);
    return BATON_OK;
}

enum baton_err baton_resolver_create(const char *urls, void (*wake)(void *arg), void *wake_arg,
                                     struct baton_resolver **resolver, struct baton_why *why)
{
    struct baton_resolver *created = calloc(1, sizeof *created);
    if (!created)
        return baton_fail(why, BATON_NO_MEMORY, "no memory to resolve \"%.200s\"", urls);
    pthread_mutex_init(&created->lock, NULL);
    pthread_cond_init(&created->asked, NULL);
    created->wake = wake;
    created->wake_arg = wake_arg;
    created->n_holders = 2;
    enum baton_err err = parse_names(created, urls, why);
    if (!err)
        err = start_thread(created, why);
    if (!err) {
        *resolver = created;
        return BATON_OK;
    }
    pthread_mutex_lock(&created->lock);
    created->n_holders = 1;
    let_go(created);
    return err;
}

void baton_resolver_destroy(struct baton_resolver *resolver)
{
    if (!resolver)
        return;
    pthread_mutex_lock(&resolver->lock);
    resolver->destroyed = true;
    pthread_cond_signal(&resolver->asked);
    let_go(resolver);
}

void baton_resolver_ask(struct baton_resolver *resolver)
{
    pthread_mutex_lock(&resolver->lock);
    resolver->wanted |= !resolver->busy;
    pthread_cond_signal(&resolver->asked);
    pthread_mutex_unlock(&resolver->lock);
}

bool baton_resolver_take(struct baton_resolver *resolver, struct baton_addresses *addresses)
{
    pthread_mutex_lock(&resolver->lock);
    bool answered = resolver->answered;
    if (answered) {
        *addresses = resolver->answer;
        resolver->answer = (struct baton_addresses){0};
        resolver->answered = false;
    }
    pthread_mutex_unlock(&resolver->lock);
    return answered;
}
