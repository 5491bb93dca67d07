# SPDX-License-Identifier: Apache-2.0
"""Where states meet.

Signatures that tell states apart cheaply, unification of what they hold, aliasing, and loops whose end the input
decides. Never executes an instruction.
"""
