#include "bench/line.h"

#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

static bool is_prefill(const struct bench_line *line)
{
    return !strcmp(line->phase, "prefill");
}

static double tokens_per_s(const struct bench_line *line)
{
    double n_tokens = line->batch * (is_prefill(line) ? (double)line->prompt : 1);
    return n_tokens / line->seconds;
}

/* Samples of the machine, one set before each run. */
struct samples {
    double flops[BENCH_MAX_RUNS], attend_flops[BENCH_MAX_RUNS], bytes[BENCH_MAX_RUNS];
};

static void sample(struct samples *samples, int i, const struct bench_probes *probes,
                   double n_bytes)
{
    samples->flops[i] = bench_probe_peak(probes->products);
    samples->attend_flops[i] = probes->attention == probes->products
                                   ? samples->flops[i]
                                   : bench_probe_peak(probes->attention);
    samples->bytes[i] = bench_probe_bandwidth(probes->products, n_bytes);
}

enum baton_err bench_line_measure(struct bench_line *line, const struct bench_probes *probes,
                                  int n_runs, bench_time_fn time, void *arg)
{
    struct samples samples;
    double seconds[BENCH_MAX_RUNS], warm_up_s;
    enum baton_err err = time(arg, line, &warm_up_s);
    for (int i = 0; i < n_runs && !err; i++) {
        sample(&samples, i, probes, bench_work_bytes(&line->work));
        err = time(arg, line, &seconds[i]);
    }
    if (err)
        return err;
    line->seconds = cli_median(seconds, n_runs);
    line->limits =
        (struct bench_limits){.flops_per_s = cli_median(samples.flops, n_runs),
                              .attend_flops_per_s = cli_median(samples.attend_flops, n_runs),
                              .bytes_per_s = cli_median(samples.bytes, n_runs)};
    return BATON_OK;
}

static enum baton_err flush(void)
{
    return fflush(stdout) ? BATON_IO : BATON_OK;
}

enum baton_err bench_line_print_head(const struct bench_subject *subject)
{
    (void)printf("%s, %s, KV %s, %s kernels, %d thread%s\n", subject->model, subject->dtype,
                 subject->kv_dtype, subject->kernels, subject->n_threads,
                 subject->n_threads == 1 ? "" : "s");
    (void)printf("%-15s%7s%6s%14s%10s%10s%9s%10s%8s  %-8s%13s%9s\n", "phase", "prompt", "batch",
                 "time", "tokens/s", "GFLOP", "MB", "GFLOP/s", "GB/s", "bound", "at best",
                 "reached");
    (void)printf("%62s%9s%10s%8s\n", "to do", "to move", "peak", "peak");
    return flush();
}

enum baton_err bench_line_print(const struct bench_line *line)
{
    struct bench_estimate estimate = bench_estimate_of(line->work, line->limits);
    (void)printf("%-15s%7d%6d%11.2f ms%10.1f%10.3f%9.1f%10.1f%8.2f  %-8s%10.2f ms%8.1f%%\n",
                 line->phase, line->prompt, line->batch, 1e3 * line->seconds, tokens_per_s(line),
                 1e-9 * bench_work_flops(&line->work), 1e-6 * bench_work_bytes(&line->work),
                 1e-9 * line->limits.flops_per_s, 1e-9 * line->limits.bytes_per_s, estimate.bound,
                 1e3 * estimate.seconds, 100 * estimate.seconds / line->seconds);
    return flush();
}

void bench_line_put(struct baton_json_out *out, const struct bench_subject *subject,
                    const struct bench_line *line)
{
    struct bench_estimate estimate = bench_estimate_of(line->work, line->limits);
    baton_json_open(out, NULL, '{');
    baton_json_put_string(out, "phase", line->phase);
    baton_json_put_string(out, "model", subject->model);
    baton_json_put_string(out, "dtype", subject->dtype);
    baton_json_put_string(out, "kernels", subject->kernels);
    baton_json_put_int(out, "threads", subject->n_threads);
    baton_json_put_exact(out, "kv_token_bytes", subject->kv_token_bytes);
    if (subject->chunk)
        baton_json_put_int(out, "chunk", subject->chunk);
    baton_json_put_int(out, "prompt", line->prompt);
    baton_json_put_int(out, "batch", line->batch);
    baton_json_put_real(out, "seconds", line->seconds);
    baton_json_put_real(out, "tokens_per_s", tokens_per_s(line));
    baton_json_put_exact(out, "flops", bench_work_flops(&line->work));
    baton_json_put_exact(out, "bytes", bench_work_bytes(&line->work));
    baton_json_put_exact(out, "flops_per_s", line->limits.flops_per_s);
    baton_json_put_exact(out, "bytes_per_s", line->limits.bytes_per_s);
    baton_json_put_string(out, "bound", estimate.bound);
    baton_json_put_real(out, "estimate_s", estimate.seconds);
    baton_json_put_real(out, "fraction", estimate.seconds / line->seconds);
    baton_json_close(out, '}');
}
