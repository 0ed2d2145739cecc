/* How the answers of one API differ from those of the others: a table of functions, which the one
 * response writer of all completions (gw_completion_writer) calls.
 *
 *     stream, each choice:  begin? progress... (token? (text | call)...)... end
 *             then, once:   end_stream?
 *     whole, each choice:   (token? call...)... put_choice
 *             then, once:   put_answer?
 *
 * Everything that the APIs share happens around these calls: buffers are filled and forgotten when
 * an attempt restarts, logprobs wait for their text, calls and reasoning are told apart from text,
 * tokens are counted and charged, and an error ends the other choices.
 *
 * Ownership: a writer is static. What a call passes is borrowed during it.
 * Threading: loop thread.
 * Errors:    an answer that does not fit its buffer becomes a 500.
 */
#ifndef BATON_GATEWAY_API_COMPLETION_WRITER_H
#define BATON_GATEWAY_API_COMPLETION_WRITER_H

#include "gateway/api/completion/completion.h"

/* How the events of a stream are written. */
struct gw_stream_format {
    const char *content_type;
    /* Appends one event; a format without names ignores it, and it may be NULL. */
    void (*put_event)(struct baton_buf *out, const char *name, const char *data, size_t n);
    /* Appends what keeps a quiet stream open, and says nothing. */
    void (*put_keep_alive)(struct baton_buf *out, const struct gw_completion *completion);
};

/* A function that is NULL has nothing to do. */
struct gw_answer_writer {
    const struct gw_stream_format *format; /* NULL: server-sent events with comments between */
    size_t options_bytes;                  /* of what the route's options.own points to */
    size_t choice_bytes;                   /* of the writer's own state in each choice, from zero */
    void (*fini_options)(void *own);
    void (*restart)(struct gw_choice *choice); /* forgets what options.own gathered of it */

    /* Of streams. begin: the first token is there, and nothing was written about the choice yet. */
    void (*begin)(struct gw_choice *choice);
    /* So many tokens of the prompt are computed, n_cached of them by others. */
    void (*progress)(struct gw_choice *choice, uint64_t n_tokens, uint64_t n_cached);
    /* Whole characters. The choice's part tells whether they are text or reasoning; whole answers
     * gather them in its buffers. */
    void (*text)(struct gw_choice *choice, const char *text, size_t n);
    void (*end)(struct gw_choice *choice);                /* its totals are counted */
    void (*end_stream)(struct gw_completion *completion); /* after the last choice */

    /* Of whole answers: the members of the choice's object, and of the object around those of all
     * choices. Without put_answer the answer is the only choice's object, or of a batch an
     * array. */
    void (*put_choice)(struct gw_choice *choice, struct baton_json_out *out);
    void (*put_answer)(struct gw_completion *completion, struct baton_json_out *out);

    /* Of both. */
    void (*token)(struct gw_choice *choice); /* its logprobs and its step are kept */
    void (*call)(struct gw_choice *choice, const struct gw_tool_call *call);
    /* Text or reasoning begins, as the choice's part says, or ends. An answer without any has an
     * empty part of text; is_last: nothing comes after the part. */
    void (*open_part)(struct gw_choice *choice);
    void (*close_part)(struct gw_choice *choice, bool is_last);
    void (*flush)(struct gw_choice *choice); /* after each piece of the output */
    void (*done)(struct gw_choice *choice);  /* after end or put_choice */
    /* values [n]: the result of a choice that is an embedding; not normalised. */
    void (*embedding)(struct gw_choice *choice, const float *values, size_t n);

    /* The object under the key that says how far a completion came, for errors. Without it the
     * numbers of prompt and output tokens go under these names; the second may be NULL. */
    void (*put_usage)(struct baton_json_out *out, const char *key,
                      const struct gw_completion *completion);
    const char *usage_names[2];
    const char *error_event; /* the name of a stream's event that is an error; NULL: none */
    /* The data of that event; NULL: the error object of the route. */
    void (*put_failure)(struct baton_buf *data, const struct gw_completion *completion,
                        const struct gw_error *error);
};

/* Of the requests of all completions. */
extern const struct gw_response_writer gw_completion_writer;

/* ---- for writers ---- */

/* An event that is a JSON object. It may not be moved while it is open: out points into it. */
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

/* One event of the stream; name NULL: none. The time it takes goes to the flush stage of the
 * choice, which may be NULL. */
void gw_completion_write(struct gw_completion *completion, struct gw_choice *choice,
                         const char *name, const char *data, size_t n);

/* The same of events that are written already. */
void gw_completion_send(struct gw_completion *completion, struct gw_choice *choice,
                        const struct baton_buf *events);

/* "gen-" and the completion's id; of further choices with "-1", "-2", ... behind it. */
enum { GW_ANSWER_ID_BYTES = GW_REQUEST_ID_BYTES + 24 };
const char *gw_choice_id(const struct gw_choice *choice, const char *prefix,
                         char id[GW_ANSWER_ID_BYTES]);

/* "steps":[...]: those since the last time. Without `explain` it writes nothing. */
void gw_choice_put_steps(struct gw_choice *choice, struct baton_json_out *out);

/* The generated text, after the prompt's if that is wanted. */
void gw_choice_put_text(const struct gw_choice *choice, struct baton_json_out *out, const char *key,
                        bool with_prompt);

/* Appends members [n] to the choice's calls.json: objects with commas between. */
struct baton_json_out gw_choice_calls_out(struct gw_choice *choice);

/* "key":[...]: the results of all choices. */
void gw_completion_put_results(struct gw_completion *completion, const char *key,
                               struct baton_json_out *out);

#endif
