// SPDX-License-Identifier: Apache-2.0
// The shared library is the static one, whole; a library needs a source of its own.
