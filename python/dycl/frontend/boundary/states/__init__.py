# SPDX-License-Identifier: Apache-2.0
"""What a model keeps from call to call, as capture sees it: a class for each kind of place, which makes values of the
program of it where a call begins, and says what each end leaves. The live module's side is calling/states/."""
