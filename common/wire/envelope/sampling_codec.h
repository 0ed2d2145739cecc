/* Sampling parameters into and out of the message that carries them.
 *
 * The fields of the table in params/sampling.h are found in the message by their names, which the
 * unit test holds against the proto file; seed, bias and stop ids are written out.
 *
 * Ownership: an encoded message points into its struct and into the params, so neither may move
 *            or go before it is packed. Decoded params own copies.
 * Threading: pure.
 * Errors:    decode: NO_MEMORY. It expects a message that baton_envelope_check has seen.
 */
#ifndef BATON_COMMON_WIRE_ENVELOPE_SAMPLING_CODEC_H
#define BATON_COMMON_WIRE_ENVELOPE_SAMPLING_CODEC_H

#include "common/params/sampling.h"
#include "proto/baton.pb-c.h"

/* The message, with the room it needs. */
struct baton_sampling_message {
    Baton__V1__Sampling message;
    Baton__V1__Grammar grammar;
    Baton__V1__Thinking thinking;
    Baton__V1__LogitBias bias[BATON_MAX_LOGIT_BIAS], *listed[BATON_MAX_LOGIT_BIAS];
};

/* Every field of the message is set. */
void baton_sampling_encode(struct baton_sampling_message *out,
                           const struct baton_sampling_params *params);

/* params is untouched on an error; else the caller finishes them. */
enum baton_err baton_sampling_decode(struct baton_sampling_params *params,
                                     const Baton__V1__Sampling *message) BATON_MUST_CHECK;

/* Returns the message's value of a field of the table. */
double baton_sampling_message_get(const struct baton_sampling_field *field,
                                  const Baton__V1__Sampling *message);

#endif
