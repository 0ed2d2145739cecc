/* baton-bench sample: measures one choice of a token, by setting and vocabulary: medians of runs
 * over rows that resemble a language model's (normal, deviation 3) and, for filters that keep much,
 * over nearly flat ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "common/base/array.h"
#include "common/base/clock.h"
#include "engine/kernels/kernels.h"
#include "engine/sampling/philox.h"
#include "engine/sampling/sampler.h"

enum { MAX_RUNS = 99, N_ROWS = 4, N_SEEN = 512, N_BIAS = 16, OUTPUT_MAX_BYTES = 1 << 20 };

struct options {
    int64_t runs, picks;
    bool json;
};

static const struct baton_option table[] = {
    BATON_ROW_INT(struct options, runs, "runs", "7", 1, MAX_RUNS, "",
                  "runs per figure, which is their median"),
    BATON_ROW_INT(struct options, picks, "picks", "400", 1, 1000000, "", "choices timed per run"),
    BATON_ROW_BOOL(struct options, json, "json", "false", "one JSON object instead of a table"),
};

enum task { PICK, EXPLAIN, LOGPROBS };

struct setting {
    const char *name;
    enum task task;
    bool flat;
    struct baton_sampling_params sampling;
};

#define FILTERS(t, k, p, min)                                                                      \
    .temperature = (t), .top_k = (k), .top_p = (p), .min_p = (min), .seed = 11
#define SAMPLING(t, k, p, min)                                                                     \
    {                                                                                              \
        FILTERS(t, k, p, min), .repetition_penalty = 1                                             \
    }

static struct baton_logit_bias bias[N_BIAS];

static const struct setting settings[] = {
    {"greedy", PICK, false, SAMPLING(0, 0, 1, 0)},
    {"temperature 0.8", PICK, false, SAMPLING(0.8, 0, 1, 0)},
    {"top-k 50", PICK, false, SAMPLING(1, 50, 1, 0)},
    {"top-k 1000", PICK, false, SAMPLING(1, 1000, 1, 0)},
    {"top-p 0.95", PICK, false, SAMPLING(1, 0, 0.95, 0)},
    {"top-k 50, top-p 0.95", PICK, false, SAMPLING(1, 50, 0.95, 0)},
    {"top-k 1000, top-p 0.95", PICK, false, SAMPLING(1, 1000, 0.95, 0)},
    {"min-p 0.05", PICK, false, SAMPLING(1, 0, 1, 0.05)},
    {"bias, penalties, all filters",
     PICK,
     false,
     {FILTERS(0.8, 50, 0.95, 0.05), .repetition_penalty = 1.1, .presence_penalty = 0.2,
      .frequency_penalty = 0.1, .bias = bias, .n_bias = N_BIAS}},
    {"flat: temperature 0.8", PICK, true, SAMPLING(0.8, 0, 1, 0)},
    {"flat: top-k 50", PICK, true, SAMPLING(1, 50, 1, 0)},
    {"flat: top-p 0.95", PICK, true, SAMPLING(1, 0, 0.95, 0)},
    {"flat: top-k 20000, top-p 0.95", PICK, true, SAMPLING(1, 20000, 0.95, 0)},
    {"flat: min-p 0.05", PICK, true, SAMPLING(1, 0, 1, 0.05)},
    {"top-k 50, top-p 0.95, explain 5", EXPLAIN, false, SAMPLING(1, 50, 0.95, 0)},
    {"temperature 0.8, explain 5", EXPLAIN, false, SAMPLING(0.8, 0, 1, 0)},
    {"logprobs 5", LOGPROBS, false, SAMPLING(1, 0, 1, 0)},
};

enum { N_SETTINGS = BATON_N_OF(settings) };

static const int vocabularies[] = {50257, 151936, 262144};

enum { N_VOCABULARIES = BATON_N_OF(vocabularies) };

struct stand {
    const struct options *options;
    struct baton_sampler *sampler;
    struct baton_history history;
    float *rows[2][N_ROWS]; /* peaked, flat */
    uint32_t sink;          /* keeps the compiler from dropping the choices */
};

/* Fills a row with normal deviates, by Box and Muller. */
static void fill_row(float *row, int n, double deviation, uint64_t seed)
{
    for (int i = 0; i < n; i++) {
        /* The logarithm's argument is never 0: uniform numbers are below 1. */
        double radius = sqrt(-2 * log(1 - baton_philox_uniform(seed, 2 * (uint64_t)i)));
        double angle = 2 * acos(-1) * baton_philox_uniform(seed, 2 * (uint64_t)i + 1);
        row[i] = (float)(deviation * radius * cos(angle));
    }
}

