#include "gateway/api/params/grammar.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/array.h"
#include "common/base/digest.h"
#include "engine/grammar/automaton/network.h"
#include "gateway/api/params/forms.h"

/* ---- the cache of verdicts ---- */

enum { MAX_VERDICTS = 256 };

struct verdict {
    uint8_t digest[BATON_SHA256_BYTES];
    enum baton_grammar_kind kind; /* NONE: no verdict */
    enum baton_err err;
    struct baton_why why;
    size_t n_states;
};

/* The latest verdicts. A lack of memory is not cached, because it says nothing about the text. */
static struct {
    pthread_mutex_t lock;
    struct verdict verdicts[MAX_VERDICTS];
    size_t next;
} found = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool recall(struct verdict *verdict)
{
    bool is_known = false;
    (void)pthread_mutex_lock(&found.lock);
    for (size_t i = 0; i < MAX_VERDICTS && !is_known; i++) {
        const struct verdict *other = &found.verdicts[i];
        is_known = other->kind == verdict->kind &&
                   !memcmp(other->digest, verdict->digest, sizeof other->digest);
        if (is_known)
            *verdict = *other;
    }
    (void)pthread_mutex_unlock(&found.lock);
    return is_known;
}

static void remember(const struct verdict *verdict)
{
    (void)pthread_mutex_lock(&found.lock);
    found.verdicts[found.next++ % MAX_VERDICTS] = *verdict;
    (void)pthread_mutex_unlock(&found.lock);
}

/* Compiles the text for its errors and its size alone: workers compile it again. */
static enum baton_err check(enum baton_grammar_kind kind, const char *text, size_t n,
                            size_t *n_states, struct baton_why *why)
{
    struct verdict verdict = {.kind = kind};
    struct baton_network *network = NULL;
    enum baton_err err = baton_sha256_of(text, n, verdict.digest);
    if (err)
        return err;
    if (!recall(&verdict)) {
        verdict.err = baton_grammar_read(kind, text, n, &network, &verdict.why);
        verdict.n_states = verdict.err ? 0 : network->n_states;
        baton_network_destroy(network);
        if (verdict.err != BATON_NO_MEMORY)
            remember(&verdict);
    }
    *why = verdict.why;
    *n_states = verdict.n_states;
    return verdict.err;
}

/* ---- constraints ---- */

void gw_grammar_hold_to_text(struct gw_fields *fields, struct baton_sampling_params *params,
                             const char *name, enum baton_grammar_kind kind, const char *text,
                             size_t n)
{
    const struct baton_grammar_text given = {
        .kind = kind, .bytes = (char *)(uintptr_t)text, .n = n};
    struct baton_why why = {""};
    size_t n_states;
    if (fields->failed)
        return;
    if (params->grammar.kind != BATON_GRAMMAR_NONE) {
        gw_fields_fail(fields, name, "invalid_value",
                       "%s: another field constrains the output too, and only one of them may",
                       name);
        return;
    }
    enum baton_err err = n ? check(kind, text, n, &n_states, &why)
                           : baton_fail(&why, BATON_INVALID, "must not be empty");
    if (!err)
        err = baton_grammar_text_copy(&params->grammar, &given);
    if (err)
        gw_fields_fail(fields, name, err == BATON_LIMIT ? "out_of_range" : "invalid_value",
                       "%s: %.280s", name, *why.text ? why.text : baton_err_text(err));
}

void gw_grammar_hold_to_json(struct gw_fields *fields, struct baton_sampling_params *params,
                             const char *name, enum baton_grammar_kind kind,
                             const struct baton_json *value)
{
    struct baton_buf buf;
    baton_buf_init(&buf, (size_t)BATON_GRAMMAR_MAX_BYTES * 4);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_put_value(&out, NULL, value);
    if (baton_buf_err(&buf))
        gw_fields_fail(fields, name, "out_of_range", "%s: is longer than %d bytes", name,
                       BATON_GRAMMAR_MAX_BYTES);
    else
        gw_grammar_hold_to_text(fields, params, name, kind, baton_buf_text(&buf), buf.len);
    baton_buf_fini(&buf);
}

/* ---- ahead of the loop ---- */

/* Fields with a schema in their member "format": of POST /v1/responses and /v1/messages. */
static const char *const holders[] = {"text", "output_config"};
enum { N_HOLDERS = BATON_N_OF(holders) };

static const struct baton_json *schema_in(const struct baton_json *body, const char *holder)
{
    return baton_json_get(baton_json_get(baton_json_get(body, holder), "format"), "schema");
}

/* Objects of a body whose members count as fields of the body: Ollama's and TGI's. */
static const char *const lifted[] = {"options", "parameters"};
enum { N_LIFTED = BATON_N_OF(lifted) };

bool gw_grammar_is_given(const struct baton_json *body)
{
    bool is_given = gw_forms_are_given(body);
    for (size_t i = 0; i < N_HOLDERS; i++)
        is_given = is_given || schema_in(body, holders[i]);
    for (size_t i = 0; i < N_LIFTED; i++)
        is_given = is_given || gw_forms_are_given(baton_json_get(body, lifted[i]));
    return is_given;
}

