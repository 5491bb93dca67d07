# SPDX-License-Identifier: Apache-2.0
"""Tags, heads and spans of sentences: CRFs, hidden Markov models, dependency trees, lemmas."""

from types import SimpleNamespace

import torch

from tests.models.registry import ints, model, rand, randomise


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
    return (lambda e, mask: m.viterbi_decode(e, mask)), [
        (rand(2, 5, 4, seed=i, scale=2), mask) for i, mask in enumerate(masks)
    ]


@model("fastNLP", "best tags of sentences of different lengths")
def fastnlp_crf():
    from fastNLP.modules.torch.decoder import ConditionalRandomField

    m = randomise(ConditionalRandomField(3, include_start_end_trans=True))
    return (lambda x, mask: m.viterbi_decode(x, mask, unpad=True)), [
        (rand(2, 5, 3, seed=s), torch.arange(5)[None] < torch.tensor(n)[:, None])
        for s, n in enumerate([[5, 5], [5, 3], [2, 4]])
    ]


@model("torch-struct", "linear-chain CRF in log space")
def torch_struct_chain():
    from torch_struct import LinearChainCRF

    return (lambda s: LinearChainCRF(s).partition), [(rand(2, 4, 3, 3, seed=s),) for s in range(3)]


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

    m = randomise(
        ConditionalRandomField(3, [(0, 0), (0, 1), (1, 2), (2, 0), (1, 1), (3, 0), (3, 1), (0, 4), (2, 4), (1, 4)]),
        scale=2.0,
    )
    masks = [[[1, 1, 1, 1], [1, 1, 0, 0]], [[1, 1, 1, 0], [1, 1, 1, 1]]]
    return (lambda x, k: m.viterbi_tags(x, k)), [
        (rand(2, 4, 3, seed=i), torch.tensor(k).bool()) for i, k in enumerate(masks * 2)
    ]


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


@model("stanza", "best tags by dynamic programming over numpy arrays")
def stanza_viterbi():
    from stanza.models.common.crf import CRFLoss, viterbi_decode

    crf = randomise(CRFLoss(4), scale=2.0)

    def run(x):
        tags, score = viterbi_decode(x.numpy(), crf._transitions.detach().numpy())
        return tags, score

    return run, [(rand(5, 4, seed=s),) for s in range(4)]


@model("stanza", "likelihood of tags, padding masked")
def stanza_crf_loss():
    from stanza.models.common.crf import CRFLoss

    crf = randomise(CRFLoss(4), scale=2.0)
    return (lambda x, masks, tags: crf(x, masks, tags)[0]), [
        (rand(2, 5, 4, seed=s), torch.arange(5) >= torch.tensor([[5 - s], [4]]), ints(2, 5, high=4, seed=s))
        for s in range(3)
    ]


def letters(lengths):
    found = []
    for s, n in enumerate(lengths):
        mask = torch.arange(5)[None] >= torch.tensor(n)[:, None]
        found.append((ints(len(n), 5, low=4, high=10, seed=s).masked_fill(mask, 0), mask))
    return found


@model("stanza", "likelihood of tags under a mask")
def stanza_crf():
    from stanza.models.common.crf import CRFLoss

    m = randomise(CRFLoss(4))
    return m, [
        (rand(2, 5, 4, seed=s), w[1], ints(2, 5, high=4, seed=s))
        for s, w in enumerate(letters([[5, 5], [5, 3], [5, 0]]))
    ]


@model("stanza", "a maximum spanning tree in numpy: cycles are contracted")
def stanza_chuliu_edmonds():
    from stanza.models.common.chuliu_edmonds import chuliu_edmonds_one_root

    return (lambda s: chuliu_edmonds_one_root(s.numpy())), [(rand(4, 4, seed=s),) for s in range(6)]


@model("stanza", "attention over a sentence, one symbol after the other until all rows have ended")
def stanza_seq2seq_greedy():
    from stanza.models.common.seq2seq_model import Seq2SeqModel

    m = randomise(
        Seq2SeqModel(
            dict(
                vocab_size=12,
                emb_dim=8,
                hidden_dim=8,
                num_layers=1,
                emb_dropout=0.0,
                dropout=0.0,
                max_dec_len=5,
                top=1e10,
                attn_type="soft",
                pos=False,
                edit=False,
                copy=False,
                num_edit=0,
            )
        ),
        scale=3.0,
    )
    return (lambda src, mask: m.predict_greedy(src, mask)[0]), [
        (ints(2, 4, low=4, high=12, seed=s), torch.arange(4) >= torch.tensor([[4], [3 - s % 2]])) for s in range(3)]


