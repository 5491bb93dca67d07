# SPDX-License-Identifier: Apache-2.0
"""Models of packages that have one or two each: text recognisers, phonemes, clustering until it moves no more, segments that fire,
boundaries found in a sequence, matching of points, returns of trajectories, voice activity."""

import torch

from tests.models.registry import ints, model, rand, randomise


class Features(torch.nn.Module):
    """A backbone of the kind doctr's recognisers are given."""

    def __init__(self, channels=16, tokens=False):
        super().__init__()
        self.conv, self.tokens = torch.nn.Conv2d(3, channels, 4, 4), tokens

    def forward(self, x):
        x = self.conv(x)
        return {"features": x.flatten(2).transpose(1, 2) if self.tokens else x}


@model("python-doctr", "characters until every word has ended, then one pass that refines")
def doctr_parseq():
    from doctr.models.recognition.parseq.pytorch import PARSeq

    m = randomise(PARSeq(Features(tokens=True), vocab="abc", embedding_units=16, max_length=5, dec_num_heads=2, dec_ff_dim=8, dec_ffd_ratio=1,
                         input_shape=(3, 8, 16)), scale=2.0)
    return (lambda x: m.decode_autoregressive(m.feat_extractor(x)["features"])), [(rand(2, 3, 8, 16, seed=s, scale=3),) for s in range(6)]


@model("python-doctr", "characters until every word has ended")
def doctr_master():
    from doctr.models.recognition.master.pytorch import MASTER

    m = randomise(MASTER(Features(), vocab="abc", d_model=16, dff=16, num_heads=2, num_layers=1, max_length=6, input_shape=(3, 8, 16)), scale=2.0)
    return (lambda x: m(x, return_model_output=True)["out_map"]), [(rand(2, 3, 8, 16, seed=s, scale=3),) for s in range(6)]


@model("python-doctr", "attention over a text image, step by step")
def doctr_sar():
    from doctr.models.recognition.sar.pytorch import SAR

    m = SAR(Features(512), vocab="abc", rnn_units=512, embedding_units=512, attention_units=8, max_length=3, input_shape=(3, 8, 16), exportable=True)
    m = randomise(m, scale=2.0)
    return (lambda x: m(x)["logits"]), [(rand(1, 3, 8, 16, seed=s, scale=3),) for s in range(3)]


@model("deep-phonemizer", "phonemes until every word has ended")
def deep_phonemizer_generate():
    from dp.model.model import AutoregressiveTransformer

    m = randomise(AutoregressiveTransformer(10, 8, end_index=2, d_model=16, d_fft=24, encoder_layers=1, decoder_layers=1, heads=2), scale=2.0)
    texts = [[[4, 5, 6, 7], [8, 9, 0, 0]], [[4, 4, 0, 0], [5, 6, 7, 0]], [[9, 8, 7, 6], [5, 4, 9, 8]], [[7, 0, 0, 0], [6, 0, 0, 0]],
             [[5, 9, 5, 0], [8, 8, 0, 0]]]
    return (lambda text, start: m.generate({"text": text, "start_index": start}, max_len=5)), [
        (torch.tensor(t), torch.tensor([1, 1])) for t in texts]


@model("fast-pytorch-kmeans", "clusters moved until they stay")
def fast_kmeans():
    from fast_pytorch_kmeans import KMeans

    def fit(x, centroids):
        k = KMeans(n_clusters=3, mode="euclidean", max_iter=20)
        return k.fit_predict(x, centroids.clone()), k.centroids

    return fit, [(rand(20, 2, seed=s), rand(3, 2, seed=s + 50)) for s in range(6)]


@model("torch-kmeans", "clusters moved until they stay, a batch at once")
def torch_kmeans():
    from torch_kmeans import KMeans

    m = KMeans(n_clusters=3, max_iter=10, verbose=False, num_init=1)
    return (lambda x, c: tuple(m(x, centers=c))[:2]), [(rand(2, 12, 2, seed=s), rand(2, 3, 2, seed=s + 50)) for s in range(5)]


