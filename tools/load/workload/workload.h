/* The shape of one group's requests; request i is a function of the seed and i alone.
 *
 * A prompt is a list of token ids drawn from a range, so that two prompts share a prefix only where
 * the options demand it: a fraction of the requests begins with one of n_prefixes prefixes, and a
 * trace's blocks are equal where its hashes are. Otherwise prompts are the lines of a file, in
 * turn.
 *
 * Ownership: texts and trace are borrowed.
 * Threading: pure functions of const data.
 * Errors:    those of the buffer written to.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_WORKLOAD_H
#define BATON_TOOLS_LOAD_WORKLOAD_WORKLOAD_H

#include <stdbool.h>

#include "common/base/json.h"
#include "tools/load/workload/lengths.h"
#include "tools/load/workload/trace.h"

/* The lines of a file. */
struct ld_texts {
    char **lines;
    size_t n, cap;
};

struct ld_workload {
    uint64_t seed;
    struct ld_lengths prompt, output;
    int64_t first_id, last_id;    /* token ids of prompts */
    int64_t prefix_tokens;        /* 0: no prefixes */
    int64_t n_prefixes;           /* >= 1 when there are prefixes */
    double prefix_reuse;          /* fraction of requests that begin with one */
    double cancel_rate;           /* fraction that leaves after some tokens */
    double slow_rate;             /* fraction that reads slowly */
    int64_t max_tokens;           /* bound on prompt + output; 0: none */
    const struct ld_texts *texts; /* or NULL */
    const struct ld_trace *trace; /* or NULL */
    double trace_scale;           /* of its lengths and blocks */
};

struct ld_plan {
    uint64_t index;
    int64_t prompt_tokens; /* 0 for a text, which only the server can count */
    int64_t output_tokens;
    int64_t prefix;       /* number of its prefix; -1: none */
    int64_t cancel_after; /* number of tokens; 0: stays to the end */
    bool slow;
    bool clipped; /* by max_tokens */
};

struct ld_plan ld_plan_make(const struct ld_workload *workload, uint64_t index);

/* Writes the prompt as ids ([12,7,...]) or, from a file, as a string. A route that accepts only
 * text (a chat) gets as many common words as the prompt has tokens. */
void ld_plan_put_prompt(const struct ld_workload *workload, const struct ld_plan *plan,
                        bool as_text, struct baton_json_out *out, const char *key);

/* Reads the lines of a file that are not empty. Errors: as baton_file_read; INVALID when there is
 * none, or one that is not UTF-8. */
enum baton_err ld_texts_read(const char *path, struct ld_texts *texts,
                             struct baton_why *why) BATON_MUST_CHECK;
void ld_texts_fini(struct ld_texts *texts);

#endif
