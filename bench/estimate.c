/* baton-bench estimate: the roofline of a model and a machine that are only described by figures: 2
 * FLOPs per parameter and token, and all weights read once per pass and per step. Attention and KV
 * are left out. */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/roofline.h"
#include "common/base/array.h"

enum { OUTPUT_MAX_BYTES = 1 << 16, FIGURE_BYTES = 32 };

struct options {
    double params, weight_bytes, flops, bandwidth;
    int64_t prompt, new;
    bool json;
};

static const struct baton_option table[] = {
    BATON_ROW_REAL(struct options, params, "params", "7e9", 1, 1e15, "", "weights of the model"),
    BATON_ROW_INT(struct options, prompt, "prompt", "512", 1, 1e9, "tokens", "prompt length"),
    BATON_ROW_INT(struct options, new, "new", "128", 1, 1e9, "tokens", "tokens to generate"),
    BATON_ROW_REAL(struct options, weight_bytes, "weight-bytes", "2", 0.01, 64, "bytes",
                   "size of one weight"),
    BATON_ROW_REAL(struct options, flops, "flops", "312e12", 1, 1e21, "FLOP/s",
                   "the machine's peak"),
    BATON_ROW_REAL(struct options, bandwidth, "bandwidth", "2e12", 1, 1e18, "bytes/s",
                   "the machine's memory bandwidth"),
    BATON_ROW_BOOL(struct options, json, "json", "false", "one JSON object instead of a table"),
};

struct answer {
    struct bench_work prefill, token;
    struct bench_estimate prefill_estimate, token_estimate;
    double decode_flops, decode_s, total_s;
};

static struct answer answer_of(const struct options *options)
{
    const struct bench_limits limits = {.flops_per_s = options->flops,
                                        .attend_flops_per_s = options->flops,
                                        .bytes_per_s = options->bandwidth};
    double n_prompt = (double)options->prompt, n_new = (double)options->new;
    double bytes = options->params * options->weight_bytes, flops = 2 * options->params;
    struct answer answer = {.prefill.matrices = {.flops = flops * n_prompt, .bytes = bytes},
                            .token.matrices = {.flops = flops, .bytes = bytes}};
    answer.prefill_estimate = bench_estimate_of(answer.prefill, limits);
    answer.token_estimate = bench_estimate_of(answer.token, limits);
    answer.decode_flops = flops * n_new;
    answer.decode_s = answer.token_estimate.seconds * n_new;
    answer.total_s = answer.prefill_estimate.seconds + answer.decode_s;
    return answer;
}

/* Writes "7.168e12": %g without the sign and zeros that C writes in exponents. */
static const char *figure(double value, char text[FIGURE_BYTES])
{
    int n = snprintf(text, FIGURE_BYTES, "%.4g", value);
    char *sign = n > 0 && n < FIGURE_BYTES ? strstr(text, "e+") : NULL;
    if (sign) {
        const char *digits = sign + 2;
        while (*digits == '0')
            digits++;
        memmove(sign + 1, digits, strlen(digits) + 1);
    }
    return text;
}

static enum baton_err print_table(const struct options *options, const struct answer *answer)
{
    char prefill[FIGURE_BYTES], decode[FIGURE_BYTES];
    (void)printf("prefill  %lld tokens  %s FLOPs  %.3g ms  (%s)\n", (long long)options->prompt,
                 figure(answer->prefill.matrices.flops, prefill),
                 1e3 * answer->prefill_estimate.seconds, answer->prefill_estimate.bound);
    (void)printf("decode   %lld tokens  %s FLOPs  %.3g ms a token, %.4g ms in all  (%s)\n",
                 (long long)options->new, figure(answer->decode_flops, decode),
                 1e3 * answer->token_estimate.seconds, 1e3 * answer->decode_s,
                 answer->token_estimate.bound);
    (void)printf("total    %.4g ms\n", 1e3 * answer->total_s);
    return fflush(stdout) ? BATON_IO : BATON_OK;
}

static enum baton_err print_json(const struct answer *answer)
{
    struct baton_buf buf;
    baton_buf_init(&buf, OUTPUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_real(&out, "prefill_flops", answer->prefill.matrices.flops);
    baton_json_put_real(&out, "prefill_bytes", answer->prefill.matrices.bytes);
    baton_json_put_string(&out, "prefill_bound", answer->prefill_estimate.bound);
    baton_json_put_real(&out, "prefill_s", answer->prefill_estimate.seconds);
    baton_json_put_real(&out, "decode_flops", answer->decode_flops);
    baton_json_put_real(&out, "token_bytes", answer->token.matrices.bytes);
    baton_json_put_string(&out, "decode_bound", answer->token_estimate.bound);
    baton_json_put_real(&out, "token_s", answer->token_estimate.seconds);
    baton_json_put_real(&out, "decode_s", answer->decode_s);
    baton_json_put_real(&out, "total_s", answer->total_s);
    baton_json_close(&out, '}');
    return cli_print(&buf);
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    const struct answer answer = answer_of(options);
    (void)why;
    return options->json ? print_json(&answer) : print_table(options, &answer);
}

enum baton_err bench_estimate(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench estimate",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "the least time a model needs on a machine",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
