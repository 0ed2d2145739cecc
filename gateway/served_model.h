/* A served model: everything in the gateway that belongs to one model. Its files and names, its
 * workers, its requests with their queue, routing and counts, and the API's view of all that.
 *
 * One gateway has an array of them, and they share nothing but what the gateway itself owns: the
 * loop, the inbox, the HTTP server and the stores of files, batches, responses and streams. A
 * request finds its model by the name in it, a worker by the identity in its Hello
 * (docs/design/many-models.md).
 *
 * Ownership: owns its parts, which point at each other, so it may not be moved.
 * Threading: loop thread.
 * Errors:    enum baton_err with a baton_why that names the file or the option.
 */
#ifndef BATON_GATEWAY_SERVED_MODEL_H
#define BATON_GATEWAY_SERVED_MODEL_H

#include "gateway/api/adapters/lora.h"
#include "gateway/api/api.h"
#include "gateway/fleet/fleets.h"
#include "gateway/model.h"
#include "gateway/more_models.h"
#include "gateway/settings.h"

struct gw_served_model {
    const struct gw_options *options;
    struct gw_model model;
    struct gw_model_names names;
    struct gw_adapter_defaults adapter_defaults;
    struct gw_fleet fleet;
    bool has_fleet;
    struct gw_requests requests;
    struct gw_metrics metrics;
    struct gw_core core;
    struct gw_dispatcher dispatcher;
    struct gw_api api;
};

/* What its fleet needs of the gateway. */
struct gw_fleet_surroundings {
    uint64_t epoch;
    const struct baton_cluster_token *token;
    const struct gw_fleets *fleets;
    bool is_one_of_several; /* failures name it */
    struct baton_inbox *inbox;
    struct gw_spans *spans;
    struct gw_feed *feed;
    void (*wake)(void *arg); /* on NNG's threads */
    void *wake_arg;
};

/* options are borrowed. NULL without memory. */
struct gw_served_model *gw_served_model_create(const struct gw_options *options);

/* Reads the files of the model of --more-models, which is borrowed; NULL: that of --model. */
enum baton_err gw_served_model_open(struct gw_served_model *served,
                                    const struct gw_more_model *more,
                                    struct baton_why *why) BATON_MUST_CHECK;

/* Whether the two can be told apart: they have other names, and their workers another identity. */
enum baton_err gw_served_model_check_apart(const struct gw_served_model *a,
                                           const struct gw_served_model *b,
                                           struct baton_why *why) BATON_MUST_CHECK;

/* Begins to accept workers, and closes their links. */
enum baton_err gw_served_model_start(struct gw_served_model *served,
                                     const struct gw_fleet_surroundings *around) BATON_MUST_CHECK;
void gw_served_model_stop(struct gw_served_model *served);

/* Sets the API of the model: a copy of what all models have in common, and the model's own parts.
 * NO_MEMORY. */
enum baton_err gw_served_model_set_api(struct gw_served_model *served,
                                       const struct gw_api *common) BATON_MUST_CHECK;

/* Destroys the requests that are still open after the drain time. Their clients' connections are
 * closed already. */
void gw_served_model_forget_requests(struct gw_served_model *served);
/* Frees the model, which was stopped and has no requests. */
void gw_served_model_free(struct gw_served_model *served);

/* The longest prompt. */
int64_t gw_served_model_prompt_tokens(const struct gw_served_model *served);

#endif
