"""The facts of a model directory that experiments need."""
import json
import sys

from lab.errors import LabError


class Model:
    def __init__(self, directory):
        self.directory = directory
        try:
            self.config = json.loads((directory / "config.json").read_text())
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise LabError(f"--model {directory}: config.json: {reason}") from None

    def member(self, *names):
        """A member of the config, or of the language model's part in one that also sees."""
        for config in (self.config, self.config.get("text_config") or {}):
            for name in names:
                if isinstance(config.get(name), int):
                    return config[name]
        raise LabError(f"--model {self.directory}: config.json has no {names[0]}")

    @property
    def context(self):
        return self.member("n_positions", "max_position_embeddings")

    @property
    def n_layers(self):
        return self.member("n_layer", "num_hidden_layers")

    def fitting(self, prompts, new):
        """The lengths, cut so that each prompt leaves the new tokens a part of the context."""
        longest = self.context - new
        if longest < 1:
            raise LabError(f"--new {new}: the model has {self.context} positions, at most "
                           f"{self.context - 1} for these")
        if max(prompts) > longest:
            print(f"prompts are cut to {longest} tokens: with {new} new ones that is the model's "
                  "context", file=sys.stderr)
        return list(dict.fromkeys(min(n, longest) for n in prompts))
