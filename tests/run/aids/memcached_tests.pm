# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Loaded into a test of memcached's own (perl -Mmemcached_tests): each server that the test starts
# is looked at by `memtap mctop --check` from before the first command until it is stopped.
#
#   MEMTAP     the program
#   CHECK_OUT  prefix of the files written: PREFIX.N.out, PREFIX.N.err for the test's N-th server
package memcached_tests;
use strict;
use warnings;
use POSIX ();
use MemcachedTest (); # before: what it does at the end is done behind our END

my %tools; # by the server's process
my $servers = 0;

sub text_of {
    my $path = shift;
    open(my $f, '<', $path) or return '';
    local $/;
    return <$f> // '';
}

sub attach {
    my $server = shift;
    my $pid = $server->{pid} or return;
    my $files = "$ENV{CHECK_OUT}." . $servers++;
    my $tool = fork();
    if (!$tool) {
        open(STDIN, '<', '/dev/null');
        open(STDOUT, '>', "$files.out");
        open(STDERR, '>', "$files.err");
        exec($ENV{MEMTAP}, 'mctop', '-p', $pid, '--check', '--json', '-r', '0', '36000')
            or POSIX::_exit(127);
    }
    $tools{$pid} = $tool;
    until (text_of("$files.err") =~ /Attached \d+ probe/) {
        return if waitpid($tool, POSIX::WNOHANG()) > 0;
        select(undef, undef, undef, 0.02);
    }
}

sub detach {
    my $tool = delete $tools{shift()} or return;
    local ($?, $!);
    kill 'INT', $tool;
    waitpid($tool, 0);
}

{
    no warnings 'redefine';
    no strict 'refs';
    my $new = \&MemcachedTest::new_memcached;
    *MemcachedTest::new_memcached = sub {
        my $server = $new->(@_);
        attach($server);
        return $server;
    };
    for my $name (qw(DESTROY stop graceful_stop)) {
        my $stop = \&{"Memcached::Handle::$name"};
        *{"Memcached::Handle::$name"} = sub {
            detach($_[0]{pid});
            return $stop->(@_);
        };
    }
}

END {
    local $?;
    detach($_) for keys %tools;
}

1;
