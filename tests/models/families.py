# SPDX-License-Identifier: Apache-2.0
"""Families of transformers, kornia and timm whose control flow is of its own: masks asked for, patches of data-dependent length,
pooling, languages per sample, detectors' queries, robust estimation."""

import torch

from tests.models.registry import ints, model, rand, randomise


def padded(*lengths, length, high, seed=0):
    """Token ids with zeros for padding, and their mask."""
    mask = (torch.arange(length)[None] < torch.tensor(lengths)[:, None]).long()
    return ints(len(lengths), length, low=3, high=high, seed=seed) * mask, mask


@model("transformers", "lengths by counting what is no padding; the longest is checked")
def flaubert():
    from transformers import FlaubertConfig, FlaubertModel

    m = randomise(FlaubertModel(FlaubertConfig(vocab_size=30, emb_dim=8, n_layers=1, n_heads=2, pad_index=0, max_position_embeddings=12)))
    return (lambda ids: m(ids)[0]), [(padded(*n, length=5, high=30, seed=i)[0],) for i, n in enumerate([(5, 3), (5, 5), (2, 4)])]


@model("transformers", "causal attention by lengths; memory of past positions")
def xlm_with_lengths():
    from transformers import XLMConfig, XLMModel

    m = randomise(XLMModel(XLMConfig(vocab_size=30, emb_dim=8, n_layers=1, n_heads=2, pad_index=0, max_position_embeddings=12)))
    return (lambda ids, n: m(ids, lengths=n)[0]), [
        (padded(*n, length=5, high=30, seed=i)[0], torch.tensor(n)) for i, n in enumerate([(5, 3), (5, 5), (2, 4)])]


@model("transformers", "an adapter per language: runs of equal languages are split off and put together again")
def xmod_adapters():
    from transformers import XmodConfig, XmodModel

    config = XmodConfig(vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12,
                        languages=["en", "de", "fr"], max_position_embeddings=16)
    m = randomise(XmodModel(config))
    return (lambda ids, lang: m(ids, lang_ids=lang)[0]), [
        (ints(3, 4, low=3, high=30, seed=i), torch.tensor(l)) for i, l in enumerate([[0, 0, 1], [2, 2, 2], [0, 1, 0], [1, 2, 2]])]


@model("transformers", "relative positions and a permutation mask")
def xlnet():
    from transformers import XLNetConfig, XLNetModel

    m = randomise(XLNetModel(XLNetConfig(vocab_size=30, d_model=8, n_layer=1, n_head=2, d_inner=12)))
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [padded(*n, length=5, high=30, seed=i) for i, n in enumerate([(5, 3), (5, 5)])]


@model("transformers", "the sequence is pooled between blocks")
def funnel():
    from transformers import FunnelConfig, FunnelModel

    m = randomise(FunnelModel(FunnelConfig(vocab_size=30, block_sizes=[1, 1], d_model=8, n_head=2, d_head=4, d_inner=12, num_decoder_layers=1)))
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [padded(*n, length=6, high=30, seed=i) for i, n in enumerate([(6, 3), (6, 6)])]


@model("transformers", "characters hashed into buckets, downsampled to molecules and back")
def canine():
    from transformers import CanineConfig, CanineModel

    m = randomise(CanineModel(CanineConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, num_hash_functions=2,
                                           num_hash_buckets=16, downsampling_rate=2, local_transformer_stride=8,
                                           max_position_embeddings=32)))
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [padded(*n, length=8, high=90, seed=i) for i, n in enumerate([(8, 3), (8, 8)])]


@model("transformers", "n-gram prediction, greedy until the end token")
def prophetnet_generate():
    from transformers import ProphetNetConfig, ProphetNetForConditionalGeneration

    config = ProphetNetConfig(vocab_size=20, hidden_size=8, encoder_ffn_dim=12, num_encoder_layers=1, num_encoder_attention_heads=2,
                              decoder_ffn_dim=12, num_decoder_layers=1, num_decoder_attention_heads=2, max_position_embeddings=16, ngram=2,
                              num_buckets=4, relative_max_distance=8, decoder_start_token_id=0, eos_token_id=2, pad_token_id=0)
    m = randomise(ProphetNetForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=4, do_sample=False, num_beams=1)), [(ints(1, 4, low=3, high=20, seed=s),) for s in range(3)]


