# SPDX-License-Identifier: Apache-2.0
"""Networks that decide how much to compute, what to remember, which schedule to follow: ACT, memories, samplers, taggers."""

import torch
from torch import nn

from tests.models.registry import ints, model, rand, randomise, stand_in


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


@model("dnc", "a memory with usage, links and allocation by sorted usage", rtol=1e-3, atol=1e-4)
def dnc_memory():
    from dnc import Memory

    m = randomise(Memory(input_size=6, mem_size=5, cell_size=4, read_heads=2, independent_linears=False))

    def run(x):
        hidden = m.reset(x.shape[1])
        reads = []
        for step in x:
            read, hidden = m(step, hidden)
            reads.append(read)
        return torch.stack(reads)

    return run, [(rand(3, 2, 6, seed=s),) for s in range(3)]


@model("speculative-decoding", "draft tokens verified by the larger net; cut where one was rejected (the draws are random)")
def speculative_decoding_lucidrains():
    from speculative_decoding.speculative_decoding import Decoder, speculative_decoding

    big = randomise(Decoder(num_tokens=8, dim=8, depth=1, heads=2, dim_head=4))
    small = randomise(Decoder(num_tokens=8, dim=8, depth=1, heads=1, dim_head=4))
    return (lambda x: speculative_decoding(big, small, x, 7, gamma=2, temperature=1e-9)[0].shape), [
        (ints(1, 3, high=8, seed=s),) for s in range(3)]


@model("coconut-pytorch", "latent reasoning steps between prompt and answer")
def coconut():
    from coconut_pytorch import Coconut

    m = randomise(Coconut(num_reasoning_steps=2, transformer=dict(num_tokens=10, dim=8, depth=1, heads=2, dim_head=4)))
    return (lambda x: m(x)[:3]), [(ints(1, 3, high=10, seed=s),) for s in range(3)]


@model("slot-attention", "iterative attention of slots; the starting slots are drawn, here of zero width")
def slot_attention():
    from slot_attention import SlotAttention

    m = randomise(SlotAttention(num_slots=3, dim=6, iters=3))
    with torch.no_grad():
        m.slots_logsigma.fill_(-60.0)
    return (lambda x: m(x)), [(rand(2, 5, 6, seed=s),) for s in range(3)]


@model("discrete-key-value-bottleneck-pytorch", "codes looked up by the nearest key")
def discrete_key_value_bottleneck():
    from discrete_key_value_bottleneck_pytorch import DiscreteKeyValueBottleneck

    m = randomise(DiscreteKeyValueBottleneck(dim=6, num_memories=8, num_memory_codebooks=2, dim_memory=4))
    return (lambda x: m(x)), [(rand(1, 4, 6, seed=s),) for s in range(3)]


@model("muse-maskgit-pytorch", "a self-conditioned masked transformer with classifier-free guidance")
def muse_transformer():
    from muse_maskgit_pytorch.muse_maskgit_pytorch import TransformerBlocks

    m = randomise(TransformerBlocks(dim=8, depth=1, dim_head=4, heads=2))
    masks = [torch.ones(2, 3).bool(), torch.tensor([[1, 1, 0], [1, 0, 0]]).bool()]
    return (lambda x, c, k: m(x, context=c, context_mask=k)), [
        (rand(2, 4, 8, seed=i), rand(2, 3, 8, seed=i + 5), k) for i, k in enumerate(masks)]


@model("allennlp-light", "sequences sorted by length, packed, empty ones dropped, states restored")
def allennlp_lstm_encoder():
    from allennlp_light.modules.seq2seq_encoders import LstmSeq2SeqEncoder

    m = randomise(LstmSeq2SeqEncoder(3, 4, 1, bidirectional=True))
    masks = [[[1, 1, 1, 1], [1, 1, 0, 0]], [[1, 1, 1, 0], [1, 1, 1, 1]], [[1, 0, 0, 0], [1, 1, 1, 1]]]
    return (lambda x, k: m(x, k)), [(rand(2, 4, 3, seed=i), torch.tensor(k).bool()) for i, k in enumerate(masks)]


