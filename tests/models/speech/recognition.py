# SPDX-License-Identifier: Apache-2.0
"""Words from speech: decoders until the end token, transducers, best paths without repeats and blanks."""

import torch
from torch import nn

from tests.models.generation.small import ENCODER_DECODER
from tests.models.generation.tiny import SPECIAL
from tests.models.registry import ints, model, rand, randomise


@model("transformers", "speech recognition: decoding until the end token, seek until the audio ends")
def whisper_generate():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        vocab_size=40,
        num_mel_bins=4,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        d_model=8,
        max_source_positions=10,
        max_target_positions=16,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=3,
        suppress_tokens=[5],
        begin_suppress_tokens=[7],
    )
    m = randomise(WhisperForConditionalGeneration(config), scale=2.0)
    return (lambda x: m.generate(x, max_new_tokens=6, do_sample=False, return_timestamps=False)), [
        (rand(1, 4, 20, seed=s, scale=2),) for s in range(4)]


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


@model("openai-whisper", "beams until enough of them have ended")
def whisper_beam_decoder():
    from whisper.decoding import BeamSearchDecoder

    class Inference:
        def rearrange_kv_cache(self, places):
            pass

    def run(steps):
        decoder = BeamSearchDecoder(2, 9, Inference())
        decoder.reset()
        tokens, sums = torch.zeros(2, 1, dtype=torch.int64), torch.zeros(2)
        for logits in steps:
            tokens, done = decoder.update(tokens, logits, sums)
            if done:
                break
        sequences, scores = decoder.finalize(tokens[None], sums[None])
        return [[t.tolist() for t in s] for s in sequences], scores

    return run, [(rand(3, 2, 10, seed=s, scale=2.0),) for s in range(3)]


@model("transformers", "speech to text: frame lengths from the mask, greedy decoding")
def speech2text_generate():
    from transformers import Speech2TextConfig, Speech2TextForConditionalGeneration

    config = Speech2TextConfig(
        **ENCODER_DECODER,
        max_source_positions=32,
        max_target_positions=32,
        input_feat_per_channel=4,
        conv_channels=8,
        num_conv_layers=1,
        conv_kernel_sizes=[3],
        bos_token_id=1,
        decoder_start_token_id=5,
    )
    m = randomise(Speech2TextForConditionalGeneration(config), scale=2.0)
    masks = [torch.ones(1, 8, dtype=torch.long), torch.tensor([[1, 1, 1, 1, 1, 0, 0, 0]])]
    return (lambda x, mask: m.generate(x, attention_mask=mask, max_new_tokens=5, do_sample=False)), [
        (rand(1, 8, 4, seed=s), masks[s % 2]) for s in range(4)]


@model("transformers", "speech read by an encoder, words until one ends the text")
def speech_encoder_decoder_generate():
    from transformers import BertConfig, SpeechEncoderDecoderConfig, SpeechEncoderDecoderModel, Wav2Vec2Config

    encoder = Wav2Vec2Config(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        conv_dim=[8, 8],
        conv_stride=[4, 4],
        conv_kernel=[4, 4],
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
    )
    decoder = BertConfig(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=32,
        is_decoder=True,
        add_cross_attention=True,
        **SPECIAL,
    )
    config = SpeechEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 1, 0, 5
    m = randomise(SpeechEncoderDecoderModel(config=config), scale=2.0)
    return (
        lambda x: m.generate(
            x, max_new_tokens=3, do_sample=False, num_beams=1, decoder_start_token_id=1, pad_token_id=0, eos_token_id=5
        )
    ), [(rand(1, 96, seed=s),) for s in range(3)]


@model("transformers", "padded audio: frames counted from the mask; the best path without repeats and blanks")
def wav2vec2_ctc():
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    config = Wav2Vec2Config(
        vocab_size=6,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        conv_dim=(8, 8),
        conv_stride=(3, 2),
        conv_kernel=(4, 3),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
        layerdrop=0.5,
    )
    m = randomise(Wav2Vec2ForCTC(config), scale=2.0)

    def run(x, mask):
        path = torch.unique_consecutive(m(x, attention_mask=mask).logits.argmax(-1)[0])
        return path[path != 0]

    masks = [torch.ones(1, 60, dtype=torch.long), (torch.arange(60) < 40).long().unsqueeze(0)]
    return run, [(rand(1, 60, seed=s), masks[s % 2]) for s in range(4)]


