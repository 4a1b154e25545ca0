# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What is given to others: the source as an archive, one file for each machine, packages.

VERSION := 0.1
DIST    := $(BUILD)/dist
NAME    := memtap-$(VERSION)
# The other machine is crossed to, which Debian has the compiler and packages for on x86-64.
CROSSED := $(if $(filter x86_64,$(MACHINE)),build/arm64/static/memtap.stripped)

.PHONY: dist dist-crossed package-check
## make dist      build/dist/: the source of HEAD as an archive, the one file for x86-64 and, crossed
##                to, for arm64, checksums
dist: $(STATIC)/memtap.stripped dist-crossed
	$(Q)scripts/dist $(DIST) $(NAME) $(MACHINE)=$< $(CROSSED:%=aarch64=%)

dist-crossed: | $(READY)
	$(Q)$(if $(CROSSED),$(MAKE) --no-print-directory ARCH=arm64 static)

## make package-check  packages for Debian and rpm: built twice, checked, used in new roots (an hour)
package-check: | $(READY)
	$(Q)scripts/package-check
