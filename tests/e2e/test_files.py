"""/v1/files: uploads, their bounds and owners, and the directory that keeps them."""
import os
import subprocess

import pytest
from conftest import KEY, OTHER_KEY
from fleet import BIN, LONG_S, Fleet
from javascript import Client

MIB = 1 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def fleet(folder):
    (folder / "keys").write_text(f"{KEY}\n{OTHER_KEY}\n")
    (folder / "keys").chmod(0o600)
    with Fleet(key=KEY, gateway_args=["--api-keys", folder / "keys", "--files-dir",
                                      folder / "stored", "--files-bytes", 3 * MIB]) as started:
        yield started
        started.wait_all_free()


def form(*parts, boundary="xyz"):
    body = b"".join(b"--%s\r\n%s\r\n\r\n%s\r\n" % (boundary.encode(), head.encode(), contents)
                    for head, contents in parts)
    return body + f"--{boundary}--\r\n".encode()


def field(name, value):
    return f'Content-Disposition: form-data; name="{name}"', value.encode()


def upload(fleet, contents=b"{}\n", body=None, key=KEY, type="multipart/form-data; boundary=xyz",
           more=()):
    part = ('content-disposition: form-data; filename="a;b.jsonl"; name="file"', contents)
    body = form(field("purpose", "batch"), part, *more) if body is None else body
    return fleet.request("POST", "/v1/files", body, {
        "Content-Type": type, "Authorization": f"Bearer {key}"})[:2]


def test_the_client_of_openai_is_served(fleet):
    Client("openai").drive(fleet, "files.test.mjs", "/v1", API_KEY=KEY)


@pytest.mark.parametrize("body, type, words", [
    (b"{}", "application/json", "must be a form"),
    (b"", "multipart/form-data; boundary=xyz", "must be a form"),
    (b"--xyz\r\n", "multipart/form-data; boundary=xyz", "must be a form"),
    (form(field("purpose", "batch"))[:-4], "multipart/form-data; boundary=xyz", "must be a form"),
    (form(field("purpose", "batch")), "multipart/form-data", "must be a form"),
    (form(field("purpose", "batch")), "multipart/form-data; boundary=" + "x" * 71, "must be a f"),
    (form(*[field(str(i), "") for i in range(40)]), "multipart/form-data; boundary=xyz", "a form"),
    (form(field("purpose", "batch")), "multipart/form-data; boundary=\"xyz\"", "file: must be"),
    (form(field("purpose", "fun"), field("file", "a")), "multipart/form-data; boundary=xyz",
     "purpose: must be"),
    (form(field("file", "a")), "multipart/form-data; boundary=xyz", "purpose: must be given"),
    (form(field("purpose", "batch"), field("file", "a"), field("expires_after[seconds]", "1")),
     "multipart/form-data; boundary=xyz", "expires_after[seconds]: must be"),
])
def test_a_form_that_is_wrong_is_refused(fleet, body, type, words):
    status, answer = upload(fleet, body=body, type=type)
    assert status == 400 and words in answer["error"]["message"]


def test_a_file_is_its_keys_alone_and_outlives_the_gateway(fleet):
    status, made = upload(fleet)
    assert (status, made["filename"]) == (200, "a;b.jsonl")
    other = {"Authorization": f"Bearer {OTHER_KEY}"}
    for method, end in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        assert fleet.request(method, f"/v1/files/{made['id']}{end}", headers=other)[0] == 404
    assert fleet.request("GET", "/v1/files", headers=other)[1]["data"] == []
    fleet.gateway.stop()
    fleet.start_gateway()
    assert fleet.request("GET", f"/v1/files/{made['id']}")[1] == made


def test_files_are_bounded_for_each_key(fleet):
    kept = []
    while (answer := upload(fleet, b"x" * (MIB // 2)))[0] == 200:
        kept.append(answer[1]["id"])
    assert answer[0] == 413 and answer[1]["error"]["code"] == "files_full" and len(kept) == 2
    assert upload(fleet, b"x" * (MIB // 2), key=OTHER_KEY)[0] == 200
    for id in kept:
        assert fleet.request("DELETE", f"/v1/files/{id}")[0] == 200
    assert upload(fleet, b"x" * (MIB // 2))[0] == 200


def started(*args):
    return subprocess.run([BIN / "baton-gateway", "--port", "0", *map(str, args)], text=True,
                          capture_output=True, timeout=LONG_S)


def test_the_directory_is_the_gateways_own(fleet, folder, tmp_path):
    assert "another gateway uses it" in started("--files-dir", folder / "stored").stderr
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    shared.chmod(0o755)
    assert "--files-dir" in started("--files-dir", shared).stderr
    (tmp_path / "link").symlink_to(shared)
    assert "--files-dir" in started("--files-dir", tmp_path / "link").stderr


def test_foreign_files_stay(fleet, folder):
    stored, name = folder / "stored", "file-" + "0" * 32
    strangers = {name: b"mine", name[:-1] + "1.new": b"mine too", "notes": b"", name[:-1] + "2":
                 b"baton-file 1 00000009\n{}", "file-" + "3" * 32: b"baton-file 1 00000002\n{}\n"}
    fleet.gateway.stop()
    for each, contents in strangers.items():
        (stored / each).write_bytes(contents)
        (stored / each).chmod(0o600)
    os.link(stored / "notes", stored / ("file-" + "4" * 32))
    fleet.start_gateway()
    for each, contents in strangers.items():
        assert fleet.request("DELETE", f"/v1/files/{each}")[0] == 404
        assert (stored / each).read_bytes() == contents


def test_without_a_directory_files_are_refused():
    with Fleet() as fleet:
        for method, path in (("GET", "/v1/files"), ("POST", "/v1/files"), ("GET", "/v1/files/a")):
            status, answer, _ = fleet.request(method, path, {} if method == "POST" else None)
            assert status == 501 and "--files-dir" in answer["error"]["message"]
