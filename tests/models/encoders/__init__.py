# SPDX-License-Identifier: Apache-2.0
"""Encoders of text and the heads on them."""
