/* The fields of an adapter_config.json that PEFT writes for LoRA: those that change the result are
 * computed or refused by name, others describe the training.
 *
 * Ownership: arguments are borrowed.
 * Threading: pure.
 * Errors:    INVALID with the field.
 */
#ifndef BATON_ENGINE_CHECKPOINT_ADAPTER_PEFT_CONFIG_H
#define BATON_ENGINE_CHECKPOINT_ADAPTER_PEFT_CONFIG_H

#include "common/base/json.h"

enum { BATON_ADAPTER_MAX_ALPHA = 1 << 20 };

/* Sets lora_alpha. */
enum baton_err baton_peft_config_check(const struct baton_json *config, double *alpha,
                                       struct baton_why *why) BATON_MUST_CHECK;

/* The scale of a module such as "model.layers.0.self_attn.q_proj", whose A has so many rows. */
enum baton_err baton_peft_config_scale(const struct baton_json *config, const char *module,
                                       int rank, double *scale,
                                       struct baton_why *why) BATON_MUST_CHECK;

#endif
