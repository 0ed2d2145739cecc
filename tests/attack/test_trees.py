"""Bodies whose JSON takes a hundred times its bytes as a tree."""
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fleet import SLOW, Fleet, wait_for

MIB = 1 << 20
PEAK_MIB, LEFT_MIB = 150, 20  # more than before, for sixty bodies of 1 MiB; and after them
FLEET = dict(prefill=0, decode=0, gateway_args=["--chat-template", "chatml"])


def memory_mib(process, field):
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", text)[1]) / 1024


def body(item, n_bytes):
    items = ",".join([item] * ((n_bytes - 200) // (len(item) + 1)))
    return '{"messages":[{"role":"user","content":"Hi"}],"max_tokens":1,"zz":[%s]}' % items


@pytest.mark.skipif(SLOW != 1, reason="a sanitizer's memory is not the gateway's")
@pytest.mark.parametrize("item", ["[]", "{}", "1"])
def test_trees_take_bounded_memory_and_give_it_back(sized, item):
    """Bound: 150 MiB more at the peak, 20 MiB more afterwards, after every round."""
    n, rounds = sized((30, 1), (60, 3))
    with Fleet(**FLEET) as fleet:
        text = body(item, MIB)
        fleet.request("POST", "/v1/chat/completions", body(item, 1000))
        before = memory_mib(fleet.gateway, "VmRSS")
        for _ in range(rounds):
            Path(f"/proc/{fleet.gateway.pid}/clear_refs").write_text("5")
            with ThreadPoolExecutor(n) as clients:
                statuses = list(clients.map(
                    lambda _: fleet.request("POST", "/v1/chat/completions", text)[0], range(n)))
            assert set(statuses) <= {413, 503}
            assert memory_mib(fleet.gateway, "VmHWM") - before < PEAK_MIB
            wait_for(lambda: memory_mib(fleet.gateway, "VmRSS") - before < LEFT_MIB,
                     "the memory to be given back")
