/* Mutual TLS between processes: one identity for all links of this process.
 *
 * Every process of a fleet has a certificate of the fleet's own authority for the name "baton", and
 * both sides of a connection show theirs and check the other's. Addresses are then tls+tcp://, and
 * only these are listened on and dialled: a peer cannot talk this process into a link in clear.
 *
 * Ownership: the names of the files are borrowed until close; what they hold is not kept.
 * Threading: one thread, which opens and closes inboxes and outboxes too. open comes before the
 *            first of them, close after the last. tell_refused: any thread.
 * Errors:    open: INVALID (not all three files are named; what they hold cannot be used), and
 *            those of baton_file_read. check: INVALID.
 */
#ifndef BATON_COMMON_WIRE_TRANSPORT_PEER_TLS_H
#define BATON_COMMON_WIRE_TRANSPORT_PEER_TLS_H

#include "common/wire/url.h"

/* PEM: this process's certificate, its key, the authority's certificate. Three empty names: links
 * are in clear. */
enum baton_err baton_peer_tls_open(const char *certfile, const char *keyfile, const char *cafile,
                                   struct baton_why *why) BATON_MUST_CHECK;
void baton_peer_tls_close(void);

/* Reads the files again, for connections that begin from now on; the next one to each inbox may
 * still see the old certificate, because NNG has prepared for it. Connections that are open go on
 * with theirs. A mistake is logged, and everything stays. Without files nothing happens. */
void baton_peer_tls_reload(void);

/* Whether this process may listen on or dial the url, by its scheme. text: as it was given. */
enum baton_err baton_peer_tls_check(const struct baton_url *url, const char *text,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* Logs how many peers failed the handshake of TLS at this process's listeners since it last did, at
 * most once a second: NNG counts them, and tells of none. Without TLS nothing happens. */
void baton_peer_tls_tell_refused(void);

#endif
