/* Families that people ask for and Baton does not compute, each with the parts that are missing.
 * docs/models.md shows the same rows.
 *
 * Ownership: constants.
 * Threading: pure.
 * Errors:    none.
 */
#ifndef BATON_ENGINE_CHECKPOINT_CONFIG_UNSERVED_H
#define BATON_ENGINE_CHECKPOINT_CONFIG_UNSERVED_H

struct baton_unserved {
    const char *model_types; /* of config.json, separated by a comma and a space; "": none */
    const char *archs;       /* general.architecture of GGUF files, likewise */
    const char *missing;     /* after "it needs" */
};

extern const struct baton_unserved baton_unserved[];
extern const int baton_n_unserved;

/* Returns what a family of this model_type, or of this general.architecture, needs and Baton lacks;
 * NULL when it is not listed. */
const char *baton_missing_in_type(const char *model_type);
const char *baton_missing_in_arch(const char *arch);

#endif
