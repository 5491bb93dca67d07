# SPDX-License-Identifier: Apache-2.0
"""Lemmatisers, samplers with their own step size, linear solvers, tags, and parts of transformers that look at the data:
queries chosen by their boxes, images of several sizes, durations, matching, prompts."""

from types import SimpleNamespace

import torch

from tests.models.registry import ints, model, rand, randomise, seeded


def uniform(*shape, seed=0):
    return torch.rand(*shape, generator=seeded(seed))


# ---- words, letter by letter ------------------------------------------------------------------------


def lemmatiser(**more):
    from stanza.models.common.seq2seq_model import Seq2SeqModel

    options = dict(vocab_size=10, emb_dim=8, hidden_dim=8, num_layers=1, dropout=0.0, max_dec_len=5, attn_type="soft", **more)
    return randomise(Seq2SeqModel(options), scale=3.0)


def letters(lengths):
    found = []
    for s, n in enumerate(lengths):
        mask = torch.arange(5)[None] >= torch.tensor(n)[:, None]
        found.append((ints(len(n), 5, low=4, high=10, seed=s).masked_fill(mask, 0), mask))
    return found


@model("stanza", "letters until every word has ended")
def stanza_lemmas():
    m = lemmatiser(edit=True, num_edit=3)
    return (lambda src, mask: m.predict_greedy(src, mask)), letters([[5, 5], [5, 3], [5, 4], [5, 2], [5, 5]])


@model("stanza", "letters until every word has ended, some of them copied")
def stanza_lemmas_copied():
    m = lemmatiser(copy=True)
    return (lambda src, mask: m.predict_greedy(src, mask)), letters([[5, 5], [5, 3], [5, 4]])


@model("stanza", "beams of letters until all have ended")
def stanza_lemmas_beam():
    m = lemmatiser()
    return (lambda src, mask: m.predict(src, mask, beam_size=2)), letters([[5, 5], [5, 3], [5, 4], [5, 2]])


@model("stanza", "likelihood of tags under a mask")
def stanza_crf():
    from stanza.models.common.crf import CRFLoss

    m = randomise(CRFLoss(4))
    return m, [(rand(2, 5, 4, seed=s), w[1], ints(2, 5, high=4, seed=s)) for s, w in enumerate(letters([[5, 5], [5, 3], [5, 0]]))]


@model("stanza", "a maximum spanning tree in numpy: cycles are contracted")
def stanza_chuliu_edmonds():
    from stanza.models.common.chuliu_edmonds import chuliu_edmonds_one_root

    return (lambda s: chuliu_edmonds_one_root(s.numpy())), [(rand(4, 4, seed=s),) for s in range(6)]


@model("fastNLP", "best tags of sentences of different lengths")
def fastnlp_crf():
    from fastNLP.modules.torch.decoder import ConditionalRandomField

    m = randomise(ConditionalRandomField(3, include_start_end_trans=True))
    return (lambda x, mask: m.viterbi_decode(x, mask, unpad=True)), [
        (rand(2, 5, 3, seed=s), torch.arange(5)[None] < torch.tensor(n)[:, None]) for s, n in enumerate([[5, 5], [5, 3], [2, 4]])]


# ---- samplers and solvers ----------------------------------------------------------------------------


class Denoiser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))

    def forward(self, x, sigma):
        return self.net(torch.cat([x, sigma[:, None].log()], 1))


@model("k-diffusion", "steps of a size that the error gives, some of them rejected")
def k_diffusion_adaptive():
    from k_diffusion.sampling import sample_dpm_adaptive

    m = randomise(Denoiser(), scale=1.5)
    return (lambda x: sample_dpm_adaptive(m, x, 0.1, 5.0, disable=True, return_info=True)), [(rand(2, 3, seed=s, scale=5.0),) for s in range(4)]


@model("k-diffusion", "the step to a sigma of zero is another")
def k_diffusion_heun():
    from k_diffusion.sampling import sample_heun

    m = randomise(Denoiser(), scale=1.5)
    return (lambda x, sigmas: sample_heun(m, x, sigmas, disable=True)), [
        (rand(2, 3, seed=s, scale=5.0), torch.tensor(t)) for s, t in enumerate([[5.0, 2.0, 1.0, 0.0], [5.0, 2.0, 1.0, 0.1], [5.0, 2.0, 1.0, 0.5]])]


