#include "common/obs/stage.h"

static const char *const names[] = {
#define X(name, text) #name,
    BATON_STAGES(X)
#undef X
};

const char *baton_stage_name(enum baton_stage stage)
{
    return names[stage];
}

void baton_stage_log(enum baton_stage stage, uint64_t request_id, uint32_t attempt,
                     double duration_s)
{
    baton_log(BATON_LOG_INFO, "stage", BATON_X("req", request_id), BATON_I("attempt", attempt),
              BATON_S("stage", names[stage]), BATON_F("duration_s", duration_s));
}
