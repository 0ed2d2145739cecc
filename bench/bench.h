/* baton-bench: one binary, a table of subcommands; each prints JSON on stdout, or a table for
 * people.
 *
 * Ownership: each subcommand owns the resources that it opens.
 * Threading: the main thread, plus the engine's compute pool.
 * Errors:    a message on stderr; the subcommand's error becomes exit status 1 (2 without
 */
#ifndef BATON_BENCH_BENCH_H
#define BATON_BENCH_BENCH_H

#include "tools/support/cli.h"

/* argv[0] is the subcommand's name. */
enum baton_err bench_generate(int argc, char **argv, struct baton_why *why);
enum baton_err bench_engine(int argc, char **argv, struct baton_why *why);
enum baton_err bench_attention(int argc, char **argv, struct baton_why *why);
enum baton_err bench_estimate(int argc, char **argv, struct baton_why *why);
enum baton_err bench_draft_head(int argc, char **argv, struct baton_why *why);
enum baton_err bench_handoff(int argc, char **argv, struct baton_why *why);
enum baton_err bench_make_model(int argc, char **argv, struct baton_why *why);
enum baton_err bench_masks(int argc, char **argv, struct baton_why *why);
enum baton_err bench_products(int argc, char **argv, struct baton_why *why);
enum baton_err bench_sample(int argc, char **argv, struct baton_why *why);
enum baton_err bench_selftest(int argc, char **argv, struct baton_why *why);

#endif
