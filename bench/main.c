/* baton-bench: measures the engine and the link. */
#include "bench/bench.h"
#include "common/base/array.h"

static const struct cli_command commands[] = {
    {"generate", "one prompt through prefill and decode (or the naive loop) in this process",
     bench_generate, NULL},
    {"engine", "prefill and decode, each line beside what this machine allows", bench_engine, NULL},
    {"attention", "the attention alone, over long contexts, beside what this machine allows",
     bench_attention, NULL},
    {"draft-head", "a model with its own head that drafts, beside the model alone",
     bench_draft_head, NULL},
    {"estimate", "the roofline's answer for any model and machine", bench_estimate, NULL},
    {"handoff", "hand-offs over a real link, and from which prompt on they pay", bench_handoff,
     NULL},
    {"make-model", "random weights of a known shape as a Hugging Face directory or a GGUF file",
     bench_make_model, NULL},
    {"masks", "what grammars cost a token, over a large vocabulary", bench_masks, NULL},
    {"products", "one product by every kernel set of this CPU, in turn", bench_products, NULL},
    {"sample", "time of one choice, by setting and vocabulary", bench_sample, NULL},
    {"selftest", "the sampler against figures computed by hand, expected beside got",
     bench_selftest, NULL},
};

static const struct cli_program program = {
    .name = "baton-bench",
    .summary = "measures the engine and the link",
    .commands = commands,
    .n_commands = BATON_N_OF(commands),
};

int main(int argc, char **argv)
{
    return cli_dispatch(&program, argc, argv);
}
