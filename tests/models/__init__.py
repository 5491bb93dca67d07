# SPDX-License-Identifier: Apache-2.0
"""Real dynamic models from public packages, unmodified, with tiny random configurations."""
