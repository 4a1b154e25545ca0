# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What bash, zsh and fish complete after `memtap`, from what the program says of its options.

COMPLETED := bash/memtap zsh/_memtap fish/memtap.fish
COMPLETED := $(COMPLETED:%=$(BUILD)/completions/%)
BASH_DIR  ?= $(PREFIX)/share/bash-completion/completions
ZSH_DIR   ?= $(PREFIX)/share/zsh/site-functions
FISH_DIR  ?= $(PREFIX)/share/fish/vendor_completions.d

.PHONY: completions install-completions uninstall-completions
## make completions  build/completions/: for bash, zsh and fish
completions: $(COMPLETED)

$(COMPLETED): $(BUILD)/memtap scripts/completions
	$(say) WORDS $@
	$(Q)mkdir -p $(@D)
	$(Q)scripts/completions "$(RUNNER) $<" $(notdir $(@D)) >$@.new && mv $@.new $@

install: install-completions
install-completions: $(COMPLETED)
	install -D -m 644 $(BUILD)/completions/bash/memtap $(DESTDIR)$(BASH_DIR)/memtap
	install -D -m 644 $(BUILD)/completions/zsh/_memtap $(DESTDIR)$(ZSH_DIR)/_memtap
	install -D -m 644 $(BUILD)/completions/fish/memtap.fish $(DESTDIR)$(FISH_DIR)/memtap.fish

uninstall: uninstall-completions
uninstall-completions:
	rm -f $(DESTDIR)$(BASH_DIR)/memtap $(DESTDIR)$(ZSH_DIR)/_memtap \
		$(DESTDIR)$(FISH_DIR)/memtap.fish
