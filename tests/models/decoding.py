# SPDX-License-Identifier: Apache-2.0
"""Decoders and generators: loops until an end token, beams, CRFs, logits processors, lengths predicted by the model."""

import torch

from tests.models.registry import ints, model, rand, randomise
from tests.models.routing import tokens


def gpt2(seed=0, **options):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=1, eos_token_id=5,
                        pad_token_id=0, **options)
    return randomise(GPT2LMHeadModel(config), seed=seed, scale=2.0)


def prompts(n=6, high=12, length=3):
    return [(ints(1, length, low=1, high=high, seed=s),) for s in range(n)]


@model("transformers", "greedy decoding until the end token")
def gpt2_generate():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=8, do_sample=False)), prompts()


@model("transformers", "greedy decoding without a cache until the end token")
def gpt2_generate_without_cache():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, use_cache=False)), prompts()


@model("transformers", "beam search: beams reordered, finished ones kept")
def gpt2_beam_search():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=5, num_beams=3, do_sample=False)), prompts()


@model("transformers", "repetition penalty, forbidden n-grams, minimum length")
def gpt2_generate_with_processors():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, repetition_penalty=1.5, no_repeat_ngram_size=2,
                                   min_new_tokens=2)), prompts()


@model("transformers", "padded batch: the mask decides how attention is computed")
def gpt2_with_padding():
    m = gpt2()
    masks = [torch.ones(2, 4, dtype=torch.long), torch.tensor([[0, 1, 1, 1], [1, 1, 1, 1]]), torch.tensor([[0, 0, 1, 1]] * 2)]
    return (lambda ids, mask: m(ids, attention_mask=mask, use_cache=False).logits), [
        (ints(2, 4, low=1, high=12, seed=i), mask) for i, mask in enumerate(masks)]


@model("transformers", "speculative decoding: as many tokens as the assistant got right")
def gpt2_assisted_generate():
    m, assistant = gpt2(), gpt2(seed=1)
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, assistant_model=assistant)), prompts(4)


@model("transformers", "encoder-decoder greedy decoding")
def t5_generate():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=12, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=0,
                      eos_token_id=5, pad_token_id=0)
    m = randomise(T5ForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False)), prompts()


@model("transformers", "encoder-decoder beam search")
def bart_beam_search():
    from transformers import BartConfig, BartForConditionalGeneration

    config = BartConfig(vocab_size=12, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                        decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32,
                        eos_token_id=5, pad_token_id=0, bos_token_id=1, decoder_start_token_id=5, forced_eos_token_id=5)
    m = randomise(BartForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=5, num_beams=2, do_sample=False)), prompts()


@model("transformers", "image captioning: decoding until the end token")
def vit_gpt2_captioning():
    from transformers import GPT2Config, ViTConfig, VisionEncoderDecoderConfig, VisionEncoderDecoderModel

    encoder = ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=8,
                        patch_size=4)
    decoder = GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=5,
                         pad_token_id=0, is_decoder=True, add_cross_attention=True)
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 1, 0, 5
    m = randomise(VisionEncoderDecoderModel(config), scale=2.0)
    return (lambda pixels: m.generate(pixels, max_new_tokens=6, do_sample=False, decoder_start_token_id=1, pad_token_id=0,
                                      eos_token_id=5)), [(rand(1, 3, 8, 8, seed=s, scale=2),) for s in range(5)]


@model("transformers", "speech synthesis: frames until the stop probability passes a threshold")
def speecht5_generate_speech():
    from transformers import SpeechT5Config, SpeechT5ForTextToSpeech

    config = SpeechT5Config(vocab_size=12, hidden_size=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                            decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, num_mel_bins=4,
                            speech_decoder_prenet_units=8, speaker_embedding_dim=6, speech_decoder_postnet_units=8,
                            speech_decoder_postnet_layers=1, max_text_positions=32, max_speech_positions=64,
                            positional_dropout=0.0, speech_decoder_prenet_dropout=0.0)
    m = randomise(SpeechT5ForTextToSpeech(config), scale=3.0)
    return (lambda ids, speaker: m.generate_speech(ids, speaker, threshold=0.6, minlenratio=0.0, maxlenratio=3.0)), [
        (ints(1, 4, low=4, high=12, seed=s), rand(1, 6, seed=s, scale=3)) for s in range(6)]


