# SPDX-License-Identifier: Apache-2.0
"""Generators: one token after the other until the text ends, by rules, beams, drafts and caches."""
