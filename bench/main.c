/* baton-bench: measures the engine and the link. */
#include "bench/bench.h"

static const struct cli_command commands[] = {
    {"generate", "one prompt through prefill and decode (or the naive loop) in this process",
     bench_generate},
    {"engine", "prefill and decode, each line beside what this machine allows", bench_engine},
    {"attention", "the attention alone, over long contexts, beside what this machine allows",
     bench_attention},
    {"estimate", "the roofline's answer for any model and machine", bench_estimate},
    {"handoff", "hand-offs over a real link, and from which prompt on they pay", bench_handoff},
    {"make-model", "random weights of a known shape as a Hugging Face directory or a GGUF file",
     bench_make_model},
    {"products", "one product by every kernel set of this CPU, in turn", bench_products},
    {"sample", "time of one choice, by setting and vocabulary", bench_sample},
    {"selftest", "the sampler against figures computed by hand, expected beside got",
     bench_selftest},
};

int main(int argc, char **argv)
{
    return cli_dispatch("baton-bench", commands, sizeof commands / sizeof commands[0], argc, argv);
}