@model("transformers", "text to speech: each token repeated by its predicted duration")
def fastspeech2_conformer():
    from transformers import FastSpeech2ConformerConfig, FastSpeech2ConformerModel

    config = FastSpeech2ConformerConfig(
        hidden_size=16, vocab_size=12, num_mel_bins=4, encoder_num_attention_heads=2, encoder_layers=1, encoder_linear_units=24,
        decoder_layers=1, decoder_num_attention_heads=2, decoder_linear_units=24, speech_decoder_postnet_layers=1,
        speech_decoder_postnet_units=8, duration_predictor_layers=1, duration_predictor_channels=8,
        energy_predictor_layers=1, energy_predictor_channels=8, pitch_predictor_layers=1, pitch_predictor_channels=8)
    m = randomise(FastSpeech2ConformerModel(config))
    return (lambda ids: m(ids, return_dict=True).spectrogram), tokens(1, 4, high=12)


@model("transformers", "text to speech: frame count from predicted durations; noise scaled by zero")
def vits():
    from transformers import VitsConfig, VitsModel

    config = VitsConfig(vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, ffn_dim=24, flow_size=16,
                        spectrogram_bins=9, upsample_initial_channel=16, upsample_rates=[2, 2], upsample_kernel_sizes=[4, 4],
                        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 1, 1]], prior_encoder_num_flows=1,
                        prior_encoder_num_wavenet_layers=1, posterior_encoder_num_wavenet_layers=1,
                        duration_predictor_num_flows=1, depth_separable_num_layers=1, use_stochastic_duration_prediction=False,
                        noise_scale=0.0, noise_scale_duration=0.0)
    m = randomise(VitsModel(config), scale=0.1)  # durations are exponentials of it
    return (lambda ids: m(ids).waveform), tokens(1, 5, high=12)


@model("transformers", "logits warpers: sets of tokens kept by threshold")
def logits_warpers():
    from transformers.generation.logits_process import (LogitsProcessorList, MinPLogitsWarper, RepetitionPenaltyLogitsProcessor,
                                                        TopKLogitsWarper, TopPLogitsWarper, TypicalLogitsWarper)

    ps = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(1.3), TopKLogitsWarper(6), TopPLogitsWarper(0.8),
                              MinPLogitsWarper(0.1), TypicalLogitsWarper(0.9)])
    return (lambda ids, scores: ps(ids, scores)), [(ints(2, 4, high=12, seed=s), rand(2, 12, seed=s, scale=3)) for s in range(4)]


@model("transformers", "n-grams seen so far, kept in dicts of runtime integers")
def no_repeat_ngram():
    from transformers.generation.logits_process import NoRepeatNGramLogitsProcessor

    p = NoRepeatNGramLogitsProcessor(2)
    return (lambda ids, scores: p(ids, scores)), [(ints(2, 5, high=3, seed=s), rand(2, 12, seed=s)) for s in range(4)]


@model("pytorch-crf", "Viterbi: back-pointers followed from the best last tag; lengths from the mask")
def crf_decode():
    from torchcrf import CRF

    m = randomise(CRF(4, batch_first=True))
    masks = [torch.ones(2, 5, dtype=torch.bool), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool(),
             torch.tensor([[1, 0, 0, 0, 0], [1, 1, 1, 1, 0]]).bool()]
    return (lambda e, mask: m.decode(e, mask)), [(rand(2, 5, 4, seed=i, scale=2), mask) for i, mask in enumerate(masks)]


@model("pytorch-crf", "checks of the mask before the likelihood")
def crf_likelihood():
    from torchcrf import CRF

    m = randomise(CRF(4, batch_first=True))
    masks = [torch.ones(2, 5, dtype=torch.bool), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool(),
             torch.tensor([[0, 0, 0, 0, 0], [1, 1, 1, 1, 0]]).bool()]
    return (lambda e, tags, mask: m(e, tags, mask=mask)), [
        (rand(2, 5, 4, seed=i), ints(2, 5, high=4, seed=i), mask) for i, mask in enumerate(masks)]


