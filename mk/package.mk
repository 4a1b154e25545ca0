# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What is given to others: the source as an archive, one file for the machine, packages.

VERSION := 0.1
DIST    := $(BUILD)/dist
NAME    := memtap-$(VERSION)

.PHONY: dist package-check
## make dist      build/dist/: the source of HEAD as an archive, the one file, checksums
dist: $(STATIC)/memtap.stripped
	$(Q)scripts/dist $(DIST) $(NAME) $<

## make package-check  packages for Debian and rpm: built twice, checked, used in new roots (an hour)
package-check: | $(READY)
	$(Q)scripts/package-check
