# SPDX-License-Identifier: Apache-2.0
"""Proteins and molecules: masks only where there is padding, species that are converted."""

import argparse

import torch

from tests.models.registry import ints, model, randomise


@model("fair-esm", "padding is masked only where there is some")
def esm2():
    from esm.data import Alphabet
    from esm.model.esm2 import ESM2

    alphabet = Alphabet.from_architecture("ESM-1b")
    m = randomise(ESM2(num_layers=1, embed_dim=16, attention_heads=2, alphabet=alphabet))
    m.layers[0].self_attn._incremental_state_id = "0"  # a random name otherwise
    a, b = ints(2, 6, low=4, high=24, seed=1), ints(2, 6, low=4, high=24, seed=2)
    b[1, 3:] = alphabet.padding_idx
    c = a.clone()
    c[0, 2] = alphabet.mask_idx
    return (lambda t: m(t, repr_layers=[1], return_contacts=True)), [(a,), (b,), (c,)]


@model("fair-esm", "masks only where there is padding")
def esm1_protein_bert():
    from esm.data import Alphabet
    from esm.model.esm1 import ProteinBertModel

    arguments = argparse.Namespace(
        arch="roberta_large",
        layers=2,
        embed_dim=16,
        ffn_embed_dim=32,
        attention_heads=2,
        max_positions=32,
        token_dropout=True,
        emb_layer_norm_before=True,
        logit_bias=True,
        max_tokens=32,
    )
    alphabet = Alphabet.from_architecture("roberta_large")
    net = randomise(ProteinBertModel(arguments, alphabet))
    for layer in net.layers:
        layer.self_attn._incremental_state_id = "0"  # random, and compared with another model's
    plain, padded = ints(2, 8, low=4, high=24, seed=0), ints(2, 8, low=4, high=24, seed=1)
    padded[1, 5:] = alphabet.padding_idx
    masked = plain.clone()
    masked[0, 3] = alphabet.mask_idx
    return net, [(plain,), (padded,), (masked,)]


@model("fair-esm", "masks only where there is padding")
def esm_msa_transformer():
    from esm.data import Alphabet
    from esm.model.msa_transformer import MSATransformer

    arguments = argparse.Namespace(
        layers=2,
        embed_dim=16,
        ffn_embed_dim=32,
        attention_heads=2,
        max_positions=32,
        max_tokens=32,
        embed_positions_msa=True,
        embed_positions_msa_dim=16,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        max_tokens_per_msa=2**14,
        logit_bias=True,
    )
    alphabet = Alphabet.from_architecture("msa_transformer")
    net = randomise(MSATransformer(arguments, alphabet))
    plain, padded = ints(1, 3, 8, low=4, high=24, seed=0), ints(1, 3, 8, low=4, high=24, seed=1)
    padded[0, 1, 5:] = alphabet.padding_idx
    return net, [(plain,), (padded,)]


@model("torchani", "species are converted; unknown ones raise")
def torchani_species_converter():
    from torchani.nn import SpeciesConverter

    net = SpeciesConverter(["H", "C", "N", "O"])
    return lambda numbers: net((numbers, None)).species if hasattr(net((numbers, None)), "species") else net(numbers), \
        [(torch.tensor([[6, 1, 1, 8]]),), (torch.tensor([[7, 1, -1, -1]]),), (torch.tensor([[9, 1, 1, 1]]),)]