@model("k-diffusion", "a multistep solver whose first and last step are others")
def k_diffusion_dpmpp_2m():
    from k_diffusion.sampling import sample_dpmpp_2m

    m = randomise(Denoiser(), scale=1.5)
    return (lambda x, sigmas: sample_dpmpp_2m(m, x, sigmas, disable=True)), [
        (rand(2, 3, seed=s, scale=5.0), torch.tensor(t)) for s, t in enumerate([[5.0, 2.0, 1.0, 0.0], [5.0, 2.0, 1.0, 0.5]])]


@model("mpc", "a projected Newton method with a line search until it stays")
def mpc_pnqp():
    from mpc.pnqp import pnqp

    def run(a, q):
        x, _, free, steps = pnqp(a @ a.transpose(1, 2) + torch.eye(3), q, -torch.ones(2, 3), torch.ones(2, 3))
        return x, free, steps

    return run, [(rand(2, 3, 3, seed=s), rand(2, 3, seed=s + 9, scale=k)) for s, k in enumerate([1.0, 3.0, 9.0, 0.1])]


@model("deepinv", "conjugate gradients until the residual is small")
def deepinv_cg():
    from deepinv.optim.linear import conjugate_gradient

    w = rand(4, 4, seed=3)
    w = w @ w.T + torch.eye(4)
    return (lambda b: conjugate_gradient(lambda x: x @ w, b, max_iter=20, tol=1e-3, parallel_dim=0)), [
        (rand(2, 4, seed=s),) for s in range(4)] + [(torch.zeros(2, 4),)]


@model("deepinv", "BiCGSTAB until the residual is small")
def deepinv_bicgstab():
    from deepinv.optim.linear import bicgstab

    w = (rand(4, 4, seed=3) * 0.3 + torch.eye(4)).double()
    return (lambda b: bicgstab(lambda x: x @ w, b, max_iter=20, tol=1e-3)), [(rand(2, 4, seed=s).double(),) for s in range(4)]


@model("deepinv", "LSQR until one of its tests ends it")
def deepinv_lsqr():
    from deepinv.optim.linear import lsqr

    w = (rand(4, 4, seed=3) * 0.3 + torch.eye(4)).double()
    return (lambda b: lsqr(lambda x: x @ w, lambda y: y @ w.T, b, max_iter=20, tol=1e-3, parallel_dim=0)), [
        (rand(2, 4, seed=s).double(),) for s in range(4)]


@model("deepinv", "MINRES until the residual is small")
def deepinv_minres():
    from deepinv.optim.linear import minres

    w = rand(4, 4, seed=3)
    w = (w + w.T).double() + 2 * torch.eye(4).double()
    return (lambda b: minres(lambda x: x @ w, b, max_iter=20, tol=1e-3)), [(rand(2, 4, seed=s).double(),) for s in range(4)]


@model("tensorly", "FISTA for nonnegative least squares until it moves little")
def tensorly_fista():
    import tensorly
    from tensorly.solvers.nnls import fista

    tensorly.set_backend("pytorch")
    return (lambda u, m: fista(u.T @ m, u.T @ u, lr=0.05, n_iter_max=30, tol=1e-2)), [
        (rand(6, 3, seed=s), rand(6, 2, seed=s + 9)) for s in range(4)]


@model("tensorly", "coordinate descent for nonnegative least squares until it moves little")
def tensorly_hals():
    import tensorly
    from tensorly.solvers.nnls import hals_nnls

    tensorly.set_backend("pytorch")
    return (lambda u, m: hals_nnls(u.T @ m, u.T @ u, V=torch.ones(3, 2), n_iter_max=20, tol=1e-3)), [
        (rand(6, 3, seed=s), rand(6, 2, seed=s + 9)) for s in range(4)]


# ---- graphs ------------------------------------------------------------------------------


@model("torch-geometric", "a graph of the nodes that a mask chooses")
def pyg_subgraph():
    from torch_geometric.utils import subgraph

    edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
    return (lambda mask, w: subgraph(mask, edges, w, relabel_nodes=True, num_nodes=5)), [
        (rand(5, seed=s) > -0.3, rand(6, seed=s)) for s in range(4)]


# ---- transformers ----------------------------------------------------------------------------------


@model("transformers", "the query of the box that overlaps the whole image most, an image at a time")
def owlvit_image_query():
    from transformers import OwlViTConfig, OwlViTForObjectDetection

    shape = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
    c = OwlViTConfig(text_config=dict(vocab_size=20, max_position_embeddings=8, **shape), vision_config=dict(image_size=32, patch_size=8, **shape),
                     projection_dim=16)
    m = randomise(OwlViTForObjectDetection(c), scale=2.0)

    def run(x):
        features = m.image_embedder(pixel_values=x)[0]
        return m.embed_image_query(features.reshape(2, 16, -1), features)

    return run, [(rand(2, 3, 32, 32, seed=s, scale=2.0),) for s in range(4)]


