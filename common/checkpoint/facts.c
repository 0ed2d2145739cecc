#include "common/checkpoint/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_name(struct baton_model_facts *facts, const char *dir)
{
    char *real = realpath(dir, NULL);
    const char *path = real ? real : dir, *slash = strrchr(path, '/');
    (void)snprintf(facts->name, sizeof facts->name, "%s", slash && slash[1] ? slash + 1 : path);
    free(real);
}

enum baton_err baton_facts_read(const char *dir, struct baton_model_facts *facts,
                                struct baton_why *why)
{
    struct baton_model_config config;
    struct baton_why reason;
    char source[PATH_MAX];
    enum baton_err err = baton_model_config_read(dir, &config, source, why);
    if (err)
        return err;
    err = baton_model_config_require(&config, &config.n_vocab, &reason);
    if (!err)
        err = baton_model_config_require(&config, &config.n_context, &reason);
    if (err)
        return baton_fail(why, err, "%s: %s", source, reason.text);
    struct baton_model_facts found = {.n_vocab = config.n_vocab,
                                      .n_context_tokens = config.n_context,
                                      .n_eos = config.n_eos,
                                      .bos_id = config.bos_id};
    memcpy(found.eos_ids, config.eos_ids, sizeof found.eos_ids);
    set_name(&found, dir);
    *facts = found;
    return BATON_OK;
}
