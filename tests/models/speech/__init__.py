# SPDX-License-Identifier: Apache-2.0
"""Speech and sound: recognition, search, alignment, synthesis, signals."""