@model("transformers", "positions resized to the part of the image that is there, its patches chosen")
def vilt():
    from transformers import ViltConfig, ViltModel

    m = randomise(ViltModel(ViltConfig(vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=16,
                                       patch_size=4, max_image_length=-1)))
    masks = []
    for h, w in [(16, 16), (8, 16), (16, 12), (4, 4)]:
        masks.append(torch.zeros(1, 16, 16, dtype=torch.long))
        masks[-1][:, :h, :w] = 1
    return (lambda ids, pixels, mask: m(input_ids=ids, pixel_values=pixels, pixel_mask=mask).pooler_output), [
        (ints(1, 5, high=20, seed=s), rand(1, 3, 16, 16, seed=s), mask) for s, mask in enumerate(masks)]


@model("transformers", "units repeated by durations that the data give")
def seamless_vocoder():
    from transformers import SeamlessM4TConfig
    from transformers.models.seamless_m4t.modeling_seamless_m4t import SeamlessM4TCodeHifiGan

    m = randomise(SeamlessM4TCodeHifiGan(SeamlessM4TConfig(
        unit_hifi_gan_vocab_size=20, unit_embed_dim=8, lang_embed_dim=4, spkr_embed_dim=4, vocoder_num_langs=3, vocoder_num_spkrs=3,
        variance_predictor_kernel_size=3, var_pred_dropout=0.0, upsample_initial_channel=8, upsample_rates=[2, 2], upsample_kernel_sizes=[4, 4],
        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1, 3]])))
    return m, [(ints(1, 6, low=5, high=20, seed=s), torch.tensor([[s % 3]]), torch.tensor([[s % 3]])) for s in range(4)]


@model("transformers", "the delays that correlate most, rolled together")
def autoformer_model():
    from transformers import AutoformerConfig, AutoformerModel

    m = randomise(AutoformerModel(AutoformerConfig(
        prediction_length=4, context_length=8, input_size=1, lags_sequence=[1, 2], num_time_features=1, d_model=8, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=8, decoder_ffn_dim=8, moving_average=3, label_length=4,
        num_static_categorical_features=0, autocorrelation_factor=2, dropout=0.0)))

    def run(values, features, mask, future, future_features):
        return m(past_values=values, past_time_features=features, past_observed_mask=mask, future_values=future,
                 future_time_features=future_features).last_hidden_state

    return run, [(rand(1, 10, seed=s), rand(1, 10, 1, seed=s + 5), torch.ones(1, 10), rand(1, 4, seed=s + 7), rand(1, 4, 1, seed=s + 8)) for s in range(4)]


@model("transformers", "patches put where the tokens say, none or all of them")
def fuyu_patches():
    from transformers import FuyuConfig, FuyuModel

    m = randomise(FuyuModel(FuyuConfig(vocab_size=20, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=8,
                                       patch_size=4, num_channels=3, image_token_id=5)))
    places = [[0, 1, -1, -1, 2, 3], [-1, -1, -1, 0, 1, 2], [-1] * 6, [3, 2, 1, 0, -1, -1], [0, -1, 2, -1, 1, -1]]
    return (lambda words, patches, at: m.gather_continuous_embeddings(words, [patches], at)), [
        (rand(1, 6, 16, seed=s), rand(4, 16, seed=s + 3), torch.tensor([i])) for s, i in enumerate(places)]


@model("transformers", "keypoints matched by Sinkhorn's steps, some masked")
def superglue_with_masks():
    from transformers import SuperGlueConfig, SuperGlueForKeypointMatching

    detector = dict(model_type="superpoint", encoder_hidden_sizes=[8, 8], decoder_hidden_size=8, descriptor_decoder_dim=16, keypoint_decoder_dim=9)
    m = randomise(SuperGlueForKeypointMatching(SuperGlueConfig(
        hidden_size=16, keypoint_encoder_sizes=[8, 16], gnn_layers_types=["self", "cross"], num_attention_heads=2, sinkhorn_iterations=5,
        keypoint_detector_config=detector)))
    return (lambda points, d, scores, mask: m._match_image_pair(points, d, scores, 16, 16, mask=mask)[:2]), [
        (uniform(1, 2, 4, 2, seed=s) * 16, rand(1, 2, 4, 16, seed=s), uniform(1, 2, 4, seed=s),
         (torch.arange(4) < n).int()[None, None].expand(1, 2, 4).contiguous()) for s, n in enumerate([4, 4, 3, 2])]


