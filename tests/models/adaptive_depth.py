# SPDX-License-Identifier: Apache-2.0
"""Networks that decide how much to compute: early exits, pondering, halting, latent steps."""

import torch
from torch import nn

from tests.models.generation.tiny import TINY
from tests.models.inputs import tokens
from tests.models.registry import ints, model, rand, randomise


@model("pytorch-adaptive-computation-time", "ponder steps until every sample has used up its budget; for with else")
def act_gru_cell():
    from pytorch_adaptive_computation_time import models

    m = randomise(models.AdaptiveGRUCell(4, 6, time_penalty=1e-3, time_limit=6), scale=3.0)
    return m, [(rand(2, 4, seed=s, scale=3),) for s in range(6)]


@model("pytorch-adaptive-computation-time", "ponder steps in each of the time steps and layers")
def act_rnn():
    from pytorch_adaptive_computation_time import models

    m = randomise(models.AdaptiveRNN(3, 5, 2, time_penalty=1e-3, time_limit=4), scale=3.0)
    return m, [(rand(3, 2, 3, seed=s, scale=3),) for s in range(4)]


@model("ponder-transformer", "pondering: stops when every position has halted")
def ponder_transformer():
    from ponder_transformer import PonderTransformer

    m = randomise(PonderTransformer(num_tokens=12, dim=16, max_seq_len=8, dim_head=8, heads=2), scale=2.0)
    with torch.no_grad():
        m.block.to_halt_logits[0].bias.fill_(0.5)
    torch.manual_seed(0)
    return (lambda ids: m(ids)), tokens(1, 4, high=12)


@model("labml-nn", "a recurrent net that ponders; halts are drawn at random, the distribution is returned")
def ponder_gru():
    from labml_nn.adaptive_computation.ponder_net import ParityPonderGRU

    m = randomise(ParityPonderGRU(6, 8, 4), scale=1.0)
    m.is_halt = False
    return (lambda x: m(x)[:1]), [(rand(2, 6, seed=s).sign(),) for s in range(3)]


@model("tiny-recursive-model", "samples leave the batch when their halting probability passes a threshold")
def tiny_recursive_model():
    from tiny_recursive_model.trm import TinyRecursiveModel

    network = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8), nn.Tanh())
    m = randomise(
        TinyRecursiveModel(dim=8, num_tokens=10, network=network, num_refinement_blocks=2, num_latent_refinements=2),
        scale=2.0,
    )
    return (lambda seq: m.predict(seq, halt_prob_thres=0.55, max_deep_refinement_steps=4)), [
        (ints(3, 4, high=10, seed=s),) for s in range(5)]


@model("hrm-pytorch", "segments repeated until every sample halts")
def hrm_with_act():
    from HRM.hrm_with_act import HRM
    from x_transformers import Encoder

    nets = [Encoder(dim=8, depth=1, heads=2, attn_dim_head=4, use_rmsnorm=True) for _ in range(2)]
    m = randomise(HRM(networks=nets, num_tokens=10, dim=8, max_reasoning_steps=4), scale=2.0)
    return (lambda seq: m(seq, max_reasoning_steps=4)), [(ints(1, 4, high=10, seed=s),) for s in range(4)]


@model("coconut-pytorch", "latent reasoning steps between prompt and answer")
def coconut():
    from coconut_pytorch import Coconut

    m = randomise(Coconut(num_reasoning_steps=2, transformer=dict(num_tokens=10, dim=8, depth=1, heads=2, dim_head=4)))
    return (lambda x: m(x)[:3]), [(ints(1, 3, high=10, seed=s),) for s in range(3)]


class DeeBert(nn.Module):
    """Xin et al., 2020: after each layer an off-ramp; the first one whose entropy is below its threshold answers."""

    def __init__(self, entropies):
        super().__init__()
        from transformers import BertConfig, BertModel

        self.bert = BertModel(
            BertConfig(max_position_embeddings=32, attn_implementation="eager", **{**TINY, "num_hidden_layers": 4})
        )
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

        self.albert = AlbertModel(
            AlbertConfig(
                vocab_size=12,
                embedding_size=8,
                hidden_size=16,
                num_hidden_layers=6,
                num_hidden_groups=1,
                num_attention_heads=2,
                intermediate_size=24,
                max_position_embeddings=32,
                attn_implementation="eager",
            )
        )
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

    m = randomise(
        T5ForConditionalGeneration(
            T5Config(
                vocab_size=12,
                d_model=16,
                d_kv=8,
                d_ff=24,
                num_layers=1,
                num_decoder_layers=4,
                num_heads=2,
                decoder_start_token_id=0,
                eos_token_id=5,
                pad_token_id=0,
            )
        ),
        scale=2.0,
    )

    def run(ids):
        source = m.encoder(ids).last_hidden_state
        decoded, exits = torch.zeros(1, 1, dtype=torch.long), []
        for step in range(5):
            hidden = m.shared(decoded)
            bias = cross = None
            for number, block in enumerate(m.decoder.block):
                before = hidden[:, -1]
                mask = torch.full((decoded.shape[1],) * 2, -1e9).triu(1)[None, None]
                out = block(
                    hidden,
                    attention_mask=mask,
                    position_bias=bias,
                    encoder_hidden_states=source,
                    encoder_decoder_position_bias=cross,
                )
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
