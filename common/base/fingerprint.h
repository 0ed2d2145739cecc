/* The identity of a model, and of the arithmetic, as the processes of a fleet compare them.
 *
 * Pure.
 */
#ifndef BATON_COMMON_BASE_FINGERPRINT_H
#define BATON_COMMON_BASE_FINGERPRINT_H

#include "common/base/digest.h"

/* SHA-256 of each part, in hex. Two processes serve the same model when all parts they both know
 * are equal; `weights` is "" in a process that has no weights at hand. */
struct baton_fingerprint {
    char config[BATON_SHA256_HEX];
    char tokenizer[BATON_SHA256_HEX];
    char weights[BATON_SHA256_HEX];
};

/* 64 bits of a digest, in hex: processes whose texts are equal compute the same bits
 * (engine/compute/numeric_class.c). */
enum { BATON_NUMERIC_CLASS_HEX = 17 };

struct baton_numeric_class {
    char hex[BATON_NUMERIC_CLASS_HEX];
};

#endif
