# SPDX-License-Identifier: Apache-2.0
"""What goes in and out of a captured program.

Arguments in, results and writes out, and states between calls: which they are, and how they come to be declared.
"""
