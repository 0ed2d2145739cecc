"""Any family in float64: the judge of the engine's logits.

Written from the formulas, a whole sequence at a time, without a cache; slow and plain on purpose.
Model(directory) gives logits of every position, greedy continuations and the log-probabilities of a
prompt's tokens.
"""
import numpy as np

import checkpoint
import families
import latents


def erf(x):
    """Abramowitz and Stegun 7.1.5 below 3, continued fraction 26.2.14 above: about 1e-13."""
    series, term = x.copy(), x.copy()
    near = np.clip(x, -3.0, 3.0)
    series, term = near.copy(), near.copy()
    for n in range(1, 80):
        term = -term * near * near / n
        series = series + term / (2 * n + 1)
    far, tail = np.maximum(np.abs(x), 3.0), np.zeros_like(x)
    for n in range(60, 0, -1):
        tail = n / 2 / (far + tail)
    outside = 1 - np.exp(-far * far) / np.sqrt(np.pi) / (far + tail)
    return np.where(np.abs(x) < 3.0, series * 2 / np.sqrt(np.pi), np.sign(x) * outside)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS = {
    "silu": lambda x: x * sigmoid(x), "swish": lambda x: x * sigmoid(x),
    "gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh, "gelu_fast": gelu_tanh,
    "relu": lambda x: np.maximum(x, 0), "relu2": lambda x: np.maximum(x, 0) ** 2,
}


def clipped_gate(gate, up):
    gate, up = np.minimum(gate, 7), np.clip(up, -7, 7)
    return (up + 1) * gate * sigmoid(1.702 * gate)


