#include <stdio.h>
#include <string.h>

#include "bench/bench.h"

static const struct {
    const char *name, *summary;
    enum baton_err (*run)(int argc, char **argv, struct baton_why *why);
} commands[] = {
    {"generate", "one prompt through prefill and decode (or the naive loop) in this process",
     bench_generate},
    {"engine", "prefill and decode, each line beside what this machine allows", bench_engine},
    {"attention", "the attention alone, over long contexts, beside what this machine allows",
     bench_attention},
    {"estimate", "the roofline's answer for any model and machine", bench_estimate},
    {"advise", "the layout a workload needs, and what its clients would wait", bench_advise},
    {"handoff", "hand-offs over a real link, and from which prompt on they pay", bench_handoff},
    {"make-model", "random weights of a known shape as a Hugging Face directory", bench_make_model},
    {"sample", "time of one choice, by setting and vocabulary", bench_sample},
    {"serve", "a running server under load, through HTTP", bench_serve},
    {"simulate", "fleets that this machine can not run, from costs measured on it", bench_simulate},
    {"sweep", "fleets of several layouts under several loads: table, report, pictures", bench_lab},
    {"ladder", "what each idea buys, from the naive loop to overlapped hand-off", bench_lab},
    {"selftest", "the sampler against figures computed by hand, expected beside got",
     bench_selftest},
};

enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static int usage(void)
{
    (void)fprintf(stderr, "usage: baton-bench COMMAND [OPTION...]   (COMMAND --help lists them)\n");
    for (int i = 0; i < N_COMMANDS; i++)
        (void)fprintf(stderr, "  %-10s %s\n", commands[i].name, commands[i].summary);
    return 2;
}

int main(int argc, char **argv)
{
    struct baton_why why = {.text = ""};
    for (int i = 0; argc > 1 && i < N_COMMANDS; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        enum baton_err err = commands[i].run(argc - 1, argv + 1, &why);
        if (err)
            (void)fprintf(stderr, "baton-bench %s: %s\n", argv[1],
                          why.text[0] ? why.text : baton_err_text(err));
        return err ? 1 : 0;
    }
    return usage();
}
