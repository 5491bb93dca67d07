# SPDX-License-Identifier: Apache-2.0
"""Further decoders of transformers: images, speech and text read until an end token, transducers, batches that end at different
steps, further rules on logits; causal models whose attention, state or routing is of another kind."""

import torch

from tests.models.registry import ints, model, rand, randomise

SPECIAL = dict(bos_token_id=1, eos_token_id=5, pad_token_id=0)
TINY = dict(vocab_size=12, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, **SPECIAL)


def prompts(n=5, length=3, batch=1, high=12):
    return [(ints(batch, length, low=6, high=high, seed=s),) for s in range(n)]


def greedy(m, tokens=5, **options):
    return lambda ids: m.generate(ids, max_new_tokens=tokens, do_sample=False, **options)


def causal(name, tokens=5, scale=2.0, config_name=None, **options):
    """A causal language model, generating greedily."""
    import transformers

    config = getattr(transformers, config_name or name.replace("ForCausalLM", "").replace("LMHeadModel", "") + "Config")(**options)
    return greedy(randomise(getattr(transformers, name)(config), scale=scale), tokens), prompts()


@model("transformers", "transducer: the frame advances on blank, tokens until the frames end")
def parakeet_rnnt():
    from transformers import ParakeetEncoderConfig, ParakeetForRNNT, ParakeetRNNTConfig

    encoder = ParakeetEncoderConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, subsampling_factor=4,
                                    subsampling_conv_channels=4, num_mel_bins=8, conv_kernel_size=3)
    config = ParakeetRNNTConfig(vocab_size=9, decoder_hidden_size=16, num_decoder_layers=1, blank_token_id=8, pad_token_id=2,
                                max_symbols_per_step=2, encoder_config=encoder.to_dict())
    m = randomise(ParakeetForRNNT(config), scale=2.0)
    return (lambda x: m.generate(x, decoder_start_token_id=8).sequences), [(rand(1, 16, 8, seed=s, scale=2),) for s in range(5)]


@model("transformers", "token-and-duration transducer: the frame advances by a predicted duration, tokens until the frames end")
def parakeet_tdt():
    from transformers import ParakeetEncoderConfig, ParakeetForTDT, ParakeetTDTConfig

    encoder = ParakeetEncoderConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, subsampling_factor=4,
                                    subsampling_conv_channels=4, num_mel_bins=8, conv_kernel_size=3)
    config = ParakeetTDTConfig(vocab_size=9, decoder_hidden_size=16, num_decoder_layers=1, blank_token_id=8, pad_token_id=2, durations=[0, 1, 2],
                               max_symbols_per_step=2, encoder_config=encoder.to_dict())
    m = randomise(ParakeetForTDT(config), scale=2.0)

    def decode(x):  # durations are logits beside the tokens': untrained, they would be taken for tokens, and the embedding raises
        out = m.generate(x, decoder_start_token_id=8, suppress_tokens=[9, 10, 11])
        return out.sequences, out.durations

    return decode, [(rand(1, 40, 8, seed=s, scale=2),) for s in range(8)]


@model("transformers", "connectionist temporal classification: best path with the mask's length")
def parakeet_ctc():
    from transformers import ParakeetCTCConfig, ParakeetEncoderConfig, ParakeetForCTC

    encoder = ParakeetEncoderConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, subsampling_factor=4,
                                    subsampling_conv_channels=4, num_mel_bins=8, conv_kernel_size=3)
    m = randomise(ParakeetForCTC(ParakeetCTCConfig(vocab_size=9, pad_token_id=8, encoder_config=encoder.to_dict())), scale=2.0)
    masks = [torch.arange(16)[None] < n for n in (16, 9, 13, 5)]
    return (lambda x, mask: m.generate(x, attention_mask=mask)), [(rand(1, 16, 8, seed=s), k.long()) for s, k in enumerate(masks)]


@model("transformers", "text read from an image until the end token")
def trocr_generate():
    from transformers import TrOCRConfig, TrOCRForCausalLM, ViTConfig, ViTModel, VisionEncoderDecoderModel

    encoder = ViTModel(ViTConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, image_size=8, patch_size=4))
    decoder = TrOCRForCausalLM(TrOCRConfig(vocab_size=12, d_model=16, decoder_layers=1, decoder_attention_heads=2, decoder_ffn_dim=24,
                                           max_position_embeddings=32, is_decoder=True, add_cross_attention=True,
                                           cross_attention_hidden_size=16, **SPECIAL))
    m = randomise(VisionEncoderDecoderModel(encoder=encoder, decoder=decoder), scale=2.0)
    return (lambda x: m.generate(x, max_new_tokens=5, do_sample=False, decoder_start_token_id=1, pad_token_id=0, eos_token_id=5)), [
        (rand(1, 3, 8, 8, seed=s, scale=2),) for s in range(5)]


