# SPDX-License-Identifier: Apache-2.0
"""Drawn as somebody else would choose them: classifiers that look for tokens, experts of later families, post-processing, tours,
speech activity, alignment, aligned text to speech."""

from types import SimpleNamespace

import torch

from tests.models.gaps import ENCODER_DECODER, padded
from tests.models.generation import TINY, causal
from tests.models.registry import ints, model, rand, randomise, stand_in


@model("transformers", "the last end token of each row is found; rows that have different numbers of them raise")
def bart_sequence_classification():
    from transformers import BartConfig, BartForSequenceClassification

    m = randomise(BartForSequenceClassification(BartConfig(num_labels=3, **ENCODER_DECODER)), scale=2.0)
    rows = [[6, 7, 5, 0], [8, 9, 10, 5]], [[6, 5, 7, 5], [5, 8, 9, 5]], [[6, 5, 7, 5], [9, 8, 9, 5]], [[5, 0, 0, 0], [11, 5, 0, 0]]
    return m, [(torch.tensor(r),) for r in rows]


@model("transformers", "the last token that is no padding, row by row")
def gpt2_sequence_classification():
    from transformers import GPT2Config, GPT2ForSequenceClassification

    m = randomise(GPT2ForSequenceClassification(GPT2Config(vocab_size=12, n_embd=16, n_layer=1, n_head=2, n_positions=16, num_labels=3,
                                                           bos_token_id=1, eos_token_id=5, pad_token_id=0)), scale=2.0)
    rows = [[6, 7, 5, 0], [8, 9, 10, 5]], [[6, 0, 0, 0], [9, 8, 9, 5]], [[0, 0, 6, 7], [0, 6, 0, 0]], [[6, 6, 0, 0], [11, 5, 0, 0]]
    return m, [(torch.tensor(r),) for r in rows]


@model("transformers", "global attention on the question, which the separators end")
def longformer_question_answering():
    from transformers import LongformerConfig, LongformerForQuestionAnswering

    m = randomise(LongformerForQuestionAnswering(LongformerConfig(
        vocab_size=16, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, attention_window=[4],
        max_position_embeddings=40, sep_token_id=2, pad_token_id=1, bos_token_id=0, eos_token_id=2)), scale=2.0)
    rows = [[0, 7, 8, 2, 2, 9, 10, 2], [0, 7, 2, 2, 8, 9, 10, 2], [0, 2, 2, 11, 8, 9, 10, 2], [0, 7, 8, 9, 10, 2, 2, 2]]
    return (lambda ids, mask: m(ids, attention_mask=mask)), [
        (torch.tensor([a, b]), torch.ones(2, 8, dtype=torch.long)) for a, b in zip(rows, rows[1:] + rows[:1])]


@model("transformers", "long recordings are fused with their parts, short ones are not", rtol=1e-3, atol=1e-4)
def clap_fusion():
    from transformers import ClapAudioConfig, ClapAudioModel

    m = randomise(ClapAudioModel(ClapAudioConfig(
        spec_size=32, num_mel_bins=8, window_size=2, patch_size=4, patch_stride=[4, 4], hidden_size=16, projection_dim=8, depths=[1, 1],
        num_attention_heads=[2, 2], patch_embeds_hidden_size=8, enable_fusion=True, aff_block_r=2)))
    return (lambda x, longer: m(input_features=x, is_longer=longer).pooler_output), [
        (rand(2, 4, 64, 8, seed=s), torch.tensor(k)) for s, k in enumerate(([[True], [False]], [[False], [False]], [[True], [True]]))]


@model("transformers", "experts of which a token takes several, beside a shared one; greedy, a padded batch")
def hunyuan_moe_generate():
    return padded("HunYuanMoEV1ForCausalLM", num_key_value_heads=1, head_dim=8, num_experts=4, moe_topk=2, max_position_embeddings=32, **TINY)


@model("transformers", "short convolutions and experts; greedy, a padded batch")
def lfm2_moe_generate():
    return padded("Lfm2MoeForCausalLM", num_key_value_heads=1, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                  num_dense_layers=1, layer_types=["conv", "full_attention"], max_position_embeddings=32, **TINY)


@model("transformers", "experts in groups beside shared ones; greedy, a padded batch")
def dots1_generate():
    return padded("Dots1ForCausalLM", num_key_value_heads=1, head_dim=8, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                  n_group=1, topk_group=1, n_shared_experts=1, first_k_dense_replace=1, max_position_embeddings=32, **TINY)