@model("xitorch", "Broyden's method until the residual is small")
def xitorch_rootfinder():
    from xitorch.optimize import rootfinder

    w = rand(3, 3, seed=1, scale=0.3).double()
    return (lambda y: rootfinder(lambda v: v + 0.5 * torch.tanh(v @ w) - 1, y, method="broyden1", maxiter=20, f_tol=1e-6)), [
        (rand(1, 3, seed=s).double(),) for s in range(4)]


@model("funasr", "continuous integrate-and-fire: a token whenever the sum passes one")
def funasr_cif():
    from funasr.models.paraformer.cif_predictor import CifPredictor

    m = randomise(CifPredictor(8, 1, 1, dropout=0.0), scale=2.0)
    return (lambda h: m(h, mask=torch.ones(h.shape[0], 1, h.shape[1]))), [(rand(2, 9, 8, seed=s, scale=1.5),) for s in range(5)]


@model("x-transformers", "token boundaries where the entropy is high")
def entropy_tokenizer():
    from x_transformers import Decoder, TransformerWrapper
    from x_transformers.entropy_based_tokenizer import EntropyBasedTokenizer

    decoder = randomise(TransformerWrapper(num_tokens=10, max_seq_len=16, attn_layers=Decoder(dim=16, depth=1, heads=2, attn_dim_head=8)), scale=3.0)
    m = EntropyBasedTokenizer(decoder, entropy_threshold=1.2)
    return (lambda seq, lens: m(seq, lens)), [
        (ints(2, 8, high=10, seed=s), torch.tensor(n)) for s, n in enumerate([[8, 8], [8, 3], [5, 8], [2, 4], [8, 1]])]


@model("x-transformers", "boundaries by accumulated entropy, tokens of at most three")
def entropy_tokenizer_accumulated():
    from x_transformers import Decoder, TransformerWrapper
    from x_transformers.entropy_based_tokenizer import EntropyBasedTokenizer

    decoder = randomise(TransformerWrapper(num_tokens=10, max_seq_len=16, attn_layers=Decoder(dim=16, depth=1, heads=2, attn_dim_head=8)), scale=3.0)
    m = EntropyBasedTokenizer(decoder, entropy_threshold=2.0, accumulate_entropy=True, max_token_size=3)
    return m, [(ints(2, 8, high=10, seed=s),) for s in range(5)]


@model("sinabs", "neurons that spike several times a step; state from call to call reset")
def sinabs_iaf():
    from sinabs.layers import IAF

    def run(x):
        return IAF(min_v_mem=-1.0)(x)

    return run, [(rand(2, 5, 3, seed=s, scale=1.5),) for s in range(4)]


@model("sinabs", "adaptive thresholds")
def sinabs_alif():
    from sinabs.layers import ALIF

    def run(x):
        return ALIF(tau_mem=10.0, tau_adapt=20.0, adapt_scale=1.8)(x)

    return run, [(rand(2, 5, 3, seed=s, scale=1.5),) for s in range(4)]


@model("norse", "neurons that stay silent after a spike")
def norse_lif_refractory():
    from norse.torch.module.lif_refrac import LIFRefracFeedForwardCell

    m = LIFRefracFeedForwardCell((3,)).eval()  # the recurrent cell can't make its first state

    def run(x):
        state, out = None, []
        for t in range(x.shape[0]):
            z, state = m(x[t], state)
            out.append(z)
        return torch.stack(out)

    return run, [(rand(6, 2, 3, seed=s, scale=8).abs(),) for s in range(4)]


@model("torch-geometric", "nodes within some steps of others")
def k_hop_nodes():
    from torch_geometric.utils import k_hop_subgraph

    edges = [[[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]], [[0, 0, 1, 5, 3], [1, 2, 3, 4, 3]], [[5, 4, 3, 2, 1], [0, 0, 0, 5, 5]]]
    return (lambda start, e: k_hop_subgraph(start, 2, e, relabel_nodes=True, num_nodes=6)), [
        (torch.tensor(s), torch.tensor(e)) for e in edges for s in ([5], [0])]