@model("transformers", "prompts embedded by their labels")
def sam_prompts():
    from transformers import SamConfig, SamMaskDecoderConfig, SamModel, SamPromptEncoderConfig, SamVisionConfig

    m = randomise(SamModel(SamConfig(
        vision_config=SamVisionConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=32, patch_size=8, output_channels=16,
                                      window_size=2, global_attn_indexes=[0], mlp_dim=16, num_pos_feats=8),
        prompt_encoder_config=SamPromptEncoderConfig(hidden_size=16, image_size=32, patch_size=8, mask_input_channels=4),
        mask_decoder_config=SamMaskDecoderConfig(hidden_size=16, mlp_dim=16, num_hidden_layers=1, num_attention_heads=2, iou_head_hidden_dim=16))))
    return (lambda e, points, labels: m(image_embeddings=e, input_points=points, input_labels=labels)[:2]), [
        (rand(1, 16, 4, 4, seed=s), uniform(1, 1, 3, 2, seed=s) * 32, torch.tensor([[n]]))
        for s, n in enumerate([[1, 1, 0], [1, -1, -1], [0, 0, 0], [1, 0, -10]])]


@model("transformers", "series put on one scale, forecasts from patches")
def timesfm():
    from transformers import TimesFmConfig, TimesFmModelForPrediction

    m = randomise(TimesFmModelForPrediction(TimesFmConfig(patch_length=4, context_length=16, horizon_length=8, num_hidden_layers=1, hidden_size=16,
                                                          intermediate_size=16, head_dim=8, num_attention_heads=2)))
    return (lambda a, b: m(past_values=[a, b], freq=[0, 1]).mean_predictions), [
        (rand(12, seed=s), rand(12, seed=s + 4, scale=k)) for s, k in enumerate([1.0, 5.0, 0.0])]


@model("transformers", "a start and an end put into each row where its padding begins")
def clvp_tokens():
    from transformers.models.clvp.modeling_clvp import _pad_extra_bos_eos_tokens

    rows = ([[1, 2, 3, 4], [5, 6, 7, 1]], [[1, 2, 0, 0], [5, 6, 7, 0]], [[1, 0, 0, 0], [2, 3, 4, 5]])
    return (lambda ids, mask: _pad_extra_bos_eos_tokens(ids, mask, pad_token_id=0, bos_token_id=8, eos_token_id=9)), [
        (torch.tensor(i), torch.tensor(i).ne(0).long()) for i in rows]


@model("transformers", "image features cut back to the image's shape")
def llava_next_unpad():
    from transformers.models.llava_next.modeling_llava_next import unpad_image

    return (lambda x, size: unpad_image(x, size)), [(rand(3, 6, 6, seed=s), torch.tensor(z)) for s, z in enumerate([[6, 6], [6, 3], [3, 6], [2, 5]])]


@model("transformers", "the nearest entries of a codebook, residual after residual")
def mimi_quantizer():
    from transformers import MimiConfig, MimiModel

    m = randomise(MimiModel(MimiConfig(
        hidden_size=16, num_filters=2, num_residual_layers=1, upsampling_ratios=[2, 2], codebook_size=8, codebook_dim=8,
        vector_quantization_hidden_dimension=8, num_quantizers=3, num_semantic_quantizers=1, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, intermediate_size=16, sliding_window=4, upsample_groups=16, frame_rate=1000.0, sampling_rate=8000)))
    return (lambda x: m.quantizer.encode(x)), [(rand(1, 16, 5, seed=s),) for s in range(3)]


@model("transformers", "experts that a token is sent to")
def llama4_moe():
    from transformers import Llama4TextConfig
    from transformers.models.llama4.modeling_llama4 import Llama4TextMoe

    m = randomise(Llama4TextMoe(Llama4TextConfig(hidden_size=16, intermediate_size=8, num_local_experts=4, num_experts_per_tok=1)))
    return m, [(rand(1, 5, 16, seed=s),) for s in range(4)]


def boxes_above(processor):
    def run(logits, boxes):
        return processor.post_process_object_detection(SimpleNamespace(logits=logits, pred_boxes=boxes), threshold=0.6, target_sizes=[(10, 20)])

    return run, [(rand(1, 5, 3, seed=s), uniform(1, 5, 4, seed=s)) for s in range(4)]


@model("transformers", "the best boxes above a threshold")
def rt_detr_boxes():
    from transformers import RTDetrImageProcessor

    return boxes_above(RTDetrImageProcessor())


@model("transformers", "boxes above a threshold")
def owlvit_boxes():
    from transformers import OwlViTImageProcessor

    return boxes_above(OwlViTImageProcessor())
