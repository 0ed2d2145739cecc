/* A trace of requests in Mooncake's format: one JSON object a line,
 *
 *     {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, ...]}
 *
 * with the arrival in milliseconds, lengths in tokens, and one id for each block of 512 tokens of
 * the prompt: prompts with equal ids begin with equal tokens. Other members are ignored.
 *
 * Ownership: the rows belong to the trace until ld_trace_fini.
 * Threading: read-only once parsed.
 * Errors:    INVALID names the file, the line and the field; LIMIT, NO_MEMORY; read: those of
 *            baton_file_read.
 */
#ifndef BATON_TOOLS_LOAD_WORKLOAD_TRACE_H
#define BATON_TOOLS_LOAD_WORKLOAD_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"

enum { LD_TRACE_BLOCK_TOKENS = 512 };

struct ld_trace_row {
    double arrival_s; /* after the first row's */
    int64_t input_tokens, output_tokens;
    size_t first_hash, n_hashes; /* range in the trace's hashes */
};

/* Rows are in order of arrival; rows of one moment keep the order of the file. */
struct ld_trace {
    struct ld_trace_row *rows;
    size_t n, cap;
    int64_t *hashes;
    size_t n_hashes, cap_hashes;
};

/* Parses a trace. name stands for the text in messages. */
enum baton_err ld_trace_parse(const char *name, const char *text, size_t n, struct ld_trace *trace,
                              struct baton_why *why) BATON_MUST_CHECK;
enum baton_err ld_trace_read(const char *path, struct ld_trace *trace,
                             struct baton_why *why) BATON_MUST_CHECK;
void ld_trace_fini(struct ld_trace *trace);

#endif
