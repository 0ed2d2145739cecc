#!/usr/bin/env bash
# The one list of the distribution's packages that Baton needs; installs the missing ones. Used by
# deploy/local, tests/run and the Dockerfile.
#
#     deploy/packages.sh SET...          installs what is missing of these sets
#     deploy/packages.sh --list SET...   prints the sets, installs nothing
#
# Made for Debian 12 and 13, Ubuntu 22.04 and 24.04. Where a package has another name on some of
# them, "a|b" means: the first that this system knows. "a|command:b" needs nothing where a command b
# is there already: elsewhere's nodejs brings npm along, and would conflict with a package of it.
# "a|-" is done without where this system knows no a: the tests of it say so and are skipped.
set -euo pipefail

declare -A sets=(
    # compile the programs
    [build]="gcc libc6-dev cmake ninja-build pkg-config libnng-dev libprotobuf-c-dev
        protobuf-c-compiler libuv1-dev libopenblas-dev libjansson-dev libpcre2-dev libssl-dev
        libisal-dev libzstd-dev libutf8proc-dev libedit-dev"
    # run them; the authorities are those that the span exporter trusts
    [run]="ca-certificates libnng1|libnng1t64 libprotobuf-c1 libuv1|libuv1t64 libjansson4
        libpcre2-8-0 libssl3|libssl3t64 libisal2 libzstd1 libutf8proc3|libutf8proc2
        libedit2"
    # start them by hand and talk to them: deploy/local, deploy/get-model
    [tools]="ca-certificates curl procps"
    # tests/run; recommended packages are left out on purpose, so what is needed of them is named
    [test]="git clang clang-format-14|clang-format clang-tidy-14|clang-tidy python3-pycodestyle
        python3-pyflakes libclang-rt-dev|libclang-common-14-dev llvm libcmocka-dev python3-pytest
        python3-numpy python3-jinja2 gnuplot-nox nodejs npm|command:npm
        docker-compose|docker-compose-v2 shellcheck groff-base zsh iproute2 procps curl prometheus
        systemd python3-yaml nginx-light
        python3-kubernetes kubernetes-client|command:kubectl|-
        chromium|command:google-chrome|chromium-browser firefox-esr|-"
    # deploy/debian/build
    [package]="git dpkg-dev debhelper lintian"
    # baton-lab sweep and ladder, tools/load/plot_itl.py
    [plots]="gnuplot-nox python3"
    # tests/run --containers: an engine, where there is none (its daemon is unpacked, not installed)
    [containers]="debootstrap debian-archive-keyring slirp4netns runc iptables
        libdevmapper1.02.1 libsystemd0 iproute2 python3"
    # tests/run --arm64
    [arm64]="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user debian-archive-keyring"
    # tests/run --bare, --package
    [bare]="git debootstrap debian-archive-keyring python3 iproute2 systemd"
)

die() { echo "packages.sh: $*" >&2; exit 1; }

many=200 # packages before which somebody at a terminal is asked

is_installed() {
    case $1 in
    command:*) command -v "${1#command:}" >/dev/null ;;
    *) [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    esac
}

is_known() {
    apt-cache policy "$1" | awk '/Candidate:/ {known = $2 != "(none)"} END {exit !known}'
}

# The words of the sets named, each once.
wanted() {
    local set
    for set in "$@"; do
        [ -n "${sets[$set]:-}" ] || die "no set is called '$set'; there are: ${!sets[*]}"
        # shellcheck disable=SC2086 # one word per package
        printf '%s\n' ${sets[$set]}
    done | sort -u
}

# Of the words on stdin, those of which no alternative is installed.
missing() {
    local word name
    while read -r word; do
        for name in ${word//|/ }; do
            is_installed "$name" && continue 2
            [ "$name" = - ] && ! is_known "${word%%|*}" && continue 2
        done
        echo "$word"
    done
}

# For each word on stdin the alternative that this system knows.
choose() {
    local word name
    while read -r word; do
        for name in ${word//|/ }; do
            is_known "$name" && echo "$name" && continue 2
        done
        die "the package sources here have no ${word//|/ or } (on Ubuntu: is universe enabled?)"
    done
}

# Commands run as root from here on.
as_root=()
become_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    as_root=(sudo)
    if ! command -v sudo >/dev/null || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
        die "these packages are missing and only root can install them; as root run:
    apt-get update && apt-get install --no-install-recommends \
        $(cut -d'|' -f1 <<<"$1" | tr '\n' ' ')"
    fi
}

# Baton needs the program prometheus, not the service that comes with it and listens on every
# address. `systemctl unmask prometheus` enables it. A service that was there before is left alone.
mask_service() { # NAMES OF PACKAGES TO COME
    [[ " $1" == *" prometheus "* ]] && command -v systemctl >/dev/null || return 0
    "${as_root[@]}" systemctl mask prometheus.service 2>/dev/null || true
}

# Says how much is to come, and on a terminal asks before very much of it.
announce() { # NAMES
    local said n answer
    # shellcheck disable=SC2086 # one word per package
    said=$(LC_ALL=C apt-get install --assume-no --no-install-recommends $1 2>/dev/null) || true
    n=$(sed -n 's/.* \([0-9][0-9]*\) newly installed.*/\1/p' <<<"$said")
    echo "packages.sh: ${n:-some} packages to install:" \
        "$(sed -n 's/^Need to get \(.*\) of archives.*/\1/p' <<<"$said") to download," \
        "$(sed -n 's/^After this operation, \(.*\) of additional.*/\1/p' <<<"$said") on the disk"
    [ "${n:-0}" -ge "$many" ] && [ -t 0 ] && [ -t 1 ] || return 0
    read -r -p "packages.sh: go on? [Y/n] " answer
    [[ ! $answer =~ ^[Nn] ]] || die "nothing was installed"
}

install() {
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
    local names
    become_root "$1"
    "${as_root[@]}" "${apt[@]}" update
    names=$(choose <<<"$1" | tr '\n' ' ')
    announce "$names"
    echo "packages.sh: installing $names"
    mask_service "$names"
    # shellcheck disable=SC2086 # one word per package
    "${as_root[@]}" "${apt[@]}" install -y --no-install-recommends $names >/dev/null
}

main() {
    local list_only=false lacking
    [ "${1:-}" != --list ] || { list_only=true; shift; }
    [ $# -gt 0 ] || die "name at least one set: ${!sets[*]}"
    lacking=$(wanted "$@")
    if $list_only; then
        echo "$lacking"
        return
    fi
    command -v apt-get >/dev/null || die "this system has no apt; install the equivalents of:
$lacking"
    for _ in 1 2; do # what is optional is known only once the lists are there
        lacking=$(wanted "$@" | missing)
        [ -z "$lacking" ] || install "$lacking"
    done
}

main "$@"
