#include "common/obs/stage.h"

static const struct {
    const char *name, *text;
} stages[] = {
#define X(name, text) {#name, text},
    BATON_STAGES(X)
#undef X
};

const char *baton_stage_name(enum baton_stage stage)
{
    return stages[stage].name;
}

const char *baton_stage_text(enum baton_stage stage)
{
    return stages[stage].text;
}

void baton_stage_log(enum baton_stage stage, uint64_t request_id, uint32_t attempt,
                     double duration_s)
{
    baton_log(BATON_LOG_INFO, "stage", BATON_X("req", request_id), BATON_I("attempt", attempt),
              BATON_S("stage", stages[stage].name), BATON_F("duration_s", duration_s));
}