static enum baton_err stand_init(struct stand *stand, int n_vocab)
{
    enum baton_err err = baton_history_init(&stand->history, N_SEEN);
    if (err)
        return err;
    for (uint32_t i = 0; i < N_SEEN; i++)
        baton_history_add_output(&stand->history, 97 * i % (uint32_t)n_vocab);
    for (uint32_t i = 0; i < N_BIAS; i++)
        bias[i] = (struct baton_logit_bias){.id = 1009 * i, .bias = -1};
    stand->sampler = baton_sampler_create(n_vocab);
    for (int i = 0; i < 2 * N_ROWS; i++) {
        float *row = calloc((size_t)n_vocab, sizeof *row);
        stand->rows[i / N_ROWS][i % N_ROWS] = row;
        if (row)
            fill_row(row, n_vocab, i < N_ROWS ? 3 : 0.01, (uint64_t)i);
        else
            err = BATON_NO_MEMORY;
    }
    return stand->sampler ? err : BATON_NO_MEMORY;
}

static void stand_fini(struct stand *stand)
{
    for (int i = 0; i < 2 * N_ROWS; i++)
        free(stand->rows[i / N_ROWS][i % N_ROWS]);
    baton_sampler_destroy(stand->sampler);
    baton_history_fini(&stand->history);
}

static void choose(struct stand *stand, const struct setting *setting, uint64_t position)
{
    enum { N_LISTED = 5 };
    const float *row = stand->rows[setting->flat][position % N_ROWS];
    struct baton_decision decision;
    struct baton_logprob top[N_LISTED];
    switch (setting->task) {
    case PICK:
        stand->sink +=
            baton_sampler_pick(stand->sampler, row, &setting->sampling, &stand->history, position);
        break;
    case EXPLAIN:
        stand->sink += baton_sampler_explain(stand->sampler, row, &setting->sampling,
                                             &stand->history, position, N_LISTED, &decision);
        break;
    case LOGPROBS:
        (void)baton_sampler_logprobs(stand->sampler, row, 0, N_LISTED, top);
        stand->sink += top[0].token;
        break;
    }
}

static int compare_reals(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Returns the microseconds of one choice. */
static double time_setting(struct stand *stand, const struct setting *setting)
{
    double times[MAX_RUNS];
    int64_t n_runs = stand->options->runs, n_picks = stand->options->picks;
    for (int64_t run = 0; run < n_runs; run++) {
        int64_t start = baton_now_ns();
        for (int64_t i = 0; i < n_picks; i++)
            choose(stand, setting, (uint64_t)i);
        times[run] = (double)(baton_now_ns() - start) / 1000 / (double)n_picks;
    }
    qsort(times, (size_t)n_runs, sizeof times[0], compare_reals);
    return times[n_runs / 2];
}

struct results {
    double us[N_SETTINGS][N_VOCABULARIES];
};

static enum baton_err measure(const struct options *options, struct results *results)
{
    enum baton_err err = BATON_OK;
    for (int v = 0; v < N_VOCABULARIES && !err; v++) {
        struct stand stand = {.options = options};
        err = stand_init(&stand, vocabularies[v]);
        for (int i = 0; i < N_SETTINGS && !err; i++)
            results->us[i][v] = time_setting(&stand, &settings[i]);
        stand_fini(&stand);
    }
    return err;
}

static enum baton_err print_json(const struct results *results)
{
    struct baton_buf buf;
    baton_buf_init(&buf, OUTPUT_MAX_BYTES);
    struct baton_json_out out = baton_json_out(&buf);
    baton_json_open(&out, NULL, '{');
    baton_json_put_string(&out, "kernels", baton_kernels_best()->name);
    baton_json_open(&out, "sample", '[');
    for (int i = 0; i < N_SETTINGS * N_VOCABULARIES; i++) {
        baton_json_open(&out, NULL, '{');
        baton_json_put_string(&out, "setting", settings[i / N_VOCABULARIES].name);
        baton_json_put_int(&out, "vocabulary", vocabularies[i % N_VOCABULARIES]);
        baton_json_put_real(&out, "us", results->us[i / N_VOCABULARIES][i % N_VOCABULARIES]);
        baton_json_close(&out, '}');
    }
    baton_json_close(&out, ']');
    baton_json_close(&out, '}');
    return cli_print(&buf);
}

static enum baton_err print_table(const struct results *results)
{
    (void)printf("microseconds a choice, %s kernels\n%-33s", baton_kernels_best()->name, "V");
    for (int v = 0; v < N_VOCABULARIES; v++)
        (void)printf("%10d", vocabularies[v]);
    for (int i = 0; i < N_SETTINGS; i++) {
        (void)printf("\n%-33s", settings[i].name);
        for (int v = 0; v < N_VOCABULARIES; v++)
            (void)printf("%10.1f", results->us[i][v]);
    }
    return puts("") == EOF || fflush(stdout) ? BATON_IO : BATON_OK;
}

static enum baton_err run(const void *arg, struct baton_why *why)
{
    const struct options *options = arg;
    struct results results;
    enum baton_err err = measure(options, &results);
    (void)why;
    if (err)
        return err;
    return options->json ? print_json(&results) : print_table(&results);
}

enum baton_err bench_sample(int argc, char **argv, struct baton_why *why)
{
    struct options options = {0};
    struct baton_config config = {.process = "baton-bench sample",
                                  .env_prefix = "BATON_BENCH",
                                  .summary = "measures the sampler, setting by setting",
                                  .options = table,
                                  .n_options = BATON_N_OF(table)};
    return cli_run(&config, &options, argc, argv, run, why);
}
