# SPDX-License-Identifier: Apache-2.0
"""Model and program side by side.

Compares results, takes the arms of branches that no given input takes, and runs the captured graph op by op where a
fault of capture must be told from one of lowering or of an engine.
"""