def xielu(x, alpha_p, alpha_n, beta, eps):
    """The xIELU of four numbers as they are stored."""
    p, n = np.log1p(np.exp(alpha_p)), beta + np.log1p(np.exp(alpha_n))
    low = np.minimum(x, eps)
    return np.where(x > 0, p * x * x, n * (np.expm1(np.minimum(low, 1)) - x)) + beta * x


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Model:
    def __init__(self, directory, n_context=None):
        self.config = checkpoint.read_config(directory)
        self.plan = families.plan(self.config, n_context)
        self.tensors = checkpoint.read_tensors(directory)
        self.used = set()

    def get(self, name):
        self.used.add(name)
        return self.tensors[name]

    def layer_name(self, i, role):
        return self.plan.names["layer"].format(i) + self.plan.names[role]

    def linear(self, x, name, bias):
        y = x @ self.get(name + ".weight").T
        return y + self.get(name + ".bias") if bias else y

    def conv1d(self, x, name):
        return x @ self.get(name + ".weight") + self.get(name + ".bias")

    def normed(self, x, name):
        plan = self.plan
        weight = self.get(name + ".weight") + (plan.norm == "rms1")
        if plan.norm == "layer":
            x = x - x.mean(-1, keepdims=True)
        y = x / np.sqrt((x * x).mean(-1, keepdims=True) + plan.epsilon) * weight
        return y + self.get(name + ".bias") if plan.norm_bias else y

    def normed_values(self, v):
        return v / np.sqrt((v * v).mean(-1, keepdims=True) + self.plan.epsilon)

    def own_qkv(self, x, i):
        """The projections of a layer whose sizes are its own: values may be the keys, and a layer
        without K and V of its own reads those that another one left."""
        plan, layer, T = self.plan, self.plan.layers[i], len(x)
        D, G, _ = plan.sizes_of(i)
        q = self.linear(x, self.layer_name(i, "q"), plan.qkv_bias).reshape(T, plan.H, D)
        q = self.normed(q, self.layer_name(i, "q_norm"))
        if layer.kv_from >= 0:
            return (q, *self.kept[layer.kv_from])
        k = self.linear(x, self.layer_name(i, "k"), plan.qkv_bias).reshape(T, G, D)
        v = k if layer.k_is_v else self.linear(x, self.layer_name(i, "v"),
                                               plan.qkv_bias).reshape(T, G, D)
        k = layer.rope.turn(self.normed(k, self.layer_name(i, "k_norm")), np.arange(T))
        self.kept[i] = k, self.normed_values(v)
        return (q, *self.kept[i])

    def qkv(self, x, i):
        """Queries [T][H][D], keys and values [T][G][D], before the norms of heads."""
        plan, T = self.plan, len(x)
        widths = np.cumsum([plan.H * plan.D, plan.G * plan.D])
        if plan.attention == "separate":
            q, k, v = (self.linear(x, self.layer_name(i, role), plan.qkv_bias) for role in "qkv")
        elif plan.attention == "rows":
            q, k, v = np.split(self.linear(x, self.layer_name(i, "qkv"), plan.qkv_bias), widths, -1)
        elif plan.attention == "conv1d":
            q, k, v = np.split(self.conv1d(x, self.layer_name(i, "qkv")), widths, -1)
        else:
            y = self.linear(x, self.layer_name(i, "qkv"),
                            plan.qkv_bias).reshape(T, plan.H, 3, plan.D)
            q, k, v = y[:, :, 0], y[:, :, 1], y[:, :, 2]
        if plan.qk_norm == "whole":
            q, k = (self.normed(q, self.layer_name(i, "q_norm")),
                    self.normed(k, self.layer_name(i, "k_norm")))
        if plan.clip:
            q, k, v = (np.clip(part, -plan.clip, plan.clip) for part in (q, k, v))
        q, k, v = (q.reshape(T, plan.H, plan.D), k.reshape(T, plan.G, plan.D),
                   v.reshape(T, plan.G, plan.D))
        return q, k, v

    def norm_heads(self, q, k, i):
        if self.plan.qk_norm not in ("head", "own"):
            return q, k
        return (self.normed(q, self.layer_name(i, "q_norm")),
                self.normed(k, self.layer_name(i, "k_norm")))

    def attention(self, x, i):
        plan, layer, T = self.plan, self.plan.layers[i], len(x)
        if "latent" in plan.extra:
            return latents.attention(self, x, i)
        positions = np.arange(T)
        if plan.normed_values:
            q, k, v = self.own_qkv(x, i)
            q = layer.rope.turn(q, positions)
        else:
            q, k, v = self.qkv(x, i)
            if not plan.norms_turned:
                q, k = self.norm_heads(q, k, i)
        if layer.rope and not plan.normed_values:
            q, k = layer.rope.turn(q, positions), layer.rope.turn(k, positions)
        if plan.norms_turned:
            q, k = self.norm_heads(q, k, i)
        if plan.query_beta:
            scale = 1 + plan.query_beta * np.log(1 + positions // plan.query_period)
            q = q * scale[:, None, None]
        k, v = (np.repeat(part, plan.H // part.shape[1], 1) for part in (k, v))
        scores = np.einsum("thd,shd->hts", q, k) * plan.score_scale
        if plan.score_cap:
            scores = plan.score_cap * np.tanh(scores / plan.score_cap)
        distance = positions[:, None] - positions
        seen = (distance >= 0) & (distance < (layer.window or T))
        scores = np.where(seen, scores, -np.inf)
        if plan.sinks:
            sinks = self.get(self.layer_name(i, "sinks"))
            scores = np.concatenate([scores, np.broadcast_to(sinks[:, None, None], (plan.H, T, 1))],
                                    -1)
        weights = softmax(scores)[..., :T]
        y = np.einsum("hts,shd->thd", weights, v).reshape(T, -1)
        name = self.layer_name(i, "o")
        return (self.conv1d(y, name) if plan.attention == "conv1d"
                else self.linear(y, name, plan.o_bias))

    def gated(self, x, gate, up, down, bias=False):
        act = ACTIVATIONS[self.plan.activation]
        return self.linear(act(self.linear(x, gate, bias)) * self.linear(x, up, bias), down, bias)

    def dense(self, x, i):
        plan, act = self.plan, ACTIVATIONS.get(self.plan.activation)
        if plan.activation == "xielu":
            numbers = [float(self.get(self.layer_name(i, "numbers") + name).reshape(-1)[0])
                       for name in ("alpha_p", "alpha_n", "beta", "eps")]

            def act(x):
                return xielu(x, *numbers)
        if plan.mlp == "gated":
            return self.gated(x, *(self.layer_name(i, role) for role in ("gate", "up", "down")),
                              plan.mlp_bias)
        if plan.mlp == "fused":
            gate, up = np.split(self.linear(x, self.layer_name(i, "gate_up"), plan.mlp_bias), 2, -1)
            return self.linear(act(gate) * up, self.layer_name(i, "down"), plan.mlp_bias)
        if plan.mlp == "conv1d":
            return self.conv1d(act(self.conv1d(x, self.layer_name(i, "up"))),
                               self.layer_name(i, "down"))
        return self.linear(act(self.linear(x, self.layer_name(i, "up"), plan.mlp_bias)),
                           self.layer_name(i, "down"), plan.mlp_bias)

    def expert(self, x, i, e):
        """Expert e of layer i of the rows x."""
        plan, act = self.plan, ACTIVATIONS.get(self.plan.activation)
        into, out = self.layer_name(i, "experts_in"), self.layer_name(i, "experts_out")
        if plan.moe.kind == "experts" and into not in self.tensors:
            prefix = self.layer_name(i, "expert").format(e)
            return self.gated(x, *(prefix + plan.names["expert_" + part]
                                   for part in ("gate", "up", "down")))
        if plan.moe.kind != "gpt_oss":
            end = ".weight" if plan.moe.kind == "granite" else ""
            gate, up = np.split(x @ self.get(into + end)[e].T, 2, -1)
            return act(gate) * up @ self.get(out + end)[e].T
        both = x @ self.get(into)[e] + self.get(into + "_bias")[e]
        return (clipped_gate(both[:, 0::2], both[:, 1::2]) @ self.get(out)[e]
                + self.get(out + "_bias")[e])

    def chosen(self, x, i):
        """The experts of each row [T][k], best first, ties by the lowest id; and their weights."""
        moe = self.plan.moe
        if "latent" in self.plan.extra:
            return latents.chosen(self, x, i)
        logits = self.linear(x, self.layer_name(i, "router"), moe.kind == "gpt_oss")
        probabilities = softmax(logits)
        if moe.n_chosen < logits.shape[-1]:
            best = -np.sort(-logits, -1)
            self.margins = np.minimum(self.margins,
                                      best[:, moe.n_chosen - 1] - best[:, moe.n_chosen])
        ids = np.argsort(-probabilities, -1, kind="stable")[:, : moe.n_chosen]
        weights = np.take_along_axis(probabilities, ids, -1)
        return ids, weights / weights.sum(-1, keepdims=True) if moe.renormalises else weights

    def shared(self, x, i):
        plan = self.plan
        if plan.moe.kind == "granite":
            gate, up = np.split(self.linear(x, self.layer_name(i, "shared_in"), False), 2, -1)
            return self.linear(ACTIVATIONS[plan.activation](gate) * up,
                               self.layer_name(i, "shared_out"), False)
        prefix = self.layer_name(i, "shared")
        y = self.gated(x, *(prefix + part for part in ("gate_proj", "up_proj", "down_proj")))
        if not plan.moe.shared_gate:
            return y
        return sigmoid(self.linear(x, self.layer_name(i, "shared_gate"), False)) * y

    def mixture(self, x, i):
        ids, weights = self.chosen(x, i)
        y = self.shared(x, i) if self.plan.moe.n_shared else np.zeros_like(x)
        for e in range(self.plan.moe.n_experts):
            rows, ranks = np.nonzero(ids == e)
            if len(rows):
                y[rows] += weights[rows, ranks][:, None] * self.expert(x[rows], i, e)
        return y

    def beside(self, x, i):
        """An MLP and experts beside it, each of a norm of its own; the router reads x itself."""
        plan = self.plan

        def norm(x, role):
            return self.normed(x, self.layer_name(i, role))

        y = norm(self.dense(norm(x, "n3"), i), "shared_post")
        r = (x / np.sqrt((x * x).mean(-1, keepdims=True) + plan.epsilon)
             * self.get(self.layer_name(i, "router_scale")) * plan.C ** -0.5)
        ids, weights = self.chosen(r, i)
        weights = weights * self.get(self.layer_name(i, "expert_scales"))[ids]
        z, into = np.zeros_like(x), norm(x, "experts_norm")
        for e in range(plan.moe.n_experts):
            rows, ranks = np.nonzero(ids == e)
            if len(rows):
                z[rows] += weights[rows, ranks][:, None] * self.expert(into[rows], i, e)
        return y + norm(z, "experts_post")

    def per_layer_inputs(self, x, ids):
        """[T][L][P] of the embedded tokens x"""
        plan, T = self.plan, len(x)
        shape = T, plan.L, plan.n_per_layer
        own = self.linear(x, plan.names["per_layer_in"], False) * plan.C ** -0.5
        own = self.normed(own.reshape(shape), plan.names["per_layer_in_norm"])
        table = self.get(plan.names["table"] + ".weight")[np.asarray(ids)].reshape(shape)
        return (own + table * np.sqrt(plan.n_per_layer)) / np.sqrt(2)

    def finish(self, x, i):
        """What a layer does after its two parts."""
        plan, act = self.plan, ACTIVATIONS.get(self.plan.activation)
        if plan.n_per_layer:
            y = act(self.linear(x, self.layer_name(i, "per_layer_gate"), False)) * self.inputs[:, i]
            x = x + self.normed(self.linear(y, self.layer_name(i, "per_layer_out"), False),
                                self.layer_name(i, "per_layer_norm"))
        return x * self.get(self.layer_name(i, "scale")) if plan.layer_scales else x

    def feed_forward(self, x, i):
        return self.mixture(x, i) if self.plan.layers[i].moe else self.dense(x, i)

    def block(self, x, i):
        plan = self.plan

        def norm(x, role):
            return self.normed(x, self.layer_name(i, role))

        if plan.form == "pre":
            x = x + plan.residual_scale * self.attention(norm(x, "n1"), i)
            return x + plan.residual_scale * self.feed_forward(norm(x, "n2"), i)
        if plan.form == "sandwich":
            x = x + norm(self.attention(norm(x, "n1"), i), "n2")
            y = (self.beside(x, i) if plan.moe and plan.moe.kind == "gemma4"
                 else self.feed_forward(norm(x, "n3"), i))
            return self.finish(x + norm(y, "n4"), i)
        if plan.form == "post":
            x = x + norm(self.attention(x, i), "n1")
            return x + norm(self.feed_forward(x, i), "n2")
        y = norm(x, "n1")
        z = norm(x, "n2") if plan.form == "parallel2" else y
        return x + self.attention(y, i) + self.feed_forward(z, i)

    def hidden(self, ids):
        """The final hidden states of every position: [T][C]"""
        plan = self.plan
        self.margins = np.full(len(ids), np.inf)
        embedding = self.get(plan.names["embed"] + ".weight")
        x = embedding[np.asarray(ids)] * plan.embed_scale
        if plan.learned_positions:
            x = x + self.get(plan.names["positions"] + ".weight")[: len(ids)]
        if plan.n_per_layer:
            self.inputs = self.per_layer_inputs(x, ids)
        self.kept = {}
        for i in range(plan.L):
            x = self.block(x, i)
        return self.normed(x, plan.names["norm"])

    def logits(self, ids):
        """The logits of every position: [T][V]"""
        plan = self.plan
        x = self.hidden(ids)
        head = (self.get(plan.names["embed"] + ".weight") if plan.tied
                else self.get(plan.names["head"] + ".weight"))
        y = (x @ head.T
             + (self.get(plan.names["head"] + ".bias") if plan.head_bias else 0)) * plan.logit_scale
        return plan.logit_cap * np.tanh(y / plan.logit_cap) if plan.logit_cap else y

    def n_sure(self, margin=1e-3):
        """How many rows of the last logits come before a router's tie, which rounding decides."""
        near = np.flatnonzero(self.margins < margin)
        return int(near[0]) if len(near) else len(self.margins)

    def greedy(self, ids, n):
        """[n] tokens, and [n][V] the logits that each was taken from; of equals the lowest id."""
        ids, rows = list(ids), []
        for _ in range(n):
            rows.append(self.logits(ids)[-1])
            ids.append(int(rows[-1].argmax()))
        return ids[-n:], np.array(rows)

    def prompt_logprobs(self, ids):
        """The log-probability of each token but the first, given those before it."""
        rows = self.logits(ids)[:-1]
        rows = rows - rows.max(-1, keepdims=True)
        rows = rows - np.log(np.exp(rows).sum(-1, keepdims=True))
        return rows[np.arange(len(ids) - 1), ids[1:]]

    def unused(self):
        """Tensors that the computation so far has not asked for."""
        return sorted(set(self.tensors) - self.used)
