/* The identity of a model, as the processes of a fleet compare it.
 *
 * Pure.
 */
#ifndef BATON_BASE_FINGERPRINT_H
#define BATON_BASE_FINGERPRINT_H

#include "common/base/digest.h"

/* SHA-256 of each part, in hex. Two processes serve the same model when all parts they both know
 * are equal; `weights` is "" in a process that has no weights at hand. */
struct baton_fingerprint {
    char config[BATON_SHA256_HEX];
    char tokenizer[BATON_SHA256_HEX];
    char weights[BATON_SHA256_HEX];
};

#endif
