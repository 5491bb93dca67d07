# SPDX-License-Identifier: Apache-2.0
"""Packages as pictures: the control flow for a notebook, and `dycl view`: one page with graph, source and profile.

Knows what `native().package_to_json` says of a package, and nothing of capture, torch or calls. Packages come from
strangers: what they hold is escaped wherever it is written, and nothing but numbers is handed to Graphviz.
"""
