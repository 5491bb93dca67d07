# SPDX-License-Identifier: Apache-2.0
"""Early exits on transformers' layers as published, taggers, solvers, policies, sound, and generators of other packages."""

import torch
from torch import nn

from tests.models.generation import TINY
from tests.models.registry import ints, model, rand, randomise


class DeeBert(nn.Module):
    """Xin et al., 2020: after each layer an off-ramp; the first one whose entropy is below its threshold answers."""

    def __init__(self, entropies):
        super().__init__()
        from transformers import BertConfig, BertModel

        self.bert = BertModel(BertConfig(max_position_embeddings=32, attn_implementation="eager", **{**TINY, "num_hidden_layers": 4}))
        self.highway = nn.ModuleList([nn.Linear(16, 3) for _ in range(4)])
        self.early_exit_entropy = entropies

    @staticmethod
    def entropy(x):
        exp_x = torch.exp(x)
        A = torch.sum(exp_x, dim=1)
        B = torch.sum(x * exp_x, dim=1)
        return torch.log(A) - B / A

    def forward(self, input_ids, attention_mask):
        extended = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
        hidden = self.bert.embeddings(input_ids)
        all_highway_exits = ()
        for i, layer in enumerate(self.bert.encoder.layer):
            outputs = layer(hidden, extended)
            hidden = outputs[0] if isinstance(outputs, tuple) else outputs
            logits = self.highway[i](torch.tanh(hidden[:, 0]))
            entropy = self.entropy(logits)
            all_highway_exits += ((logits, entropy),)
            if entropy < self.early_exit_entropy[i]:
                return logits, i + 1, all_highway_exits
        return logits, len(self.highway), all_highway_exits


@model("transformers", "DeeBERT: leaves at the first layer whose answer is certain enough")
def deebert():
    m = randomise(DeeBert([0.6, 0.7, 0.8, -1]), scale=2.0)
    masks = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    return m, [(ints(1, 5, low=6, high=12, seed=s), masks[s % 3][None]) for s in range(7)]


class Pabee(nn.Module):
    """Zhou et al., 2020: leaves once as many layers in a row as `patience` gave the same answer."""

    def __init__(self, patience, regression=False, threshold=0.0):
        super().__init__()
        from transformers import AlbertConfig, AlbertModel

        self.albert = AlbertModel(AlbertConfig(vocab_size=12, embedding_size=8, hidden_size=16, num_hidden_layers=6, num_hidden_groups=1,
                                               num_attention_heads=2, intermediate_size=24, max_position_embeddings=32,
                                               attn_implementation="eager"))
        self.classifiers = nn.ModuleList([nn.Linear(16, 1 if regression else 3) for _ in range(6)])
        self.patience, self.regression, self.regression_threshold = patience, regression, threshold
        self.inference_instances_num, self.inference_layers_num = 0, 0

    def forward(self, ids):
        hidden = self.albert.encoder.embedding_hidden_mapping_in(self.albert.embeddings(ids))
        patient_counter = 0
        patient_result = None
        calculated_layer_num = 0
        for i in range(6):
            calculated_layer_num += 1
            hidden = self.albert.encoder.albert_layer_groups[0](hidden, None)
            hidden = hidden[0] if isinstance(hidden, tuple) else hidden
            pooled = self.albert.pooler_activation(self.albert.pooler(hidden[:, 0]))
            logits = self.classifiers[i](pooled)
            if self.regression:
                labels = logits.detach()
                if patient_result is not None:
                    patient_labels = patient_result.detach()
                if (patient_result is not None) and torch.abs(patient_result - labels) < self.regression_threshold:
                    patient_counter += 1
                else:
                    patient_counter = 0
            else:
                labels = logits.detach().argmax(dim=1)
                if patient_result is not None:
                    patient_labels = patient_result.detach().argmax(dim=1)
                if (patient_result is not None) and torch.all(labels.eq(patient_labels)):
                    patient_counter += 1
                else:
                    patient_counter = 0
            patient_result = logits
            if patient_counter == self.patience:
                break
        self.inference_layers_num += calculated_layer_num
        self.inference_instances_num += 1
        return patient_result


@model("transformers", "PABEE: leaves once the same answer came several times in a row; statistics between calls")
def pabee():
    return randomise(Pabee(2), scale=3.0), [(ints(2, 4, low=1, high=12, seed=s),) for s in range(6)]