@model("transformers", "local and global attention over padded blocks")
def pegasus_x_encoder():
    from transformers import PegasusXConfig
    from transformers.models.pegasus_x.modeling_pegasus_x import PegasusXEncoder

    m = randomise(PegasusXEncoder(PegasusXConfig(vocab_size=30, d_model=8, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=12,
                                                 num_global_tokens=2, block_size=4, max_position_embeddings=32)))
    return (lambda ids, mask: m(input_ids=ids, attention_mask=mask)[0]), [
        padded(*n, length=7, high=30, seed=i) for i, n in enumerate([(7, 3), (7, 7)])]


@model("transformers", "transient global tokens made from blocks of the sequence")
def long_t5_encoder():
    from transformers import LongT5Config, LongT5EncoderModel

    m = randomise(LongT5EncoderModel(LongT5Config(vocab_size=30, d_model=8, d_kv=4, d_ff=12, num_layers=1, num_heads=2, local_radius=2,
                                                  global_block_size=2, encoder_attention_type="transient-global", dropout_rate=0.0)))
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [padded(*n, length=6, high=30, seed=i) for i, n in enumerate([(6, 3), (6, 6)])]


@model("transformers", "recurrent blocks between local attention; greedy")
def recurrent_gemma_generate():
    from transformers import RecurrentGemmaConfig, RecurrentGemmaForCausalLM

    config = RecurrentGemmaConfig(vocab_size=20, hidden_size=8, intermediate_size=12, num_hidden_layers=3, num_attention_heads=2, head_dim=4,
                                  lru_width=8, attention_window_size=8, eos_token_id=2, pad_token_id=0, bos_token_id=1)
    m = randomise(RecurrentGemmaForCausalLM(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=3, do_sample=False)), [(ints(1, 4, low=3, high=20, seed=s),) for s in range(3)]


@model("transformers", "state space layers; padding is zeroed only if there is a batch")
def mamba2():
    from transformers import Mamba2Config, Mamba2Model

    m = randomise(Mamba2Model(Mamba2Config(vocab_size=20, hidden_size=8, state_size=4, num_hidden_layers=1, num_heads=4, head_dim=4, n_groups=1,
                                           chunk_size=4)))
    return (lambda ids, mask: m(ids, attention_mask=mask, use_cache=False)[0]), [
        padded(*n, length=6, high=20, seed=i) for i, n in enumerate([(6, 3), (6, 6)])]


@model("transformers", "images that are all zero are left out")
def idefics3_real_images():
    from transformers import Idefics3Config, Idefics3Model

    config = Idefics3Config(vision_config=dict(hidden_size=8, image_size=8, patch_size=4, num_hidden_layers=1, num_attention_heads=2,
                                               intermediate_size=12),
                            text_config=dict(model_type="llama", vocab_size=20, hidden_size=8, intermediate_size=12, num_hidden_layers=1,
                                             num_attention_heads=2, num_key_value_heads=1, pad_token_id=0), scale_factor=2, image_token_id=19)
    m = randomise(Idefics3Model(config))
    one, two = rand(1, 2, 3, 8, 8), rand(1, 2, 3, 8, 8, seed=1)
    two[:, 1] = 0
    return (lambda x: m.get_image_features(x).pooler_output), [(one,), (two,)]


@model("transformers", "bytes grouped into patches of data-dependent length")
def blt_patch_lengths():
    from transformers.models.blt.modeling_blt import process_patch_lengths

    return (lambda n: process_patch_lengths(n, 3)), [(ints(2, 4, low=1, high=8, seed=s),) for s in range(3)]


@model("transformers", "queries are the anchors with the highest scores; boxes refined layer by layer", rtol=1e-3, atol=1e-3)
def rt_detr_decode():
    from transformers.models.rt_detr.image_processing_rt_detr import RTDetrImageProcessor
    from types import SimpleNamespace

    p = RTDetrImageProcessor()
    return (lambda l, b: p.post_process_object_detection(SimpleNamespace(logits=l, pred_boxes=b), threshold=0.6)), [
        (rand(2, 5, 3, seed=s), rand(2, 5, 4, seed=s + 1).sigmoid()) for s in range(4)]


@model("transformers", "costs of each pair of mask and target")
def maskformer_costs():
    from transformers.models.maskformer.modeling_maskformer import pair_wise_dice_loss, pair_wise_sigmoid_focal_loss

    return (lambda a, b: (pair_wise_dice_loss(a, b), pair_wise_sigmoid_focal_loss(a, b))), [
        (rand(3, 6, seed=s), (rand(2, 6, seed=s + 1) > 0).float()) for s in range(3)]


