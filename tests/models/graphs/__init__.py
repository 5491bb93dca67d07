# SPDX-License-Identifier: Apache-2.0
"""Networks over graphs: convolutions, pooling, and what changes the graph itself."""
