"""In place of the package wget: nothing is downloaded."""


def download(url, out):
    raise OSError(f"{url} is not downloaded to {out}")
