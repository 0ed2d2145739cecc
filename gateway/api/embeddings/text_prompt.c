#include "gateway/api/embeddings/text_prompt.h"

#include <string.h>

#include "common/base/array.h"

enum { MAX_NAMES_BYTES = 200 };

/* What clients call the kinds of texts, and the names of prompts for them in models' files. */
static const struct {
    const char *type, *names[4];
} types[] = {
    {"query", {"query", "search_query", "web_search_query", "Retrieval-query"}},
    {"document", {"document", "passage", "search_document", "Retrieval-document"}},
    {"classification", {"classification", "Classification"}},
    {"clustering", {"clustering", "Clustering"}},
};
static const char *const words[] = {"query",      "document",     "classification",
                                    "clustering", "search_query", "search_document",
                                    "passage"};

/* The kind that a word of input_type names. */
static size_t type_of(const char *word)
{
    if (!strcmp(word, "search_query"))
        return 0;
    if (!strcmp(word, "search_document") || !strcmp(word, "passage"))
        return 1;
    for (size_t i = 0; i < BATON_N_OF(types); i++)
        if (!strcmp(types[i].type, word))
            return i;
    return 0;
}

static void list_names(const struct baton_json *prompts, char *list, size_t cap)
{
    size_t n = 0;
    list[0] = '\0';
    for (void *it = baton_json_first(prompts); it; it = baton_json_next(prompts, it)) {
        const char *key = baton_json_key(it);
        if (n + strlen(key) + 5 > cap)
            return;
        n += (size_t)snprintf(list + n, cap - n, "%s\"%s\"", n ? ", " : "", key);
    }
}

static void refuse(struct gw_completion_builder *builder, const char *field)
{
    char list[MAX_NAMES_BYTES];
    list_names(builder->api->text_prompts, list, sizeof list);
    if (*list)
        gw_fields_fail(&builder->fields, field, "invalid_value",
                       "%s: the model's files have no such prompt, but %s", field, list);
    else
        gw_fields_fail(&builder->fields, field, "unsupported_field",
                       "%s: the model's files name no prompts: write them before the texts", field);
}

static bool take(struct gw_completion_builder *builder, const char *name)
{
    struct gw_prompts *prompts = &builder->prompts;
    prompts->before =
        baton_json_string(baton_json_get(builder->api->text_prompts, name), &prompts->n_before);
    if (prompts->before && builder->exchange)
        (void)!gw_exchange_add_header(builder->exchange, "x-baton-prompt", name);
    return prompts->before;
}

static void take_type(struct gw_completion_builder *builder, const char *word)
{
    const char *const *names = types[type_of(word)].names;
    for (size_t i = 0; i < BATON_N_OF(types[0].names) && names[i]; i++)
        if (take(builder, names[i]))
            return;
    refuse(builder, "input_type");
}

void gw_text_prompt_read(struct gw_completion_builder *builder)
{
    struct gw_fields *fields = &builder->fields;
    const char *name =
        baton_json_string(gw_field_of(fields, "prompt_name", GW_IS_STRING, "a string"), NULL);
    int type = gw_field_word(fields, "input_type", words, BATON_N_OF(words));
    if (name && type >= 0)
        gw_fields_fail(fields, "input_type", "invalid_value",
                       "input_type: not together with prompt_name");
    if (fields->failed)
        return;
    if (name && !take(builder, name))
        refuse(builder, "prompt_name");
    else if (type >= 0)
        take_type(builder, words[type]);
}

void gw_text_prompts_put(struct baton_json_out *out, const char *key, const struct gw_api *api)
{
    if (api->text_prompts)
        baton_json_put_value(out, key, api->text_prompts);
    else
        baton_json_put_null(out, key);
}