@model("transformers", "PABEE for regression: leaves once the answer changes little")
def pabee_regression():
    return randomise(Pabee(1, True, 0.1), scale=3.0), [(ints(1, 4, low=1, high=12, seed=s),) for s in range(6)]


@model("transformers", "CALM: a token leaves the decoder's layers once its state is saturated; greedy")
def calm_t5():
    from transformers import T5Config, T5ForConditionalGeneration

    m = randomise(T5ForConditionalGeneration(T5Config(vocab_size=12, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_decoder_layers=4, num_heads=2,
                                                      decoder_start_token_id=0, eos_token_id=5, pad_token_id=0)), scale=2.0)

    def run(ids):
        source = m.encoder(ids).last_hidden_state
        decoded, exits = torch.zeros(1, 1, dtype=torch.long), []
        for step in range(5):
            hidden = m.shared(decoded)
            bias = cross = None
            for number, block in enumerate(m.decoder.block):
                before = hidden[:, -1]
                mask = torch.full((decoded.shape[1],) * 2, -1e9).triu(1)[None, None]
                out = block(hidden, attention_mask=mask, position_bias=bias, encoder_hidden_states=source, encoder_decoder_position_bias=cross)
                hidden, bias, cross = out[0], out[1], out[2]
                saturated = torch.cosine_similarity(before, hidden[:, -1], dim=-1)
                if saturated > 0.9 - 0.4 * torch.exp(torch.tensor(-4.0 * step / 5)):
                    break
            exits.append(number + 1)
            logits = m.lm_head(m.decoder.final_layer_norm(hidden[:, -1]) * 16 ** -0.5)
            best = logits.argmax(-1)
            decoded = torch.cat([decoded, best[:, None]], 1)
            if best.item() == 5:
                break
        return decoded, exits

    return run, [(ints(1, 4, low=6, high=12, seed=s),) for s in range(5)]


@model("stanza", "best tags by dynamic programming over numpy arrays")
def stanza_viterbi():
    from stanza.models.common.crf import CRFLoss, viterbi_decode

    crf = randomise(CRFLoss(4), scale=2.0)

    def run(x):
        tags, score = viterbi_decode(x.numpy(), crf._transitions.detach().numpy())
        return tags, score

    return run, [(rand(5, 4, seed=s),) for s in range(4)]


@model("stanza", "likelihood of tags, padding masked")
def stanza_crf_loss():
    from stanza.models.common.crf import CRFLoss

    crf = randomise(CRFLoss(4), scale=2.0)
    return (lambda x, masks, tags: crf(x, masks, tags)[0]), [
        (rand(2, 5, 4, seed=s), torch.arange(5) >= torch.tensor([[5 - s], [4]]), ints(2, 5, high=4, seed=s)) for s in range(3)]


@model("stanza", "attention over a sentence, one symbol after the other until all rows have ended")
def stanza_seq2seq_greedy():
    from stanza.models.common.seq2seq_model import Seq2SeqModel

    m = randomise(Seq2SeqModel(dict(vocab_size=12, emb_dim=8, hidden_dim=8, num_layers=1, emb_dropout=0.0, dropout=0.0, max_dec_len=5, top=1e10,
                                    attn_type="soft", pos=False, edit=False, copy=False, num_edit=0)), scale=3.0)
    return (lambda src, mask: m.predict_greedy(src, mask)[0]), [
        (ints(2, 4, low=4, high=12, seed=s), torch.arange(4) >= torch.tensor([[4], [3 - s % 2]])) for s in range(3)]


@model("qpth", "quadratic programs by an interior point method, until the residual is small or stalls")
def qpth_solve():
    from qpth.solvers.pdipm import batch

    def run(q, p, g, h):
        Q = q @ q.transpose(1, 2) + torch.eye(3, dtype=q.dtype)
        A, b = torch.empty(1, 0, dtype=q.dtype), torch.empty(1, 0, dtype=q.dtype)
        factors = batch.pre_factor_kkt(Q, g, A)
        x, y, z, s = batch.forward(Q, p, g, h, A, b, *factors, eps=1e-6, verbose=-1, notImprovedLim=3, maxIter=12)
        return x, z, s

    return run, [(rand(1, 3, 3, seed=s).double(), rand(1, 3, seed=s + 1).double() * 3, rand(1, 4, 3, seed=s + 2).double(),
                  rand(1, 4, seed=s + 3).double().abs() + 0.1) for s in range(4)]


