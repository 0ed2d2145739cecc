"""In place of the package openai: as much of it as llama.cpp's tests of the server call."""
import json

import requests


class Struct:
    """An object of an answer: members as attributes, as pydantic's models have them."""

    def __init__(self, members):
        self.members = members

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return wrap(self.members.get(name))

    def model_dump(self):
        return self.members


def wrap(value):
    if isinstance(value, dict):
        return Struct(value)
    return [wrap(one) for one in value] if isinstance(value, list) else value


class APIError(Exception):
    pass


class Route:
    def __init__(self, client, path):
        self.client, self.path = client, path

    def create(self, stream=False, extra_body=None, **body):
        answer = requests.post(self.client.base_url.rstrip("/") + self.path,
                               json={**body, **(extra_body or {}), "stream": stream},
                               headers={"Authorization": f"Bearer {self.client.api_key}"},
                               stream=stream, timeout=600)
        if answer.status_code != 200:
            raise APIError(answer.text)
        return self.events(answer) if stream else wrap(answer.json())

    @staticmethod
    def events(answer):
        for line in answer.iter_lines():
            if line.startswith(b"data: ") and line != b"data: [DONE]":
                yield wrap(json.loads(line[6:]))


class Chat:
    def __init__(self, client):
        self.completions = Route(client, "/chat/completions")


class OpenAI:
    def __init__(self, api_key, base_url):
        self.api_key, self.base_url = api_key, base_url
        self.chat = Chat(self)
        self.completions = Route(self, "/completions")
        self.embeddings = Route(self, "/embeddings")
        self.responses = Route(self, "/responses")
