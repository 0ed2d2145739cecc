#include "common/base/options/config_env.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/closest.h"

enum { NAME_BYTES = 96 };

void baton_config_env_name(const struct baton_config *config, const char *option, char *name,
                           size_t size)
{
    size_t n = (size_t)snprintf(name, size, "%s_", config->env_prefix);
    for (; *option && n + 1 < size; option++)
        name[n++] = *option == '-' ? '_' : (char)toupper((unsigned char)*option);
    name[n] = 0;
}

/* Writes the j-th variable that the process reads: those of the options, then that of the file. */
static bool known_at(const struct baton_config *config, size_t j, char name[NAME_BYTES])
{
    if (j > config->n_options)
        return false;
    baton_config_env_name(config, j < config->n_options ? config->options[j].name : "config", name,
                          NAME_BYTES);
    return true;
}

/* Returns the distance, 0 for a known name. */
static int find_nearest(const struct baton_config *config, const char *name,
                        char nearest[NAME_BYTES])
{
    char known[NAME_BYTES];
    int best = -1;
    for (size_t j = 0; known_at(config, j, known); j++) {
        int d = baton_word_distance(name, known);
        if (best >= 0 && d >= best)
            continue;
        best = d;
        memcpy(nearest, known, NAME_BYTES);
    }
    return best;
}

/* Kubernetes sets such variables for a service of our name; they are no mistakes. */
static bool is_of_a_service(const char *rest)
{
    return strstr(rest, "SERVICE_") == rest || strstr(rest, "_SERVICE_") ||
           (!strncmp(rest, "PORT_", 5) && isdigit((unsigned char)rest[5]));
}

void baton_config_visit_unknown_env(const struct baton_config *config, baton_unknown_env_fn fn,
                                    void *arg)
{
    size_t n_prefix = strlen(config->env_prefix);
    for (char **at = environ; at && *at; at++) {
        char name[NAME_BYTES], nearest[NAME_BYTES];
        int n = (int)strcspn(*at, "=");
        if (strncmp(*at, config->env_prefix, n_prefix) != 0 || (*at)[n_prefix] != '_' ||
            is_of_a_service(*at + n_prefix + 1))
            continue;
        (void)snprintf(name, sizeof name, "%.*s", n, *at);
        if (find_nearest(config, name, nearest))
            fn(arg, name, nearest);
    }
}
