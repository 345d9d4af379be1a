#!/bin/sh
# Made the certificates beside it, once, with OpenSSL 3.0; they are valid from 2020 to 2120. The tests only read them.
# The authority's key is thrown away: a new certificate means new ones for all.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/ca.cnf" <<END
[ca]
default_ca = d
[d]
database = $work/index.txt
unique_subject = no
rand_serial = yes
new_certs_dir = $work
default_md = sha256
policy = p
[p]
commonName = supplied
END
: >"$work/index.txt"

# certificate <name> <common name> <extensions> <from> <to> <key> [-selfsign | <signing certificate> <its key>]
certificate() {
  printf '%b' "$3" >"$work/ext"
  openssl req -new -key "$6" -subj "/CN=$2" -out "$work/csr"
  if [ "${7:-}" = -selfsign ]; then by="-selfsign"; else by="-cert ${7:-ca.pem}"; fi
  signer=${8:-$work/ca.key}
  [ "${7:-}" != -selfsign ] || signer=$6
  openssl ca -batch -notext -config "$work/ca.cnf" -in "$work/csr" $by -keyfile "$signer" \
    -startdate "$4" -enddate "$5" -extfile "$work/ext" -out "$1.pem"
}

key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1"; }
key "$work/ca.key"
key leaf.key.pem
chmod 644 leaf.key.pem
from=20200101000000Z
to=21200101000000Z
names='subjectAltName=DNS:receiver.example,DNS:*.example.com,DNS:localhost,IP:127.0.0.1,IP:93.184.216.34\n'
certificate ca "webhookd test authority" 'basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign,cRLSign\n' $from $to "$work/ca.key" -selfsign
certificate good receiver.example "$names" $from $to leaf.key.pem
certificate wrong-host other.example 'subjectAltName=DNS:other.example\n' $from $to leaf.key.pem
certificate expired receiver.example "$names" $from 20200201000000Z leaf.key.pem
certificate self-signed receiver.example "$names" $from $to leaf.key.pem -selfsign
key "$work/between.key"
certificate "$work/between" "webhookd test intermediate" 'basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign\n' $from $to "$work/between.key"
certificate no-intermediate receiver.example "$names" $from $to leaf.key.pem "$work/between.pem" "$work/between.key"
