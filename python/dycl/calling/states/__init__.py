# SPDX-License-Identifier: Apache-2.0
"""What a model keeps from call to call, in the live module: a class for each kind of place, which reads what is there
when a call begins and writes what the call leaves."""
