/* baton-bench: one binary, a table of subcommands; each prints JSON on stdout, or a table for
 * people.
 *
 * Ownership: each subcommand owns what it opens.
 * Threading: the main thread, plus the engine's compute pool.
 * Errors:    a message on stderr; the subcommand's error becomes exit status 1 (2 for bad options).
 */
#ifndef BATON_BENCH_H
#define BATON_BENCH_H

#include <stdio.h>

#include "common/base/config.h"
#include "common/base/json.h"
#include "common/engine/compute/engine.h"

/* argv[0] is the subcommand's name. */
enum baton_err bench_advise(int argc, char **argv, struct baton_why *why);
enum baton_err bench_generate(int argc, char **argv, struct baton_why *why);
enum baton_err bench_engine(int argc, char **argv, struct baton_why *why);
enum baton_err bench_attention(int argc, char **argv, struct baton_why *why);
enum baton_err bench_estimate(int argc, char **argv, struct baton_why *why);
enum baton_err bench_handoff(int argc, char **argv, struct baton_why *why);
enum baton_err bench_make_model(int argc, char **argv, struct baton_why *why);
enum baton_err bench_sample(int argc, char **argv, struct baton_why *why);
enum baton_err bench_serve(int argc, char **argv, struct baton_why *why);
enum baton_err bench_simulate(int argc, char **argv, struct baton_why *why);
enum baton_err bench_selftest(int argc, char **argv, struct baton_why *why);
/* The subcommands of bench/lab; returns only when it could not become them. */
enum baton_err bench_lab(int argc, char **argv, struct baton_why *why);

/* A model with a KV cache and an engine. */
struct bench_machine {
    struct baton_model *model;
    struct baton_kv *kv;
    struct baton_engine *engine;
    float *logits; /* [max_logits][V] */
};

struct bench_machine_options {
    const char *name; /* a model directory, or "shape:NAME" for random weights (shapes.h) */
    struct baton_model_options model;
    const char *kv_dtype;
    int n_kv_tokens;
    struct baton_engine_options engine;
    int max_logits; /* rows of them at once */
};

enum baton_err bench_machine_init(struct bench_machine *machine,
                                  const struct bench_machine_options *options,
                                  struct baton_why *why) BATON_MUST_CHECK;
void bench_machine_fini(struct bench_machine *machine);

/* Fills *options from the subcommand's own, and runs it unless --help or the like answered. */
enum baton_err bench_run(struct baton_config *config, void *options, int argc, char **argv,
                         enum baton_err (*run)(const void *options, struct baton_why *why),
                         struct baton_why *why) BATON_MUST_CHECK;

/* Options that do not go together. INVALID names the first ones given. */
struct bench_clash {
    bool given;
    const char *names;
};
enum baton_err bench_check_clashes(const struct bench_clash *clashes, size_t n,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* What results are written to: *file stays as it is when there is no path. IO names the option. */
enum baton_err bench_open_output(const char *option, const char *path, FILE **file,
                                 struct baton_why *why) BATON_MUST_CHECK;
/* All of them, stdout only flushed; NULLs are passed over. IO: something was not written. */
enum baton_err bench_close_outputs(FILE *const files[], size_t n,
                                   struct baton_why *why) BATON_MUST_CHECK;

/* Members of a JSON object: each option as it was given, or its default. */
void bench_put_options(const struct baton_option *table, size_t n, const void *options,
                       struct baton_json_out *out);

/* Writes the buffer and a newline to stdout and ends it. */
enum baton_err bench_print(struct baton_buf *json) BATON_MUST_CHECK;

/* The middle one; sorts the values. n >= 1. */
double bench_median(double *values, int n);

enum { BENCH_LIST_MAX = 16 };

struct bench_list {
    int values[BENCH_LIST_MAX], n;
};

/* Numbers with commas between, as in "16,64,256". INVALID names the option and its range. */
enum baton_err bench_list_parse(const char *option, const char *text, int min, int max,
                                struct bench_list *list, struct baton_why *why) BATON_MUST_CHECK;
int bench_list_greatest(const struct bench_list *list);

#endif