@model("transformers", "transducer: the frame advances on blank, tokens until the frames end")
def parakeet_rnnt():
    from transformers import ParakeetEncoderConfig, ParakeetForRNNT, ParakeetRNNTConfig

    encoder = ParakeetEncoderConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        subsampling_factor=4,
        subsampling_conv_channels=4,
        num_mel_bins=8,
        conv_kernel_size=3,
    )
    config = ParakeetRNNTConfig(
        vocab_size=9,
        decoder_hidden_size=16,
        num_decoder_layers=1,
        blank_token_id=8,
        pad_token_id=2,
        max_symbols_per_step=2,
        encoder_config=encoder.to_dict(),
    )
    m = randomise(ParakeetForRNNT(config), scale=2.0)
    return (lambda x: m.generate(x, decoder_start_token_id=8).sequences), [
        (rand(1, 16, 8, seed=s, scale=2),) for s in range(5)
    ]


@model(
    "transformers",
    "token-and-duration transducer: the frame advances by a predicted duration, tokens until the frames end",
)
def parakeet_tdt():
    from transformers import ParakeetEncoderConfig, ParakeetForTDT, ParakeetTDTConfig

    encoder = ParakeetEncoderConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        subsampling_factor=4,
        subsampling_conv_channels=4,
        num_mel_bins=8,
        conv_kernel_size=3,
    )
    config = ParakeetTDTConfig(
        vocab_size=9,
        decoder_hidden_size=16,
        num_decoder_layers=1,
        blank_token_id=8,
        pad_token_id=2,
        durations=[0, 1, 2],
        max_symbols_per_step=2,
        encoder_config=encoder.to_dict(),
    )
    m = randomise(ParakeetForTDT(config), scale=2.0)

    def decode(
        x,
    ):  # durations are logits beside the tokens': untrained, they would be taken for tokens, and the embedding raises
        out = m.generate(x, decoder_start_token_id=8, suppress_tokens=[9, 10, 11])
        return out.sequences, out.durations

    return decode, [(rand(1, 40, 8, seed=s, scale=2),) for s in range(8)]


@model("transformers", "connectionist temporal classification: best path with the mask's length")
def parakeet_ctc():
    from transformers import ParakeetCTCConfig, ParakeetEncoderConfig, ParakeetForCTC

    encoder = ParakeetEncoderConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        subsampling_factor=4,
        subsampling_conv_channels=4,
        num_mel_bins=8,
        conv_kernel_size=3,
    )
    m = randomise(
        ParakeetForCTC(ParakeetCTCConfig(vocab_size=9, pad_token_id=8, encoder_config=encoder.to_dict())), scale=2.0
    )
    masks = [torch.arange(16)[None] < n for n in (16, 9, 13, 5)]
    return (lambda x, mask: m.generate(x, attention_mask=mask)), [
        (rand(1, 16, 8, seed=s), k.long()) for s, k in enumerate(masks)
    ]


def transducer(beam):
    import speechbrain as sb
    from speechbrain.decoders.transducer import TransducerBeamSearcher
    from speechbrain.nnet.transducer.transducer_joint import Transducer_joint

    emb = sb.nnet.embedding.Embedding(num_embeddings=6, embedding_dim=3, consider_as_one_hot=True, blank_id=0)
    dec = randomise(sb.nnet.RNN.GRU(hidden_size=6, input_shape=(1, 8, 5), bidirectional=False), scale=2.0)
    lin = randomise(sb.nnet.linear.Linear(input_shape=(1, 8, 6), n_neurons=6), scale=3.0)
    joint = Transducer_joint(randomise(sb.nnet.linear.Linear(input_shape=(1, 1, 8, 6), n_neurons=6)), joint="sum")
    return TransducerBeamSearcher(decode_network_lst=[emb, dec], tjoint=joint, classifier_network=[lin], blank_id=0,
                                  beam_size=beam, nbest=1, lm_module=None, lm_weight=0.0).eval()