@model("allennlp-light", "the last state of each sequence; empty ones dropped")
def allennlp_seq2vec():
    from allennlp_light.modules.seq2vec_encoders import GruSeq2VecEncoder

    m = randomise(GruSeq2VecEncoder(3, 4))
    masks = [[[1, 1, 1, 1], [1, 1, 0, 0]], [[1, 1, 1, 0], [1, 1, 1, 1]], [[0, 0, 0, 0], [1, 1, 1, 1]]]
    return (lambda x, k: m(x, k)), [(rand(2, 4, 3, seed=i), torch.tensor(k).bool()) for i, k in enumerate(masks)]


@model("allennlp-light", "Viterbi per sentence with constrained transitions")
def allennlp_crf_tags():
    from allennlp_light.modules.conditional_random_field import ConditionalRandomField

    m = randomise(ConditionalRandomField(3, [(0, 0), (0, 1), (1, 2), (2, 0), (1, 1), (3, 0), (3, 1), (0, 4), (2, 4), (1, 4)]), scale=2.0)
    masks = [[[1, 1, 1, 1], [1, 1, 0, 0]], [[1, 1, 1, 0], [1, 1, 1, 1]]]
    return (lambda x, k: m.viterbi_tags(x, k)), [(rand(2, 4, 3, seed=i), torch.tensor(k).bool()) for i, k in enumerate(masks * 2)]


@model("allennlp-light", "spans of different widths gathered, masked and attended to")
def allennlp_span_extractor():
    from allennlp_light.modules.span_extractors import SelfAttentiveSpanExtractor

    m = randomise(SelfAttentiveSpanExtractor(input_dim=4))
    spans = [[[0, 1], [1, 3]], [[2, 2], [0, 4]], [[0, 0], [1, 1]]]
    return (lambda x, s: m(x, s)), [(rand(1, 5, 4, seed=i), torch.tensor([s])) for i, s in enumerate(spans)]


@model("allennlp-light", "an LSTM with highway connections over a packed batch")
def allennlp_augmented_lstm():
    from allennlp_light.modules.augmented_lstm import AugmentedLstm
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    m = randomise(AugmentedLstm(3, 4))

    def run(x, lengths):
        out, state = m(pack_padded_sequence(x, lengths, batch_first=True))
        return pad_packed_sequence(out, batch_first=True)[0], state

    return run, [(rand(2, 4, 3, seed=i), torch.tensor(n)) for i, n in enumerate([[4, 2], [4, 4], [3, 1]])]


@model("zuko", "a spline flow: inside and outside of the interval, inverse by search in the bins", rtol=1e-3, atol=1e-4)
def zuko_spline_flow():
    import zuko

    m = randomise(zuko.flows.NSF(2, 1, transforms=2, bins=4, hidden_features=(8,)))
    return (lambda x, c: m(c).log_prob(x)), [(rand(3, 2, seed=s, scale=1 + 2 * s), rand(3, 1, seed=s + 5)) for s in range(3)]


@model("zuko", "a monotonic network inverted by bisection", rtol=1e-3, atol=1e-3)
def zuko_bisection():
    from zuko.utils import bisection

    return (lambda y: bisection(lambda x: torch.tanh(x) + 0.5 * x, y, -10.0, 10.0, n=12)), [(rand(4, seed=s),) for s in range(2)]


@model("normflows", "an autoregressive spline flow, inverted dimension by dimension", rtol=1e-3, atol=1e-4)
def normflows_spline():
    import normflows as nf

    m = randomise(nf.flows.AutoregressiveRationalQuadraticSpline(2, 1, 8, num_bins=4), scale=1.0)
    return (lambda x: (*m.forward(x), *m.inverse(x))), [(rand(3, 2, seed=s, scale=1 + 2 * s),) for s in range(3)]


@model("pykan", "splines on a grid per edge; symbolic functions beside them", rtol=1e-3, atol=1e-4)
def kan_layer():
    from kan.KANLayer import KANLayer

    m = randomise(KANLayer(in_dim=3, out_dim=2, num=4, k=3))
    return (lambda x: m(x)[0]), [(rand(5, 3, seed=s),) for s in range(3)]


