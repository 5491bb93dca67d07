# SPDX-License-Identifier: Apache-2.0
"""What Python means, over real objects and stand-ins.

Calling, attributes, operators, subscripts, iteration, identity, types, keys, numbers and strings known only at run
time; which code is interpreted, and what native code may do. Each function gives a value at once, or PUSHED when a
frame of user code was pushed and the value arrives on the caller's stack.
"""
