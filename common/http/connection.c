#include "common/http/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"

/* Returns the time until the first of both limits; negative: no limit. */
static int64_t patience_ns(const struct baton_http_wait *wait)
{
    int64_t each_ns = wait->timeout_ms < 0 ? -1 : wait->timeout_ms * BATON_MS;
    if (!wait->until_ns)
        return each_ns;
    int64_t left_ns = wait->until_ns - baton_now_ns();
    if (left_ns < 0)
        left_ns = 0;
    return each_ns < 0 || left_ns < each_ns ? left_ns : each_ns;
}

/* Waits for the events. SIGINT is unblocked only here, so that none is missed between two waits. */
static enum baton_err wait_for(struct baton_http_connection *conn, short events,
                               struct baton_why *why)
{
    const struct baton_http_wait *wait = &conn->wait;
    struct pollfd fds[] = {
        {.fd = conn->fd, .events = events},
        {.fd = wait->stop_bell ? wait->stop_bell->fd : -1, .events = POLLIN},
    };
    int64_t ns = patience_ns(wait);
    struct timespec timeout = {ns / BATON_SECOND, ns % BATON_SECOND};
    sigset_t mask;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if (wait->stop)
        (void)sigdelset(&mask, SIGINT);
    for (;;) {
        if (wait->stop && *wait->stop)
            return BATON_CANCELED;
        int n = ppoll(fds, 2, ns < 0 ? NULL : &timeout, &mask);
        if (n > 0)
            return fds[1].revents ? BATON_CANCELED : BATON_OK;
        if (n == 0)
            return baton_fail(why, BATON_TIMEOUT, "no answer in %d s", wait->timeout_ms / 1000);
        if (errno != EINTR)
            return baton_fail(why, BATON_IO, "poll: %s", strerror(errno));
    }
}

/* ---- connecting ---- */

static enum baton_err finish_connect(struct baton_http_connection *conn, struct baton_why *why)
{
    int failure = 0;
    socklen_t size = sizeof failure;
    enum baton_err err = wait_for(conn, POLLOUT, why);
    if (err)
        return err;
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &failure, &size) < 0)
        failure = errno;
    return failure ? baton_fail(why, BATON_IO, "%s", strerror(failure)) : BATON_OK;
}

static enum baton_err connect_to(struct baton_http_connection *conn, const struct addrinfo *info,
                                 struct baton_why *why)
{
    conn->fd = socket(info->ai_family, info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (conn->fd < 0)
        return baton_fail(why, BATON_IO, "%s", strerror(errno));
    enum baton_err err = BATON_OK;
    if (connect(conn->fd, info->ai_addr, info->ai_addrlen) < 0)
        err = errno == EINPROGRESS ? finish_connect(conn, why)
                                   : baton_fail(why, BATON_IO, "%s", strerror(errno));
    if (err) {
        (void)close(conn->fd);
        conn->fd = -1;
    }
    return err;
}

/* Connects to the first of the host's addresses that accepts a connection. */
static enum baton_err connect_any(struct baton_http_connection *conn,
                                  const struct baton_http_url *url, struct baton_why *why)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    struct baton_why reason = {.text = "no address"};
    enum baton_err err = BATON_IO;
    int failure = getaddrinfo(url->host, url->port, &hints, &all);
    if (failure)
        return baton_fail(why, BATON_NOT_FOUND, "%s: %s", url->host, gai_strerror(failure));
    for (const struct addrinfo *info = all; info && err && err != BATON_CANCELED;
         info = info->ai_next)
        err = connect_to(conn, info, &reason);
    freeaddrinfo(all);
    return err ? baton_fail(why, err, "%s: %.500s", url->authority, reason.text) : BATON_OK;
}

/* ---- TLS ---- */

/* Waits for what a call of OpenSSL that returned `result` needs. OK when it can be repeated. */
static enum baton_err wait_for_tls(struct baton_http_connection *conn, int result,
                                   struct baton_why *why)
{
    char text[160];
    switch (SSL_get_error(conn->tls, result)) {
    case SSL_ERROR_WANT_READ:
        return wait_for(conn, POLLIN, why);
    case SSL_ERROR_WANT_WRITE:
        return wait_for(conn, POLLOUT, why);
    default:
        break;
    }
    long verified = SSL_get_verify_result(conn->tls);
    if (verified != X509_V_OK)
        return baton_fail(why, BATON_PEER, "TLS: the certificate: %s",
                          X509_verify_cert_error_string(verified));
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    return baton_fail(why, BATON_IO, "TLS: %s", text);
}