@model("transformers", "codes of audio with a padding mask; normalised by each frame's scale", rtol=1e-3, atol=1e-4)
def encodec_hf():
    from transformers import EncodecConfig, EncodecModel

    config = EncodecConfig(target_bandwidths=[1.5], sampling_rate=400, audio_channels=1, num_filters=4, num_residual_layers=1,
                           upsampling_ratios=[2, 2], codebook_size=8, codebook_dim=8, hidden_size=8, num_lstm_layers=1)
    m = randomise(EncodecModel(config))
    return (lambda x, mask: m.encode(x, mask).audio_codes), [
        (rand(1, 1, 16, seed=s), (torch.arange(16) < n)[None]) for s, n in enumerate([16, 10])]


@model("transformers", "frames beyond each sample's length are masked; checked by any")
def hubert_with_mask():
    from transformers import HubertConfig, HubertModel

    m = randomise(HubertModel(HubertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, conv_dim=(8, 8),
                                           conv_stride=(5, 2), conv_kernel=(10, 3), num_feat_extract_layers=2, num_conv_pos_embeddings=4,
                                           num_conv_pos_embedding_groups=2, vocab_size=10)))
    return (lambda x, mask: m(x, attention_mask=mask)[0]), [
        (rand(2, 80, seed=i), (torch.arange(80)[None] < torch.tensor(n)[:, None]).long()) for i, n in enumerate([(80, 50), (80, 80)])]


@model("transformers", "encoder and decoder with different vocabularies; greedy")
def fsmt_generate():
    from transformers import FSMTConfig, FSMTForConditionalGeneration

    config = FSMTConfig(src_vocab_size=20, tgt_vocab_size=18, langs=["en", "de"], d_model=8, encoder_layers=1, decoder_layers=1,
                        encoder_ffn_dim=12, decoder_ffn_dim=12, encoder_attention_heads=2, decoder_attention_heads=2,
                        max_position_embeddings=16, max_length=8, num_beams=1)
    m = randomise(FSMTForConditionalGeneration(config), scale=2.0)
    return (lambda ids: m.generate(ids, max_new_tokens=3, do_sample=False, num_beams=1)), [(ints(1, 4, low=3, high=18, seed=s),) for s in range(3)]


@model("transformers", "raw audio, then tokens until the end token", rtol=1e-3, atol=1e-4)
def moonshine_generate():
    from transformers import MoonshineConfig, MoonshineForConditionalGeneration

    config = MoonshineConfig(vocab_size=20, hidden_size=8, intermediate_size=12, encoder_num_hidden_layers=1, decoder_num_hidden_layers=1,
                             encoder_num_attention_heads=2, decoder_num_attention_heads=2, max_position_embeddings=32,
                             decoder_start_token_id=1, eos_token_id=2, bos_token_id=1, pad_token_id=0)
    m = randomise(MoonshineForConditionalGeneration(config), scale=2.0)
    return (lambda x: m.generate(x, max_new_tokens=3, do_sample=False)), [(rand(1, 1500, seed=s),) for s in range(2)]


@model("transformers", "patches kept by given noise: shuffled, masked, restored")
def vit_mae():
    from transformers import ViTMAEConfig, ViTMAEModel

    m = randomise(ViTMAEModel(ViTMAEConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=12, image_size=8,
                                           patch_size=2, mask_ratio=0.5)))
    return (lambda x, n: tuple(m(x, noise=n).values())), [(rand(1, 3, 8, 8, seed=s), rand(1, 16, seed=s + 1)) for s in range(2)]


@model("transformers", "landmarks and an iterative inverse")
def nystromformer():
    from transformers import NystromformerConfig, NystromformerModel

    m = randomise(NystromformerModel(NystromformerConfig(vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
                                                         intermediate_size=12, num_landmarks=2, segment_means_seq_len=8,
                                                         max_position_embeddings=16, conv_kernel_size=3)))
    return (lambda ids, mask: m(ids, attention_mask=mask)[0]), [padded(*n, length=8, high=30, seed=i) for i, n in enumerate([(8, 3), (8, 8)])]


@model("transformers", "returns, states and actions interleaved; padded steps masked")
def decision_transformer():
    from transformers import DecisionTransformerConfig, DecisionTransformerModel

    m = randomise(DecisionTransformerModel(DecisionTransformerConfig(state_dim=3, act_dim=2, hidden_size=8, max_ep_len=8, n_layer=1, n_head=2)))
    masks = [torch.ones(1, 4).long(), torch.tensor([[0, 1, 1, 1]])]
    return (lambda s, a, r, g, t, k: m(states=s, actions=a, rewards=r, returns_to_go=g, timesteps=t, attention_mask=k, return_dict=False)[:3]), [
        (rand(1, 4, 3, seed=i), rand(1, 4, 2, seed=i), rand(1, 4, 1, seed=i), rand(1, 4, 1, seed=i + 1), torch.arange(4)[None], k)
        for i, k in enumerate(masks)]