@model("transformers", "captions of an image until the separator")
def blip_caption():
    from transformers import BlipConfig, BlipForConditionalGeneration

    config = BlipConfig(text_config=dict(vocab_size=12, hidden_size=16, encoder_hidden_size=16, intermediate_size=24, projection_dim=8,
                                         num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=32, sep_token_id=5, bos_token_id=1,
                                         eos_token_id=2, pad_token_id=0),
                        vision_config=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2, image_size=8,
                                           patch_size=4, projection_dim=8), projection_dim=8, image_text_hidden_size=8)
    m = randomise(BlipForConditionalGeneration(config), scale=2.0)
    return (lambda x: m.generate(x, max_new_tokens=5, do_sample=False)), [(rand(1, 3, 8, 8, seed=s, scale=2),) for s in range(5)]


@model("transformers", "image tokens before the text, greedy until the end token")
def git_caption():
    from transformers import GitConfig, GitForCausalLM

    m = randomise(GitForCausalLM(GitConfig(vision_config=dict(hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=2,
                                                              image_size=8, patch_size=4), max_position_embeddings=32, **TINY)), scale=2.0)
    return (lambda ids, x: m.generate(ids, pixel_values=x, max_new_tokens=4, do_sample=False)), [
        (ints(1, 2, low=6, high=12, seed=s), rand(1, 3, 8, 8, seed=s, scale=2)) for s in range(5)]


@model("transformers", "text of an image of run-time patches, until the end token")
def pix2struct_generate():
    from transformers import Pix2StructConfig, Pix2StructForConditionalGeneration

    config = Pix2StructConfig(text_config=dict(vocab_size=12, hidden_size=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2, decoder_start_token_id=0,
                                               pad_token_id=0, eos_token_id=5),
                              vision_config=dict(hidden_size=16, patch_embed_hidden_size=12, d_ff=24, d_kv=8, num_hidden_layers=1,
                                                 num_attention_heads=2, seq_len=16))
    m = randomise(Pix2StructForConditionalGeneration(config), scale=2.0)

    def patches(n, s):
        x = rand(1, 4, 12, seed=s)
        place = torch.tensor([[[1.0, 1.0], [1.0, 2.0], [2.0, 1.0], [2.0, 2.0]]])
        return torch.cat([place, x], -1) * (torch.arange(4) < n)[None, :, None], (torch.arange(4) < n)[None].float()

    return (lambda x, mask: m.generate(flattened_patches=x, attention_mask=mask, max_new_tokens=4, do_sample=False)), [
        patches(n, s) for s, n in enumerate([4, 2, 3, 1, 4])]


@model("transformers", "multilingual translation: a forced first token, beams, until the end token")
def m2m_100_beam():
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    config = M2M100Config(vocab_size=12, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                          encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32, decoder_start_token_id=5, **SPECIAL)
    m = randomise(M2M100ForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=4, num_beams=2, do_sample=False, forced_bos_token_id=7)), prompts()


@model("transformers", "encoder-decoder of two BERTs, greedy until the end token")
def bert_to_bert():
    from transformers import BertConfig, EncoderDecoderConfig, EncoderDecoderModel

    config = EncoderDecoderConfig.from_encoder_decoder_configs(BertConfig(max_position_embeddings=32, **TINY), BertConfig(max_position_embeddings=32, **TINY))
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 1, 0, 5
    m = randomise(EncoderDecoderModel(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=5, do_sample=False, decoder_start_token_id=1, pad_token_id=0, eos_token_id=5)), prompts()


@model("transformers", "a batch whose sequences end at different steps; forbidden words, a growing end, a biased sequence")
def gpt2_batch_with_rules():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0)
    return greedy(m, 6, bad_words_ids=[[7], [8, 9]], exponential_decay_length_penalty=(2, 1.5), sequence_bias={(10,): -2.0, (6, 11): 3.0},
                  suppress_tokens=[2]), prompts(batch=3)


@model("transformers", "beams that return several sequences with their scores")
def gpt2_beams_with_scores():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0)

    def decode(ids):
        out = m.generate(ids, max_new_tokens=4, num_beams=3, num_return_sequences=2, do_sample=False, return_dict_in_generate=True,
                         output_scores=True, length_penalty=0.7, early_stopping=True)
        return out.sequences, out.sequences_scores

    return decode, prompts(batch=2)


@model("transformers", "guidance by a second, unconditional pass")
def gpt2_with_guidance():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0)
    return (lambda ids, negative: m.generate(ids, negative_prompt_ids=negative, guidance_scale=1.5, max_new_tokens=4, do_sample=False)), [
        (ints(1, 3, low=6, high=12, seed=s), ints(1, 2, low=6, high=12, seed=s + 9)) for s in range(5)]