@model("compressai", "latents quantised; likelihoods bounded below", rtol=1e-3, atol=1e-4)
def compressai_entropy_bottleneck():
    from compressai.entropy_models import EntropyBottleneck

    m = EntropyBottleneck(4).eval()
    return (lambda x: m(x)), [(rand(1, 4, 3, 3, seed=s, scale=3),) for s in range(3)]


@model("compressai", "context model: pixels decoded one by one in raster order", rtol=1e-3, atol=1e-4)
def compressai_joint_autoregressive():
    from compressai.models import JointAutoregressiveHierarchicalPriors

    m = randomise(JointAutoregressiveHierarchicalPriors(N=4, M=6))
    return (lambda x: m(x)), [(rand(1, 3, 64, 64, seed=s).sigmoid(),) for s in range(2)]


@model("bindsnet", "leaky neurons with refractory periods; traces", rtol=1e-3, atol=1e-4)
def bindsnet_lif():
    from bindsnet.network.nodes import LIFNodes

    def run(x):
        nodes = LIFNodes(n=4, traces=True, thresh=-60.0)
        nodes.compute_decays(dt=1.0)
        nodes.set_batch_size(2)
        spikes = []
        for step in x:
            nodes.forward(step)
            spikes.append(nodes.s.clone())
        return torch.stack(spikes), nodes.v

    return run, [(rand(4, 2, 4, seed=s, scale=20).abs(),) for s in range(3)]


@model("denoising-diffusion-pytorch", "DDIM over pairs of times; noise only before the last (eta 0)", rtol=1e-3, atol=1e-3)
def ddim_sampler():
    from denoising_diffusion_pytorch import GaussianDiffusion1D, Unet1D

    net = randomise(Unet1D(dim=8, dim_mults=(1,), channels=1))
    m = GaussianDiffusion1D(net, seq_length=8, timesteps=20, sampling_timesteps=3, objective="pred_noise").eval()
    return (lambda x: m.model_predictions(x, torch.full((1,), 4), clip_x_start=True)), [(rand(1, 1, 8, seed=s),) for s in range(2)]


def schedule(name, steps=4, shape=(2, 6), **options):
    import diffusers

    net = randomise(nn.Linear(6, 6), scale=0.7)

    def run(x):
        s = getattr(diffusers, name)(num_train_timesteps=50, **options)
        s.set_timesteps(steps)
        x = x * s.init_noise_sigma
        for t in s.timesteps:
            x = s.step(net(s.scale_model_input(x, t)), t, x).prev_sample
        return x

    return run, [(rand(*shape, seed=s),) for s in range(3)]


@model("diffusers", "multistep solver: the order grows with what it remembers, falls at the end", rtol=1e-3, atol=1e-3)
def diffusers_dpm_multistep():
    return schedule("DPMSolverMultistepScheduler", final_sigmas_type="zero")


@model("diffusers", "dynamic thresholding by a quantile of each sample", rtol=1e-3, atol=1e-3)
def diffusers_dpm_thresholding():
    return schedule("DPMSolverMultistepScheduler", shape=(2, 1, 4, 6), thresholding=True, sample_max_value=1.5)


@model("diffusers", "pseudo numerical method: warm-up steps, then linear multistep", rtol=1e-3, atol=1e-3)
def diffusers_pndm():
    return schedule("PNDMScheduler", steps=5)


@model("diffusers", "linear multistep with integrated coefficients", rtol=1e-3, atol=1e-3)
def diffusers_lms():
    return schedule("LMSDiscreteScheduler")


@model("diffusers", "predictor and corrector of growing order", rtol=1e-3, atol=1e-3)
def diffusers_unipc():
    return schedule("UniPCMultistepScheduler")


@model("diffusers", "second-order steps: the state says which half comes next", rtol=1e-3, atol=1e-3)
def diffusers_heun():
    return schedule("HeunDiscreteScheduler")


@model("diffusers", "DEIS multistep", rtol=1e-3, atol=1e-3)
def diffusers_deis():
    return schedule("DEISMultistepScheduler")


@model("diffusers", "singlestep solver with orders by position", rtol=1e-3, atol=1e-3)
def diffusers_dpm_singlestep():
    return schedule("DPMSolverSinglestepScheduler")