@model("gpytorch", "posterior mean by conjugate gradients until the residual is small", rtol=1e-3, atol=1e-4)
def gpytorch_posterior_cg():
    import gpytorch
    from linear_operator.utils.linear_cg import linear_cg

    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    kernel.eval()

    def run(x, y, new):
        matrix = kernel(x).to_dense() + 0.1 * torch.eye(6)
        weights = linear_cg(matrix.matmul, y, tolerance=1e-4, max_iter=20, n_tridiag=0)
        return kernel(new, x).to_dense() @ weights

    return run, [(rand(6, 2, seed=s, scale=1 + s), rand(6, 1, seed=s + 1), rand(3, 2, seed=s + 2)) for s in range(3)]


def spaces():
    import gymnasium as gym
    import numpy as np

    return gym.spaces.Box(-2.0, 2.0, (4,), np.float32), gym.spaces.Discrete(3), gym.spaces.Box(-1.0, 1.0, (2,), np.float32)


@model("sb3-contrib", "actions that the mask forbids are never the best")
def sb3_maskable_policy():
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy

    seen, actions, _ = spaces()
    m = randomise(MaskableActorCriticPolicy(seen, actions, lambda _: 1e-3, net_arch=[8]), scale=2.0)

    def run(x, mask):
        chosen, values, log_prob = m(x, deterministic=True, action_masks=mask.numpy())
        return chosen, values, log_prob

    masks = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1]]).bool()
    return run, [(rand(1, 4, seed=s), masks[s][None]) for s in range(4)]


@model("stable-baselines3", "the action of the greatest value")
def sb3_dqn_policy():
    from stable_baselines3.dqn.policies import DQNPolicy

    seen, actions, _ = spaces()
    m = randomise(DQNPolicy(seen, actions, lambda _: 1e-3, net_arch=[8]), scale=2.0)
    return (lambda x: m._predict(x, deterministic=True)), [(rand(2, 4, seed=s),) for s in range(4)]


@model("stable-baselines3", "a squashed mean of actions")
def sb3_sac_policy():
    from stable_baselines3.sac.policies import SACPolicy

    seen, _, actions = spaces()
    m = randomise(SACPolicy(seen, actions, lambda _: 1e-3, net_arch=[8]), scale=2.0)
    return (lambda x: m._predict(x, deterministic=True)), [(rand(2, 4, seed=s),) for s in range(4)]


@model("sb3-contrib", "a recurrent policy: its memory starts anew where an episode starts")
def sb3_recurrent_policy():
    from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy

    seen, actions, _ = spaces()
    m = randomise(RecurrentActorCriticPolicy(seen, actions, lambda _: 1e-3, net_arch=[8], lstm_hidden_size=6), scale=2.0)
    return (lambda x, h, c, starts: m.get_distribution(x, (h, c), starts)[1]), [
        (rand(3, 4, seed=s), rand(1, 1, 6, seed=s), rand(1, 1, 6, seed=s + 1), torch.tensor(k)) for s, k in enumerate(
            [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])]


@model("litgpt", "tokens until the end token, a cache written in place")
def litgpt_generate():
    from litgpt import GPT, Config
    from litgpt.generate.base import generate

    m = randomise(GPT(Config(block_size=16, vocab_size=12, padded_vocab_size=12, n_layer=1, n_head=2, n_embd=16, rotary_percentage=1.0)), scale=3.0)
    m.max_seq_length = 12
    m.set_kv_cache(batch_size=1)
    return (lambda ids: generate(m, ids, 9, temperature=1.0, top_k=1, eos_id=5)), [(ints(4, high=12, seed=s),) for s in range(4)]


@model("memformer", "memory slots between segments of a text")
def memformer_segments():
    from memformer import Memformer

    m = randomise(Memformer(dim=16, enc_num_tokens=12, enc_depth=1, enc_heads=2, enc_max_seq_len=8, dec_num_tokens=12, dec_depth=1, dec_heads=2,
                            dec_max_seq_len=8, num_memory_slots=3))

    def run(a, b, mask):
        _, mems, out = m(a, b, src_mask=mask)
        _, mems, out = m(b, a, mems=mems)
        return mems, out

    return run, [(ints(1, 5, high=12, seed=s), ints(1, 5, high=12, seed=s + 4), (torch.arange(5) < 5 - s)[None]) for s in range(3)]


