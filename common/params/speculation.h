/* A client's settings of speculation. They change no token, only the number of steps.
 *
 * Threading: plain data.
 */
#ifndef BATON_COMMON_PARAMS_SPECULATION_H
#define BATON_COMMON_PARAMS_SPECULATION_H

enum { BATON_MAX_DRAFTS = 16 }; /* tokens that one step may check for a sequence */

enum baton_speculation_mode {
    BATON_SPECULATION_NONE,
    BATON_SPECULATION_PROMPT_LOOKUP,
    BATON_SPECULATION_DRAFT_MODEL,
    BATON_N_SPECULATION_MODES
};

/* Returns the mode's name in bodies, options and metrics. */
static inline const char *baton_speculation_mode_name(enum baton_speculation_mode mode)
{
    static const char *const names[BATON_N_SPECULATION_MODES] = {"none", "prompt_lookup",
                                                                 "draft_model"};
    return names[mode];
}

struct baton_speculation {
    enum baton_speculation_mode mode;
    int max_tokens; /* 1..BATON_MAX_DRAFTS */
    int min_tokens; /* 0..max_tokens: drafted even where it is not likely to pay */
};

#endif
