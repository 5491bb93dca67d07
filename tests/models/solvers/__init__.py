# SPDX-License-Identifier: Apache-2.0
"""Solvers that iterate until a tolerance is met."""
