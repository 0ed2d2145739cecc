"""Certificates for tests, by the openssl program."""
import subprocess


def make(folder, name="server", key="ec", days=30):
    """(certificate, key): self-signed, for localhost and 127.0.0.1. key: ec or rsa."""
    certfile, keyfile = folder / f"{name}.pem", folder / f"{name}.key"
    kind = (["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"] if key == "ec"
            else ["-newkey", "rsa:2048"])
    subprocess.run(["openssl", "req", "-x509", *kind, "-nodes", "-keyout", keyfile,
                    "-out", certfile, "-days", str(days), "-subj", f"/CN={name}", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    return certfile, keyfile


def identity(folder, authority):
    """Options of a process whose certificate for "baton" is signed by an authority of its own."""
    ca, ca_key = folder / f"{authority}-ca.pem", folder / f"{authority}-ca.key"
    certfile, keyfile, request = (folder / f"{authority}.{ending}"
                                  for ending in ("pem", "key", "csr"))
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for command in (
            ["req", "-x509", *new, "-keyout", ca_key, "-out", ca, "-days", "30",
             "-subj", f"/CN={authority} authority"],
            ["req", *new, "-keyout", keyfile, "-out", request, "-subj", "/CN=baton"],
            ["x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key,
             "-CAcreateserial", "-days", "30", "-out", certfile],
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return ["--peer-certfile", certfile, "--peer-keyfile", keyfile, "--peer-cafile", ca]
