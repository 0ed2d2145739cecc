"""Certificates for tests, by the openssl program."""
import ssl
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


def identity(folder, authority, subject="baton"):
    """Options of a process whose certificate for the subject is signed by an authority of its own,
    which is made with the first one."""
    ca, ca_key = folder / f"{authority}-ca.pem", folder / f"{authority}-ca.key"
    name = authority if subject == "baton" else f"{authority}-{subject}"
    certfile, keyfile, request = (folder / f"{name}.{ending}" for ending in ("pem", "key", "csr"))
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    commands = [
        ["req", *new, "-keyout", keyfile, "-out", request, "-subj", f"/CN={subject}"],
        ["x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial",
         "-days", "30", "-out", certfile],
    ]
    if not ca.exists():
        commands.insert(0, ["req", "-x509", *new, "-keyout", ca_key, "-out", ca, "-days", "30",
                            "-subj", f"/CN={authority} authority"])
    for command in commands:
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return ["--peer-certfile", certfile, "--peer-keyfile", keyfile, "--peer-cafile", ca]


def lengthen(folder, certfile, cafile, n_bytes):
    """The certificate with so many copies of its authority's that they take n_bytes at least."""
    chain = folder / "long.pem"
    authority = cafile.read_bytes()
    n_der = len(ssl.PEM_cert_to_DER_cert(authority.decode()))
    chain.write_bytes(certfile.read_bytes() + authority * (n_bytes // n_der + 1))
    return chain
