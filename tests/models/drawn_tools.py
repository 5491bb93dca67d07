# SPDX-License-Identifier: Apache-2.0
"""Drawn as somebody else would choose them: assignments, precision of detections, crops, trees, interests, transducers, tables."""

import torch

from tests.models.registry import ints, model, rand, randomise, seeded, stand_in


def uniform(*shape, seed):
    return torch.rand(*shape, generator=seeded(seed))


def boxes(n, seed):
    corner = uniform(n, 2, seed=seed) * 4
    return torch.cat((corner, corner + uniform(n, 2, seed=100 + seed) * 4 + 0.5), 1)


@model("kornia", "average precision: detections ranked, each takes the object that it overlaps most unless it is taken")
def kornia_mean_average_precision():
    from kornia.metrics import mean_average_precision

    def run(found, labels, scores, truth, true_labels):
        return mean_average_precision([found], [labels], [scores], [truth], [true_labels], 3, 0.4)

    return run, [(boxes(4, s), ints(4, low=1, high=3, seed=s), uniform(4, seed=s), boxes(3, s + 40) if s else boxes(4, 0)[:3],
                  ints(3, low=1, high=3, seed=s + 1)) for s in range(4)]


@model("kornia", "nearest descriptors, the second of which lies elsewhere in the picture")
def kornia_match_fginn():
    from kornia.feature import laf_from_center_scale_ori, match_fginn

    def run(a, b, places_a, places_b):
        return match_fginn(a, b, laf_from_center_scale_ori(places_a), laf_from_center_scale_ori(places_b), th=0.9, spatial_th=2.0, mutual=True)

    return run, [(rand(5, 4, seed=s), rand(6, 4, seed=50 + s), uniform(1, 5, 2, seed=s) * 8, uniform(1, 6, 2, seed=9 + s) * 8) for s in range(5)]


@model("ultralytics", "the cheapest assignment by shortest augmenting paths")
def ultralytics_assignment():
    from ultralytics.utils.ops import _linear_sum_assignment_numpy

    return (lambda cost: _linear_sum_assignment_numpy(cost.numpy())), [(uniform(3, 4, seed=s).double(),) for s in range(5)]


@model("ultralytics", "anchors assigned to boxes: the best ones inside, one box per anchor")
def ultralytics_task_aligned():
    from ultralytics.utils.tal import TaskAlignedAssigner

    m = TaskAlignedAssigner(topk=3, num_classes=3)
    places = torch.stack(torch.meshgrid(torch.arange(4) + 0.5, torch.arange(4) + 0.5, indexing="ij"), -1).reshape(-1, 2)
    return (lambda scores, found, labels, truth, mask: m(scores, found, places, labels, truth, mask)), [
        (uniform(1, 16, 3, seed=s), boxes(16, s)[None], ints(1, 2, 1, high=3, seed=s), boxes(2, 60 + s)[None],
         torch.tensor([[[1.0], [float(s % 2)]]])) for s in range(4)]


@model("ultralytics", "turned boxes suppressed by those that overlap them more")
def ultralytics_rotated_suppression():
    from ultralytics.utils.metrics import batch_probiou
    from ultralytics.utils.nms import TorchNMS

    return (lambda found, scores: TorchNMS.fast_nms(found, scores, 0.3, iou_func=batch_probiou)), [
        (torch.cat((boxes(6, s), rand(6, 1, seed=s)), 1), uniform(6, seed=s)) for s in range(5)]


@model("monai", "the box around what is there; a crop to it")
def monai_foreground_box():
    from monai.transforms.utils import generate_spatial_bounding_box

    def run(image):
        start, end = generate_spatial_bounding_box(image, margin=1, allow_smaller=True)
        return image[:, start[0]:end[0], start[1]:end[1]], start, end

    images = []
    for s in range(5):
        image = torch.zeros(1, 6, 7)
        if s:
            image[:, s % 3:s % 3 + s, 1:1 + s] = uniform(1, s, s, seed=s)[:, :6 - s % 3]
        images.append(image)
    return run, [(image,) for image in images[1:] + images[:1]]


@model("deepctr-torch", "interests of sequences of different lengths; rows without any are left out")
def deepctr_dien_interests():
    from deepctr_torch.models.dien import InterestEvolving, InterestExtractor

    extract, evolve = randomise(InterestExtractor(input_size=4)), randomise(InterestEvolving(4, gru_type="AUGRU"))

    def run(query, keys, lengths):
        interests = extract(keys, lengths)[0]
        return evolve(query, interests, lengths)

    return run, [(rand(3, 4, seed=s), rand(3, 4, 4, seed=s + 9), torch.tensor(n)) for s, n in enumerate(
        ([4, 2, 1], [3, 0, 2], [1, 1, 4], [0, 4, 0]))]