def lemmatiser(**more):
    from stanza.models.common.seq2seq_model import Seq2SeqModel

    options = dict(
        vocab_size=10, emb_dim=8, hidden_dim=8, num_layers=1, dropout=0.0, max_dec_len=5, attn_type="soft", **more
    )
    return randomise(Seq2SeqModel(options), scale=3.0)


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


@model("supar", "projective trees by Eisner's algorithm")
def supar_eisner():
    from supar.structs.fn import mst  # noqa: F401
    from supar.structs.tree import DependencyCRF

    lens = torch.tensor([3])
    return (lambda s: DependencyCRF(s, lens).argmax), [(rand(1, 4, 4, seed=s, scale=2),) for s in range(3)]


@model("supar", "heads of words by mean-field steps, sentences of different lengths")
def supar_mean_field():
    from supar.structs import DependencyMFVI

    m = DependencyMFVI(max_iter=3)
    return (lambda arcs, siblings, n: m((arcs, siblings), torch.arange(4)[None] < n[:, None])), [
        (rand(2, 4, 4, seed=s), rand(2, 4, 4, 4, seed=s + 5), torch.tensor(n))
        for s, n in enumerate([[4, 4], [4, 2], [3, 4]])
    ]


@model("supar", "heads of words by loopy belief propagation")
def supar_belief_propagation():
    from supar.structs import DependencyLBP

    m = DependencyLBP(max_iter=2)
    return (lambda arcs, siblings, n: m((arcs, siblings), torch.arange(4)[None] < n[:, None])), [
        (rand(2, 4, 4, seed=s), rand(2, 4, 4, 4, seed=s + 5), torch.tensor(n))
        for s, n in enumerate([[4, 4], [4, 2], [3, 4]])
    ]


@model("supar", "the partition function over trees, by a determinant")
def supar_matrix_tree():
    from supar.structs import MatrixTree

    return (lambda arcs, n: MatrixTree(arcs, n).log_partition), [
        (rand(2, 4, 4, seed=s), torch.tensor(n)) for s, n in enumerate([[3, 3], [3, 2], [1, 3]])]


@model("gliner", "spans above a threshold that do not cross each other, best first")
def gliner_spans():
    from gliner.decoding import SpanDecoder

    decoder = SpanDecoder(SimpleNamespace(max_width=2, decoder_mode=None, labels_decoder=None))
    words = [["a", "b", "c", "d"]]

    def run(logits):
        found = decoder.decode(
            tokens=words, id_to_classes={1: "x", 2: "y"}, model_output=logits, flat_ner=True, threshold=0.5
        )
        return [[(s.start, s.end, s.score) for s in spans] for spans in found]

    return run, [(rand(1, 4, 2, 2, seed=s, scale=2.0),) for s in range(4)]


def _hidden_markov_model():
    from pomegranate.distributions import Categorical
    from pomegranate.hmm import DenseHMM

    g = torch.Generator().manual_seed(1)
    probs = lambda *shape: torch.rand(*shape, generator=g).softmax(-1)  # noqa: E731
    return DenseHMM(
        [Categorical(probs(1, 4)) for _ in range(3)], edges=probs(3, 3), starts=probs(3), ends=torch.full((3,), 0.1)
    )


@model("pomegranate", "hidden states by the Viterbi algorithm")
def pomegranate_viterbi():
    m = _hidden_markov_model()
    return (lambda x: m.viterbi(x)), [(ints(2, 6, 1, high=4, seed=s),) for s in range(4)]


@model("pomegranate", "forward and backward probabilities")
def pomegranate_forward_backward():
    m = _hidden_markov_model()
    return (lambda x: m.forward_backward(x)), [(ints(2, 6, 1, high=4, seed=s),) for s in range(4)]


@model("pyro-ppl", "the best path of a hidden Markov model, sequences of different lengths", rtol=1e-4)
def pyro_hmm():
    import pyro.distributions as dist

    start, steps = rand(3, seed=1), rand(3, 3, seed=2)

    def run(x, means):
        hmm = dist.DiscreteHMM(start, steps, dist.Normal(means, 1.0), duration=5)
        return hmm.log_prob(x), hmm.filter(x).logits

    return run, [(rand(5, seed=s), rand(3, seed=s + 7)) for s in range(3)]
