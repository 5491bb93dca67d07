# SPDX-License-Identifier: Apache-2.0
"""Layers and small networks with data-dependent parts, by what they compute."""
