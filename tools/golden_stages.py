"""Writes down the steps inside every attention of one forward pass of a transformers model with eager attention, under the
names of tests/golden/README.md: stage.<layer>.<name>."""

import sys

import torch


class Stages:
    """Wraps eager_attention_forward and apply_rotary_pos_emb of the model's module; hooks on the linear layers see the
    projections. Used as `with Stages(model) as stages: model(...)`, then stages.tensors."""

    def __init__(self, model):
        self.model = model
        self.module = sys.modules[type(model).__module__]
        self.names = {module: name.rsplit(".", 1)[-1] for name, module in model.named_modules()}
        self.tensors, self.projected, self.hooks = {}, {}, []
        self.layer, self.before_rotary, self.wants_output = -1, None, False

    def __enter__(self):
        self.attention = self.module.eager_attention_forward
        self.rotary = getattr(self.module, "apply_rotary_pos_emb", None)
        self.module.eager_attention_forward = self.see_attention
        if self.rotary:
            self.module.apply_rotary_pos_emb = self.see_rotary
        for module in self.model.modules():
            if type(module).__name__ in ("Linear", "Conv1D"):
                self.hooks.append(module.register_forward_hook(self.see_linear))
        return self

    def __exit__(self, *_):
        self.module.eager_attention_forward = self.attention
        if self.rotary:
            self.module.apply_rotary_pos_emb = self.rotary
        for hook in self.hooks:
            hook.remove()

    def add(self, name, tensor):
        self.tensors[f"stage.{self.layer}.{name}"] = tensor

    def see_rotary(self, q, k, *args, **kwargs):
        self.before_rotary = (q, k)
        return self.rotary(q, k, *args, **kwargs)

    def see_linear(self, module, args, output):
        self.projected[self.names[module]] = output
        if self.wants_output:  # the first linear layer behind the attention projects its output
            assert torch.equal(args[0], self.tensors[f"stage.{self.layer}.concat"])
            self.add("out", output)
            self.wants_output = False

    def see_attention(self, module, q, k, v, mask, scaling=None, **kwargs):
        context, weights = self.attention(module, q, k, v, mask, scaling=scaling, **kwargs)
        self.layer += 1
        self.add_queries(module, q, k)
        self.add("v", v)
        scores = q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).transpose(2, 3)
        self.add("scores", scores)
        scores = scores * (q.shape[-1] ** -0.5 if scaling is None else scaling)
        self.add("scaled", scores)
        cap, bias = kwargs.get("softcap"), kwargs.get("position_bias")
        if cap:
            scores = torch.tanh(scores / cap) * cap
            self.add("capped", scores)
        if bias is not None:
            scores = scores + bias
            self.add("biased", scores)
        scores = scores if mask is None else scores + mask
        self.add("masked", scores)
        assert (torch.softmax(scores, -1) - weights).abs().max() < 1e-5
        self.add("context", context.transpose(1, 2))
        self.add("concat", context.reshape(*context.shape[:2], -1))
        self.before_rotary, self.wants_output = None, True
        return context, weights

    def add_queries(self, module, q, k):
        if self.before_rotary is None:
            pair = (q, k)
        else:
            self.add("q_rot", q)
            self.add("k_rot", k)
            # Only the part that turns may have been handed over; the rest passes through.
            pair = [torch.cat((part, x[..., part.shape[-1] :]), -1) for part, x in zip(self.before_rotary, (q, k))]
            if hasattr(module, "q_norm"):
                self.add("q_norm", pair[0])
                self.add("k_norm", pair[1])
                pair = [self.heads(self.projected[name], q) for name in ("q_proj", "k_proj")]
        self.add("q", pair[0])
        self.add("k", pair[1])

    @staticmethod
    def heads(rows, like):
        return rows.view(*rows.shape[:2], -1, like.shape[-1]).transpose(1, 2)
