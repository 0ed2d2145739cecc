/* What a client asks of speculation. It changes no token: only how many steps they take.
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

/* As bodies, options and metrics call it. */
static inline const char *baton_speculation_mode_name(enum baton_speculation_mode mode)
{
    static const char *const names[BATON_N_SPECULATION_MODES] = {"none", "prompt_lookup",
                                                                 "draft_model"};
    return names[mode];
}

struct baton_speculation {
    enum baton_speculation_mode mode;
    int max_tokens; /* 1..BATON_MAX_DRAFTS */
    int min_tokens; /* 0..max_tokens: so many even where they are not likely to pay */
};

#endif
