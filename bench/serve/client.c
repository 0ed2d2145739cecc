#include "bench/serve/client.h"

#include <signal.h>

#include "bench/serve/host.h"

static void on_interrupt(uv_signal_t *handle, int signal_number)
{
    struct sv_stand *stand = handle->data;
    (void)signal_number;
    stand->stopping = true;
    if (stand->load)
        stand->load->stopping = true;
    (void)uv_signal_stop(handle);
}

static enum baton_err open_loop(struct sv_client *client, const struct sv_command *command,
                                const struct sockaddr_storage *address, struct baton_why *why)
{
    if (uv_loop_init(&client->loop))
        return baton_fail(why, BATON_IO, "the event loop could not be made");
    (void)uv_signal_init(&client->loop, &client->interrupt);
    client->interrupt.data = &client->stand;
    (void)uv_signal_start(&client->interrupt, on_interrupt, SIGINT);
    (void)signal(SIGPIPE, SIG_IGN);
    client->setting =
        (struct sv_setting){.api = command->api,
                            .path = command->url.path,
                            .authority = command->url.authority,
                            .api_key = command->options->api_key,
                            .slow_bytes_per_s = (double)command->options->slow_bytes_per_s,
                            .pool = &client->pool};
    bool realtime = command->options->realtime && sv_host_take_priority();
    client->stand = (struct sv_stand){.realtime = realtime,
                                      .command = command,
                                      .loop = &client->loop,
                                      .setting = &client->setting};
    sv_pool_init(&client->pool, &client->loop, address, !command->options->no_keepalive);
    return BATON_OK;
}

static int64_t most_connections(const struct sv_command *command)
{
    int64_t in_flight = command->options->max_in_flight;
    if (sv_command_intrudes(command))
        return command->options->streams + in_flight;
    return command->concurrency.n ? cli_list_greatest(&command->concurrency) : in_flight;
}

enum baton_err sv_client_open(struct sv_client *client, const struct sv_command *command,
                              struct baton_why *why)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    enum baton_err err = sv_host_raise_files(most_connections(command), why);
    if (!err)
        err = sv_url_resolve(&command->url, &address, why);
    return err ? err : open_loop(client, command, &address, why);
}

void sv_client_close(struct sv_client *client)
{
    sv_pool_close(&client->pool);
    uv_close((uv_handle_t *)&client->interrupt, NULL);
    (void)uv_run(&client->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&client->loop);
}
