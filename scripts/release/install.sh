#!/bin/sh
# Installs webhookd from a release: one file, checked before it is put in place. Needs no root and asks for none.
#
#   sh install.sh --from DIRECTORY|URL [--prefix DIRECTORY]
#
# It writes PREFIX/bin/webhookd and nothing else: no service, no user, no line in your shell's files.
set -eu

# The signers of releases, in ssh-keygen's allowed_signers format. Filled in when a release is signed.
SIGNERS=''
IDENTITY=release@webhookd

usage() {
  cat <<'END'
usage: sh install.sh --from DIRECTORY|URL [--prefix DIRECTORY] [--signers FILE] [--unsigned] [--allow-downgrade]

  --from       where the release is: the folder with SHA256SUMS and the executables, here or at an https URL
  --prefix     installs PREFIX/bin/webhookd (default: ~/.local)
  --signers    the keys that you trust, as an allowed_signers file of ssh-keygen (default: the key in this script)
  --unsigned   installs what has the right checksum but no signature; for releases that you made yourself
  --allow-downgrade
               replaces a newer webhookd by an older one
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

# Fetches NAME of the release into the scratch directory.
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

# Succeeds if version $1 comes before version $2, by the rules of semver.org for numbers and pre-releases.
is_older() {
  LC_ALL=C awk -v one="$1" -v other="$2" '
    function order(a, b) {
      if (a ~ /^[0-9]+$/ && b ~ /^[0-9]+$/) return (a + 0 > b + 0) - (a + 0 < b + 0)
      if (a ~ /^[0-9]+$/) return -1
      if (b ~ /^[0-9]+$/) return 1
      return (a "" > b "") - (a "" < b "")
    }
    # The version comes before the first dash, and the pre-release after it. Builds do not count.
    function split_at_dash(text, parts,    at) {
      sub(/\+.*/, "", text)
      at = index(text, "-")
      parts["core"] = at == 0 ? text : substr(text, 1, at - 1)
      parts["pre"] = at == 0 ? "" : substr(text, at + 1)
    }
    function compare(a, b,    i, m, n, x, y, found) {
      m = split(a, x, ".")
      n = split(b, y, ".")
      for (i = 1; i <= m && i <= n; i++) if ((found = order(x[i], y[i])) != 0) return found
      return (m > n) - (m < n)
    }
    BEGIN {
      split_at_dash(one, p)
      split_at_dash(other, q)
      found = compare(p["core"], q["core"])
      if (found == 0 && p["pre"] != q["pre"]) {
        if (p["pre"] == "") found = 1
        else if (q["pre"] == "") found = -1
        else found = compare(p["pre"], q["pre"])
      }
      exit found < 0 ? 0 : 1
    }'
}

# An old release is signed, too, so a mirror could offer one and bring back bugs that have been fixed since.
refuse_older() {
  [ -x "$prefix/bin/webhookd" ] || return 0
  installed=$("$prefix/bin/webhookd" --version 2>/dev/null </dev/null) || return 0
  installed=${installed#webhookd }
  case $installed in
    [0-9]*.[0-9]*.[0-9]*) ;;
    *) return 0 ;;
  esac
  if [ "$downgrade" = no ] && is_older "$version" "$installed"; then
    fail "$prefix/bin/webhookd is version $installed, and the release is $version, which is older: to go back, say --allow-downgrade"
  fi
}

main() {
  from='' prefix=${HOME:-}/.local signers='' unsigned=no downgrade=no
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
      --allow-downgrade) downgrade=yes && shift ;;
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
  version=${name#webhookd-}
  version=${version%-"$for_target"}
  refuse_older
  say "getting $name from $from"
  get "$name" || fail "$from has no $name"
  [ "$(checksum "$scratch/$name")" = "${line%%  *}" ] ||
    fail "$name is not what SHA256SUMS says: it is broken, or somebody has changed it"
  say "checksum: good"

  mkdir -p "$prefix/bin" || fail "$prefix/bin cannot be made: name another folder with --prefix"
  # Write it beside its place, so that the move is one step, and a daemon that runs the old file keeps it.
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

# Call it at the very end, so that a script that was cut short on its way does nothing.
main "$@"
