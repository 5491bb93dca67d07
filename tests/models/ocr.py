# SPDX-License-Identifier: Apache-2.0
"""Readers of words in pictures: characters until every word has ended, best paths without repeats."""

import torch

from tests.models.registry import model, rand, randomise


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

    m = randomise(
        PARSeq(
            Features(tokens=True),
            vocab="abc",
            embedding_units=16,
            max_length=5,
            dec_num_heads=2,
            dec_ff_dim=8,
            dec_ffd_ratio=1,
            input_shape=(3, 8, 16),
        ),
        scale=2.0,
    )
    return (lambda x: m.decode_autoregressive(m.feat_extractor(x)["features"])), [
        (rand(2, 3, 8, 16, seed=s, scale=3),) for s in range(6)
    ]


@model("python-doctr", "characters until every word has ended")
def doctr_master():
    from doctr.models.recognition.master.pytorch import MASTER

    m = randomise(
        MASTER(
            Features(), vocab="abc", d_model=16, dff=16, num_heads=2, num_layers=1, max_length=6, input_shape=(3, 8, 16)
        ),
        scale=2.0,
    )
    return (lambda x: m(x, return_model_output=True)["out_map"]), [
        (rand(2, 3, 8, 16, seed=s, scale=3),) for s in range(6)
    ]


@model("python-doctr", "attention over a text image, step by step")
def doctr_sar():
    from doctr.models.recognition.sar.pytorch import SAR

    m = SAR(
        Features(512),
        vocab="abc",
        rnn_units=512,
        embedding_units=512,
        attention_units=8,
        max_length=3,
        input_shape=(3, 8, 16),
        exportable=True,
    )
    m = randomise(m, scale=2.0)
    return (lambda x: m(x)["logits"]), [(rand(1, 3, 8, 16, seed=s, scale=3),) for s in range(3)]


@model("easyocr", "convolutions, two recurrent layers, one prediction per column")
def easyocr_recogniser():
    from easyocr.model.vgg_model import Model

    m = randomise(Model(1, 8, 8, 10))
    return (lambda x: m(x, None)), [(rand(1, 1, 64, 40, seed=s),) for s in range(2)]


@model("easyocr", "CTC greedy: repeated and blank symbols dropped")
def easyocr_ctc_greedy():
    from easyocr.utils import CTCLabelConverter

    converter = CTCLabelConverter("abcdef")
    return (lambda x, n: converter.decode_greedy(x.argmax(-1).numpy().reshape(-1), n.numpy())), [
        (rand(1, 6, 7, seed=s), torch.tensor([6])) for s in range(3)]


@model("transformers", "the letters of a word, each attending to the picture")
def mgp_str():
    from transformers import MgpstrConfig, MgpstrForSceneTextRecognition

    m = randomise(
        MgpstrForSceneTextRecognition(
            MgpstrConfig(
                image_size=[8, 16],
                patch_size=4,
                max_token_length=4,
                num_character_labels=6,
                num_bpe_labels=7,
                num_wordpiece_labels=7,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                mlp_ratio=2.0,
            )
        ),
        scale=2.0,
    )

    def run(x):
        letters = m(x).logits[0].argmax(-1)
        words = []
        for row in letters.tolist():
            words.append(row[:row.index(1)] if 1 in row else row)
        return words

    return run, [(rand(2, 3, 8, 16, seed=s, scale=2.0),) for s in range(4)]
