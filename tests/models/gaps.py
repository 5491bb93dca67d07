# SPDX-License-Identifier: Apache-2.0
"""Further generators of transformers: experts with padded batches, sampling, beams with their options, kinds of caches, sound."""

import torch

from tests.models.generation import SPECIAL, TINY, greedy, prompts
from tests.models.registry import ints, model, rand, randomise

MASKS = [[[1, 1, 1, 1], [1, 1, 1, 1]], [[0, 1, 1, 1], [1, 1, 1, 1]], [[0, 0, 1, 1], [0, 1, 1, 1]], [[1, 1, 1, 1], [0, 0, 0, 1]]]
ENCODER_DECODER = dict(vocab_size=12, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
                       encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=32, decoder_start_token_id=5, **SPECIAL)


def padded(name, tokens=4, config_name=None, **options):
    """A causal language model, generating greedily for a batch padded on the left."""
    import transformers

    config = getattr(transformers, config_name or name.replace("ForCausalLM", "Config"))(**options)
    m = randomise(getattr(transformers, name)(config), scale=2.0)
    masks = [torch.tensor(k) for k in MASKS]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=tokens, do_sample=False)), [
        (ints(2, 4, low=6, high=12, seed=s) * k, k) for s, k in enumerate(masks)]


def llama(**options):
    from transformers import LlamaConfig, LlamaForCausalLM

    return randomise(LlamaForCausalLM(LlamaConfig(num_key_value_heads=1, max_position_embeddings=64, **TINY, **options)), scale=2.0)


def bart(**options):
    from transformers import BartConfig, BartForConditionalGeneration

    return randomise(BartForConditionalGeneration(BartConfig(**ENCODER_DECODER, **options)), scale=2.0)


@model("transformers", "experts chosen per token, a padded batch; greedy")
def qwen3_moe_generate():
    return padded("Qwen3MoeForCausalLM", num_key_value_heads=1, head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                  decoder_sparse_step=1, max_position_embeddings=32, **TINY)


@model("transformers", "experts in groups, latent attention, a padded batch; greedy")
def deepseek_v3_generate():
    return padded("DeepseekV3ForCausalLM", num_key_value_heads=2, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                  n_group=2, topk_group=1, q_lora_rank=8, kv_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=8,
                  first_k_dense_replace=1, n_shared_experts=1, max_position_embeddings=32, **TINY)


@model("transformers", "experts chosen per token, a padded batch; greedy")
def olmoe_generate():
    return padded("OlmoeForCausalLM", num_key_value_heads=2, num_experts=4, num_experts_per_tok=2, max_position_embeddings=32, **TINY)


@model("transformers", "experts beside a shared one, a padded batch; greedy")
def glm4_moe_generate():
    return padded("Glm4MoeForCausalLM", num_key_value_heads=1, head_dim=8, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                  n_group=1, topk_group=1, n_shared_experts=1, first_k_dense_replace=1, max_position_embeddings=32, **TINY)


@model("transformers", "one expert per token, attention in chunks, a padded batch; greedy")
def llama4_generate():
    return padded("Llama4ForCausalLM", config_name="Llama4TextConfig", num_key_value_heads=1, head_dim=8, num_local_experts=4,
                  num_experts_per_tok=1, intermediate_size_mlp=24, attention_chunk_size=4, interleave_moe_layer_step=2,
                  max_position_embeddings=32, **TINY)


@model("transformers", "experts, sliding and full attention by turns with sinks, a padded batch; greedy")
def gpt_oss_generate():
    return padded("GptOssForCausalLM", num_key_value_heads=1, head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=3,
                  layer_types=["sliding_attention", "full_attention"], max_position_embeddings=32, **TINY)


@model("transformers", "state space and attention layers, experts; greedy")
def jamba_generate():
    return padded("JambaForCausalLM", num_key_value_heads=1, num_experts=4, num_experts_per_tok=2, attn_layer_period=2, attn_layer_offset=1,
                  expert_layer_period=2, expert_layer_offset=1, mamba_d_state=4, mamba_d_conv=2, mamba_dt_rank=4, use_mamba_kernels=False,
                  max_position_embeddings=32, **TINY)