@model("torchaudio", "a sample at a time from the samples before: the draw is certain here")
def torchaudio_wavernn_infer():
    from torchaudio.models import WaveRNN

    m = randomise(WaveRNN(upsample_scales=[2, 2], n_classes=8, hop_length=4, n_res_block=1, n_rnn=8, n_fc=8, kernel_size=3, n_freq=4, n_hidden=8,
                          n_output=8))
    with torch.no_grad():
        m.fc3.weight.mul_(3000)  # so the best class has all of the probability
    return (lambda x, n: m.infer(x, n)), [(rand(1, 4, 5, seed=s), torch.tensor([5 - s])) for s in range(3)]


@model("torchvision", "optical flow refined in iterations")
def raft():
    from torchvision.models.optical_flow.raft import _raft

    m = randomise(_raft(weights=None, progress=False, feature_encoder_layers=(8, 8, 8, 12, 16), feature_encoder_block=residual_block(),
                        feature_encoder_norm_layer=nn.InstanceNorm2d, context_encoder_layers=(8, 8, 8, 12, 24), context_encoder_block=residual_block(),
                        context_encoder_norm_layer=nn.BatchNorm2d, corr_block_num_levels=2, corr_block_radius=2,
                        motion_encoder_corr_layers=(8,), motion_encoder_flow_layers=(8, 8), motion_encoder_out_channels=10,
                        recurrent_block_hidden_state_size=8, recurrent_block_kernel_size=((3, 3),), recurrent_block_padding=((1, 1),),
                        flow_head_hidden_size=8, use_mask_predictor=False))
    return (lambda a, b: m(a, b, num_flow_updates=2)[-1]), [(rand(1, 3, 32, 32, seed=s), rand(1, 3, 32, 32, seed=s + 4)) for s in range(2)]


def residual_block():
    from torchvision.models.optical_flow.raft import ResidualBlock

    return ResidualBlock


@model("e3nn", "neighbours within a radius, messages in spherical harmonics summed over them")
def e3nn_message_passing():
    from e3nn import o3
    from e3nn.math import soft_one_hot_linspace

    product = o3.FullyConnectedTensorProduct("4x0e", "1x0e + 1x1o", "4x0e + 2x1o", shared_weights=True)
    harmonics = o3.Irreps("1x0e + 1x1o")
    torch.manual_seed(0)

    def run(place, features):
        distance = torch.cdist(place, place)
        source, target = torch.nonzero((distance < 1.5) & (distance > 0), as_tuple=True)
        edge = place[source] - place[target]
        messages = product(features[source], o3.spherical_harmonics(harmonics, edge, True, "component"))
        weight = soft_one_hot_linspace(edge.norm(dim=1), 0.0, 1.5, 3, "smooth_finite", True).sum(1, keepdim=True)
        return torch.zeros(place.shape[0], messages.shape[1]).index_add(0, target, messages * weight)

    return run, [(rand(5, 3, seed=s), rand(5, 4, seed=s + 1)) for s in range(4)]


@model("hypnettorch", "a network whose weights another one makes, chosen by the task's number")
def hypernetwork():
    from hypnettorch.hnets import HMLP
    from hypnettorch.mnets import MLP

    main = MLP(n_in=3, n_out=2, hidden_layers=[4], no_weights=True, verbose=False)
    m = randomise(HMLP(main.param_shapes, uncond_in_size=0, cond_in_size=4, layers=[6], num_cond_embs=3, verbose=False))

    def run(x):
        task = int((x.sum() > 0)) + int(x[0, 0] > 1)
        return main.forward(x, weights=m(cond_id=task))

    return run, [(rand(2, 3, seed=s, scale=2),) for s in range(5)]


@model("linear-attention-transformer", "attention without a softmax, padding masked")
def linear_attention_transformer():
    from linear_attention_transformer import LinearAttentionTransformerLM

    m = randomise(LinearAttentionTransformerLM(num_tokens=12, dim=16, heads=2, depth=1, max_seq_len=8, causal=False, n_local_attn_heads=0))
    return (lambda x, mask: m(x, input_mask=mask)), [(ints(1, 8, high=12, seed=s), (torch.arange(8) < 8 - 2 * s)[None]) for s in range(3)]
