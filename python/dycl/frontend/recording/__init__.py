# SPDX-License-Identifier: Apache-2.0
"""Torch calls become nodes of the graph.

What happens when a torch function meets handles of tensors: real tensors lifted, views, writes in place, symbolic
shapes, numbers read out, layers kept whole, ops taken apart. Nothing here knows of frames or instructions.
"""
