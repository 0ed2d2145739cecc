#include "gateway/chat/abilities.h"

#include <stdio.h>

#include "common/base/array.h"

enum { WORD_BYTES = 48 };

/* Writes "KIND.ROLE" for each role whose flag is set. */
static void put_roles(struct baton_json_out *out, const char *kind, const bool *flags)
{
    static const char *const roles[] = {"system", "developer", "user", "assistant", "tool"};
    char word[WORD_BYTES];
    for (size_t i = 0; i < BATON_N_OF(roles); i++) {
        (void)snprintf(word, sizeof word, "%s.%s", kind, roles[i]);
        if (flags[i])
            baton_json_put_string(out, NULL, word);
    }
}

static void put_way(struct baton_json_out *out, const char *kind, const char *way)
{
    char word[WORD_BYTES];
    (void)snprintf(word, sizeof word, "%s.%s", kind, way);
    baton_json_put_string(out, NULL, word);
}

static void put_flags(struct baton_json_out *out, const struct baton_chat_abilities *abilities)
{
    const struct {
        const char *name;
        bool value;
    } flags[] = {{"developer", abilities->takes_developer},
                 {"any_role", abilities->takes_any_role},
                 {"systems", abilities->takes_systems},
                 {"later_systems", abilities->takes_later_systems},
                 {"user_pairs", abilities->takes_user_pairs},
                 {"assistant_pairs", abilities->takes_assistant_pairs},
                 {"leading_assistant", abilities->takes_leading_assistant},
                 {"user_after_result", abilities->takes_user_after_result},
                 {"calls", abilities->takes_calls},
                 {"unanswered_calls", abilities->takes_unanswered},
                 {"orphan_results", abilities->takes_orphans},
                 {"wants_content", abilities->wants_content},
                 {"wants_system", abilities->wants_system},
                 {"wants_tools", abilities->wants_tools},
                 {"wants_text_arguments", abilities->wants_text_arguments},
                 {"wants_short_ids", abilities->wants_short_ids},
                 {"wants_whole_tools", abilities->wants_whole_tools},
                 {"names_thinking", abilities->names_thinking}};
    for (size_t i = 0; i < BATON_N_OF(flags); i++)
        if (flags[i].value)
            baton_json_put_string(out, NULL, flags[i].name);
}

void baton_chat_abilities_put(struct baton_json_out *out, const char *key,
                              const struct baton_chat_abilities *abilities)
{
    static const char *const parallel[] = {"told", "apart", "together"};
    static const char *const beside[] = {"told", "turns", "apart", "together"};
    baton_json_open(out, key, '[');
    put_roles(out, "parts", abilities->takes_parts);
    put_roles(out, "only_parts", abilities->wants_a_part);
    put_roles(out, "system_with_last", abilities->takes_system);
    put_way(out, "parallel_calls", parallel[abilities->parallel]);
    put_way(out, "text_beside_calls", beside[abilities->beside]);
    put_flags(out, abilities);
    if (abilities->told_form)
        baton_json_put_string(out, NULL, "tools_told");
    baton_json_close(out, ']');
}