@model("transformers", "sliding and full attention by turns; greedy over the window's length")
def gemma3_generate():
    return padded("Gemma3ForCausalLM", tokens=6, config_name="Gemma3TextConfig", num_key_value_heads=1, head_dim=8, sliding_window=3,
                  layer_types=["sliding_attention", "full_attention"], max_position_embeddings=32, **TINY)


@model("transformers", "encoder and decoder of Gemma's kind; greedy")
def t5gemma_generate():
    from transformers import T5GemmaConfig, T5GemmaForConditionalGeneration

    part = dict(num_key_value_heads=1, head_dim=8, sliding_window=4, layer_types=["sliding_attention", "full_attention"],
                max_position_embeddings=32, **TINY)
    m = randomise(T5GemmaForConditionalGeneration(T5GemmaConfig(encoder=part, decoder=part, vocab_size=12, **SPECIAL)), scale=2.0)
    return greedy(m, 5, decoder_start_token_id=1), prompts()


@model("transformers", "a forced first token and a forced last one; greedy, a batch padded on the right")
def bart_forced_ends():
    m = bart(forced_bos_token_id=7, forced_eos_token_id=5)
    masks = [torch.tensor(k) for k in ([[1, 1, 1, 0], [1, 1, 1, 1]], [[1, 1, 1, 1]] * 2, [[1, 0, 0, 0], [1, 1, 0, 0]])]
    return (lambda ids, mask: m.generate(ids, attention_mask=mask, max_new_tokens=5, do_sample=False, num_beams=1)), [
        (ints(2, 4, low=6, high=12, seed=s) * k, k) for s, k in enumerate(masks)]


@model("transformers", "beams with a penalty of the length that stop as soon as enough are finished")
def bart_beams_early():
    return greedy(bart(), 5, num_beams=3, length_penalty=2.0, early_stopping=True), prompts(batch=2)


@model("transformers", "beams that go on until nothing better can come, short sequences favoured")
def bart_beams_never():
    return greedy(bart(), 5, num_beams=2, length_penalty=-1.0, early_stopping="never", num_return_sequences=2), prompts()


@model("transformers", "beams with forbidden pairs and a least length")
def t5_beams_with_rules():
    from transformers import T5Config, T5ForConditionalGeneration

    m = randomise(T5ForConditionalGeneration(T5Config(vocab_size=12, d_model=16, d_kv=8, d_ff=24, num_layers=1, num_heads=2,
                                                      decoder_start_token_id=0, eos_token_id=5, pad_token_id=0)), scale=2.0)
    return greedy(m, 5, num_beams=2, no_repeat_ngram_size=2, min_length=3, encoder_repetition_penalty=1.2), prompts()


@model("transformers", "sampling among the best one: warpers and a draw at every step")
def gpt2_sampling_top_1():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=5, do_sample=True, top_k=1, temperature=0.7)), prompts(batch=2)


@model("transformers", "sampling within a nucleus so small that one token is left")
def llama_sampling_nucleus():
    m = llama()
    return (lambda ids: m.generate(ids, max_new_tokens=5, do_sample=True, top_p=1e-4, top_k=0, temperature=0.5)), prompts(batch=2)


@model("transformers", "sampling with a least probability, typicality and cut-offs that leave one token")
def gpt2_sampling_cutoffs():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=4, do_sample=True, min_p=1.0, epsilon_cutoff=1e-3, eta_cutoff=1e-3, typical_p=0.95,
                                   renormalize_logits=True, remove_invalid_values=True)), prompts()


@model("transformers", "a window of the cache; greedy beyond it")
def mistral_sliding_cache():
    from transformers import MistralConfig, MistralForCausalLM

    m = randomise(MistralForCausalLM(MistralConfig(num_key_value_heads=1, sliding_window=4, max_position_embeddings=32, **TINY)), scale=2.0)
    return greedy(m, 6, cache_implementation="static", disable_compile=True), prompts()


@model("transformers", "an encoder-decoder's static caches")
def bart_static_cache():
    return greedy(bart(), 5, cache_implementation="static", disable_compile=True), prompts()


