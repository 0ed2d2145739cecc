"""Certificates for tests, by the openssl program."""
import subprocess


def make(folder, name="server", key="ec", days=30):
    """(certificate, key): self-signed, for localhost and 127.0.0.1. key: ec or rsa."""
    certfile, keyfile = folder / f"{name}.pem", folder / f"{name}.key"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"] if key == "ec" else ["-newkey", "rsa:2048"]
    subprocess.run(["openssl", "req", "-x509", *kind, "-nodes", "-keyout", keyfile, "-out", certfile,
                    "-days", str(days), "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)  # fmt: skip
    return certfile, keyfile
