# SPDX-License-Identifier: Apache-2.0
"""Networks and algorithms over pictures."""