@model("transformers", "a static cache written in place")
def llama_static_cache():
    from transformers import LlamaConfig, LlamaForCausalLM

    m = randomise(LlamaForCausalLM(LlamaConfig(num_key_value_heads=1, max_position_embeddings=32, **TINY)), scale=2.0)
    return greedy(m, 5, cache_implementation="static", disable_compile=True), prompts()


@model("transformers", "linear attention and full attention by turns; greedy")
def qwen3_next_generate():
    return causal("Qwen3NextForCausalLM", num_key_value_heads=1, head_dim=8, linear_num_value_heads=2, linear_num_key_heads=1,
                  linear_key_head_dim=8, linear_value_head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                  shared_expert_intermediate_size=12, layer_types=["linear_attention", "full_attention"], max_position_embeddings=32, **TINY)


@model("transformers", "state space and attention side by side; greedy")
def falcon_h1_generate():
    return causal("FalconH1ForCausalLM", num_key_value_heads=1, mamba_d_ssm=16, mamba_n_heads=2, mamba_d_head=8, mamba_n_groups=1,
                  mamba_d_state=4, mamba_chunk_size=4, max_position_embeddings=32, **TINY)


@model("transformers", "state space layers, shared attention; greedy")
def zamba2_generate():
    return causal("Zamba2ForCausalLM", layers_block_type=["mamba", "hybrid"], mamba_d_state=4, n_mamba_heads=2, mamba_ngroups=1,
                  chunk_size=4, num_key_value_heads=2, attention_head_dim=16, kv_channels=8, num_mem_blocks=1, use_mem_rope=True,
                  max_position_embeddings=32, mamba_expand=2, mamba_headdim=16, **TINY)


@model("transformers", "short convolutions with a cache, attention; greedy")
def lfm2_generate():
    return causal("Lfm2ForCausalLM", num_key_value_heads=1, layer_types=["conv", "full_attention"], max_position_embeddings=32,
                  block_auto_adjust_ff_dim=False, **TINY)


@model("transformers", "experts chosen out of a grid of keys; dynamic mask; greedy")
def doge_moe_generate():
    return causal("DogeForCausalLM", num_key_value_heads=1, is_moe=True, num_experts=16, num_experts_per_tok=2, keep_window_size=4,
                  max_position_embeddings=32, **TINY)


@model("transformers", "experts with shared ones behind a sigmoid router; greedy")
def ernie_moe_generate():
    return causal("Ernie4_5_MoeForCausalLM", config_name="Ernie4_5_MoeConfig", num_key_value_heads=1, moe_num_experts=4, moe_k=2,
                  moe_intermediate_size=12, moe_num_shared_experts=1, moe_layer_start_index=0, moe_layer_end_index=1, moe_layer_interval=1,
                  max_position_embeddings=32, **TINY)


@model("transformers", "lightning attention blocks and experts; greedy")
def minimax_generate():
    return causal("MiniMaxForCausalLM", num_key_value_heads=1, num_local_experts=4, num_experts_per_tok=2, block_size=4, head_dim=8,
                  layer_types=["linear_attention", "full_attention"], max_position_embeddings=32, **TINY)


@model("transformers", "two recurrent stacks, one slow, one fast; greedy")
def hrm_text_generate():
    return causal("HrmTextForCausalLM", head_dim=8, max_position_embeddings=32, prefix_lm=False, **{**TINY, "num_hidden_layers": 4})


@model("transformers", "positions by slopes; greedy")
def mpt_generate():
    return causal("MptForCausalLM", vocab_size=12, d_model=16, n_heads=2, n_layers=1, max_seq_len=32, expansion_ratio=2, **SPECIAL)


@model("transformers", "local and global attention by turns; greedy")
def gpt_neo_generate():
    return causal("GPTNeoForCausalLM", vocab_size=12, hidden_size=16, num_layers=2, attention_types=[[["global", "local"], 1]], num_heads=2,
                  intermediate_size=24, window_size=3, max_position_embeddings=32, **SPECIAL)


@model("transformers", "multi-query attention; greedy")
def falcon_generate():
    return causal("FalconForCausalLM", vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, alibi=True,
                  max_position_embeddings=32, **SPECIAL)


@model("transformers", "control codes; greedy")
def ctrl_generate():
    return causal("CTRLLMHeadModel", config_name="CTRLConfig", vocab_size=12, n_positions=32, n_embd=16, dff=24, n_layer=1, n_head=2, **SPECIAL)


@model("transformers", "positions counted from the mask; greedy, a padded batch")
def biogpt_generate():
    from transformers import BioGptConfig, BioGptForCausalLM

    m = randomise(BioGptForCausalLM(BioGptConfig(max_position_embeddings=32, **TINY)), scale=2.0)
    masks = [[1, 1, 1], [0, 1, 1], [0, 0, 1], [1, 1, 1]]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=4, do_sample=False)), [
        (ints(2, 3, low=6, high=12, seed=s) * torch.tensor(k), torch.tensor([k, k])) for s, k in enumerate(masks)]