@model("transformers", "a cache handed over by the caller: prompt first, then the rest")
def llama_prefilled_cache():
    from transformers import DynamicCache

    m = llama()

    def run(first, rest):
        cache = DynamicCache(config=m.config)
        m(first, past_key_values=cache, use_cache=True)
        return m.generate(torch.cat([first, rest], 1), past_key_values=cache, max_new_tokens=4, do_sample=False)

    return run, [(ints(1, 3, low=6, high=12, seed=s), ints(1, 2, low=6, high=12, seed=s + 7)) for s in range(4)]


@model("transformers", "a cache that is cropped when the caller goes back")
def llama_cropped_cache():
    from transformers import DynamicCache

    m = llama()

    def run(ids):
        cache = DynamicCache(config=m.config)
        for step in range(8):
            logits = m(ids[:, cache.get_seq_length():], past_key_values=cache, use_cache=True).logits[:, -1]
            best = logits.argmax(-1, keepdim=True)
            if best.item() == 5:
                break
            if best.item() % 2 and cache.get_seq_length() > 3:  # an odd token: one step back, the even neighbour instead
                cache.crop(-1)
                ids = torch.cat([ids[:, :-1], best - 1], 1)
            else:
                ids = torch.cat([ids, best], 1)
        return ids

    return run, prompts()


@model("transformers", "the prompt in chunks, then greedy")
def llama_chunked_prefill():
    return greedy(llama(), 4, prefill_chunk_size=2), prompts(length=5)


@model("transformers", "logits of every step and attentions returned; rows end at different steps")
def gpt2_full_output():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0)

    def run(ids):
        out = m.generate(ids, max_new_tokens=4, do_sample=False, return_dict_in_generate=True, output_scores=True, output_logits=True)
        scores = m.compute_transition_scores(out.sequences, out.scores, normalize_logits=True)
        return out.sequences, scores

    return run, prompts(batch=2)


@model("transformers", "words forbidden by a function of the prefix: constrained beams")
def gpt2_prefix_allowed():
    from transformers import GPT2Config, GPT2LMHeadModel

    m = randomise(GPT2LMHeadModel(GPT2Config(vocab_size=12, n_positions=32, n_embd=16, n_layer=1, n_head=2, **SPECIAL)), scale=2.0)
    return greedy(m, 4, num_beams=2, prefix_allowed_tokens_fn=lambda row, ids: [5, 7, 9] if ids[-1] % 2 == 0 else [5, 6, 8]), prompts()


@model("transformers", "semantic tokens of a text until the end token")
def bark_semantic():
    from transformers.models.bark.generation_configuration_bark import BarkSemanticGenerationConfig
    from transformers.models.bark.modeling_bark import BarkSemanticConfig, BarkSemanticModel

    m = randomise(BarkSemanticModel(BarkSemanticConfig(block_size=32, input_vocab_size=12, output_vocab_size=12, num_layers=1, num_heads=2,
                                                       hidden_size=16)), scale=2.0)
    config = BarkSemanticGenerationConfig(eos_token_id=5, text_encoding_offset=2, text_pad_token=0, semantic_infer_token=11, semantic_vocab_size=5,
                                          max_input_semantic_length=4, semantic_rate_hz=1.0, max_new_tokens=5, do_sample=False)
    return (lambda ids: m.generate(ids, semantic_generation_config=config)), [(ints(1, 4, low=1, high=8, seed=s),) for s in range(5)]


@model("transformers", "fine codes one codebook after the other")
def bark_fine():
    from transformers.models.bark.modeling_bark import BarkFineConfig, BarkFineModel

    m = randomise(BarkFineModel(BarkFineConfig(block_size=16, input_vocab_size=12, output_vocab_size=12, num_layers=1, num_heads=2, hidden_size=16,
                                               n_codes_total=4, n_codes_given=1)), scale=2.0)

    def run(codes):
        for k in range(1, 4):
            codes = torch.cat([codes[..., :k], m(k, codes).logits.argmax(-1, keepdim=True), codes[..., k + 1:]], -1)
        return codes

    return run, [(ints(1, 6, 4, high=12, seed=s),) for s in range(3)]