@model("torch-geometric", "nodes without edges are removed, the others numbered anew")
def pyg_isolated_nodes():
    from torch_geometric.utils import remove_isolated_nodes

    return (lambda edges, weights: remove_isolated_nodes(edges, weights, num_nodes=6)), [
        (ints(2, 5, high=6, seed=s), uniform(5, seed=s)) for s in range(5)]


@model("torch-geometric", "edges that stand there twice are summed into one")
def pyg_coalesce():
    from torch_geometric.utils import coalesce

    return (lambda edges, weights: coalesce(edges, weights, num_nodes=3, reduce="add")), [
        (ints(2, 6, high=3, seed=s), uniform(6, seed=s)) for s in range(5)]


@model("pytorch-tabular", "trees of soft decisions, their thresholds set by the first batch", rtol=1e-3, atol=1e-4)
def tabular_oblivious_trees():
    from pytorch_tabular.models.common.layers.soft_trees import ODST

    return ODST(in_features=4, num_trees=3, depth=2, tree_output_dim=2), [(rand(6, 4, seed=s),) for s in range(3)]


@model("espnet", "a transducer: the best of a few hypotheses, frame by frame", rtol=1e-3, atol=1e-4)
def espnet2_transducer_time_synchronous():
    from espnet2.asr_transducer.beam_search_transducer import BeamSearchTransducer
    from espnet2.asr_transducer.decoder.rnn_decoder import RNNDecoder
    from espnet2.asr_transducer.joint_network import JointNetwork

    decoder, joint = randomise(RNNDecoder(5, 4, 4), scale=2.0), randomise(JointNetwork(5, 4, 4, 6), scale=3.0)
    decoder.set_device(torch.device("cpu"))
    m = BeamSearchTransducer(decoder, joint, 1, search_type="tsd", max_sym_exp=2)
    return (lambda x: [(h.score, h.yseq) for h in m(x)]), [(rand(3, 4, seed=s, scale=3),) for s in range(4)]


@model("mixture-of-attention", "queries and keys routed to experts of attention", rtol=1e-3, atol=1e-4)
def mixture_of_attention_lm():
    from mixture_of_attention.transformer import Transformer

    m = randomise(Transformer(dim=16, num_tokens=12, depth=1, seq_len=16, local_attn_window_size=4, num_routed_queries=2, num_routed_key_values=4,
                              num_experts=2, dim_head=8, heads=2, use_triton=False))
    return m, [(ints(1, 16, high=12, seed=s),) for s in range(3)]


@model("torchaudio", "pitch: the best lag of a correlation, half of it where that is as good; a median", rtol=1e-3, atol=1e-3)
def torchaudio_pitch():
    from torchaudio.functional import detect_pitch_frequency

    return (lambda x: detect_pitch_frequency(x, 800, frame_time=0.02, win_length=3, freq_low=40, freq_high=300)), [
        (torch.sin(torch.arange(400) * 0.5 * (s + 1))[None] + rand(1, 400, seed=s, scale=0.1),) for s in range(3)]


@model("segment-anything", "points, boxes or neither as prompts of masks", rtol=1e-3, atol=1e-3)
def segment_anything_prompts():
    from segment_anything.modeling import MaskDecoder, PromptEncoder, TwoWayTransformer

    prompt = randomise(PromptEncoder(embed_dim=8, image_embedding_size=(4, 4), input_image_size=(16, 16), mask_in_chans=4))
    decode = randomise(MaskDecoder(transformer_dim=8, transformer=TwoWayTransformer(depth=1, embedding_dim=8, mlp_dim=8, num_heads=2)))

    def run(image, points, labels):
        sparse, dense = prompt((points, labels), None, None)
        masks, quality = decode(image, prompt.get_dense_pe(), sparse, dense, True)
        best = quality[0].argmax().item()
        return masks[:, best], quality

    return run, [(rand(1, 8, 4, 4, seed=s), uniform(1, 3, 2, seed=s) * 16, ints(1, 3, low=-1, high=2, seed=s)) for s in range(4)]


@model("funasr", "speech by a window over frames: it begins and ends when enough of them say so")
def funasr_window_detector():
    stand_in("kaldiio")
    from funasr.models.fsmn_vad_streaming.model import FrameState, WindowDetector

    def run(scores):
        detector, changes = WindowDetector(40, 30, 20, 10), []
        for k in range(scores.shape[0]):
            state = FrameState.kFrameStateSpeech if scores[k] > 0 else FrameState.kFrameStateSil
            changes.append(detector.DetectOneFrame(state, k).value)
        return changes

    return run, [(rand(8, seed=s),) for s in range(5)]


@model("torchvision", "masks pasted where their boxes are, cut at the border")
def torchvision_paste_masks():
    from torchvision.models.detection.roi_heads import paste_masks_in_image

    return (lambda masks, found: paste_masks_in_image(masks, found, (8, 9))), [(uniform(3, 1, 4, 4, seed=s), boxes(3, s)) for s in range(4)]
