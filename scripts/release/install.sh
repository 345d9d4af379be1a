#!/bin/sh
# Installs webhookd from a release: one file, checked before it is put in place. Needs no root and asks for none.
#
#   sh install.sh --from DIRECTORY|URL [--prefix DIRECTORY]
#
# It writes PREFIX/bin/webhookd and nothing else: no service, no user, no line in your shell's files.
set -eu

# Who signs releases, as ssh-keygen's allowed_signers has it; written in when a release is signed.
SIGNERS=''
IDENTITY=release@webhookd

usage() {
  cat <<'END'
usage: sh install.sh --from DIRECTORY|URL [--prefix DIRECTORY] [--signers FILE] [--unsigned]

  --from       where the release is: the folder with SHA256SUMS and the executables, here or at an https URL
  --prefix     installs PREFIX/bin/webhookd (default: ~/.local)
  --signers    the keys that you trust, as an allowed_signers file of ssh-keygen (default: the key in this script)
  --unsigned   installs what has the right checksum but no signature; for releases that you made yourself
END
}

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install.sh: %s\n' "$*" >&2
  printf 'Nothing was installed.\n' >&2
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# The end of the executable's name.
target() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no executable for $(uname -s); on Windows, download the .exe" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) processor=x64 ;;
    aarch64 | arm64) processor=arm64 ;;
    *) fail "there is no executable for $(uname -m)" ;;
  esac
  printf '%s-%s\n' "$system" "$processor"
}

# NAME of the release, into the scratch directory.
get() {
  case $from in
    https://* | http://127.0.0.1:* | http://localhost:*)
      if has curl; then curl -fsSL -o "$scratch/$1" "${from%/}/$1" || return 1
      elif has wget; then wget -q -O "$scratch/$1" "${from%/}/$1" || return 1
      else fail "needs curl or wget"; fi ;;
    *://*) fail "$from: only https is taken" ;;
    *)
      [ -f "$from/$1" ] || return 1
      cp "$from/$1" "$scratch/$1" ;;
  esac
}

checksum() {
  if has sha256sum; then sha256sum "$1"
  elif has shasum; then shasum -a 256 "$1"
  else fail "needs sha256sum or shasum"; fi | cut -d ' ' -f 1
}

check_signature() {
  if [ "$unsigned" = yes ]; then
    say "signature: NOT CHECKED, because of --unsigned"
    return
  fi
  if [ -n "$signers" ]; then
    [ -r "$signers" ] || fail "$signers cannot be read"
    cp "$signers" "$scratch/signers"
  elif [ -n "$SIGNERS" ]; then
    printf '%s\n' "$SIGNERS" >"$scratch/signers"
  else
    fail "this script knows no key that signs releases: name one with --signers, or say --unsigned"
  fi
  has ssh-keygen || fail "needs ssh-keygen (OpenSSH 8.2 or newer) to check the signature"
  get SHA256SUMS.sig || fail "$from has no SHA256SUMS.sig: the release is not signed"
  ssh-keygen -Y verify -f "$scratch/signers" -I "$IDENTITY" -n webhookd -s "$scratch/SHA256SUMS.sig" \
    <"$scratch/SHA256SUMS" >/dev/null 2>&1 || fail "the signature of SHA256SUMS is not one of a trusted key"
  say "signature: good"
}

main() {
  from='' prefix=${HOME:-}/.local signers='' unsigned=no
  while [ $# -gt 0 ]; do
    case $1 in
      --from | --prefix | --signers)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
          --from) from=$2 ;;
          --prefix) prefix=$2 ;;
          --signers) signers=$2 ;;
        esac
        shift 2 ;;
      --unsigned) unsigned=yes && shift ;;
      -h | --help) usage && exit 0 ;;
      *) usage >&2 && exit 2 ;;
    esac
  done
  [ -n "$from" ] || { usage >&2 && exit 2; }
  case $prefix in
    /.local) fail "there is no HOME: name a folder with --prefix" ;;
    /*) ;;
    *) prefix=$PWD/$prefix ;;
  esac

  for_target=$(target) || exit 1
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM

  get SHA256SUMS || fail "$from has no SHA256SUMS: is it a release?"
  check_signature
  # A line is 64 digits, two spaces and the name.
  line=$(grep -E "^[0-9a-f]{64}  webhookd-[0-9][^ /]*-$for_target\$" "$scratch/SHA256SUMS") ||
    fail "the release has no executable for $for_target"
  [ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "the release has several executables for $for_target"
  name=${line#*  }
  say "getting $name from $from"
  get "$name" || fail "$from has no $name"
  [ "$(checksum "$scratch/$name")" = "${line%%  *}" ] ||
    fail "$name is not what SHA256SUMS says: it is broken, or somebody has changed it"
  say "checksum: good"

  mkdir -p "$prefix/bin" || fail "$prefix/bin cannot be made: name another folder with --prefix"
  # Beside its place, so that the move is one step, and a daemon that runs the old file keeps it.
  new=$prefix/bin/.webhookd.$$
  if ! { cp "$scratch/$name" "$new" && chmod 755 "$new" && mv -f "$new" "$prefix/bin/webhookd"; }; then
    rm -f "$new"
    fail "$prefix/bin cannot be written to: name another folder with --prefix"
  fi
  say "installed: $prefix/bin/webhookd"
  case :${PATH:-}: in
    *:"$prefix/bin":*) say "next: webhookd serve --dev" ;;
    *) say "next: $prefix/bin/webhookd serve --dev ($prefix/bin is not in your PATH)" ;;
  esac
}

# At the very end, so that a script that was cut short on its way does nothing.
main "$@"
