# SPDX-License-Identifier: Apache-2.0
"""Speech from tokens whose durations are predicted, tracks, spans, tags, aggregations of groups of any size, streams of blocks,
positions that depend on the length of the text."""

import sys
from types import SimpleNamespace

import torch

from tests.models.registry import ints, model, rand, randomise, stand_in

# ---- speech ------------------------------------------------------------------------------------------


@model("kokoro", "durations of phonemes: the length of the speech")
def kokoro_durations():
    stand_in("misaki", "misaki.en", "misaki.espeak")
    sys.modules["misaki.en"].MToken = object
    from kokoro.modules import ProsodyPredictor, TextEncoder

    predictor = randomise(ProsodyPredictor(style_dim=8, d_hid=8, nlayers=1, max_dur=5, dropout=0.0))
    encoder = randomise(TextEncoder(channels=8, kernel_size=3, depth=1, n_symbols=12))

    def run(ids, style):  # as KModel.forward_with_tokens, without its BERT and its vocoder
        lengths = torch.full((ids.shape[0],), ids.shape[-1], dtype=torch.long)
        mask = torch.arange(lengths.max()).unsqueeze(0).expand(lengths.shape[0], -1).type_as(lengths)
        mask = torch.gt(mask + 1, lengths.unsqueeze(1))
        text = encoder(ids, lengths, mask)
        d = predictor.text_encoder(text, style, lengths, mask)
        duration = torch.sigmoid(predictor.duration_proj(predictor.lstm(d)[0])).sum(axis=-1)
        counts = torch.round(duration).clamp(min=1).long().squeeze()
        indices = torch.repeat_interleave(torch.arange(ids.shape[1]), counts)
        alignment = torch.zeros((ids.shape[1], indices.shape[0]))
        alignment[indices, torch.arange(indices.shape[0])] = 1
        en = d.transpose(-1, -2) @ alignment.unsqueeze(0)
        return predictor.F0Ntrain(en, style), text @ alignment.unsqueeze(0), counts

    return run, [(ints(1, 5, high=12, seed=s), rand(1, 8, seed=s, scale=3.0)) for s in range(4)]


@model("coqui-tts", "durations of letters: frames of a flow run backwards")
def glow_tts_inference():
    stand_in("torchcodec")
    from TTS.tts.configs.glow_tts_config import GlowTTSConfig
    from TTS.tts.models.glow_tts import GlowTTS

    config = GlowTTSConfig(num_chars=12, out_channels=8, hidden_channels_enc=8, hidden_channels_dec=8, num_flow_blocks_dec=2, num_block_layers=2,
                           hidden_channels_dp=8, inference_noise_scale=0.0,
                           encoder_params=dict(kernel_size=3, dropout_p=0.0, num_layers=1, num_heads=2, hidden_channels_ffn=16, input_length=None))
    m = randomise(GlowTTS(config), scale=0.7)
    for flow in m.decoder.flows:
        if hasattr(flow, "initialized"):
            flow.initialized = True
    m.store_inverse()
    return (lambda x, n: m.inference(x, {"x_lengths": n, "d_vectors": None, "speaker_ids": None})["model_outputs"]), [
        (ints(2, 5, high=12, seed=s), torch.tensor(n)) for s, n in enumerate([[5, 5], [5, 3], [4, 5]])]


@model("coqui-tts", "durations of letters: frames of a feed-forward decoder")
def forward_tts_inference():
    stand_in("torchcodec")
    from TTS.tts.configs.fast_pitch_config import FastPitchConfig
    from TTS.tts.models.forward_tts import ForwardTTS, ForwardTTSArgs

    m = randomise(ForwardTTS(FastPitchConfig(text_cleaner=None, phonemizer=None, model_args=ForwardTTSArgs(num_chars=12, out_channels=6, hidden_channels=8, use_aligner=False, use_pitch=True,
                                            duration_predictor_hidden_channels=8, pitch_predictor_hidden_channels=8,
                                            encoder_params=dict(hidden_channels_ffn=16, num_heads=1, num_layers=1, dropout_p=0.0),
                                            decoder_params=dict(hidden_channels_ffn=16, num_heads=1, num_layers=1, dropout_p=0.0)))), scale=0.5)
    return (lambda x: m.inference(x)["model_outputs"]), [(ints(1, 5, high=12, seed=s),) for s in range(4)]