@model("TorchCRF", "Viterbi over masks, another implementation")
def torchcrf_viterbi():
    from TorchCRF import CRF

    m = randomise(CRF(4))
    masks = [torch.ones(2, 5, dtype=torch.bool), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]]).bool(),
             torch.tensor([[1, 0, 0, 0, 0], [1, 1, 1, 1, 0]]).bool()]
    return (lambda e, mask: m.viterbi_decode(e, mask)), [(rand(2, 5, 4, seed=i, scale=2), mask) for i, mask in enumerate(masks)]


@model("x-transformers", "greedy generation until the end token")
def x_transformers_generate():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    net = AutoregressiveWrapper(TransformerWrapper(num_tokens=12, max_seq_len=24, attn_layers=Decoder(dim=16, depth=1, heads=2)))
    m = randomise(net, scale=2.0)
    return (lambda ids: m.generate(ids, 6, eos_token=5, temperature=0.0, cache_kv=False)), prompts(5)


@model("pytorch-tree-lstm", "as many rounds as the deepest tree; children gathered and split by runtime counts")
def tree_lstm():
    from treelstm import TreeLSTM, calculate_evaluation_orders

    m = randomise(TreeLSTM(3, 5))
    trees = [[[0, 1], [0, 2], [2, 3], [2, 4]], [[0, 1], [1, 2], [2, 3], [3, 4]], [[0, 1], [0, 2], [0, 3], [0, 4]]]
    inputs = []
    for i, edges in enumerate(trees):
        adjacency = torch.tensor(edges)
        nodes, order = calculate_evaluation_orders(adjacency.numpy(), 5)
        inputs.append((rand(5, 3, seed=i), torch.as_tensor(nodes), adjacency, torch.as_tensor(order)))
    return m, inputs


@model("ponder-transformer", "pondering: stops when every position has halted")
def ponder_transformer():
    from ponder_transformer import PonderTransformer

    m = randomise(PonderTransformer(num_tokens=12, dim=16, max_seq_len=8, dim_head=8, heads=2), scale=2.0)
    with torch.no_grad():
        m.block.to_halt_logits[0].bias.fill_(0.5)
    torch.manual_seed(0)
    return (lambda ids: m(ids)), tokens(1, 4, high=12)


@model("transformers", "question tokens found in the input")
def splinter_question_answering():
    from transformers import SplinterConfig, SplinterForQuestionAnswering

    config = SplinterConfig(vocab_size=30, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                            max_position_embeddings=16, question_token_id=7)
    m = randomise(SplinterForQuestionAnswering(config))
    ids = [torch.tensor([[1, 7, 3, 4, 5, 2]]), torch.tensor([[1, 3, 4, 5, 2, 2]]), torch.tensor([[1, 3, 4, 7, 5, 2]])]
    return (lambda i: m(i, return_dict=True).start_logits), [(i,) for i in ids]


@model("transformers", "text segments between special tokens, found by nonzero")
def grounding_dino_text_masks():
    from transformers.models.grounding_dino.modeling_grounding_dino import generate_masks_with_special_tokens_and_transfer_map

    ids = [torch.tensor([[101, 5, 6, 1012, 7, 102]]), torch.tensor([[101, 5, 1012, 6, 1012, 102]]),
           torch.tensor([[101, 5, 6, 7, 8, 102]])]
    return generate_masks_with_special_tokens_and_transfer_map, [(i,) for i in ids]