@model("transformers", "experts by the sigmoid of their scores; greedy, a padded batch")
def minimax_m2_generate():
    return padded("MiniMaxM2ForCausalLM", num_key_value_heads=1, head_dim=8, num_local_experts=4, num_experts_per_tok=2,
                  max_position_embeddings=32, **TINY)


@model("transformers", "state space, attention and experts by turns; greedy")
def nemotron_h_generate():
    return causal("NemotronHForCausalLM", layers_block_type=["mamba", "attention", "moe"], num_key_value_heads=1, head_dim=8,
                  ssm_state_size=4, mamba_num_heads=4, mamba_head_dim=8, n_groups=1, conv_kernel=2, chunk_size=4, n_routed_experts=4,
                  num_experts_per_tok=2, moe_intermediate_size=12, moe_shared_expert_intermediate_size=12, n_group=1, topk_group=1,
                  **{k: v for k, v in TINY.items() if k != "num_hidden_layers"})


@model("transformers", "segments of classes: low scores and the empty class are dropped, the rest painted and merged")
def oneformer_panoptic():
    from transformers.models.oneformer.image_processing_oneformer import OneFormerImageProcessor as Processor

    def run(classes, masks):
        outputs = SimpleNamespace(class_queries_logits=classes, masks_queries_logits=masks)
        return Processor.post_process_panoptic_segmentation(SimpleNamespace(metadata=None), outputs, threshold=0.5, label_ids_to_fuse={1})

    return run, [(rand(1, 4, 4, seed=s, scale=4), rand(1, 4, 5, 5, seed=20 + s, scale=3)) for s in range(5)]


@model("transformers", "boxes above a threshold, phrases cut from the tokens above another", rtol=1e-3, atol=1e-4)
def grounding_dino_phrases():
    from transformers.models.grounding_dino.processing_grounding_dino import get_phrases_from_posmap

    return (lambda maps, ids: get_phrases_from_posmap(maps > 0.5, ids)), [
        (rand(3, 6, seed=s), ints(6, low=4, high=12, seed=s)) for s in range(4)]


@model("diffusers", "pictures near forbidden concepts are blackened; a stricter limit after a first one")
def safety_checker():
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
    from transformers import CLIPConfig

    tiny = dict(hidden_size=8, intermediate_size=12, num_hidden_layers=1, num_attention_heads=2, projection_dim=6)
    m = randomise(StableDiffusionSafetyChecker(CLIPConfig(text_config=tiny, vision_config=dict(image_size=8, patch_size=4, **tiny),
                                                          projection_dim=6)))
    with torch.no_grad():
        m.concept_embeds_weights.fill_(0.75)
        m.special_care_embeds_weights.fill_(0.4)
    return m, [(rand(2, 3, 8, 8, seed=s, scale=3), rand(2, 3, 4, 4, seed=s)) for s in range(5)]


@model("rl4co", "a tour: the next node by attention over those not yet visited, until all are")
def rl4co_tsp():
    return rl4co("TSPEnv", "tsp")


@model("rl4co", "routes of vehicles: back to the depot when nothing fits, until all are served")
def rl4co_cvrp():
    return rl4co("CVRPEnv", "cvrp")


def rl4co(env_name, name):
    import rl4co.envs
    from rl4co.models.zoo.am.policy import AttentionModelPolicy
    from tensordict import TensorDict

    env = getattr(rl4co.envs, env_name)(generator_params=dict(num_loc=5), check_solution=False)
    m = randomise(AttentionModelPolicy(env_name=name, embed_dim=16, num_encoder_layers=1, num_heads=2, feedforward_hidden=16), scale=2.0)

    def run(locs, depot, demand):
        td = TensorDict({"locs": locs, "depot": depot, "demand": demand, "capacity": torch.ones(2, 1)}, batch_size=[2])
        out = m(env.reset(td), env, phase="test")
        return out["actions"], out["reward"], out["log_likelihood"]

    return run, [(torch.rand(2, 5, 2, generator=torch.Generator().manual_seed(s)), torch.rand(2, 2, generator=torch.Generator().manual_seed(9 + s)),
                  torch.rand(2, 5, generator=torch.Generator().manual_seed(20 + s)) * 0.5 + 0.1) for s in range(4)]


