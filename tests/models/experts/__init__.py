# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts and other layers that send each token to a few of their parts."""
