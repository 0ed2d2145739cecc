"""Kubernetes' own API types, as the distribution's python3-kubernetes has them, as a strict schema.

The package may be older than our objects' Kubernetes. A version that it lacks is looked up under
the name it had before it became stable, which has the same fields.
"""
import re

import kubernetes.client as types

# Ubuntu 22.04's is of 1.16, and lacks half of what we use.
TOO_OLD = not hasattr(types, "V1SeccompProfile")

BEFORE = {"autoscaling/v2": ["V2", "V2beta2"]}
SCALARS = {"str": str, "int": int, "bool": bool}


def class_of(api_version, kind):
    names = BEFORE.get(api_version, [api_version.rpartition("/")[2].capitalize()])
    return next(getattr(types, name + kind) for name in names if hasattr(types, name + kind))


def check_object(kind, value, path):
    fields = {kind.attribute_map[name]: (name, what) for name, what in kind.openapi_types.items()}
    assert isinstance(value, dict), f"{path}: is no object"
    for key in value:
        assert key in fields, f"{path}: has no field {key}; there are {', '.join(fields)}"
        check(fields[key][1], value[key], f"{path}.{key}")
    kind(**{fields[key][0]: value[key] for key in value})  # insists on what is required


def check(what, value, path):
    """what: "str", "V1Pod", "list[V1Container]", "dict(str, str)", "object" (anything)."""
    many = re.fullmatch(r"(list\[|dict\(str, )(.+)[\])]", what)
    if many and many.group(1) == "list[":
        assert isinstance(value, list), f"{path}: is no list"
        for i, item in enumerate(value):
            check(many.group(2), item, f"{path}[{i}]")
    elif many:
        assert isinstance(value, dict), f"{path}: is no map"
        for key, item in value.items():
            check(many.group(2), item, f"{path}.{key}")
    elif what in SCALARS:
        assert type(value) is SCALARS[what], f"{path}: {value!r} is no {what}"
    elif what != "object":
        check_object(getattr(types, what), value, path)


def check_manifest(manifest):
    kind = class_of(manifest["apiVersion"], manifest["kind"])
    check_object(kind, manifest, f"{manifest['kind']}/{manifest['metadata']['name']}")
