# SPDX-License-Identifier: Apache-2.0
"""What a compiled program needs when it is called or loaded.

From Python arguments to the flat tensors that the runtime takes, and from its outputs back to the objects that the
model would have returned: templates of arguments and results, states between calls, exceptions rebuilt. Imports nothing
of the front end, so that `dycl.load` brings no compiler, no sympy and nothing of torch's own compiler with it.
"""