@model("chronos-forecasting", "values scaled, put into bins, missing ones masked", rtol=1e-3, atol=1e-4)
def chronos_tokenizer():
    from chronos.chronos import ChronosConfig, MeanScaleUniformBins

    config = ChronosConfig(tokenizer_class="MeanScaleUniformBins", tokenizer_kwargs={"low_limit": -5.0, "high_limit": 5.0}, context_length=6,
                           prediction_length=2, n_tokens=20, n_special_tokens=2, pad_token_id=0, eos_token_id=1, use_eos_token=True,
                           model_type="seq2seq", num_samples=1, temperature=1.0, top_k=5, top_p=1.0)
    t = MeanScaleUniformBins(-5.0, 5.0, config)
    some = rand(2, 6, seed=2)
    some[0, :3] = float("nan")
    return (lambda x: t.context_input_transform(x)), [(rand(2, 6, seed=0),), (some,), (torch.zeros(2, 6),)]


@model("kornia", "four-point estimates by weighted DLT, refined while weights change", rtol=1e-2, atol=1e-2)
def kornia_homography_iterated():
    from kornia.geometry.homography import find_homography_dlt_iterated

    grid = torch.tensor([[[0.0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.3]]])
    return (lambda a, b, w: find_homography_dlt_iterated(a, b, w, n_iter=2)), [
        (grid + 0.05 * rand(1, 5, 2, seed=s), grid * 1.2 + 0.1, torch.ones(1, 5)) for s in range(2)]


@model("kornia", "local maxima of a response map, the strongest kept")
def kornia_nms2d():
    from kornia.geometry.subpix import nms2d

    return (lambda x: (nms2d(x, (3, 3)), nms2d(x, (3, 3), mask_only=True))), [(rand(1, 1, 6, 6, seed=s),) for s in range(3)]


@model("kornia", "equalised by the histogram of each channel")
def kornia_equalize():
    from kornia.enhance import equalize

    return (lambda x: equalize(x)), [(rand(1, 1, 5, 5, seed=s).sigmoid(),) for s in range(2)] + [(torch.zeros(1, 1, 5, 5),)]


@model("kornia", "connected components by iterated maxima")
def kornia_connected_components():
    from kornia.contrib import connected_components

    return (lambda x: connected_components(x, num_iterations=6)), [((rand(1, 1, 6, 6, seed=s) > 0.3).float(),) for s in range(3)]


@model("timm", "patches of different number per image, masked; positions by coordinates", rtol=1e-3, atol=1e-4)
def timm_naflexvit():
    import timm

    m = randomise(timm.create_model("naflexvit_base_patch16_gap", embed_dim=8, depth=1, num_heads=2, num_classes=5, pretrained=False))
    grid = torch.stack(torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij"), -1).reshape(1, 6, 2)
    valid = [torch.ones(1, 6).bool(), torch.tensor([[1, 1, 1, 1, 0, 0]]).bool()]
    return (lambda p, c, v: m(p, patch_coord=c, patch_valid=v)), [(rand(1, 6, 768, seed=i), grid, v) for i, v in enumerate(valid)]


@model("timm", "windows shifted, padded to a multiple of their size")
def timm_swin_dynamic():
    import timm

    m = randomise(timm.create_model("swin_tiny_patch4_window7_224", img_size=32, window_size=4, embed_dim=8, depths=(2,), num_heads=(2,),
                                    num_classes=3, pretrained=False, strict_img_size=False))
    return m, [(rand(1, 3, 32, 32, seed=s),) for s in range(2)]


@model("pytorch-forecasting", "a state is kept where a sample has no history", rtol=1e-3, atol=1e-4)
def forecasting_lstm():
    from pytorch_forecasting.models.nn import LSTM

    m = randomise(LSTM(3, 4, batch_first=True))
    return (lambda x, h, c, none: m.handle_no_encoding((h, c), none, m.init_hidden_state(x))), [
        (rand(2, 3, 3, seed=i), rand(1, 2, 4, seed=i), rand(1, 2, 4, seed=i + 1), torch.tensor([[[n], [k]]]).bool())
        for i, (n, k) in enumerate([(0, 1), (1, 1), (0, 0)])]
