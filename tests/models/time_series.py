# SPDX-License-Identifier: Apache-2.0
"""Time series: values scaled by what was observed, delays that correlate most, forecasts step by step."""

import torch

from tests.models.registry import model, rand, randomise


def forecast(m):
    def run(values, features, observed, future_features, future):
        out = m(
            past_values=values,
            past_time_features=features,
            past_observed_mask=observed,
            future_time_features=future_features,
            future_values=future,
        )
        return out.loss, out.params, out.loc, out.scale

    return run


def histories():
    return [
        (
            rand(2, 10, seed=s),
            rand(2, 10, 1, seed=s + 1),
            (torch.arange(10) >= torch.tensor([[s], [0]])).float().expand(2, 10),
            rand(2, 3, 1, seed=s + 2),
            rand(2, 3, seed=s + 3),
        )
        for s in range(4)
    ]


def series(name, **options):
    import transformers

    config = getattr(transformers, name + "Config")(
        prediction_length=3,
        context_length=8,
        lags_sequence=[1, 2],
        num_time_features=1,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        **options,
    )
    return randomise(getattr(transformers, name + "ForPrediction")(config), scale=2.0)


@model("transformers", "values scaled by what was observed")
def time_series_transformer():
    return forecast(series("TimeSeriesTransformer")), histories()


@model("transformers", "attention of the queries that matter most, keys drawn at random: all of them here")
def informer():
    return forecast(series("Informer", sampling_factor=50, distil=False)), histories()


@model("transformers", "delays with the greatest correlation")
def autoformer():
    return forecast(series("Autoformer", moving_average=3, label_length=4, autocorrelation_factor=1)), histories()


@model("transformers", "samples of a forecast, drawn step by step: their shape")
def time_series_generate():
    m = series("TimeSeriesTransformer", num_parallel_samples=2)

    def run(values, features, observed, future_features, future):
        return m.generate(past_values=values, past_time_features=features, past_observed_mask=observed,
                          future_time_features=future_features).sequences.shape

    return run, histories()


@model("transformers", "the delays that correlate most, rolled together")
def autoformer_model():
    from transformers import AutoformerConfig, AutoformerModel

    m = randomise(
        AutoformerModel(
            AutoformerConfig(
                prediction_length=4,
                context_length=8,
                input_size=1,
                lags_sequence=[1, 2],
                num_time_features=1,
                d_model=8,
                encoder_layers=1,
                decoder_layers=1,
                encoder_attention_heads=2,
                decoder_attention_heads=2,
                encoder_ffn_dim=8,
                decoder_ffn_dim=8,
                moving_average=3,
                label_length=4,
                num_static_categorical_features=0,
                autocorrelation_factor=2,
                dropout=0.0,
            )
        )
    )

    def run(values, features, mask, future, future_features):
        return m(past_values=values, past_time_features=features, past_observed_mask=mask, future_values=future,
                 future_time_features=future_features).last_hidden_state

    return run, [
        (
            rand(1, 10, seed=s),
            rand(1, 10, 1, seed=s + 5),
            torch.ones(1, 10),
            rand(1, 4, seed=s + 7),
            rand(1, 4, 1, seed=s + 8),
        )
        for s in range(4)
    ]


@model("transformers", "series put on one scale, forecasts from patches")
def timesfm():
    from transformers import TimesFmConfig, TimesFmModelForPrediction

    m = randomise(
        TimesFmModelForPrediction(
            TimesFmConfig(
                patch_length=4,
                context_length=16,
                horizon_length=8,
                num_hidden_layers=1,
                hidden_size=16,
                intermediate_size=16,
                head_dim=8,
                num_attention_heads=2,
            )
        )
    )
    return (lambda a, b: m(past_values=[a, b], freq=[0, 1]).mean_predictions), [
        (rand(12, seed=s), rand(12, seed=s + 4, scale=k)) for s, k in enumerate([1.0, 5.0, 0.0])]


@model("chronos-forecasting", "values scaled, put into bins, missing ones masked", rtol=1e-3, atol=1e-4)
def chronos_tokenizer():
    from chronos.chronos import ChronosConfig, MeanScaleUniformBins

    config = ChronosConfig(
        tokenizer_class="MeanScaleUniformBins",
        tokenizer_kwargs={"low_limit": -5.0, "high_limit": 5.0},
        context_length=6,
        prediction_length=2,
        n_tokens=20,
        n_special_tokens=2,
        pad_token_id=0,
        eos_token_id=1,
        use_eos_token=True,
        model_type="seq2seq",
        num_samples=1,
        temperature=1.0,
        top_k=5,
        top_p=1.0,
    )
    t = MeanScaleUniformBins(-5.0, 5.0, config)
    some = rand(2, 6, seed=2)
    some[0, :3] = float("nan")
    return (lambda x: t.context_input_transform(x)), [(rand(2, 6, seed=0),), (some,), (torch.zeros(2, 6),)]


@model("pytorch-forecasting", "a state is kept where a sample has no history", rtol=1e-3, atol=1e-4)
def forecasting_lstm():
    from pytorch_forecasting.models.nn import LSTM

    m = randomise(LSTM(3, 4, batch_first=True))
    return (lambda x, h, c, none: m.handle_no_encoding((h, c), none, m.init_hidden_state(x))), [
        (rand(2, 3, 3, seed=i), rand(1, 2, 4, seed=i), rand(1, 2, 4, seed=i + 1), torch.tensor([[[n], [k]]]).bool())
        for i, (n, k) in enumerate([(0, 1), (1, 1), (0, 0)])]


@model("transformers", "returns, states and actions interleaved; padded steps masked")
def decision_transformer():
    from transformers import DecisionTransformerConfig, DecisionTransformerModel

    m = randomise(
        DecisionTransformerModel(
            DecisionTransformerConfig(state_dim=3, act_dim=2, hidden_size=8, max_ep_len=8, n_layer=1, n_head=2)
        )
    )
    masks = [torch.ones(1, 4).long(), torch.tensor([[0, 1, 1, 1]])]
    return (
        lambda s, a, r, g, t, k: m(
            states=s, actions=a, rewards=r, returns_to_go=g, timesteps=t, attention_mask=k, return_dict=False
        )[:3]
    ), [
        (
            rand(1, 4, 3, seed=i),
            rand(1, 4, 2, seed=i),
            rand(1, 4, 1, seed=i),
            rand(1, 4, 1, seed=i + 1),
            torch.arange(4)[None],
            k,
        )
        for i, k in enumerate(masks)
    ]