@model("local-attention", "greedy, the cache cut to whole windows")
def local_transformer_generate():
    from local_attention import LocalTransformer

    m = randomise(LocalTransformer(num_tokens=12, dim=16, depth=1, max_seq_len=16, local_attn_window_size=4, causal=True, heads=2, dim_head=8),
                  scale=2.0)
    return (lambda ids: m.generate(ids, 6, temperature=0.0)), [(ints(2, 3, high=12, seed=s),) for s in range(4)]


@model("speechbrain", "speech from frames: two thresholds, boundaries, near segments merged, short ones removed")
def speechbrain_vad_segments():
    from speechbrain.inference.VAD import VAD

    own = SimpleNamespace(device="cpu", time_resolution=0.01, sample_rate=16000)

    def run(probabilities):
        active = VAD.apply_threshold(own, probabilities, 0.6, 0.3).float()
        boundaries = VAD.get_boundaries(own, active)
        return VAD.remove_short_segments(own, VAD.merge_close_segments(own, boundaries, 0.02), 0.02)

    return run, [(torch.rand(1, 24, 1, generator=torch.Generator().manual_seed(s)),) for s in range(6)]


@model("speechbrain", "phonemes aligned with frames, the best path traced back for each length", rtol=1e-3, atol=1e-4)
def speechbrain_hmm_viterbi():
    return aligner("viterbi")


@model("speechbrain", "likelihood of phonemes over frames, rows of different lengths", rtol=1e-3, atol=1e-4)
def speechbrain_hmm_forward():
    return aligner("forward")


def aligner(algorithm):
    from speechbrain.alignment.aligner import HMMAligner

    m = HMMAligner()
    return (lambda x, n, phones, k: m(x, n, phones, k, algorithm)), [
        (rand(2, 6, 5, seed=s).log_softmax(-1), torch.tensor(n), ints(2, 3, high=5, seed=s), torch.tensor(k))
        for s, (n, k) in enumerate((([1.0, 0.5], [1.0, 0.67]), ([1.0, 1.0], [1.0, 1.0]), ([0.67, 1.0], [0.34, 1.0])))]


@model("speechbrain", "greedy words of a transformer until every row has its end token")
def speechbrain_transformer_greedy():
    from speechbrain.decoders.seq2seq import S2STransformerGreedySearcher

    return transformer_search(S2STransformerGreedySearcher)


@model("speechbrain", "beams of a transformer, collected as they end", rtol=1e-3, atol=1e-4)
def speechbrain_transformer_beam():
    from speechbrain.decoders.seq2seq import S2STransformerBeamSearcher

    return transformer_search(S2STransformerBeamSearcher, beam_size=2)


def transformer_search(searcher, **options):
    from speechbrain.lobes.models.transformer.TransformerASR import TransformerASR
    from speechbrain.nnet.linear import Linear

    net = randomise(TransformerASR(tgt_vocab=8, input_size=6, d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, d_ffn=12), scale=2.0)
    out = randomise(Linear(input_size=8, n_neurons=8), scale=2.0)
    m = searcher(modules=[net, out], bos_index=1, eos_index=2, min_decode_ratio=0.0, max_decode_ratio=1.0, **options).eval()
    return (lambda x, n: m(x, n)), [(rand(2, 5, 8, seed=s, scale=2), torch.tensor([1.0, 0.6])) for s in range(4)]


@model("coqui-tts", "frames of a neural hidden Markov model: the state moves on when its duration is used up")
def neural_hmm_inference():
    stand_in("torchcodec")
    from TTS.tts.layers.overflow.neural_hmm import NeuralHMM

    m = randomise(NeuralHMM(frame_channels=3, ar_order=1, deterministic_transition=True, encoder_dim=6, prenet_type="original", prenet_dim=6,
                            prenet_n_layers=1, prenet_dropout=0.0, prenet_dropout_at_inference=False, memory_rnn_dim=6, outputnet_size=[6],
                            flat_start_params=dict(mean=0.0, std=1.0, transition_p=0.3), std_floor=0.01), scale=2.0)
    return (lambda x, n: m.inference(x, n, 0.0, 9, 0.5)), [(rand(1, 4, 6, seed=s, scale=2), torch.tensor([4])) for s in range(5)]
