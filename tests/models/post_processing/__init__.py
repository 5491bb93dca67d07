# SPDX-License-Identifier: Apache-2.0
"""What follows a detector or a segmenter: boxes, suppression, masks."""
