#include "tools/load/http/client.h"

#include <signal.h>

#include "tools/load/http/client_host.h"

static void on_interrupt(uv_signal_t *handle, int signal_number)
{
    struct ld_stand *stand = handle->data;
    (void)signal_number;
    stand->stopping = true;
    if (stand->load)
        stand->load->stopping = true;
    /* The next Ctrl-C ends the program. */
    (void)uv_signal_stop(handle);
}

static enum baton_err open_loop(struct ld_client *client, const struct ld_command *command,
                                const struct sockaddr_storage *address, struct baton_why *why)
{
    if (uv_loop_init(&client->loop))
        return baton_fail(why, BATON_IO, "the event loop could not be made");
    (void)uv_signal_init(&client->loop, &client->interrupt);
    client->interrupt.data = &client->stand;
    (void)uv_signal_start(&client->interrupt, on_interrupt, SIGINT);
    (void)signal(SIGPIPE, SIG_IGN);
    /* A server that closes a connection must not end the program. */
    client->setting =
        (struct ld_setting){.api = command->api,
                            .path = command->url.path,
                            .authority = command->url.authority,
                            .api_key = command->options->api_key,
                            .slow_bytes_per_s = (double)command->options->slow_bytes_per_s,
                            .pool = &client->pool};
    bool realtime = command->options->realtime && ld_host_take_priority();
    client->stand = (struct ld_stand){.realtime = realtime,
                                      .command = command,
                                      .loop = &client->loop,
                                      .setting = &client->setting};
    ld_pool_init(&client->pool, &client->loop, address, !command->options->no_keepalive);
    return BATON_OK;
}

static int64_t most_connections(const struct ld_command *command)
{
    int64_t in_flight = command->options->max_in_flight;
    if (ld_command_intrudes(command))
        return command->options->streams + in_flight;
    return command->concurrency.n ? cli_list_greatest(&command->concurrency) : in_flight;
}

enum baton_err ld_client_open(struct ld_client *client, const struct ld_command *command,
                              struct baton_why *why)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    enum baton_err err = ld_host_raise_files(most_connections(command), why);
    if (!err)
        err = ld_url_resolve(&command->url, &address, why);
    return err ? err : open_loop(client, command, &address, why);
}

void ld_client_close(struct ld_client *client)
{
    /* The loop runs once more, so that handles are closed before their memory goes. */
    ld_pool_close(&client->pool);
    uv_close((uv_handle_t *)&client->interrupt, NULL);
    (void)uv_run(&client->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&client->loop);
}
