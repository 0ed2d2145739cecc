/* baton-bench: one binary, a table of subcommands; each prints JSON on stdout, or a table for
 * people.
 *
 * Ownership: each subcommand owns what it opens.
 * Threading: the main thread, plus the engine's compute pool.
 * Errors:    a message on stderr; the subcommand's error becomes exit status 1 (2 without
 *            a subcommand).
 */
#ifndef BATON_BENCH_H
#define BATON_BENCH_H

#include "common/engine/compute/engine.h"
#include "tools/cli/cli.h"

/* argv[0] is the subcommand's name. */
enum baton_err bench_advise(int argc, char **argv, struct baton_why *why);
enum baton_err bench_generate(int argc, char **argv, struct baton_why *why);
enum baton_err bench_engine(int argc, char **argv, struct baton_why *why);
enum baton_err bench_attention(int argc, char **argv, struct baton_why *why);
enum baton_err bench_estimate(int argc, char **argv, struct baton_why *why);
enum baton_err bench_handoff(int argc, char **argv, struct baton_why *why);
enum baton_err bench_make_model(int argc, char **argv, struct baton_why *why);
enum baton_err bench_sample(int argc, char **argv, struct baton_why *why);
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

#endif
