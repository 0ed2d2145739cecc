/* Options of `baton up`, which describe the fleet.
 *
 * Ownership: texts belong to the configuration.
 * Threading: read-only after loading.
 * Errors:    INVALID names the option.
 */
#ifndef BATON_TOOLS_BATON_FLEET_UP_OPTIONS_H
#define BATON_TOOLS_BATON_FLEET_UP_OPTIONS_H

#include "common/base/options/config.h"

struct bt_up_options {
    const char *state, *model, *more_models, *models, *dtype, *draft_model, *pack_dir, *bin, *lora;
    int enable_lora;
    const char *host, *api_keys, *admin_keys, *cors_origins, *allowed_hosts;
    const char *chat_template, *sampling_defaults, *served_model_name, *reasoning;
    const char *prefill_cores, *decode_cores;
    int64_t n_prefill, n_decode, port, context_tokens, kv_tokens, kv_bytes, memory;
    double stop_timeout_s, kv_idle_s;
    int log_format; /* enum baton_log_format */
    bool detach;
    int64_t n_decode_of_others; /* --decode, also if the model of --model is an encoder */
    bool reranks;               /* the model is an encoder that scores documents */
};

extern const struct baton_option bt_up_option_table[];
extern const size_t bt_up_n_options;

/* What --memory keeps for each process beside weights and KV caches: code, tables, activations. */
#define BT_PROCESS_BYTES ((int64_t)64 << 20)

/* Takes no decode workers for a model that is an encoder. The model's path is checked. */
void bt_up_fit(struct bt_up_options *options);

/* Checks the path of a model that the option names. */
enum baton_err bt_up_check_model(const char *option, const char *model,
                                 struct baton_why *why) BATON_MUST_CHECK;

/* Checks what can be judged before anything runs: processors, memory, the model's path, files. */
enum baton_err bt_up_check(const struct bt_up_options *options,
                           struct baton_why *why) BATON_MUST_CHECK;

#endif