@model("transformers", "positions of text and image tokens found in the input (item, tolist, index)")
def qwen2_vl_rope_index():
    from transformers import Qwen2VLConfig
    from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLModel

    config = Qwen2VLConfig(
        text_config=dict(vocab_size=40, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
                         num_key_value_heads=1, rope_parameters={"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4}),
        vision_config=dict(depth=1, embed_dim=16, num_heads=2, hidden_size=16, patch_size=4), image_token_id=31, video_token_id=32,
        vision_start_token_id=33, vision_end_token_id=34)
    m = Qwen2VLModel(config).eval()
    ids = [torch.tensor([[1, 33, 31, 31, 31, 31, 34, 2, 3]]), torch.tensor([[1, 2, 33, 31, 31, 31, 31, 34, 5]])]
    grid = torch.tensor([[1, 4, 4]])
    return (lambda i, kinds, g: m.get_rope_index(input_ids=i, mm_token_type_ids=kinds, image_grid_thw=g)), [
        (i, (i == 31).int(), grid) for i in ids]


@model("pytorch-beam-search", "greedy search of a seq2seq model")
def pytorch_beam_search_greedy():
    from pytorch_beam_search import seq2seq

    source, target = seq2seq.Index(["abc", "cab"]), seq2seq.Index(["xyz", "zxy"])
    m = randomise(seq2seq.LSTM(source, target, encoder_embedding_dimension=6, decoder_embedding_dimension=6, encoder_hidden_units=6,
                               encoder_layers=1, decoder_hidden_units=6, decoder_layers=1, dropout=0.0))
    return (lambda x: seq2seq.greedy_search(m, x, predictions=5, progress_bar=0)), [(ints(1, 4, low=1, high=6, seed=s),) for s in range(4)]


SMALL = dict(vocab_size=12, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=32, bos_token_id=1, eos_token_id=5, pad_token_id=0)
ENCODER_DECODER = dict(vocab_size=12, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                       decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24, eos_token_id=5, pad_token_id=0)


def greedy(kind, config, new=6, n=5, **options):
    import transformers

    m = randomise(getattr(transformers, kind)(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=new, do_sample=False, **options)), prompts(n)


@model("transformers", "greedy decoding: rotary positions, grouped keys")
def llama_generate():
    from transformers import LlamaConfig

    return greedy("LlamaForCausalLM", LlamaConfig(**SMALL, num_key_value_heads=1))


@model("transformers", "greedy decoding with a sliding window of keys")
def mistral_generate():
    from transformers import MistralConfig

    return greedy("MistralForCausalLM", MistralConfig(**SMALL, num_key_value_heads=1, sliding_window=4))


@model("transformers", "greedy decoding with two end tokens")
def qwen2_generate():
    from transformers import Qwen2Config

    return greedy("Qwen2ForCausalLM", Qwen2Config(**SMALL, num_key_value_heads=1), eos_token_id=[5, 7])


@model("transformers", "greedy decoding: layers with and without a window of keys, capped logits")
def gemma2_generate():
    from transformers import Gemma2Config

    return greedy("Gemma2ForCausalLM", Gemma2Config(**SMALL, num_key_value_heads=1, head_dim=8, sliding_window=4))


@model("transformers", "greedy decoding: positions counted from the mask")
def opt_generate():
    from transformers import OPTConfig

    return greedy("OPTForCausalLM", OPTConfig(
        vocab_size=12, hidden_size=16, num_hidden_layers=1, ffn_dim=24, num_attention_heads=2, max_position_embeddings=32,
        word_embed_proj_dim=16, bos_token_id=1, eos_token_id=5, pad_token_id=0))


@model("transformers", "greedy decoding: distances to the keys from the mask")
def bloom_generate():
    from transformers import BloomConfig

    return greedy("BloomForCausalLM", BloomConfig(vocab_size=12, hidden_size=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=5,
                                                  pad_token_id=0))


@model("transformers", "greedy decoding with a recurrent state instead of keys")
def mamba_generate():
    from transformers import MambaConfig

    return greedy("MambaForCausalLM", MambaConfig(vocab_size=12, hidden_size=8, state_size=4, num_hidden_layers=1, bos_token_id=1,
                                                  eos_token_id=5, pad_token_id=0))


@model("transformers", "greedy decoding with a list of recurrent states")
def rwkv_generate():
    from transformers import RwkvConfig

    return greedy("RwkvForCausalLM", RwkvConfig(vocab_size=12, context_length=32, hidden_size=8, num_hidden_layers=2,
                                                attention_hidden_size=8, intermediate_size=16, rescale_every=2, bos_token_id=1,
                                                eos_token_id=5, pad_token_id=0), new=5)


@model("transformers", "greedy decoding of a padded batch: rows end at different steps")
def llama_generate_batch():
    from transformers import LlamaConfig, LlamaForCausalLM

    m = randomise(LlamaForCausalLM(LlamaConfig(**SMALL, num_key_value_heads=2)), scale=2.0)
    masks = [torch.ones(2, 4, dtype=torch.long), torch.tensor([[0, 1, 1, 1], [1, 1, 1, 1]]), torch.tensor([[0, 0, 1, 1], [0, 1, 1, 1]])]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=6, do_sample=False)), [
        (ints(2, 4, low=1, high=12, seed=i) * mask, mask) for i, mask in enumerate(masks)]