@model("speechbrain", "greedy transducer: symbols per frame until blank, samples updated by which emitted")
def speechbrain_transducer_greedy():
    m = transducer(1)
    return (lambda x: m(x)[:2]), [(rand(2, 4, 6, seed=s, scale=2),) for s in range(4)]


@model("speechbrain", "CTC: repeated and blank symbols dropped, lengths of each sample")
def speechbrain_ctc_greedy():
    from speechbrain.decoders.ctc import ctc_greedy_decode

    return (lambda p, n: ctc_greedy_decode(p, n, blank_id=0)), [
        (rand(2, 6, 4, seed=s).softmax(-1), torch.tensor(n))
        for s, n in enumerate([[1.0, 0.5], [1.0, 1.0], [0.34, 1.0]])
    ]


def seq2seq(cls, **options):
    import speechbrain as sb

    emb = randomise(nn.Embedding(5, 3))
    dec = randomise(
        sb.nnet.RNN.AttentionalRNNDecoder(
            rnn_type="gru", attn_type="content", hidden_size=6, attn_dim=6, num_layers=1, enc_dim=6, input_size=3
        ),
        scale=2.0,
    )
    lin = randomise(sb.nnet.linear.Linear(n_neurons=5, input_size=6), scale=4.0)
    return cls(
        embedding=emb,
        decoder=dec,
        linear=lin,
        bos_index=0,
        eos_index=1,
        min_decode_ratio=0,
        max_decode_ratio=1,
        **options,
    ).eval()


@model("speechbrain", "tokens until every sample has ended; hypotheses of different lengths")
def speechbrain_rnn_greedy():
    from speechbrain.decoders.seq2seq import S2SRNNGreedySearcher

    m = seq2seq(S2SRNNGreedySearcher)
    return (lambda x, n: m(x, n)), [
        (rand(2, 6, 6, seed=s, scale=2), torch.tensor([1.0, 0.5 + 0.1 * s])) for s in range(5)
    ]


@model("speechbrain", "beam search: ended beams are collected in lists until all are full")
def speechbrain_rnn_beam():
    from speechbrain.decoders.seq2seq import S2SRNNBeamSearcher

    m = seq2seq(S2SRNNBeamSearcher, beam_size=2)
    return (lambda x, n: m(x, n)), [(rand(2, 5, 6, seed=s, scale=2), torch.tensor([1.0, 0.6])) for s in range(4)]


def transformer_search(searcher, **options):
    from speechbrain.lobes.models.transformer.TransformerASR import TransformerASR
    from speechbrain.nnet.linear import Linear

    net = randomise(
        TransformerASR(
            tgt_vocab=8, input_size=6, d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, d_ffn=12
        ),
        scale=2.0,
    )
    out = randomise(Linear(input_size=8, n_neurons=8), scale=2.0)
    m = searcher(
        modules=[net, out], bos_index=1, eos_index=2, min_decode_ratio=0.0, max_decode_ratio=1.0, **options
    ).eval()
    return (lambda x, n: m(x, n)), [(rand(2, 5, 8, seed=s, scale=2), torch.tensor([1.0, 0.6])) for s in range(4)]


@model("speechbrain", "greedy words of a transformer until every row has its end token")
def speechbrain_transformer_greedy():
    from speechbrain.decoders.seq2seq import S2STransformerGreedySearcher

    return transformer_search(S2STransformerGreedySearcher)


@model("speechbrain", "beams of a transformer, collected as they end", rtol=1e-3, atol=1e-4)
def speechbrain_transformer_beam():
    from speechbrain.decoders.seq2seq import S2STransformerBeamSearcher

    return transformer_search(S2STransformerBeamSearcher, beam_size=2)