@model("easyocr", "convolutions, two recurrent layers, one prediction per column")
def easyocr_recogniser():
    from easyocr.model.vgg_model import Model

    m = randomise(Model(1, 8, 8, 10))
    return (lambda x: m(x, None)), [(rand(1, 1, 64, 40, seed=s),) for s in range(2)]


@model("easyocr", "CTC greedy: repeated and blank symbols dropped")
def easyocr_ctc_greedy():
    from easyocr.utils import CTCLabelConverter

    converter = CTCLabelConverter("abcdef")
    return (lambda x, n: converter.decode_greedy(x.argmax(-1).numpy().reshape(-1), n.numpy())), [
        (rand(1, 6, 7, seed=s), torch.tensor([6])) for s in range(3)]


@model("deepctr-torch", "sequences of interests, masked by their lengths")
def deepctr_interest():
    from deepctr_torch.layers import AttentionSequencePoolingLayer

    m = randomise(AttentionSequencePoolingLayer(embedding_dim=4, return_score=False))
    return (lambda q, k, n: m(q, k, n)), [
        (rand(2, 1, 4, seed=s), rand(2, 5, 4, seed=s + 1), torch.tensor(n)) for s, n in enumerate([[[5], [2]], [[1], [4]]])]


@model("torch-rechub", "experts with gates, one tower per task")
def rechub_mmoe():
    from torch_rechub.basic.features import DenseFeature
    from torch_rechub.models.multi_task import MMOE

    m = randomise(MMOE([DenseFeature("a"), DenseFeature("b")], ["classification", "regression"], 3, {"dims": [4]}, [{"dims": [4]}] * 2))
    return (lambda a, b: m({"a": a, "b": b})), [(rand(4, seed=s), rand(4, seed=s + 1)) for s in range(2)]


@model("self-rewarding-lm-pytorch", "nucleus filter: sorted, summed, cut")
def self_rewarding_top_p():
    from self_rewarding_lm_pytorch.sampling_utils import top_p

    return (lambda x: top_p(x)), [(rand(2, 8, seed=s, scale=2),) for s in range(3)]


@model("TTS", "frames until the stop token", rtol=1e-3, atol=1e-4)
def coqui_tacotron2_decoder():
    stand_in("torchcodec")
    from TTS.tts.layers.tacotron.tacotron2 import Decoder

    m = randomise(Decoder(in_channels=8, frame_channels=4, r=1, attn_type="original", attn_win=False, attn_norm="softmax", prenet_type="original",
                          prenet_dropout=False, forward_attn=False, trans_agent=False, forward_attn_mask=False, location_attn=True, attn_K=2,
                          separate_stopnet=True, max_decoder_steps=5), scale=2.0)
    return (lambda x: m.inference(x)), [(rand(1, 4, 8, seed=s),) for s in range(4)]


@model("TTS", "a window of attention that moves with the largest weight", rtol=1e-3, atol=1e-4)
def coqui_windowed_attention():
    stand_in("torchcodec")
    from TTS.tts.layers.tacotron.attentions import OriginalAttention

    m = randomise(OriginalAttention(query_dim=4, embedding_dim=6, attention_dim=4, location_attention=True, attention_location_n_filters=2,
                                    attention_location_kernel_size=3, windowing=True, norm="softmax", forward_attn=True, trans_agent=False,
                                    forward_attn_mask=True))

    def run(queries, x):
        m.init_states(x)
        m.init_win_idx()
        keys = m.preprocess_inputs(x)
        return torch.stack([m(q, x, keys, None) for q in queries])

    return run, [(rand(3, 1, 4, seed=s, scale=3), rand(1, 8, 6, seed=s + 1, scale=3)) for s in range(3)]


@model("TTS", "durations rounded, phonemes repeated as often", rtol=1e-3, atol=1e-4)
def coqui_generate_path():
    stand_in("torchcodec")
    from TTS.tts.utils.helpers import generate_path, sequence_mask

    def run(durations):
        lengths = durations.sum(1)
        mask = sequence_mask(lengths, int(lengths.max()))[:, None].float()
        return generate_path(durations.float(), mask.expand(-1, durations.shape[1], -1))

    return run, [(ints(2, 4, low=1, high=4, seed=s),) for s in range(3)]