@model("transformers", "codebooks delayed against each other; greedy")
def musicgen_decoder_generate():
    from transformers import MusicgenForCausalLM
    from transformers.models.musicgen.configuration_musicgen import MusicgenDecoderConfig

    m = randomise(MusicgenForCausalLM(MusicgenDecoderConfig(vocab_size=12, max_position_embeddings=32, num_hidden_layers=1, ffn_dim=24,
                                                            num_attention_heads=2, hidden_size=16, num_codebooks=2, pad_token_id=12,
                                                            bos_token_id=12)), scale=2.0)
    m.generation_config.pad_token_id = m.generation_config.bos_token_id = m.generation_config.decoder_start_token_id = 12
    return (lambda ids: m.generate(ids, max_new_tokens=6, do_sample=False, guidance_scale=1, num_return_sequences=1)), [(ints(2, 1, high=12, seed=s),) for s in range(3)]


@model("transformers", "audio codec: quantised residuals, attention over the frames")
def mimi():
    from transformers import MimiConfig, MimiModel

    m = randomise(MimiModel(MimiConfig(hidden_size=16, num_filters=4, upsampling_ratios=[4, 2], codebook_size=8, codebook_dim=8, num_quantizers=3,
                                       vector_quantization_hidden_dimension=8, upsample_groups=16, num_hidden_layers=1, intermediate_size=24,
                                       num_attention_heads=2, num_key_value_heads=2, sliding_window=6, sampling_rate=64, frame_rate=4)))
    for k, (name, buffer) in enumerate(sorted(m.named_buffers())):  # the codebooks, which begin as zeros
        if name.endswith("embed_sum"):
            buffer.copy_(rand(*buffer.shape, seed=k))

    def run(x):
        out = m(x)
        return out.audio_codes, out.audio_values

    return run, [(rand(1, 1, 64, seed=s),) for s in range(3)]


@model("transformers", "speech and text tokens, a decoder over the depth; greedy")
def moshi_depth_generate():
    from transformers.models.moshi.modeling_moshi import MoshiDepthConfig, MoshiDepthDecoder

    m = randomise(MoshiDepthDecoder(MoshiDepthConfig(vocab_size=12, hidden_size=16, input_size=16, num_hidden_layers=1, num_attention_heads=2,
                                                     audio_vocab_size=12, max_position_embeddings=5, sliding_window=4, ffn_dim=24,
                                                     num_codebooks=4, pad_token_id=0)), scale=2.0)
    return (lambda x, ids: m.generate(last_hidden_state=x, input_ids=ids, min_length=5, max_length=5, do_sample=False)), [
        (rand(1, 1, 16, seed=s), ints(1, 1, high=12, seed=s)) for s in range(4)]


@model("transformers", "speech tokens of a text until the end token")
def clvp_generate():
    from transformers import ClvpConfig, ClvpModelForConditionalGeneration

    part = dict(vocab_size=12, hidden_size=16, intermediate_size=24, projection_dim=16, num_hidden_layers=1, num_attention_heads=2,
                bos_token_id=1, eos_token_id=5, pad_token_id=0)
    decoder = dict(vocab_size=12, max_position_embeddings=32, max_text_tokens=32, hidden_size=16, n_inner=24, num_hidden_layers=1,
                   num_attention_heads=2, num_mel_attn_blocks=1, bos_token_id=1, eos_token_id=5, pad_token_id=0, feature_size=8,
                   decoder_fixing_codes=[8, 4, 4, 7])
    m = randomise(ClvpModelForConditionalGeneration(ClvpConfig(text_config=part, speech_config=part, decoder_config=decoder,
                                                               projection_dim=16)), scale=2.0)

    def run(ids, features):
        out = m.generate(ids, input_features=features, max_new_tokens=4, do_sample=False, num_beams=1, return_dict_in_generate=True)
        return out.speech_ids, out.logits_per_text

    return run, [(ints(1, 4, low=6, high=12, seed=s), rand(1, 8, 16, seed=s)) for s in range(3)]