@model("openai-whisper", "beams until enough of them have ended")
def whisper_beam_decoder():
    from whisper.decoding import BeamSearchDecoder, MaximumLikelihoodRanker

    class Inference:
        def rearrange_kv_cache(self, places):
            pass

    def run(steps):
        decoder = BeamSearchDecoder(2, 9, Inference())
        decoder.reset()
        tokens, sums = torch.zeros(2, 1, dtype=torch.int64), torch.zeros(2)
        for logits in steps:
            tokens, done = decoder.update(tokens, logits, sums)
            if done:
                break
        sequences, scores = decoder.finalize(tokens[None], sums[None])
        return [[t.tolist() for t in s] for s in sequences], scores

    return run, [(rand(3, 2, 10, seed=s, scale=2.0),) for s in range(3)]


# ---- tags, spans, tracks -----------------------------------------------------------------------------


@model("gliner", "spans above a threshold that do not cross each other, best first")
def gliner_spans():
    from gliner.decoding import SpanDecoder

    decoder = SpanDecoder(SimpleNamespace(max_width=2, decoder_mode=None, labels_decoder=None))
    words = [["a", "b", "c", "d"]]

    def run(logits):
        found = decoder.decode(tokens=words, id_to_classes={1: "x", 2: "y"}, model_output=logits, flat_ner=True, threshold=0.5)
        return [[(s.start, s.end, s.score) for s in spans] for spans in found]

    return run, [(rand(1, 4, 2, 2, seed=s, scale=2.0),) for s in range(4)]


@model("ultralytics", "a Kalman filter over boxes: predicted, and mended by what was seen")
def ultralytics_kalman():
    from ultralytics.trackers.utils.kalman_filter import KalmanFilterXYWH

    k = KalmanFilterXYWH()

    def run(boxes):
        mean, covariance = k.initiate(boxes[0].numpy())
        for box in boxes[1:]:
            mean, covariance = k.predict(mean, covariance)
            if k.gating_distance(mean, covariance, box.numpy()[None], only_position=True)[0] < 9.4877:
                mean, covariance = k.update(mean, covariance, box.numpy())
        return mean, covariance

    start = torch.tensor([5.0, 5.0, 2.0, 4.0], dtype=torch.float64)
    return run, [(start + rand(3, 4, seed=s, scale=x).double(),) for s, x in enumerate([0.05, 1.0, 0.5])]


# ---- groups, blocks, positions -----------------------------------------------------------------------


def groups(sizes, seed):
    index = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return rand(int(sum(sizes)), 4, seed=seed), index


@model("torch-geometric", "the median of groups of any size")
def pyg_median_aggregation():
    from torch_geometric.nn.aggr import MedianAggregation

    m = MedianAggregation()
    return (lambda x, index: m(x, index)), [groups(n, s) for s, n in enumerate([[2, 3, 1], [1, 4, 1], [3, 0, 3]])]


@model("torch-geometric", "groups of any size, read one by one by a GRU")
def pyg_gru_aggregation():
    from torch_geometric.nn.aggr import GRUAggregation

    m = randomise(GRUAggregation(4, 3))
    return (lambda x, index: m(x, index)), [groups(n, s) for s, n in enumerate([[2, 3, 1], [1, 4, 1], [2, 2, 2]])]


@model("torch-geometric", "graphs of a batch as a list")
def pyg_unbatch():
    from torch_geometric.utils import unbatch

    return (lambda x, index: [g.sum(0) for g in unbatch(x, index)]), [groups(n, s) for s, n in enumerate([[2, 3, 1], [1, 4, 1], [2, 2, 2]])]


