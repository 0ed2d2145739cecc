/* The answer writer of one API: a table of functions for the shape of its answers, which the common
 * response writer of all completions (gw_completion_writer) calls.
 *
 *     stream, each choice:  begin? progress... (token? (text | call | call_begin call_more...
 *                           call_end)...)... end
 *             then, once:   end_stream?
 *     whole, each choice:   (token? call...)... put_choice
 *             then, once:   put_answer?
 *
 * The common writer does the rest: it fills buffers and clears them when an attempt restarts, holds
 * logprobs until their text is shown, separates calls and reasoning from text, counts and charges
 * tokens, and ends the other choices after an error.
 *
 * Ownership: a writer is static. Arguments are borrowed during a call.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_WRITER_H
#define BATON_GATEWAY_API_COMPLETION_WRITER_H

#include "gateway/api/completion/completion.h"

/* The format of a stream's events. */
struct gw_stream_format {
    const char *content_type;
    /* Appends one event; a format without names ignores it, and it may be NULL. */
    void (*put_event)(struct baton_buf *out, const char *name, const char *data, size_t n);
    /* Appends a message without content that keeps a quiet stream open. */
    void (*put_keep_alive)(struct baton_buf *out, const struct gw_completion *completion);
};

/* A function that is NULL is skipped. */
struct gw_answer_writer {
    const struct gw_stream_format *format; /* NULL: server-sent events with comments between */
    size_t options_bytes;                  /* size of *options.own of the route */
    size_t choice_bytes;                   /* size of the writer's state in each choice, zeroed */
    void (*fini_options)(void *own);
    void (*restart)(struct gw_choice *choice); /* clears the choice's output in options.own */

    /* For streams. begin: the first token is there, or takes long and the streams begin before
     * it (begins_early); nothing of the choice was written yet. */
    void (*begin)(struct gw_choice *choice);
    bool begins_early; /* a completion has one choice */
    /* n_tokens of the prompt are computed, n_cached of which a cache had. */
    void (*progress)(struct gw_choice *choice, uint64_t n_tokens, uint64_t n_cached);
    /* Whole characters. choice->part says whether they are text or reasoning. Called for streams
     * only: a whole answer keeps them in the choice's buffers. */
    void (*text)(struct gw_choice *choice, const char *text, size_t n);
    void (*end)(struct gw_choice *choice);                /* its totals are counted */
    void (*end_stream)(struct gw_completion *completion); /* after the last choice */

    /* For whole answers: write the members of the choice's object, and those of the object around
     * the objects of all choices. Without put_answer the answer is the only choice's object, or,
     * for a batch, an array. */
    void (*put_choice)(struct gw_choice *choice, struct baton_json_out *out);
    void (*put_answer)(struct gw_completion *completion, struct baton_json_out *out);
    bool (*is_array)(const struct gw_completion *completion); /* put_answer writes elements */

    /* For completions in the background (options.is_background). accepted: the requests are queued;
     * the writer may answer the client and detach the completion (gw_completion_detach), or begin
     * its stream, or end it. failed: it is over with an error. */
    void (*accepted)(struct gw_completion *completion);
    void (*failed)(struct gw_completion *completion, const struct gw_error *error);

    /* For both. */
    void (*token)(struct gw_choice *choice); /* its logprobs and its step are kept */
    void (*call)(struct gw_choice *choice, const struct gw_tool_call *call);
    /* A call of a stream whose arguments arrive in pieces: call has none, the next, and then all of
     * them, which the end of the output may cut off. Calls that are wanted whole go to `call`; with
     * call_begin NULL all do. */
    bool (*wants_whole)(const struct gw_choice *choice, const struct gw_tool_call *call);
    bool tells_cut_calls; /* arguments are text, so a whole answer can tell a part of them, too */
    void (*call_begin)(struct gw_choice *choice, const struct gw_tool_call *call);
    void (*call_more)(struct gw_choice *choice, const struct gw_tool_call *call);
    void (*call_end)(struct gw_choice *choice, const struct gw_tool_call *call);
    /* Text or reasoning (choice->part) begins or ends. An answer without any part has an empty part
     * of text; is_last: no part follows. */
    void (*open_part)(struct gw_choice *choice);
    void (*close_part)(struct gw_choice *choice, bool is_last);
    void (*flush)(struct gw_choice *choice); /* after each piece of the output */
    void (*done)(struct gw_choice *choice);  /* after end or put_choice */
    /* values [n]: the result of a choice that is an embedding; not normalised. */
    void (*embedding)(struct gw_choice *choice, const float *values, size_t n);

    /* Writes the usage object of an incomplete completion under the key, for errors. Without it the
     * numbers of prompt and output tokens get these names; the second may be NULL. */
    void (*put_usage)(struct baton_json_out *out, const char *key,
                      const struct gw_completion *completion);
    const char *usage_names[2];
    const char *error_event; /* the name of a stream's error event; NULL: none */
    /* The data of that event; NULL: the error object of the route. */
    void (*put_failure)(struct baton_buf *data, const struct gw_completion *completion,
                        const struct gw_error *error);
};

/* The response writer of all completions' requests. */
extern const struct gw_response_writer gw_completion_writer;

/* ---- for writers ---- */

/* An event whose data is a JSON object. Do not move it while it is open: out points into it. */
struct gw_event {
    struct gw_choice *choice;
    const char *name;
    struct baton_buf data;
    struct baton_json_out out;
};

/* Opens the object of an event about the choice; name NULL: none. gw_event_close ends it, writes
 * it (gw_completion_write) and frees it. */
void gw_event_open(struct gw_event *event, struct gw_choice *choice, const char *name);
void gw_event_close(struct gw_event *event);

/* Writes one event to the stream; name NULL: none. The time counts for the flush stage of the
 * choice, which may be NULL. */
void gw_completion_write(struct gw_completion *completion, struct gw_choice *choice,
                         const char *name, const char *data, size_t n);

/* Parts the completion from its exchange, which its writer answers; it goes on without a client. */
void gw_completion_detach(struct gw_completion *completion);

/* Begins a stream that goes on without its client. False: there is no memory to keep it. */
bool gw_completion_begin_lasting(struct gw_completion *completion);
/* Ends the completion and its stream, after the last event. */
void gw_completion_cancel(struct gw_completion *completion, const char *reason);

/* The same as gw_completion_write for events that are formatted already. */
void gw_completion_send(struct gw_completion *completion, struct gw_choice *choice,
                        const struct baton_buf *events);

/* The prefix, "-" and the completion's id; for further choices followed by "-1", "-2", ... */
enum { GW_ANSWER_ID_BYTES = GW_REQUEST_ID_BYTES + 24 };
const char *gw_choice_id(const struct gw_choice *choice, const char *prefix,
                         char id[GW_ANSWER_ID_BYTES]);

/* Writes "steps":[...] since the last call. Writes nothing without `explain`. */
void gw_choice_put_steps(struct gw_choice *choice, struct baton_json_out *out);

/* Writes the generated text, after the prompt's if with_prompt. */
void gw_choice_put_text(const struct gw_choice *choice, struct baton_json_out *out, const char *key,
                        bool with_prompt);

/* Opens an output that appends objects, with commas between, to the choice's calls.json. */
struct baton_json_out gw_choice_calls_out(struct gw_choice *choice);

/* Writes "key":[...] with the results of all choices. */
void gw_completion_put_results(struct gw_completion *completion, const char *key,
                               struct baton_json_out *out);

#endif
