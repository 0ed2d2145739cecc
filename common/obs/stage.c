#include "common/obs/stage.h"

static const char *const names[] = {
#define X(name, text) #name,
    BATON_STAGES(X)
#undef X
};

static const char *const keys[] = {
#define X(name, text) #name "_s",
    BATON_STAGES(X)
#undef X
};

const char *baton_stage_key(enum baton_stage stage)
{
    return keys[stage];
}

const char *baton_stage_name(enum baton_stage stage)
{
    return names[stage];
}
