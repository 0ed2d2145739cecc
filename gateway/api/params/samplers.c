#include "gateway/api/params/samplers.h"

#include "common/base/array.h"
#include "common/params/sampling.h"

/* Each sampler with the value that switches it off; if that is 0, negative values do too. */
static const struct {
    const char *name;
    double off;
} samplers[] = {
    {"typical", 1},
    {"tfs_z", 1},
    {"tfs", 1},
    {"top_a", 0},
    {"xtc_probability", 0},
    {"dry_multiplier", 0},
    {"mirostat", 0},
    {"mirostat_mode", 0},
    {"dynatemp_range", 0},
    {"smoothing_factor", 0},
    {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},
    {"penalty_alpha", 0},
    {"no_repeat_ngram_size", 0},
    {"encoder_repetition_penalty", 1},
    {"guidance_scale", 1},
    {"length_penalty", 1},
    {"num_beams", 1},
    {"use_beam_search", 0},
};

/* Settings of these samplers. They are ignored, because they have no effect while their sampler is
 * switched off. */
static const char *const settings_of_samplers[] = {
    "xtc_threshold",         "dry_base",     "dry_allowed_length", "dry_penalty_last_n",
    "dry_sequence_breakers", "mirostat_tau", "mirostat_eta",       "dynatemp_exponent",
    "smoothing_curve",
};

#define NAMED(NAME, name) #name ", "
#define FILTERS           BATON_FILTERS(NAMED)

static const char there_are[] =
    "temperature, " FILTERS
    "repetition_penalty, presence_penalty, frequency_penalty and logit_bias";

void gw_samplers_refuse(struct gw_fields *fields)
{
    for (size_t i = 0; i < BATON_N_OF(samplers); i++)
        gw_field_off(fields, samplers[i].name, samplers[i].off, there_are);
    for (size_t i = 0; i < BATON_N_OF(settings_of_samplers); i++)
        (void)gw_field(fields, settings_of_samplers[i]);
}