static enum baton_err make_tls(struct baton_http_connection *conn, const char *host,
                               const struct baton_http_trust *trust, struct baton_why *why)
{
    conn->tls_context = SSL_CTX_new(TLS_client_method());
    if (!conn->tls_context)
        return BATON_NO_MEMORY;
    if (trust->cafile && *trust->cafile) {
        if (!SSL_CTX_load_verify_file(conn->tls_context, trust->cafile))
            return baton_fail(why, BATON_INVALID, "%s: holds no certificate of an authority",
                              trust->cafile);
    } else {
        (void)SSL_CTX_set_default_verify_paths(conn->tls_context);
    }
    conn->tls = SSL_new(conn->tls_context);
    if (!conn->tls || !SSL_set_fd(conn->tls, conn->fd) ||
        (!trust->anybody && !SSL_set1_host(conn->tls, host)))
        return BATON_NO_MEMORY;
    /* SNI: a server of several names chooses its certificate by it. */
    (void)SSL_set_tlsext_host_name(conn->tls, host);
    if (!trust->anybody)
        SSL_set_verify(conn->tls, SSL_VERIFY_PEER, NULL);
    return BATON_OK;
}

static enum baton_err shake_hands(struct baton_http_connection *conn, const char *host,
                                  const struct baton_http_trust *trust, struct baton_why *why)
{
    int result;
    ERR_clear_error(); /* an error left by an earlier connection would count as this one's */
    enum baton_err err = make_tls(conn, host, trust, why);
    while (!err && (result = SSL_connect(conn->tls)) != 1)
        err = wait_for_tls(conn, result, why);
    return err;
}

enum baton_err baton_http_connection_open(struct baton_http_connection *conn,
                                          const struct baton_http_url *url,
                                          const struct baton_http_trust *trust,
                                          const struct baton_http_wait *wait, struct baton_why *why)
{
    *conn = (struct baton_http_connection){.fd = -1, .wait = *wait};
    enum baton_err err = connect_any(conn, url, why);
    if (!err && url->tls)
        err = shake_hands(conn, url->host, trust, why);
    if (err)
        baton_http_connection_close(conn);
    return err;
}

void baton_http_connection_close(struct baton_http_connection *conn)
{
    SSL_free(conn->tls);
    SSL_CTX_free(conn->tls_context);
    if (conn->fd >= 0)
        (void)close(conn->fd);
    conn->tls = NULL;
    conn->tls_context = NULL;
    conn->fd = -1;
}

/* ---- bytes ---- */

static enum baton_err write_some(struct baton_http_connection *conn, const char *bytes, size_t n,
                                 size_t *n_written, struct baton_why *why)
{
    *n_written = 0;
    if (conn->tls) {
        int result = SSL_write_ex(conn->tls, bytes, n, n_written);
        return result == 1 ? BATON_OK : wait_for_tls(conn, result, why);
    }
    /* MSG_NOSIGNAL: a server that closed the connection must not end the process by SIGPIPE. */
    ssize_t written = send(conn->fd, bytes, n, MSG_NOSIGNAL);
    if (written >= 0)
        *n_written = (size_t)written;
    else if (errno == EAGAIN || errno == EINTR)
        return wait_for(conn, POLLOUT, why);
    else
        return baton_fail(why, BATON_IO, "the connection was lost: %s", strerror(errno));
    return BATON_OK;
}

enum baton_err baton_http_connection_write(struct baton_http_connection *conn, const char *bytes,
                                           size_t n, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    size_t n_written;
    for (size_t done = 0; done < n && !err; done += n_written)
        err = write_some(conn, bytes + done, n - done, &n_written, why);
    return err;
}

static enum baton_err read_tls(struct baton_http_connection *conn, char *bytes, size_t size,
                               size_t *n, struct baton_why *why)
{
    enum baton_err err = BATON_OK;
    while (!err) {
        int result = SSL_read_ex(conn->tls, bytes, size, n);
        if (result == 1)
            return BATON_OK;
        if (SSL_get_error(conn->tls, result) == SSL_ERROR_ZERO_RETURN) {
            *n = 0;
            return BATON_OK;
        }
        err = wait_for_tls(conn, result, why);
    }
    return err;
}

enum baton_err baton_http_connection_read(struct baton_http_connection *conn, char *bytes,
                                          size_t size, size_t *n, struct baton_why *why)
{
    if (conn->tls)
        return read_tls(conn, bytes, size, n, why);
    for (;;) {
        enum baton_err err = wait_for(conn, POLLIN, why);
        if (err)
            return err;
        ssize_t got = recv(conn->fd, bytes, size, 0);
        if (got >= 0) {
            *n = (size_t)got;
            return BATON_OK;
        }
        if (errno != EAGAIN && errno != EINTR)
            return baton_fail(why, BATON_IO, "the connection was lost: %s", strerror(errno));
    }
}