@model("transformers", "decoding stopped by a criterion of the user's")
def gpt2_stopping_criteria():
    from transformers import StoppingCriteria, StoppingCriteriaList

    class Thrice(StoppingCriteria):
        def __call__(self, ids, scores, **kwargs):
            return (ids == ids[:, -1:]).sum(-1) > 2

    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=8, do_sample=False, stopping_criteria=StoppingCriteriaList([Thrice()]))), prompts()


@model("transformers", "n-grams of the prompt proposed as drafts, accepted as far as they are right")
def gpt2_prompt_lookup():
    m = gpt2()
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, prompt_lookup_num_tokens=2)), prompts(4)


@model("transformers", "speech recognition: decoding until the end token, seek until the audio ends")
def whisper_generate():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(vocab_size=40, num_mel_bins=4, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
                           decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, d_model=8, max_source_positions=10,
                           max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=3,
                           suppress_tokens=[5], begin_suppress_tokens=[7])
    m = randomise(WhisperForConditionalGeneration(config), scale=2.0)
    return (lambda x: m.generate(x, max_new_tokens=6, do_sample=False, return_timestamps=False)), [
        (rand(1, 4, 20, seed=s, scale=2),) for s in range(4)]


@model("transformers", "translation by beams with a forced end")
def marian_beam_search():
    from transformers import MarianConfig

    config = MarianConfig(**ENCODER_DECODER, max_position_embeddings=32, decoder_start_token_id=0, forced_eos_token_id=5)
    return greedy("MarianMTModel", config, num_beams=2, new=5)


@model("transformers", "speech to text: frame lengths from the mask, greedy decoding")
def speech2text_generate():
    from transformers import Speech2TextConfig, Speech2TextForConditionalGeneration

    config = Speech2TextConfig(**ENCODER_DECODER, max_source_positions=32, max_target_positions=32, input_feat_per_channel=4,
                               conv_channels=8, num_conv_layers=1, conv_kernel_sizes=[3], bos_token_id=1, decoder_start_token_id=5)
    m = randomise(Speech2TextForConditionalGeneration(config), scale=2.0)
    masks = [torch.ones(1, 8, dtype=torch.long), torch.tensor([[1, 1, 1, 1, 1, 0, 0, 0]])]
    return (lambda x, mask: m.generate(x, attention_mask=mask, max_new_tokens=5, do_sample=False)), [
        (rand(1, 8, 4, seed=s), masks[s % 2]) for s in range(4)]


@model("transformers", "encoder-decoder greedy decoding of a padded batch")
def t5_generate_batch():
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=12, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=0,
                      eos_token_id=5, pad_token_id=0)
    m = randomise(T5ForConditionalGeneration(config), scale=2.0)
    masks = [torch.ones(2, 4, dtype=torch.long), torch.tensor([[1, 1, 1, 0], [1, 1, 1, 1]])]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=6, do_sample=False)), [
        (ints(2, 4, low=1, high=12, seed=s), masks[s % 2]) for s in range(4)]


@model("transformers", "sparse attention in blocks; the input padded to whole blocks")
def bigbird():
    from transformers import BigBirdConfig, BigBirdModel

    config = BigBirdConfig(vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                           max_position_embeddings=64, attention_type="block_sparse", block_size=2, num_random_blocks=1)
    m = randomise(BigBirdModel(config))
    masks = [torch.ones(1, 22, dtype=torch.long), (torch.arange(22) < 15).long().unsqueeze(0)]
    return (lambda ids, mask: m(ids, attention_mask=mask).last_hidden_state), [
        (ints(1, 22, low=1, high=12, seed=s), masks[s]) for s in range(2)]


