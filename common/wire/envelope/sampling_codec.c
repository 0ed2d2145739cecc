#include "common/wire/envelope/sampling_codec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Every row of the table has a field of its name and type: a test holds the two together. */
static void *member_of(const struct baton_sampling_field *field, const Baton__V1__Sampling *message)
{
    const ProtobufCFieldDescriptor *found = protobuf_c_message_descriptor_get_field_by_name(
        &baton__v1__sampling__descriptor, field->name);
    assert(found);
    return (char *)(uintptr_t)message + found->offset;
}

double baton_sampling_message_get(const struct baton_sampling_field *field,
                                  const Baton__V1__Sampling *message)
{
    const void *member = member_of(field, message);
    switch (field->type) {
    case BATON_PARAM_REAL:
        return *(const double *)member;
    case BATON_PARAM_COUNT:
        return *(const uint32_t *)member;
    case BATON_PARAM_FLAG:
        return *(const protobuf_c_boolean *)member;
    }
    return 0;
}

static void message_set(const struct baton_sampling_field *field, Baton__V1__Sampling *message,
                        double value)
{
    void *member = member_of(field, message);
    switch (field->type) {
    case BATON_PARAM_REAL:
        *(double *)member = value;
        break;
    case BATON_PARAM_COUNT:
        *(uint32_t *)member = (uint32_t)value;
        break;
    case BATON_PARAM_FLAG:
        *(protobuf_c_boolean *)member = value != 0;
        break;
    }
}

static void encode_bias(struct baton_sampling_message *out,
                        const struct baton_sampling_params *params)
{
    for (size_t i = 0; i < params->n_bias; i++) {
        baton__v1__logit_bias__init(&out->bias[i]);
        out->bias[i].token = params->bias[i].id;
        out->bias[i].bias = params->bias[i].bias;
        out->listed[i] = &out->bias[i];
    }
    out->message.logit_bias = out->listed;
    out->message.n_logit_bias = params->n_bias;
}

static void encode_grammar(struct baton_sampling_message *out,
                           const struct baton_grammar_text *grammar)
{
    if (grammar->kind == BATON_GRAMMAR_NONE)
        return;
    baton__v1__grammar__init(&out->grammar);
    out->grammar.kind = (Baton__V1__Grammar__Kind)grammar->kind; /* numbered alike */
    out->grammar.text = (ProtobufCBinaryData){.len = grammar->n, .data = (uint8_t *)grammar->bytes};
    out->message.grammar = &out->grammar;
}

static void encode_thinking(struct baton_sampling_message *out,
                            const struct baton_thinking_budget *budget)
{
    Baton__V1__Thinking *m = &out->thinking;
    if (!baton_thinking_budget_is_set(budget))
        return;
    baton__v1__thinking__init(m);
    m->max_tokens = budget->max_tokens;
    m->begin = (char *)(uintptr_t)budget->begin; /* packed, only read */
    m->end = (char *)(uintptr_t)budget->end;
    m->is_open = budget->is_open;
    m->repeats = budget->repeats;
    m->close_ids = budget->close;
    m->n_close_ids = budget->n_close;
    m->n_first = (uint32_t)budget->n_first;
    out->message.thinking = m;
}

void baton_sampling_encode(struct baton_sampling_message *out,
                           const struct baton_sampling_params *params)
{
    const struct baton_sampling_field *field;
    baton__v1__sampling__init(&out->message);
    for (int i = 0; (field = baton_sampling_field_at(i)); i++)
        message_set(field, &out->message, baton_sampling_field_get(field, params));
    out->message.seed = params->seed;
    out->message.stop_token_ids = (uint32_t *)(uintptr_t)params->stop_ids; /* packed, only read */
    out->message.n_stop_token_ids = params->n_stop_ids;
    out->message.allowed_token_ids = params->allowed_ids;
    out->message.n_allowed_token_ids = params->n_allowed_ids;
    encode_bias(out, params);
    encode_grammar(out, &params->grammar);
    encode_thinking(out, &params->thinking);
}

static enum baton_err decode_bias(struct baton_sampling_params *params,
                                  const Baton__V1__Sampling *message)
{
    size_t n = message->n_logit_bias;
    if (!n)
        return BATON_OK;
    params->bias = calloc(n, sizeof *params->bias);
    if (!params->bias)
        return BATON_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        params->bias[i] = (struct baton_logit_bias){.id = message->logit_bias[i]->token,
                                                    .bias = message->logit_bias[i]->bias};
    params->n_bias = n;
    return BATON_OK;
}

static enum baton_err decode_allowed(struct baton_sampling_params *params,
                                     const Baton__V1__Sampling *message)
{
    size_t n = message->n_allowed_token_ids;
    params->allowed_ids = n ? malloc(n * sizeof *params->allowed_ids) : NULL;
    if (n && !params->allowed_ids)
        return BATON_NO_MEMORY;
    if (n)
        memcpy(params->allowed_ids, message->allowed_token_ids, n * sizeof *params->allowed_ids);
    params->n_allowed_ids = n;
    return BATON_OK;
}

static enum baton_err decode_grammar(struct baton_grammar_text *grammar,
                                     const Baton__V1__Grammar *message)
{
    const struct baton_grammar_text given = {.kind = (enum baton_grammar_kind)message->kind,
                                             .bytes = (char *)message->text.data,
                                             .n = message->text.len};
    return baton_grammar_text_copy(grammar, &given);
}

static enum baton_err decode_thinking(struct baton_thinking_budget *budget,
                                      const Baton__V1__Thinking *m)
{
    struct baton_thinking_budget given = {.max_tokens = m->max_tokens,
                                          .is_open = m->is_open,
                                          .repeats = m->repeats,
                                          .close = m->close_ids,
                                          .n_close = m->n_close_ids,
                                          .n_first = m->n_first};
    memcpy(given.begin, m->begin, strlen(m->begin)); /* their lengths were checked */
    memcpy(given.end, m->end, strlen(m->end));
    return baton_thinking_budget_copy(budget, &given);
}

enum baton_err baton_sampling_decode(struct baton_sampling_params *params,
                                     const Baton__V1__Sampling *message)
{
    struct baton_sampling_params made = {BATON_SAMPLING_DEFAULTS, .seed = message->seed};
    const struct baton_sampling_field *field;
    for (int i = 0; (field = baton_sampling_field_at(i)); i++) {
        double value = baton_sampling_message_get(field, message);
        if (value != 0 || !field->zero_is_default)
            baton_sampling_field_set(field, &made, value);
    }
    made.n_stop_ids = message->n_stop_token_ids;
    if (made.n_stop_ids)
        memcpy(made.stop_ids, message->stop_token_ids, made.n_stop_ids * sizeof made.stop_ids[0]);
    enum baton_err err = decode_bias(&made, message);
    if (!err)
        err = decode_allowed(&made, message);
    if (!err && message->grammar)
        err = decode_grammar(&made.grammar, message->grammar);
    if (!err && message->thinking)
        err = decode_thinking(&made.thinking, message->thinking);
    if (err)
        baton_sampling_params_fini(&made);
    else
        *params = made;
    return err;
}
