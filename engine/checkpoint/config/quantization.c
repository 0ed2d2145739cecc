#include "engine/checkpoint/config/quantization.h"

#include <stdio.h>
#include <string.h>

#include "common/base/array.h"

/* A key, and the texts that it may have; absent and null are allowed too. */
struct allowed {
    const char *key;
    const char *texts[5];
};

static bool is_absent(const struct baton_json *value)
{
    return baton_json_kind(value) == BATON_JSON_NULL;
}

static bool refuse(char text[BATON_QUANTIZATION_BYTES], const char *method, const char *key,
                   const struct baton_json *value)
{
    const char *string = baton_json_string(value, NULL);
    if (baton_json_kind(value) == BATON_JSON_INT)
        (void)snprintf(text, BATON_QUANTIZATION_BYTES, "%.20s, %s %lld", method, key,
                       (long long)baton_json_int(value));
    else
        (void)snprintf(text, BATON_QUANTIZATION_BYTES, "%.20s, %s%s%.20s", method, key,
                       string ? " " : "", string ? string : "");
    return false;
}

static bool check_text(const struct baton_json *object, const struct allowed *allowed,
                       const char *method, char *text)
{
    const struct baton_json *value = baton_json_get(object, allowed->key);
    if (is_absent(value))
        return true;
    for (size_t i = 0; i < BATON_N_OF(allowed->texts) && allowed->texts[i]; i++)
        if (baton_json_is(value, allowed->texts[i]))
            return true;
    return refuse(text, method, allowed->key, value);
}

/* Codes of 4 or 8 bits. */
static bool check_bits(const struct baton_json *object, const char *key, bool has_four,
                       bool has_eight, const char *method, char *text)
{
    const struct baton_json *value = baton_json_get(object, key);
    const int64_t n = baton_json_kind(value) == BATON_JSON_INT ? baton_json_int(value) : 0;
    return (n == 4 && has_four) || (n == 8 && has_eight) || refuse(text, method, key, value);
}

/* One module may be quantized unlike the others. */
static bool check_no_exceptions(const struct baton_json *object, const char *key,
                                const char *method, char *text)
{
    const struct baton_json *value = baton_json_get(object, key);
    return is_absent(value) || !baton_json_size(value) || refuse(text, method, key, value);
}

static bool check_gptq(const struct baton_json *object, char *text)
{
    static const struct allowed formats = {"checkpoint_format", {"gptq"}};
    const struct baton_json *marlin = baton_json_get(object, "is_marlin_format");
    if (baton_json_kind(marlin) == BATON_JSON_BOOL && baton_json_bool(marlin))
        return refuse(text, "gptq", "is_marlin_format", marlin);
    return check_bits(object, "bits", true, true, "gptq", text) &&
           check_text(object, &formats, "gptq", text) &&
           check_no_exceptions(object, "dynamic", "gptq", text);
}

static bool check_awq(const struct baton_json *object, char *text)
{
    static const struct allowed versions = {"version", {"gemm", "GEMM"}};
    return check_bits(object, "bits", true, false, "awq", text) &&
           check_text(object, &versions, "awq", text);
}

static bool check_fp8(const struct baton_json *object, char *text)
{
    static const struct allowed formats = {"fmt", {"e4m3"}};
    const struct baton_json *block = baton_json_get(object, "weight_block_size");
    for (size_t i = 0; i < baton_json_size(block); i++) {
        const struct baton_json *size = baton_json_at(block, i);
        if (baton_json_kind(size) != BATON_JSON_INT || baton_json_int(size) != 128)
            return refuse(text, "fp8", "weight_block_size", size);
    }
    return check_text(object, &formats, "fp8", text);
}

static bool check_weights(const struct baton_json *weights, char *text)
{
    static const char method[] = "compressed-tensors";
    static const struct allowed types = {"type", {"int", "float"}},
                                strategies = {"strategy", {"tensor", "channel", "group", "block"}};
    const bool is_float = baton_json_is(baton_json_get(weights, "type"), "float");
    return is_absent(weights) || (check_text(weights, &types, method, text) &&
                                  check_bits(weights, "num_bits", !is_float, true, method, text) &&
                                  check_text(weights, &strategies, method, text));
}

static bool check_compressed(const struct baton_json *object, char *text)
{
    static const char method[] = "compressed-tensors";
    static const struct allowed formats = {
        "format", {"pack-quantized", "float-quantized", "naive-quantized", "int-quantized"}};
    static const struct allowed sparse = {"format", {"dense"}};
    const struct baton_json *groups = baton_json_get(object, "config_groups");
    bool is_served = check_text(object, &formats, method, text) &&
                     check_text(baton_json_get(object, "sparsity_config"), &sparse, method, text);
    for (void *it = baton_json_first(groups); it && is_served; it = baton_json_next(groups, it))
        is_served = check_weights(baton_json_get(baton_json_member(it), "weights"), text);
    return is_served;
}

bool baton_quantization_check(const struct baton_json *object, char text[BATON_QUANTIZATION_BYTES])
{
    static const struct {
        const char *method;
        bool (*check)(const struct baton_json *object, char *text);
    } methods[] = {{"gptq", check_gptq},
                   {"awq", check_awq},
                   {"fp8", check_fp8},
                   {"compressed-tensors", check_compressed}};
    const char *method = baton_json_string(baton_json_get(object, "quant_method"), NULL);
    (void)snprintf(text, BATON_QUANTIZATION_BYTES, "%s", method ? method : "unknown");
    for (size_t i = 0; method && i < BATON_N_OF(methods); i++)
        if (!strcmp(methods[i].method, method))
            return methods[i].check(object, text);
    return false;
}