@model("torch-geometric", "nodes joined where an edge's score is high")
def cluster_pooling():
    from torch_geometric.nn import ClusterPooling

    m = randomise(ClusterPooling(4), scale=3.0)
    e = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4, 4, 5], [1, 0, 2, 1, 3, 2, 4, 3, 5, 4]])
    return (lambda x, batch: m(x, e, batch)[:3]), [(rand(6, 4, seed=s), torch.zeros(6, dtype=torch.long)) for s in range(5)]


@model("torch-geometric", "colours of nodes by their neighbours' colours")
def wl_conv():
    from torch_geometric.nn import WLConvContinuous

    e = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
    return (lambda x: WLConvContinuous()(x, e)), [(rand(4, 3, seed=s),) for s in range(3)]


@model("torch-geometric", "labels corrected and smoothed; the masked nodes decide")
def correct_and_smooth():
    from torch_geometric.nn import CorrectAndSmooth

    m = CorrectAndSmooth(num_correction_layers=3, correction_alpha=0.8, num_smoothing_layers=3, smoothing_alpha=0.8, autoscale=True)
    e = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]])

    def run(soft, labels, mask):
        soft = soft.softmax(-1)
        y = m.correct(soft, labels[mask], mask, e)
        return m.smooth(y, labels[mask], mask, e)

    masks = [[1, 0, 1, 0, 0], [1, 1, 1, 1, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 1]]
    return run, [(rand(5, 3, seed=s), ints(5, high=3, seed=s), torch.tensor(k).bool()) for s, k in enumerate(masks)]


@model("vit-pytorch", "images of several sizes packed into sequences")
def na_vit():
    from vit_pytorch.na_vit import NaViT

    m = randomise(NaViT(image_size=16, patch_size=4, num_classes=5, dim=16, depth=1, heads=2, mlp_dim=24, dim_head=8))
    sizes = [((8, 8), (12, 4)), ((8, 8), (12, 4)), ((8, 8), (12, 4))]
    return (lambda a, b: m([a, b], group_images=True, group_max_seq_len=6)), [
        (rand(3, *p, seed=s), rand(3, *q, seed=s + 9)) for s, (p, q) in enumerate(sizes)]


@model("fair-esm", "padding is masked only where there is some")
def esm2():
    from esm.model.esm2 import ESM2
    from esm.data import Alphabet

    alphabet = Alphabet.from_architecture("ESM-1b")
    m = randomise(ESM2(num_layers=1, embed_dim=16, attention_heads=2, alphabet=alphabet))
    m.layers[0].self_attn._incremental_state_id = "0"  # a random name otherwise
    a, b = ints(2, 6, low=4, high=24, seed=1), ints(2, 6, low=4, high=24, seed=2)
    b[1, 3:] = alphabet.padding_idx
    c = a.clone()
    c[0, 2] = alphabet.mask_idx
    return (lambda t: m(t, repr_layers=[1], return_contacts=True)), [(a,), (b,), (c,)]


@model("pypose", "points matched to their nearest until the error stays")
def pypose_icp():
    import pypose as pp

    m = pp.module.ICP()
    return (lambda a, b: m(a, b).tensor()), [(rand(8, 3, seed=s), rand(8, 3, seed=s) + 0.1 * rand(8, 3, seed=s + 9)) for s in range(4)]


@model("torchrl", "returns along trajectories that end")
def torchrl_td_lambda():
    from torchrl.objectives.value.functional import td_lambda_return_estimate

    def run(value, reward, done):
        return td_lambda_return_estimate(0.9, 0.8, value, reward, done, done)

    return run, [(rand(2, 6, 1, seed=s), rand(2, 6, 1, seed=s + 9), rand(2, 6, 1, seed=s + 19) > t) for s, t in enumerate([5.0, 0.5, 0.0, -1.0])]