static void check_fields(const struct baton_json *object)
{
    struct gw_fields fields = gw_fields(object);
    struct baton_sampling_params params = {BATON_SAMPLING_DEFAULTS};
    gw_forms_read(&fields, &params);
    gw_forms_read_ollamas(&fields, &params);
    for (size_t i = 0; i < N_HOLDERS; i++)
        if (schema_in(object, holders[i]))
            gw_grammar_hold_to_json(&fields, &params, holders[i], BATON_GRAMMAR_JSON_SCHEMA,
                                    schema_in(object, holders[i]));
    baton_sampling_params_fini(&params);
}

void gw_grammar_check_ahead(const struct baton_json *body)
{
    check_fields(body);
    for (size_t i = 0; i < N_LIFTED; i++)
        if (gw_forms_are_given(baton_json_get(body, lifted[i])))
            check_fields(baton_json_get(body, lifted[i]));
}

/* Checks that a constrained output can end: only a stop token ends it. */
static void check_end(struct gw_fields *fields, const struct baton_sampling_params *params,
                      bool ignore_eos)
{
    if (ignore_eos)
        gw_fields_fail(fields, "ignore_eos", "invalid_value",
                       "ignore_eos: cannot be combined with a constraint on the output: a schema, "
                       "a regex, a grammar, choices, bad_words or constrained tool calls");
    else if (!params->n_stop_ids)
        gw_fields_fail(fields, "stop_token_ids", "missing_field",
                       "stop_token_ids: this model has no token that ends a text, which a "
                       "constraint on the output needs; give one here");
}

void gw_grammar_read(struct gw_fields *fields, struct baton_sampling_params *params,
                     bool ignore_eos)
{
    gw_forms_read(fields, params);
    if (params->grammar.kind != BATON_GRAMMAR_NONE && !fields->failed)
        check_end(fields, params, ignore_eos);
}

void gw_grammar_read_format(struct gw_fields *fields, struct gw_params *params)
{
    gw_forms_read_ollamas(fields, &params->sampling);
    if (params->sampling.grammar.kind != BATON_GRAMMAR_NONE && !fields->failed)
        check_end(fields, &params->sampling, params->ignore_eos);
}

void gw_grammar_hold_to_schema(struct gw_fields *fields, struct gw_params *params, const char *name,
                               const struct baton_json *schema)
{
    if (!schema || fields->failed)
        return;
    gw_grammar_hold_to_json(fields, &params->sampling, name, BATON_GRAMMAR_JSON_SCHEMA, schema);
    if (!fields->failed)
        check_end(fields, &params->sampling, params->ignore_eos);
}

/* ---- schemas of tools ---- */

void gw_grammar_check_schema(struct gw_fields *fields, const char *field, const char *name,
                             const struct baton_json *schema, struct gw_grammar_sum *sum)
{
    struct baton_why why = {""};
    struct baton_buf text;
    size_t n_states = 0;
    baton_buf_init(&text, BATON_GRAMMAR_MAX_BYTES - sum->n_bytes);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_put_value(&out, NULL, schema);
    enum baton_err err = schema ? baton_buf_err(&text) : BATON_NO_MEMORY;
    if (err == BATON_LIMIT) {
        (void)baton_fail(&why, err, "with it the schemas are longer than %d bytes",
                         BATON_GRAMMAR_MAX_BYTES);
        sum->n_bytes = BATON_GRAMMAR_MAX_BYTES;
    } else if (!err) {
        err = check(BATON_GRAMMAR_JSON_SCHEMA, baton_buf_text(&text), text.len, &n_states, &why);
        sum->n_bytes += text.len;
        sum->n_states += n_states;
    }
    if (!err && sum->n_states > BATON_MAX_STATES)
        err = baton_fail(&why, BATON_LIMIT, "with it the schemas need too many states together");
    if (err)
        gw_fields_fail(fields, field, err == BATON_LIMIT ? "out_of_range" : "invalid_value",
                       "%s: %.240s", name, *why.text ? why.text : baton_err_text(err));
    baton_buf_fini(&text);
}

enum baton_err gw_grammar_judge_schema(const struct baton_json *schema, struct baton_why *why)
{
    struct baton_buf text;
    size_t n_states;
    baton_buf_init(&text, BATON_GRAMMAR_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&text);
    baton_json_put_value(&out, NULL, schema);
    enum baton_err err = baton_buf_err(&text);
    if (!err)
        err = check(BATON_GRAMMAR_JSON_SCHEMA, baton_buf_text(&text), text.len, &n_states, why);
    baton_buf_fini(&text);
    return err;
}

void gw_grammar_hold_to_structure(struct gw_fields *fields, struct gw_params *params,
                                  const struct baton_buf *text)
{
    const struct baton_grammar_text given = {
        .kind = BATON_GRAMMAR_STRUCTURE, .bytes = text->data, .n = text->len};
    struct baton_sampling_params *sampling = &params->sampling;
    check_end(fields, sampling, params->ignore_eos);
    baton_grammar_text_fini(&sampling->grammar);
    enum baton_err err = baton_grammar_text_copy(&sampling->grammar, &given);
    if (err)
        gw_fields_fail(fields, "tools", "internal_error", "tools: %s", baton_err_text(err));
}
