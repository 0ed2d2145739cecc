/* Options that every process of a fleet has: how it is admitted, how silence is judged, how long it
 * drains. Rows of a process's option table (common/base/options/config.h).
 *
 * Pure.
 */
#ifndef BATON_COMMON_WIRE_FLEET_OPTIONS_H
#define BATON_COMMON_WIRE_FLEET_OPTIONS_H

#include "common/base/options/config.h"

struct baton_fleet_options {
    const char *cluster_token, *cluster_token_file;
    const char *peer_certfile, *peer_keyfile, *peer_cafile;
    double beat_s, silence_s, drain_s;
};

/* in is the struct baton_fleet_options inside the process's struct. */
#define BATON_FLEET_OPTIONS(type, in)                                                              \
    BATON_ROW_TEXT(type, in.cluster_token, "cluster-token", "",                                    \
                   "shared secret of the fleet; prefer the file or the environment: every user "   \
                   "of the host can list arguments"),                                              \
        BATON_ROW_TEXT(type, in.cluster_token_file, "cluster-token-file", "",                      \
                       "file with the shared secret, or with two during a rotation: a worker "     \
                       "sends the first, a gateway accepts both; reread on SIGHUP"),               \
        BATON_ROW_TEXT(type, in.peer_certfile, "peer-certfile", "",                                \
                       "PEM certificate of this process for the name \"baton\": mutual TLS "       \
                       "between processes, at tls+tcp:// addresses; certificate, key and "         \
                       "authority are reread on SIGHUP"),                                          \
        BATON_ROW_TEXT(type, in.peer_keyfile, "peer-keyfile", "",                                  \
                       "PEM key of --peer-certfile, without a password"),                          \
        BATON_ROW_TEXT(type, in.peer_cafile, "peer-cafile", "",                                    \
                       "PEM certificate of the fleet's own authority"),                            \
        BATON_ROW_REAL(type, in.beat_s, "beat-s", "0.25", 0.01, 60, "s",                           \
                       "interval between heartbeats, longer in a fleet of 100 workers or more; "   \
                       "a peer silent for six of them is lost"),                                   \
        BATON_ROW_REAL(type, in.silence_s, "silence-s", "0", 0, 86400, "s",                        \
                       "silence after which a peer is lost, whatever the heartbeats; 0 = six "     \
                       "beats; a gateway suspects a worker after half of it"),                     \
        BATON_ROW_REAL(type, in.drain_s, "drain-s", "8", 0, 3600, "s",                             \
                       "time that running requests have to end after SIGTERM")

/* A gateway decides for its requests, a worker for itself. */
#define BATON_PREFIX_CACHE_OPTION(type, field)                                                     \
    BATON_ROW_CHOICE(type, field, "prefix-cache", "on", "off|on",                                  \
                     "sharing of KV blocks between prompts with a common prefix; a gateway "       \
                     "decides for its requests, a worker for itself")

#endif
