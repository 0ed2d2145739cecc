/* The kinds of fields that messages are made of, each with its check; private to check*.c.
 *
 * Ownership: nothing.
 * Threading: pure.
 * Errors:    the first one sticks in the checker.
 */
#ifndef BATON_COMMON_WIRE_ENVELOPE_CHECK_FIELDS_H
#define BATON_COMMON_WIRE_ENVELOPE_CHECK_FIELDS_H

#include <limits.h>
#include <string.h>

#include "common/base/utf8.h"
#include "common/wire/envelope/envelope.h"
#include "common/wire/url.h"

enum {
    MAX_TOKENS = BATON_MAX_PROMPT_TOKENS, /* prompt and output of one request */
    MAX_TOKEN_ID = INT32_MAX,
    MAX_PATH_BYTES = 255, /* in a schema */
    FINGERPRINT_HEX = 64
};

static const double max_seconds = 1e9; /* 31 years: more is a broken clock */

struct checker {
    struct baton_why *why;
    const char *message; /* the message being checked, "hello" */
    enum baton_err err;
};

#define FAIL(checker, field, fmt, ...)                                                             \
    do {                                                                                           \
        if (!(checker)->err)                                                                       \
            (checker)->err = baton_fail((checker)->why, BATON_INVALID, "%s.%s: " fmt,              \
                                        (checker)->message, (field), ##__VA_ARGS__);               \
    } while (0)

static inline void range(struct checker *c, const char *field, uint64_t value, uint64_t min,
                         uint64_t max)
{
    if (value < min || value > max)
        FAIL(c, field, "%llu is outside %llu..%llu", (unsigned long long)value,
             (unsigned long long)min, (unsigned long long)max);
}

static inline void real(struct checker *c, const char *field, double value, double max)
{
    if (!(value >= 0 && value <= max)) /* NaN is outside as well */
        FAIL(c, field, "%g is outside 0..%g", value, max);
}

static inline void seconds(struct checker *c, const char *field, double value)
{
    real(c, field, value, max_seconds);
}

static inline void known(struct checker *c, const char *field, int value,
                         const ProtobufCEnumDescriptor *values)
{
    if (!value || !protobuf_c_enum_descriptor_get_value(values, value))
        FAIL(c, field, "%d is not a value of %s", value, values->short_name);
}

static inline void text(struct checker *c, const char *field, const char *value, size_t max_bytes)
{
    size_t n = value ? strnlen(value, max_bytes + 1) : 0;
    if (n > max_bytes)
        FAIL(c, field, "it is longer than %zu bytes", max_bytes);
    else if (n && !baton_utf8_valid(value, n))
        FAIL(c, field, "it is not valid UTF-8");
}

static inline void charset(struct checker *c, const char *field, const char *value,
                           const char *allowed, size_t min_bytes, size_t max_bytes)
{
    size_t n = value ? strnlen(value, max_bytes + 1) : 0;
    if (n < min_bytes || n > max_bytes)
        FAIL(c, field, "its length is outside %zu..%zu", min_bytes, max_bytes);
    else if (n && strspn(value, allowed) != n)
        FAIL(c, field, "it holds a character outside [%s]", allowed);
}

static inline void name(struct checker *c, const char *field, const char *value)
{
    charset(c, field, value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-", 1,
            BATON_MAX_ID_BYTES);
}

static inline void sha256(struct checker *c, const char *field, const char *value)
{
    charset(c, field, value, "0123456789abcdef", FINGERPRINT_HEX, FINGERPRINT_HEX);
}

enum host_rule { HOST_OR_STAR, HOST_ONLY };

static inline void url(struct checker *c, const char *field, const char *value, enum host_rule rule)
{
    struct baton_url parsed;
    struct baton_why why;
    text(c, field, value, BATON_MAX_TEXT_BYTES);
    if (c->err)
        return;
    if (baton_url_parse(value ? value : "", &parsed, &why))
        FAIL(c, field, "%s", why.text);
    else if (!parsed.port)
        FAIL(c, field, "\"%s\" has port 0", value);
    else if (rule == HOST_ONLY && baton_url_is_any_host(&parsed))
        FAIL(c, field, "\"%s\" names no host", value);
}

static inline void token_ids(struct checker *c, const char *field, const uint32_t *ids, size_t n,
                             size_t min, size_t max)
{
    if (n < min || n > max)
        FAIL(c, field, "%zu tokens are outside %zu..%zu", n, min, max);
    for (size_t i = 0; !c->err && i < n; i++)
        if (ids[i] > MAX_TOKEN_ID)
            FAIL(c, field, "token %zu is %u", i, ids[i]);
}

static inline void present(struct checker *c, const char *field, const void *message)
{
    if (!message)
        FAIL(c, field, "it is missing");
}

static inline void absent(struct checker *c, const char *field, bool is_set, const char *reason)
{
    if (is_set)
        FAIL(c, field, "%s", reason);
}

/* check_sampling.c */
void baton_check_sampling(struct checker *c, const Baton__V1__Sampling *m);
void baton_check_decision(struct checker *c, const Baton__V1__Decision *m);
void baton_check_logprobs(struct checker *c, const Baton__V1__Logprobs *m);

/* check_adapters.c */
void baton_check_adapter_name(struct checker *c, const char *field, const char *value);
void baton_check_adapters(struct checker *c, Baton__V1__Adapter *const *list, size_t n);
void baton_check_adapter_uses(struct checker *c, Baton__V1__AdapterUse *const *list, size_t n);
void baton_check_load_adapter(struct checker *c, const Baton__V1__LoadAdapter *m);
void baton_check_adapter_list(struct checker *c, const Baton__V1__AdapterList *m);

#endif