@model("hourglass-transformer-pytorch", "texts padded to a multiple of the shortening")
def hourglass():
    from hourglass_transformer_pytorch import HourglassTransformerLM

    m = randomise(HourglassTransformerLM(num_tokens=16, dim=8, max_seq_len=16, shorten_factor=2, depth=(1, 1, 1), heads=2, dim_head=4))
    return m, [(ints(1, 6, high=16, seed=s),) for s in range(3)]


@model("pytorch-tcn", "a stream: each block after those before it")
def tcn_stream():
    from pytorch_tcn import TCN

    m = randomise(TCN(2, [4, 4], kernel_size=3, causal=True, dropout=0.0))
    m.reset_buffers()
    return (lambda x: m.inference(x)), [(rand(1, 2, 4, seed=s),) for s in range(4)]


@model("minGRU-pytorch", "the next token, with what the layers remember")
def min_gru_lm():
    from minGRU_pytorch.minLM import minLM

    m = randomise(minLM(num_tokens=16, dim=8, depth=1))

    def run(ids):
        logits, past = m(ids, return_prev_hiddens=True)
        for _ in range(4):
            token = logits[:, -1].argmax(-1, keepdim=True)
            ids = torch.cat((ids, token), -1)
            if (token == 3).all():
                break
            logits, past = m(ids, prev_hiddens=past, return_prev_hiddens=True)
        return ids

    return run, [(ints(1, 3, high=16, seed=s),) for s in range(5)]


def small_llama(**options):
    from transformers import LlamaConfig, LlamaForCausalLM

    return randomise(LlamaForCausalLM(LlamaConfig(vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                                                  num_key_value_heads=1, bos_token_id=1, eos_token_id=2, pad_token_id=0, **options)))


@model("transformers", "frequencies that change when the text outgrows what was trained")
def llama_dynamic_rope():
    m = small_llama(max_position_embeddings=6, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0})
    return (lambda ids: m(ids, use_cache=False).logits), [(ints(1, 8, low=3, high=32, seed=s),) for s in range(3)]


@model("transformers", "a text that outgrows what was trained while it is written")
def llama_dynamic_rope_generate():
    m = small_llama(max_position_embeddings=6, rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0})
    return (lambda ids: m.generate(ids, max_new_tokens=5, do_sample=False)), [(ints(1, 3, low=3, high=32, seed=s),) for s in range(3)]


@model("transformers", "long or short factors of the positions, by the length of the text")
def phi3_long_rope_generate():
    from transformers import Phi3Config, Phi3ForCausalLM

    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "original_max_position_embeddings": 5}
    m = randomise(Phi3ForCausalLM(Phi3Config(vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                                             num_key_value_heads=1, bos_token_id=1, eos_token_id=2, pad_token_id=0, max_position_embeddings=20,
                                             original_max_position_embeddings=5, rope_parameters=rope)))
    return (lambda ids: m.generate(ids, max_new_tokens=4, do_sample=False)), [(ints(1, 3, low=3, high=32, seed=s),) for s in range(3)]


@model("transformers", "keypoints refined below the grid of the heat map, in numpy")
def vitpose_keypoints():
    from transformers.models.vitpose.image_processing_vitpose import get_keypoint_predictions

    return (lambda heat: get_keypoint_predictions(heat.numpy())), [(rand(1, 2, 5, 4, seed=s),) for s in range(3)] + [(-torch.ones(1, 2, 5, 4),)]


@model("torchvision", "boxes around masks")
def masks_to_boxes():
    from torchvision.ops import masks_to_boxes as boxes

    def mask(s):
        return rand(3, 6, 6, seed=s) > 1.0

    return boxes, [(mask(s),) for s in range(3)]


@model("numpy", "greedy suppression of boxes that overlap, as trackers have it")
def deep_sort_suppression():
    from deep_sort_realtime.utils.nms import non_max_suppression

    def run(boxes, scores):
        return non_max_suppression(boxes.numpy(), 0.4, scores.numpy())

    def some(s):
        a = torch.rand(4, 4, generator=torch.Generator().manual_seed(s)) * 4
        return torch.cat([a[:, :2], a[:, 2:] + 1], 1), torch.rand(4, generator=torch.Generator().manual_seed(s + 9))

    return run, [some(s) for s in range(4)]