@model("transformers", "disentangled attention over a padded batch")
def deberta_v2():
    from transformers import DebertaV2Config, DebertaV2Model

    config = DebertaV2Config(vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                             max_position_embeddings=32, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=4,
                             type_vocab_size=0)
    m = randomise(DebertaV2Model(config))
    masks = [torch.ones(2, 5, dtype=torch.long), torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])]
    return (lambda ids, mask: m(ids, attention_mask=mask).last_hidden_state), [
        (ints(2, 5, low=1, high=12, seed=s), masks[s]) for s in range(2)]


@model("transformers", "padded audio: frames counted from the mask; the best path without repeats and blanks")
def wav2vec2_ctc():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    config = Wav2Vec2Config(vocab_size=6, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24,
                            conv_dim=(8, 8), conv_stride=(3, 2), conv_kernel=(4, 3), num_feat_extract_layers=2,
                            num_conv_pos_embeddings=4, num_conv_pos_embedding_groups=2, layerdrop=0.5)
    m = randomise(Wav2Vec2ForCTC(config), scale=2.0)

    def run(x, mask):
        path = torch.unique_consecutive(m(x, attention_mask=mask).logits.argmax(-1)[0])
        return path[path != 0]

    masks = [torch.ones(1, 60, dtype=torch.long), (torch.arange(60) < 40).long().unsqueeze(0)]
    return run, [(rand(1, 60, seed=s), masks[s % 2]) for s in range(4)]


@model("transformers", "local attention in chunks; the input padded to whole chunks")
def reformer_local():
    from transformers import ReformerConfig, ReformerModel

    config = ReformerConfig(vocab_size=12, hidden_size=16, attention_head_size=8, num_attention_heads=2, feed_forward_size=24,
                            axial_pos_shape=(4, 4), axial_pos_embds_dim=(8, 8), attn_layers=["local", "local"],
                            local_attn_chunk_length=4, max_position_embeddings=16, is_decoder=False, pad_token_id=0)
    m = randomise(ReformerModel(config))
    masks = [torch.ones(1, 10, dtype=torch.long), (torch.arange(10) < 7).long().unsqueeze(0)]
    return (lambda ids, mask: m(ids, attention_mask=mask).last_hidden_state), [
        (ints(1, 10, low=1, high=12, seed=s), masks[s]) for s in range(2)]


@model("openai-whisper", "which timestamps may come next depends on those that came")
def whisper_timestamp_rules():
    import types

    from whisper.decoding import ApplyTimestampRules

    rules = ApplyTimestampRules(types.SimpleNamespace(no_timestamps=9, timestamp_begin=10, eot=8), 1, 3)

    def run(logits, ids):
        logits = logits.clone()
        rules.apply(logits, ids)
        return logits

    ids = [[[1, 12, 3, 4]], [[1, 2, 12, 13]], [[1, 12, 3, 14]], [[1, 2, 3, 4]]]
    return run, [(rand(1, 18, seed=i, scale=2), torch.tensor(x)) for i, x in enumerate(ids)]


@model("openai-whisper", "greedy decoding until every row has ended")
def whisper_greedy_decoder():
    from whisper.decoding import GreedyDecoder
    from whisper.model import TextDecoder

    text = randomise(TextDecoder(n_vocab=12, n_ctx=16, n_state=8, n_head=2, n_layer=1), scale=2.0)
    decoder = GreedyDecoder(0.0, 5)

    def run(ids, audio):
        total = torch.zeros(ids.shape[0])
        for _ in range(6):
            ids, done = decoder.update(ids, text(ids, audio)[:, -1], total)
            if done:
                break
        return decoder.finalize(ids, total)

    return run, [(ints(2, 3, high=12, seed=s), rand(2, 4, 8, seed=s)) for s in range(4)]


@model("labml-nn", "nucleus: as few tokens as hold the probability; the draw is replaced by the best")
def labml_nucleus_sampler():
    from labml_nn.sampling.nucleus import NucleusSampler

    class Greedy:
        def __call__(self, logits):
            return logits.argmax(-1)

    m = NucleusSampler(0.7, Greedy())
    return (lambda x: m(x)), [(rand(2, 8, seed=s),) for s in range(3)]