@model("torchrl", "advantages along trajectories that end")
def torchrl_gae():
    from torchrl.objectives.value.functional import generalized_advantage_estimate

    return (lambda v, n, r, done: generalized_advantage_estimate(0.9, 0.8, v, n, r, done, done)), [
        (rand(2, 5, 1, seed=s), rand(2, 5, 1, seed=s + 3), rand(2, 5, 1, seed=s + 9), rand(2, 5, 1, seed=s + 19) > t)
        for s, t in enumerate([5.0, 0.5, 0.0, -1.0])]


@model("silero-vad", "speech segments: starts and ends by two thresholds, short ones dropped")
def silero_timestamps():
    from silero_vad.utils_vad import get_speech_timestamps

    class Level(torch.nn.Module):
        def reset_states(self):
            pass

        def forward(self, chunk, rate):
            return chunk.abs().mean().clamp(max=1.0)

    m = Level()

    def audio(*levels):
        return (torch.cat([torch.full((512,), l) for l in levels]),)

    return (lambda x: get_speech_timestamps(x, m, min_speech_duration_ms=40, min_silence_duration_ms=40, speech_pad_ms=10)), [
        audio(0.1, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.9), audio(*[0.1] * 8), audio(*[0.9] * 8), audio(0.9, 0.1, 0.9, 0.1, 0.1, 0.9, 0.9, 0.9),
        audio(0.1, 0.9, 0.1, 0.1, 0.1, 0.9, 0.9, 0.1)]


@model("mogrifier", "input and state gate each other by turns")
def mogrifier_gates():
    from mogrifier import Mogrifier

    m = randomise(Mogrifier(dim=8, iters=4, factorize_k=4))
    return (lambda x, h: m(x, h)), [(rand(1, 4, 8, seed=s), rand(1, 4, 8, seed=s + 9)) for s in range(3)]


@model("torchvision", "key points of the people found")
def keypoint_rcnn():
    from tests.models.registry import with_torchvision_operators

    with_torchvision_operators()
    from torchvision.models.detection import KeypointRCNN
    from torchvision.models.detection.anchor_utils import AnchorGenerator

    class Backbone(torch.nn.Module):
        out_channels = 8

        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 8, 8)

        def forward(self, x):
            return self.conv(x)

    m = KeypointRCNN(Backbone(), num_classes=2, num_keypoints=3, min_size=32, max_size=32, rpn_anchor_generator=AnchorGenerator(((8, 16),), ((1.0,),)),
                     rpn_pre_nms_top_n_test=8, rpn_post_nms_top_n_test=4, box_detections_per_img=2, keypoint_layers=(8,), keypoint_roi_pool=None,
                     box_score_thresh=0.5)
    m = randomise(m, scale=2.0)
    return (lambda x: m([x])[0]), [(rand(3, 32, 32, seed=s),) for s in range(4)]


@model("kornia", "key points of a heat map, as many as there are")
def kornia_disk():
    from kornia.feature.disk.detector import heatmap_to_keypoints

    return (lambda h: [(k.xys, k.detection_logp) for k in heatmap_to_keypoints(h, n=None, window_size=3, score_threshold=0.5)]), [
        (rand(1, 1, 12, 12, seed=s),) for s in range(4)]


@model("monai", "anchors assigned to boxes by adaptive thresholds")
def monai_atss_matcher():
    from monai.apps.detection.utils.ATSS_matcher import ATSSMatcher

    m = ATSSMatcher(num_candidates=2, center_in_gt=False)

    def boxes(n, s):
        corner = rand(n, 2, seed=s).abs() * 4
        return torch.cat([corner, corner + 1 + rand(n, 2, seed=s + 5).abs() * 3], 1)

    return (lambda b, a: m(b, a, [8], 1)), [(boxes(3, s), boxes(8, s + 20)) for s in range(5)]


@model("h-net-dynamic-chunking", "chunks cut where neighbours differ, and put back")
def h_net_chunking():
    from h_net_dynamic_chunking import DynamicSequenceChunker

    m = randomise(DynamicSequenceChunker(8), scale=2.0)

    def run(tokens, lens):
        out = m(tokens, lens)
        return out.downsampled, out.upsample_fn(out.downsampled)

    return run, [(rand(2, 7, 8, seed=s), torch.tensor(n)) for s, n in enumerate([[7, 7], [7, 3], [1, 5], [7, 6], [2, 2]])]


@model("asteroid", "sources matched to targets by the best permutation")
def asteroid_pit():
    from asteroid.losses import PITLossWrapper, pairwise_neg_sisdr

    m = PITLossWrapper(pairwise_neg_sisdr, pit_from="pw_mtx")
    return (lambda a, b: m(a, b, return_est=True)), [(rand(2, 3, 20, seed=s), rand(2, 3, 20, seed=s + 9)) for s in range(4)]


@model("asteroid", "four sources: the Hungarian method")
def asteroid_pit_hungarian():
    from asteroid.losses import PITLossWrapper, pairwise_neg_sisdr

    m = PITLossWrapper(pairwise_neg_sisdr, pit_from="pw_mtx")
    return (lambda a, b: m(a, b)), [(rand(1, 4, 20, seed=s), rand(1, 4, 20, seed=s + 9)) for s in range(4)]


def _hidden_markov_model():
    from pomegranate.distributions import Categorical
    from pomegranate.hmm import DenseHMM

    g = torch.Generator().manual_seed(1)
    probs = lambda *shape: torch.rand(*shape, generator=g).softmax(-1)  # noqa: E731
    return DenseHMM([Categorical(probs(1, 4)) for _ in range(3)], edges=probs(3, 3), starts=probs(3), ends=torch.full((3,), 0.1))


@model("pomegranate", "hidden states by the Viterbi algorithm")
def pomegranate_viterbi():
    m = _hidden_markov_model()
    return (lambda x: m.viterbi(x)), [(ints(2, 6, 1, high=4, seed=s),) for s in range(4)]


@model("pomegranate", "forward and backward probabilities")
def pomegranate_forward_backward():
    m = _hidden_markov_model()
    return (lambda x: m.forward_backward(x)), [(ints(2, 6, 1, high=4, seed=s),) for s in range(4)]


@model("demucs", "a long signal cut into overlapping pieces, put together by weight")
def demucs_apply():
    from demucs.apply import apply_model

    class Net(torch.nn.Module):
        samplerate, segment, sources = 8, 2.0, ["a", "b"]
        max_allowed_segment = 2.0

        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv1d(1, 2, 3, padding=1)

        def valid_length(self, length):
            return length

        def forward(self, x):
            return self.conv(x)[:, :, None]

    m = randomise(Net())
    return (lambda x: apply_model(m, x, shifts=0, split=True, overlap=0.25, segment=2.0)), [(rand(1, 1, 40, seed=s),) for s in range(3)]


@model("torchcrepe", "pitch by the weighted neighbourhood of the best bin")
def torchcrepe_weighted():
    import torchcrepe

    return (lambda p: torchcrepe.decode.weighted_argmax(p.sigmoid())), [(rand(1, 360, 5, seed=s, scale=3),) for s in range(3)]


@model("vit-pytorch", "memories per layer, masked between classes")
def vit_with_memories():
    from vit_pytorch.learnable_memory_vit import ViT as MemoryViT, Adapter

    v = MemoryViT(image_size=16, patch_size=8, num_classes=4, dim=16, depth=1, heads=2, mlp_dim=24)
    m = randomise(Adapter(vit=v, num_classes=3, num_memories_per_layer=2))
    return m, [(rand(1, 3, 16, 16, seed=s),) for s in range(3)]


@model("x-transformers", "greedy with a cache until every sequence has its end token")
def x_transformers_eos_generate():
    from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

    m = AutoregressiveWrapper(TransformerWrapper(num_tokens=10, max_seq_len=16, attn_layers=Decoder(dim=16, depth=1, heads=2, attn_dim_head=8)))
    m = randomise(m, scale=3.0)
    return (lambda p: m.generate(p, 6, temperature=0.0, eos_token=3, cache_kv=True)), [(ints(2, 3, high=10, seed=s),) for s in range(5)]
